#!/usr/bin/python3
"""kubectl debug: containers added to a running pod, with a terminal and without; and attach -it to any container."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from harness import DaemonTest, PODS  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402
from streams_test import Terminal  # noqa: E402

PATH = PODS.format(ns="default")


class Debug(StockKubectl, DaemonTest):
    version = "1.32"

    def tearDown(self):
        self.daemon.call("DELETE", f"{PATH}/p?gracePeriodSeconds=0", expect=(200, 404))
        super().tearDown()

    def pod(self, command=("sleep", "1000"), **container):
        self.daemon.call("POST", PATH, {"metadata": {"name": "p"}, "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none", "command": list(command), **container}]}})
        return self.wait(lambda pod: pod["status"]["phase"] == "Running")

    def wait(self, wanted):
        return self.daemon.wait_for(PATH, lambda pods: pods["p"] if "p" in pods and wanted(pods["p"]) else None)

    @staticmethod
    def state(pod, name="dbg"):
        return next((c["state"] for c in pod["status"].get("ephemeralContainerStatuses", []) if c["name"] == name), {})

    def debug(self, *command, name="dbg", **how):
        return self.kubectl("debug", "p", "--image=none", "--profile=general", "-c", name, "--", *command, **how)

    def processes(self, text):
        done = subprocess.run(["pgrep", "-f", text], capture_output=True, text=True, check=False)
        return [int(pid) for pid in done.stdout.split()]

    def test_it_runs_beside_the_program_and_its_end_is_told(self):
        self.pod()
        self.debug("sh", "-c", "echo in $HOSTNAME; exit 3")
        state = self.state(self.wait(lambda pod: "terminated" in self.state(pod)))
        self.assertEqual(state["terminated"]["exitCode"], 3)
        self.assertEqual(self.kubectl("logs", "p", "-c", "dbg").stdout, "in p\n")
        pod = self.daemon.call("GET", f"{PATH}/p")
        self.assertEqual(pod["status"]["phase"], "Running")
        self.assertEqual([c["name"] for c in pod["status"]["containerStatuses"]], ["main"])

    def test_it_sees_its_target_from_the_inside(self):
        """It shares the target's namespaces: it may look into it and sees its volumes."""
        self.pod(["sh", "-c", "echo secret > /tmp/of-main-$$; exec sleep 1000"])
        pid = next(iter(self.daemon.main_processes()))
        self.debug("sh", "-c", f"readlink /proc/{pid}/root /proc/{pid}/cwd && readlink /proc/self/ns/mnt")
        self.wait(lambda pod: "terminated" in self.state(pod))
        lines = self.kubectl("logs", "p", "-c", "dbg").stdout.splitlines()
        self.assertEqual((len(lines), lines[0]), (3, "/"))
        self.assertEqual(lines[2], os.readlink(f"/proc/{pid}/ns/mnt"))

    def test_exec_and_attach(self):
        self.pod()
        self.debug("sh", "-c", "while sleep 0.1; do echo again; done")
        self.wait(lambda pod: "running" in self.state(pod))
        self.assertEqual(self.kubectl("exec", "p", "-c", "dbg", "--", "sh", "-c", "echo $MUSTER_CONTAINER").stdout, "dbg\n")
        with self.background("attach", "p", "-c", "dbg") as process:
            self.assertEqual(process.stdout.readline(), "again\n")

    def test_a_terminal(self):
        self.pod()
        terminal = Terminal([self.binary, "debug", "p", "-it", "--image=none", "--profile=general", "-c", "dbg", "--", "sh"],
                            self.environment, 97, 31)
        self.addCleanup(terminal.close)
        terminal.expect("[$#] ")
        terminal.type("stty size; tty; echo $TERM\n")
        terminal.expect(r"31 97\r\n/dev/pts/\d+\r\nxterm")
        terminal.resize(80, 24)
        harness.wait_until(lambda: self.has_size(terminal, "24 80"), "the new size")
        terminal.type("exit 5\n")
        terminal.wait()
        state = self.state(self.wait(lambda pod: "terminated" in self.state(pod)))
        self.assertEqual(state["terminated"]["exitCode"], 5)
        self.assertIn("31 97", self.kubectl("logs", "p", "-c", "dbg").stdout)

    @staticmethod
    def has_size(terminal, size):
        terminal.type("stty size\n")
        return terminal.expect(r"\r\n(\d+ \d+)\r\n").group(1) == size

    def test_input_of_any_container(self):
        """Also of one that was there from the start: -i until its end (stdinOnce), or the client's."""
        self.pod(["cat"], stdin=True, stdinOnce=True)
        done = self.kubectl("attach", "-i", "p", stdin="one\ntwo\n")
        self.assertIn("one\ntwo\n", done.stdout)
        self.wait(lambda pod: pod["status"]["phase"] == "Succeeded")
        self.assertEqual(self.kubectl("logs", "p").stdout, "one\ntwo\n")

    def test_a_terminal_for_a_client_without_one(self):
        """Each line once: what was typed, as the terminal echoes it, and what the program said to it."""
        self.pod(["sh", "-c", "read word; echo got $word"], stdin=True, tty=True)
        self.assertEqual(self.kubectl("attach", "-i", "p", stdin="two\n").stdout.replace("\r", ""), "two\ngot two\n")
        self.wait(lambda pod: pod["status"]["phase"] == "Succeeded")
        self.assertEqual(self.kubectl("logs", "p").stdout.replace("\r", ""), "two\ngot two\n")

    def test_a_client_that_comes_back(self):
        self.pod(["sh"], stdin=True, tty=True)
        for word in ("first", "second"):
            terminal = Terminal([self.binary, "attach", "-it", "p"], self.environment, 80, 24)
            terminal.expect("[$#] ")
            terminal.type(f"echo x{word}x\n")
            terminal.expect(rf"x{word}x\r\n")
            terminal.close()

    def test_it_outlives_the_daemon(self):
        self.pod()
        self.debug("sh", "-c", "echo up; exec sleep 4321")
        self.wait(lambda pod: "running" in self.state(pod))
        pids = self.processes("sleep 4321")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.processes("sleep 4321"), pids)
        self.wait(lambda pod: "running" in self.state(pod))
        self.assertEqual(self.kubectl("logs", "p", "-c", "dbg").stdout, "up\n")
        os.kill(pids[0], 9)
        state = self.state(self.wait(lambda pod: "terminated" in self.state(pod)))
        self.assertEqual(state["terminated"]["exitCode"], 137)

    def test_it_ends_with_its_pod(self):
        self.pod(["sleep", "2222"])
        self.debug("sleep", "4322")
        self.wait(lambda pod: "running" in self.state(pod))
        os.kill(self.processes("sleep 2222")[0], 9)
        self.wait(lambda pod: pod["status"]["phase"] == "Failed" and "terminated" in self.state(pod))
        self.assertEqual(self.processes("sleep 4322"), [])
        self.kubectl("delete", "pod", "p")
        harness.wait_until(lambda: not list(pathlib.Path(self.daemon.data, "pods").iterdir()), "its folders to be gone")

    def test_deleted_with_its_pod(self):
        self.pod()
        self.debug("sleep", "4323")
        self.wait(lambda pod: "running" in self.state(pod))
        self.kubectl("delete", "pod", "p")
        harness.wait_until(lambda: not self.processes("sleep 4323"), "it to end")
        harness.wait_until(lambda: not list(pathlib.Path(self.daemon.data, "pods").iterdir()), "its folders to be gone")

    def test_what_is_refused(self):
        self.pod()
        self.debug("true")
        self.assertIn("may not be changed", self.patch({"name": "dbg", "image": "other"}))
        self.assertIn("cannot be set for an Ephemeral Container", self.patch(
            {"name": "b", "image": "x", "command": ["true"], "ports": [{"containerPort": 80}]}))
        self.assertIn("Duplicate value", self.patch({"name": "main", "image": "x", "command": ["true"]}))
        self.assertIn("no container of this name", self.patch(
            {"name": "b", "image": "x", "command": ["true"], "targetContainerName": "none"}))
        self.assertIn("it sees the volumes", self.patch(
            {"name": "b", "image": "x", "command": ["true"], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}))
        pod = self.daemon.call("GET", f"{PATH}/p")
        del pod["metadata"]["resourceVersion"]
        pod["spec"]["ephemeralContainers"].append({"name": "b", "image": "x", "command": ["true"]})
        answer = self.daemon.call("PUT", f"{PATH}/p", pod, expect=(422,))
        self.assertIn("is set by pods/NAME/ephemeralcontainers", answer["message"])
        answer = self.daemon.call("POST", PATH, {"metadata": {"name": "q"}, "spec": pod["spec"]}, expect=(422,))
        self.assertIn("cannot be set on create", answer["message"])

    def patch(self, container):
        answer = self.daemon.call("PATCH", f"{PATH}/p/ephemeralcontainers", {"spec": {"ephemeralContainers": [container]}},
                                  expect=(422,), content_type="application/strategic-merge-patch+json")
        return answer["message"]

    def test_rights(self):
        """A right of its own, which `edit` does not have."""
        self.pod()
        for role, allowed in (("edit", "no"), ("cluster-admin", "yes")):
            self.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}")
            done = self.kubectl("auth", "can-i", "patch", "pods", "--subresource=ephemeralcontainers", "--as", role, code=(0, 1))
            self.assertEqual(done.stdout.strip(), allowed)
        done = self.kubectl("debug", "p", "--image=x", "--profile=general", "--as", "edit", "--", "true", code=1)
        self.assertIn('cannot patch resource "pods/ephemeralcontainers"', done.stderr)


