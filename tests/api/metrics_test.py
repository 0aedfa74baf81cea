#!/usr/bin/python3
"""What pods use and what they may use: limits in force (or an event that says they are not), OOMKilled told apart, the
samples of pods and the node, and metrics.k8s.io - as root and as an ordinary user."""
import os
import pathlib
import shutil
import sys
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
METRICS = "/apis/metrics.k8s.io/v1beta1"
NOBODY = 65534
# Talks to itself over loopback and writes, a megabyte each time, and keeps 40 MB.
BUSY = """
import os, socket, threading, time
kept = b"x" * (40 << 20)
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    peer = listener.accept()[0]
    while peer.recv(1 << 16):
        pass
threading.Thread(target=serve, daemon=True).start()
peer = socket.create_connection(listener.getsockname())
data = bytes(1 << 20)
with open(os.environ["SCRATCH"], "wb") as file:
    while True:
        peer.sendall(data)
        file.seek(0)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        print("up", flush=True)
        until = time.process_time() + 0.1  # enough to be seen where the disk is slow
        while time.process_time() < until:
            pass
        time.sleep(0.02)
"""
HOG = "x = b'x' * (200 << 20); print(len(x))"


def pod(name, *containers, labels=None):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": list(containers)}}


def container(name, command, env=None, **resources):
    return {"name": name, "image": "none", "command": command,
            "env": [{"name": k, "value": v} for k, v in (env or {}).items()], "resources": resources}


