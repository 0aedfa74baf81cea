#!/usr/bin/python3
"""Deleting a job removes what it made, and ends what it ran."""
import time

import harness
from harness import DaemonTest, job


class Deletion(DaemonTest):
    def wait_empty(self, path):
        self.daemon.wait_for(path, lambda objects: True if not objects else None, f"{path} to be empty")

    def test_rm_removes_pods_services_and_processes(self):
        daemon = self.daemon
        daemon.create(job("gone", ["sleep", "1000"]))
        daemon.wait_running("gone")
        self.assertEqual(len(daemon.list(harness.SERVICES.format(ns="default"))), 4)
        done = daemon.cli("rm", "gone")
        self.assertEqual(done.returncode, 0, done.stderr)
        # rm waits for the pods; services have no process
        self.assertEqual(daemon.list(harness.PODS.format(ns="default")), [])
        self.assertEqual(daemon.pod_processes(), {})
        self.wait_empty(harness.SERVICES.format(ns="default"))
        self.wait_empty(harness.LEASES)

    def test_stubborn_process_is_killed_after_its_grace(self):
        daemon = self.daemon
        daemon.create(job("stubborn", ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"], replicas=2, grace=1))
        for name in daemon.wait_running("stubborn", 2):
            # what it prints tells that the trap is set
            daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: True)
            while "deaf" not in daemon.log(name):
                pass
        begin = time.monotonic()
        done = daemon.cli("rm", "stubborn")
        self.assertEqual(done.returncode, 0, done.stderr)
        took = time.monotonic() - begin
        self.assertGreaterEqual(took, 0.9)
        self.assertLess(took, 20)
        self.assertEqual(daemon.pod_processes(), {})

    def test_children_of_the_program_end_with_it(self):
        daemon = self.daemon
        daemon.create(job("family", ["sh", "-c", "sleep 1000 & sleep 1000 & wait"], replicas=1))
        pod = next(iter(daemon.wait_running("family", 1).values()))
        while len(daemon.pod_processes(pod["metadata"]["uid"], container=True)) < 3:
            pass
        self.remove("family")
        self.assertEqual(daemon.pod_processes(), {})

    def test_deleted_and_created_again_at_once(self):
        daemon = self.daemon
        daemon.create(job("twice", ["sleep", "1000"], replicas=2))
        old = harness.uids(daemon.wait_running("twice", 2))
        daemon.call("DELETE", harness.JOBS.format(ns="default") + "/twice")
        daemon.create(job("twice", ["sleep", "1000"], replicas=2))
        new = daemon.wait_for(
            harness.PODS.format(ns="default"),
            lambda pods: harness.uids(pods) if len(pods) == 2 and not set(harness.uids(pods).values()) & set(old.values())
            and all(p.get("status", {}).get("phase") == "Running" for p in pods.values()) else None)
        self.assertFalse(set(new.values()) & set(old.values()))
        self.remove("twice")
        self.assertEqual(daemon.pod_processes(), {})

    def test_rm_of_nothing(self):
        done = self.daemon.cli("rm", "nothing")
        self.assertEqual(done.returncode, 5)
        self.assertTrue(done.stderr.startswith("error: no job 'nothing'"), done.stderr)


if __name__ == "__main__":
    harness.main()