@unittest.skipUnless(os.getuid() == 0, "only root can be another user")
class DebugAsOrdinaryUser(StockKubectl, harness.WithDaemon):
    """Each pod has a user namespace then, which the container must join to look into its target."""

    version = "1.32"

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pods"))
        from pods_test import ORDINARY, OtherDaemon
        cls.daemon = OtherDaemon(uid=ORDINARY, wrapper=("setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}",
                                                        "--clear-groups", "--bounding-set=-all"))

    def test_it_sees_its_target_from_the_inside(self):
        self.kubectl("run", "p", "--image=none", "--restart=Never", "--env=A=b", "--command", "--", "sleep", "1000")
        self.kubectl("wait", "--for=condition=Ready", "pod/p")
        pid = next(iter(self.daemon.main_processes()))
        self.kubectl("debug", "p", "--image=none", "--profile=general", "-c", "dbg", "--", "grep", "-zx", "A=b",
                     f"/proc/{pid}/environ")
        self.daemon.wait_for(PATH, lambda pods: True if Debug.state(pods["p"]).get("terminated", {}).get("exitCode") == 0
                             else None)
        self.kubectl("delete", "pod", "p", "--grace-period=0", "--force")
        self.daemon.wait_for(PATH, lambda pods: True if not pods else None)


if __name__ == "__main__":
    harness.main()
