#!/usr/bin/python3
"""kill -9 of all that supervises a pod: its program goes, too, the failure is told and the replica replaced, once.

One of them alone is replaced and nobody notices: churn_test.py."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import DaemonTest, job  # noqa: E402


class SupervisorKilled(DaemonTest):
    def supervisors(self, pod):
        """The process ids of all that supervises a pod: of this daemon's folder and of no other."""
        found = self.daemon.pod_processes(uid=pod["metadata"]["uid"])
        pids = [pid for pid, line in found.items() if "supervise" in line]
        self.assertEqual(len(pids), 3, found)  # keeper, worker, minder
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


if __name__ == "__main__":
    harness.main()
