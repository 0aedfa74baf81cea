#!/usr/bin/python3
"""kill -9 of all that supervises a pod: its program goes, too, the failure is told and the replica replaced, once.

One of them alone is replaced, as often as it happens, and nobody notices; at random: churn_test.py."""
import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import DaemonTest, job  # noqa: E402


class SupervisorKilled(DaemonTest):
    def supervisors(self, pod):
        """The process ids of all that supervises a pod: of this daemon's folder and of no other."""
        pids = []

        def both():  # keeper, worker; a child that is about to become a program has their name
            found = self.daemon.pod_processes(uid=pod["metadata"]["uid"])
            pids[:] = [pid for pid, line in found.items() if "supervise" in line]
            return len(pids) == 2
        harness.wait_until(both, "a keeper and a worker")
        return pids

    def assert_only_it_was_replaced(self, before, after, name):
        for other in before:
            if other == name:
                self.assertNotEqual(before[other], after[other])
            else:
                self.assertEqual(before[other], after[other])

    def wait_replaced(self, job_name, name, old_uid):
        def reached(pods):
            uid = pods.get(name, {}).get("metadata", {}).get("uid")
            running = [p for p in pods.values() if p.get("status", {}).get("phase") == "Running"]
            return pods if uid and uid != old_uid and len(running) == 4 else None
        return self.daemon.wait_for(harness.PODS.format(ns="default"), reached, f"{name} to be replaced")

    def kill_one(self, command, while_down):
        daemon = self.daemon
        daemon.create(job("sleepers", command, restart="OnFailure", run_policy={"backoffLimit": 3}))
        before = daemon.wait_running("sleepers")
        name = sorted(before)[1]
        uid = before[name]["metadata"]["uid"]
        pids = self.supervisors(before[name])
        if while_down:
            daemon.kill()
        for how in (signal.SIGSTOP, signal.SIGKILL):  # nobody can take another's place
            for pid in pids:
                os.kill(pid, how)
        if while_down:
            daemon.start()
        after = self.wait_replaced("sleepers", name, uid)
        self.assert_only_it_was_replaced(harness.uids(before), harness.uids(after), name)
        self.assertEqual(daemon.get_job("sleepers")["status"]["backoffCount"], 1)
        self.assertEqual(daemon.pod_processes(uid=uid), {})
        self.remove("sleepers")

    def test_it_alone_is_replaced(self):
        self.kill_one(["sleep", "1000"], while_down=False)

    def test_also_while_the_daemon_is_down(self):
        self.kill_one(["sleep", "1000"], while_down=True)

    def test_what_it_forked_is_gone_too(self):
        self.kill_one(["sh", "-c", "setsid sleep 1000 & exec sleep 1000"], while_down=False)

    def wait_named(self, uid, killed):
        """Until the pod's record names supervisors that live, both, and not the one that was killed."""
        record = pathlib.Path(self.daemon.folder, "pods", uid, "state.json")
        deadline = time.monotonic() + harness.PATIENCE
        while time.monotonic() < deadline:
            known = json.loads(record.read_text())
            named = {known["pid"], known["keeperPid"]}
            if killed not in named and all(map(harness.is_alive, named)):
                return
            time.sleep(0.01)  # nothing tells of a process that is no child of ours
        self.fail(f"{killed} was not replaced: {known}")

    def test_one_after_the_other_as_often_as_one_likes(self):
        """By their place in the list of process ids, the lowest being 0."""
        daemon = self.daemon
        go = os.path.join(daemon.folder, "go")
        for sequence in ("000", "010", "110", "210", "00000", "10101"):
            daemon.call("POST", harness.PODS.format(ns="default"), {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"killed-{sequence}"},
                "spec": {"restartPolicy": "Never", "containers": [
                    {"name": "main", "image": "none", "command": [
                        "sh", "-c", f"until [ -e {go} ]; do sleep 0.1; done; exit 5"],
                     "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]}})
        pods = daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: pods if len(pods) == 6 and all(
            p["status"].get("phase") == "Running" for p in pods.values()) else None, "six pods to run")
        for name, pod in pods.items():
            uid = pod["metadata"]["uid"]
            for place in name.split("-")[1]:
                found = daemon.pod_processes(uid=uid)
                pids = sorted(pid for pid, line in found.items() if "supervise" in line)
                killed = pids[min(int(place), len(pids) - 1)]
                os.kill(killed, signal.SIGKILL)
                self.wait_named(uid, killed)
        pathlib.Path(go).touch()
        ended = daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: pods if all(
            p["status"].get("phase") in ("Succeeded", "Failed") for p in pods.values()) else None, "them to end")
        states = {name: pod["status"]["containerStatuses"][0]["state"]["terminated"] for name, pod in ended.items()}
        self.assertEqual({name: state["exitCode"] for name, state in states.items()}, dict.fromkeys(states, 5), states)
        for name in states:
            daemon.call("DELETE", f"{harness.PODS.format(ns='default')}/{name}?gracePeriodSeconds=0")


if __name__ == "__main__":
    harness.main()
