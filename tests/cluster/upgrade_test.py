#!/usr/bin/python3
"""From an older muster to this one with jobs running, and then away with all of it. The older one is built once from the
repository's history, into build/old."""
import os
import pathlib
import subprocess
import unittest

import jobs_test
from control_plane import MUSTER, ROOT, ControlPlane
from jobs_test import CONTROLLER, GROUPS, JOBS, PODS, SERVICES, ours

OLD_COMMIT = "9df2c036b27af2e1e7e427176920d102929a7f08"  # before there were rules across fields, scale and a console
SCHEDULER = ("scheduler", "--namespace", "muster-system")
OF_IT = ("crd,clusterroles,clusterrolebindings,namespaces", "-l", "app.kubernetes.io/part-of=muster")


def old_muster():
    given = os.environ.get("MUSTER_OLD")
    folder = ROOT / "build/old" / OLD_COMMIT
    program = pathlib.Path(given) if given else folder / "build/muster"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        source = subprocess.run(["git", "archive", OLD_COMMIT], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "x"], cwd=folder, check=True, input=source)
        environment = {k: v for k, v in os.environ.items() if k not in ("B", "MAKEFLAGS", "MAKEOVERRIDES", "SAN")}  # this tree's
        done = subprocess.run(["make", "-j2", "CONSOLE=0", "build/muster"], cwd=folder, env=environment, text=True,
                              capture_output=True)
        assert done.returncode == 0, "the older muster is not built: " + done.stderr[-2000:]
    return str(program)


class Upgrade(unittest.TestCase):
    pods_of, set_phase, wait_phase = jobs_test.Jobs.pods_of, jobs_test.Jobs.set_phase, jobs_test.Jobs.wait_phase

    def program(self, binary, *arguments):
        config = self.plane.kubeconfig("%s-%d" % (arguments[0], len(self.plane.processes)),
                                       self.plane.account_token("muster-system", "muster-" + arguments[0]))
        return self.plane.spawn("muster-%d" % len(self.plane.processes), binary, *arguments, "--kubeconfig", str(config))

    def end(self, *programs):
        for one in programs:
            one.terminate()
        for one in programs:
            self.assertEqual(one.wait(60), 0)

    def test_jobs_go_on_and_nothing_is_left(self):
        old = old_muster()
        plane = self.plane = ControlPlane()
        self.addCleanup(plane.stop)
        plane.start()
        self.api = plane.admin
        text = subprocess.run([old, "manifests"], check=True, capture_output=True, text=True).stdout
        plane.kubectl("apply", "--server-side", "-f", "-", text=text)
        plane.wait_established()
        plane.kubectl("get", "pj,podgroups,queues")  # new kinds are not served at once, and kubectl asks again
        plane.make_queue()
        plane.add_node("n1")
        programs = [self.program(old, *CONTROLLER), self.program(old, *SCHEDULER)]
        # the second would be refused today, and must not be stuck for it
        jobs = {"going": ours("going"), "odd": ours("odd", torchrunConfig={"enabled": True, "minNodes": 9})}
        pods = {}
        for name, what in jobs.items():
            self.api.create(JOBS, what)
            pods[name] = self.pods_of(name, lambda p: p if len(p) == 2 and all(x["spec"].get("nodeName") for x in p) else None,
                                      "two bound pods")
            self.set_phase(pods[name], "Running")
            self.wait_phase(name, "Running")

        self.end(*programs)
        self.assertEqual(plane.install().stderr, "")
        for name in jobs:
            self.set_phase(pods[name][:1], "Succeeded", 0)  # in between
        programs = [self.program(MUSTER, *CONTROLLER), self.program(MUSTER, *SCHEDULER)]
        for name in jobs:
            self.set_phase(pods[name][1:], "Succeeded", 0)
            ended = self.wait_phase(name, "Succeeded")
            self.assertEqual(ended["status"].get("backoffCount", 0), 0)
            now = self.pods_of(name, lambda p: p, "its pods")
            self.assertEqual({p["metadata"]["uid"] for p in now}, {p["metadata"]["uid"] for p in pods[name]})
        self.api.create(JOBS, ours("later"))
        later = self.pods_of("later", lambda p: p if len(p) == 2 and all(x["spec"].get("nodeName") for x in p) else None,
                             "two bound pods")
        self.set_phase(later, "Succeeded", 0)  # there is no kubelet, which would end them
        self.wait_phase("later", "Succeeded")

        # without their definition nobody could tell whose the pods are
        plane.kubectl("delete", "pj,mj,tb,nb", "--all", "-A", "--cascade=foreground", "--timeout=240s")
        self.assertEqual(self.api.get(PODS)["items"], [])
        self.end(*programs)
        text = subprocess.run([MUSTER, "manifests"], check=True, capture_output=True, text=True).stdout
        plane.kubectl("delete", "--ignore-not-found", "--wait=true", "--timeout=240s", "-f", "-", text=text)
        for path in (PODS, SERVICES):
            self.api.wait(path, lambda found: set(found) <= {"kubernetes"}, "nothing at " + path)
        self.assertEqual(plane.kubectl("get", *OF_IT, "-o", "name").stdout, "")
        self.assertEqual(plane.kubectl("get", GROUPS.split("/")[-1], check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