class Usage:
    """The tests; the classes at the end say as whom."""

    ordinary = False

    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Daemon(start=False)
        if cls.ordinary and os.getuid() == 0:
            binary = os.path.join(cls.daemon.folder, "muster-as-nobody")
            shutil.copy(harness.BIN, binary + "-binary")
            pathlib.Path(binary).write_text(f"#!/bin/sh\nexec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "
                                            f"--bounding-set -all {binary}-binary \"$@\"\n")
            os.chmod(binary, 0o755)
            cls.daemon.give_to(NOBODY)
            cls.daemon.environment["HOME"] = cls.daemon.folder
            patch = unittest.mock.patch.object(harness, "BIN", binary)
            patch.start()
            cls.addClassCleanup(patch.stop)
        cls.daemon.start()

    @classmethod
    def tearDownClass(cls):
        for name in cls.daemon.pods():
            cls.daemon.call("DELETE", f"{PODS}/{name}")
        cls.daemon.wait_for(PODS, lambda pods: not pods, "pods to be gone")
        harness.wait_until(lambda: not cls.daemon.pod_processes(), "supervisors to be done")
        wrong = cls.daemon.close()
        if wrong:
            raise AssertionError("\n".join(wrong))

    def run_pod(self, *arguments, until=("Succeeded", "Failed"), **how):
        made = self.daemon.call("POST", PODS, pod(*arguments, **how))
        name = made["metadata"]["name"]
        ended = self.daemon.wait_for(PODS, lambda pods: pods[name] if pods[name].get("status", {}).get("phase") in
                                     (*until, "Failed") else None, f"{name} to be {until}")
        self.assertIn(ended["status"]["phase"], until, ended["status"])
        return ended

    def warnings(self, name):
        events = self.daemon.list("/api/v1/namespaces/default/events")
        return [e["message"] for e in events
                if e["involvedObject"]["name"] == name and e["reason"] == "LimitsNotEnforced"]

    def samples(self, path, count, query=""):
        """Until there are so many samples; they come by themselves, every two seconds."""
        until = time.monotonic() + harness.PATIENCE
        while True:
            found = self.daemon.call("GET", f"{path}/samples{query}")
            if len(found["time"]) >= count:
                return found
            if time.monotonic() > until:
                raise harness.Timeout(f"only {len(found['time'])} samples of {path}")
            time.sleep(0.1)

    def test_memory_limit(self):
        limits = {"memory": "64Mi", "cpu": "500m"}
        ended = self.run_pod("hog", container("main", ["python3", "-c", HOG], limits=limits))
        state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
        warnings = self.warnings("hog")
        if warnings:
            self.assertEqual(len(warnings), 1)
            self.assertIn("measured but not enforced", warnings[0])
            self.assertEqual((state["exitCode"], state["reason"]), (0, "Completed"))
            return
        self.assertFalse(self.ordinary and os.getuid() == 0, "an ordinary user without rights cannot enforce limits")
        self.assertEqual((state["exitCode"], state["reason"]), (137, "OOMKilled"))
        self.assertEqual(state["message"], "ran out of memory: limit 64Mi")
        # a child is the victim, and the program notices
        ended = self.run_pod("parent", container("main", ["sh", "-c", f"python3 -c \"{HOG}\" || exit 3"], limits=limits))
        state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((state["exitCode"], state["reason"]), (3, "OOMKilled"))
        self.assertIn("a process it had started ran out of memory: limit 64Mi", state["message"])
        # killed, but not for memory
        ended = self.run_pod("plain", container("main", ["sh", "-c", "kill -9 $$$$"], limits=limits))
        state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((state["exitCode"], state["reason"]), (137, "Error"))
        self.assertIn("not for lack of memory", state["message"])

    def test_a_job_says_it(self):
        hungry = harness.job("hungry", ["python3", "-c", HOG], replicas=1)
        hungry["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"memory": "64Mi"}
        self.daemon.create(hungry)
        self.addCleanup(self.daemon.cli, "rm", "hungry")

        def over(jobs):
            return jobs["hungry"] if jobs["hungry"].get("status", {}).get("phase") in ("Succeeded", "Failed") else None
        ended = self.daemon.wait_for(harness.JOBS.format(ns="default"), over, "hungry to end")
        if ended["status"]["phase"] == "Failed":
            self.assertIn("ran out of memory: limit 64Mi", str(ended["status"]["conditions"]))
        else:
            self.assertTrue(any(self.warnings(name) for name in self.daemon.pods("hungry")))

    def test_samples_and_metrics(self):
        scratch = os.path.join(self.daemon.folder, "written-by-busy")
        self.run_pod("busy", container("main", ["python3", "-c", BUSY], env={"SCRATCH": scratch}),
                     container("idle", ["sleep", "1000"]), until=("Running",), labels={"app": "busy"})
        found, mean = self.busy_samples()
        newest = {name: column["values"][-1] for name, column in found["columns"].items()}
        self.assertGreater(mean("cpu"), 0.02)
        self.assertLess(newest["cpu"], 2.5)
        self.assertGreater(newest["memory"], 40 << 20)
        self.assertLess(newest["memory"], 200 << 20)
        self.assertGreater(mean("diskWrite"), 100000)
        self.assertIsNone(newest["gpu"])
        if self.ordinary:
            self.assertIsNone(newest["networkReceive"], "an ordinary user cannot measure this")
        else:
            # as many bytes go out as come in; more than what is written, for there are packet headers
            self.assertGreater(mean("networkReceive"), mean("diskWrite") * 0.7)
            self.assertAlmostEqual(mean("networkReceive") / mean("networkTransmit"), 1, delta=0.3)
        self.metrics()
        if not self.ordinary:
            self.history(found)

    def busy_samples(self):
        """Samples of busy, and a function for the mean of a rate since it is at it; over so many of its rounds that the
        one that an edge of the time cuts in two does not matter, however slow disk and machine are."""
        harness.wait_until(lambda: self.daemon.log("busy", query="?container=main"), "it to begin")
        first = len(self.samples(f"{PODS}/busy", 0)["time"])  # the one after the next is measured from here on
        count = max(3, first + 2)
        while True:
            found = self.samples(f"{PODS}/busy", count)
            seconds = [(b - a) / 1000 for a, b in zip(found["time"][first:], found["time"][first + 1:])]

            def total(name):
                return sum(value * step for value, step in zip(found["columns"][name]["values"][first + 1:], seconds))
            if total("diskWrite") >= 10 << 20:
                return found, lambda name: total(name) / sum(seconds)
            count = len(found["time"]) + 1

    def metrics(self):
        groups = self.daemon.call("GET", "/apis")["groups"]
        self.assertIn("metrics.k8s.io", [group["name"] for group in groups])
        self.assertEqual(sorted(r["name"] for r in self.daemon.call("GET", METRICS)["resources"]), ["nodes", "pods"])
        def busy():
            return self.daemon.call("GET", f"{METRICS}/namespaces/default/pods/busy")
        # a slow disk may have held it up from one look to the next
        harness.wait_until(lambda: int(busy()["containers"][0]["usage"]["cpu"].removesuffix("n")) > 10000000, "it to be busy")
        one = busy()
        self.assertEqual(one["kind"], "PodMetrics")
        self.assertEqual([c["name"] for c in one["containers"]], ["main", "idle"])
        main, idle = (int(c["usage"]["memory"].removesuffix("Ki")) for c in one["containers"])
        self.assertGreater(main, 40 << 10)
        self.assertLess(idle, 10 << 10)
        self.assertEqual(len(self.daemon.list(f"{METRICS}/pods?labelSelector=app%3Dbusy")), 1)
        self.assertEqual(len(self.daemon.list(f"{METRICS}/pods?labelSelector=app%3Dother")), 0)
        self.assertEqual(len(self.daemon.list(f"{METRICS}/namespaces/other/pods")), 0)
        node = self.daemon.list(f"{METRICS}/nodes")[0]
        self.assertGreater(int(node["usage"]["memory"].removesuffix("Ki")), 10 << 10)
        for path, code in (("pods/busy", 404), ("namespaces/default/pods/nobody", 404), ("nodes/nobody", 404),
                           ("namespaces/default/nodes", 404), ("pods/busy/status", 404)):
            self.assertEqual(self.daemon.request("GET", f"{METRICS}/{path}")[0], code, path)
        self.assertEqual(self.daemon.request("DELETE", f"{METRICS}/namespaces/default/pods/busy")[0], 405)

    def history(self, before):
        """What was measured outlives a kill -9 of the daemon, and then the pod."""
        self.daemon.kill()
        self.daemon.start()
        found = self.samples(f"{PODS}/busy", len(before["time"]) + 1)
        self.assertEqual(found["time"][:len(before["time"])], before["time"])
        since = before["time"][-1] + 1
        newer = self.samples(f"{PODS}/busy", 1, f"?since={since}")
        self.assertGreaterEqual(newer["time"][0], since)
        older = self.daemon.call("GET", f"{PODS}/busy/samples?until={before['time'][0]}")
        self.assertEqual(older["time"], before["time"][:1])
        self.assertEqual(len(older["columns"]["cpu"]["values"]), 1)
        coarse = self.daemon.call("GET", f"{PODS}/busy/samples?step=3600")
        self.assertLessEqual(len(coarse["time"]), 2)
        name = self.daemon.list(harness.NODES)[0]["metadata"]["name"]
        node = self.daemon.call("GET", f"{harness.NODES}/{name}/samples")
        self.assertGreaterEqual(len(node["time"]), 2)
        self.assertIsNotNone(node["columns"]["cpu"]["values"][1])
        uid = found["metadata"]["uid"]
        self.daemon.call("DELETE", f"{PODS}/busy")
        self.daemon.wait_for(PODS, lambda pods: "busy" not in pods, "busy to be gone")
        self.assertEqual(self.daemon.request("GET", f"{PODS}/busy/samples")[0], 404)
        harness.wait_until(lambda: self.daemon.request("GET", f"{PODS}/busy/samples?uid={uid}")[0] == 200, "its folder to be put aside")
        kept = self.daemon.call("GET", f"{PODS}/busy/samples?uid={uid}")
        self.assertEqual(kept["time"][:len(before["time"])], before["time"])
        for query, code in (("?uid=..", 404), (f"?uid={uid}x", 404), ("?since=yesterday", 400), ("?until=noon", 400), ("?step=-1", 400)):
            self.assertEqual(self.daemon.request("GET", f"{PODS}/busy/samples{query}{'' if 'uid' in query else '&uid=' + uid}")[0],
                             code, query)

    def test_resource_references(self):
        reference = {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}
        memory = {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}}
        c = container("main", ["sh", "-c", "echo $A $B"], limits={"cpu": "250m"})
        c["env"] = [reference, memory]
        self.run_pod("refers", c)
        node = self.daemon.list(harness.NODES)[0]
        mib = -(-int(node["status"]["allocatable"]["memory"].removesuffix("Ki")) // 1024)
        self.assertEqual(self.daemon.log("refers").split(), ["250", str(mib)])


class AsWhoRuns(Usage, unittest.TestCase):
    ordinary = os.getuid() != 0


class AsOrdinaryUser(Usage, unittest.TestCase):
    ordinary = True
    test_a_job_says_it = test_resource_references = None  # the same as for root


class Groups(unittest.TestCase):
    def test_nothing_is_left(self):
        """Groups go with their pods, and with the daemon what held them."""
        daemon = harness.Daemon()
        self.addCleanup(daemon.close)
        file = pathlib.Path(daemon.folder, "pods.cgroups")
        places = [line.split(" ", 2)[2] for line in file.read_text().splitlines()] if file.exists() else []
        daemon.call("POST", PODS, pod("one", container("main", ["sleep", "1000"])))
        uid = daemon.wait_for(PODS, lambda pods: pods["one"]["metadata"]["uid"]
                              if pods["one"].get("status", {}).get("phase") == "Running" else None)
        for place in places:
            self.assertTrue(os.path.isdir(f"{place}/{uid}/main"), place)
        daemon.kill()
        daemon.start()
        daemon.call("DELETE", f"{PODS}/one?gracePeriodSeconds=0")
        harness.wait_until(lambda: not any(os.path.isdir(f"{place}/{uid}") for place in places), "its groups to go")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual([place for place in places if os.path.isdir(place)], [])


if __name__ == "__main__":
    harness.main()
