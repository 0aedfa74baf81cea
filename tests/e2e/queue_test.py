#!/usr/bin/python3
"""Queues on real processes: quota, priority, preemption, how long a job may run; and what those who wait are told."""
import os

import harness
from harness import DaemonTest, job

QUEUES = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues"
GROUPS = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/{ns}/podgroups"
MERGE = "application/merge-patch+json"


class Queues(DaemonTest):
    options = ("--cpus", "2")

    def setUp(self):
        self.daemon.wait_for(harness.NODES, lambda nodes: any(n.get("status", {}).get("allocatable") for n in nodes.values()) or None, "the node")
        self.daemon.call("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": {"team": "x"}}}, content_type=MERGE)

    def make_queue(self, name, **spec):
        self.daemon.call("POST", QUEUES, {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "Queue", "metadata": {"name": name},
                                          "spec": {"namespaceSelector": {"matchLabels": {"team": "x"}}, **spec}})

    def submit(self, name, queue, cpu, replicas=1, command=("sleep", "1000")):
        made = job(name, list(command), replicas=replicas, cpu=cpu)
        made["spec"]["scheduler"] = {"t9kScheduler": {"queue": queue, "priority": 0}}
        self.daemon.create(made)

    def wait_job(self, name, wanted, what):
        def reached(jobs):
            status = jobs.get(name, {}).get("status", {})
            return status if wanted(status) else None
        return self.daemon.wait_for(harness.JOBS.format(ns="default"), reached, f"{name}: {what}")

    def wait_says(self, name, *words):
        return self.wait_job(name, lambda s: s.get("phase") == "Pending" and all(w in s.get("message", "") for w in words), f"to say {words}")

    def wait_queue(self, name, wanted):
        return self.daemon.wait_for(QUEUES, lambda queues: wanted(queues.get(name, {}).get("status", {})) or None, f"queue {name}")

    def test_a_quota_keeps_jobs_waiting_and_is_changed(self):
        self.make_queue("small", quota={"requests": {"cpu": "1"}})
        self.submit("one", "small", "600m")
        self.daemon.wait_running("one", 1)
        self.submit("two", "small", "600m")
        self.wait_says("two", 'waiting for the quota of queue "small": needs 600m CPU, 600m of 1 CPU are in use')
        self.submit("free", "default", "600m")  # another queue's quota is no matter of its
        self.daemon.wait_running("free", 1)
        self.wait_queue("small", lambda s: s.get("allocated") == {"cpu": "600m", "memory": "8Mi"} and s["podGroups"] == {"total": 2, "running": 1, "waiting": 1})
        self.daemon.call("PATCH", f"{QUEUES}/small", {"spec": {"quota": {"requests": {"cpu": "2"}}}}, content_type=MERGE)
        self.daemon.wait_running("two", 1)
        self.remove("one", "two", "free")

    def test_a_higher_queue_takes_the_room_of_a_lower_one(self):
        self.make_queue("low", priority=1)
        self.make_queue("high", priority=9)
        self.submit("cheap", "low", "900m", replicas=2)
        self.daemon.wait_running("cheap", 2)
        self.submit("urgent", "high", "1500m")
        self.daemon.wait_running("urgent", 1)
        status = self.wait_says("cheap", "waiting for resources", 'its room was taken by job "urgent" of queue "high" (priority 9)')
        self.assertEqual(status.get("backoffCount", 0), 0)
        self.remove("urgent")
        self.daemon.wait_running("cheap", 2)
        self.remove("cheap")

    def test_a_gang_starts_whole(self):
        self.submit("blocker", "default", "500m")
        self.daemon.wait_running("blocker", 1)
        self.submit("gang", "default", "400m", replicas=4)
        self.wait_says("gang", "needs 1600m CPU", '"blocker" (queue default) holds 500m CPU')
        self.assertEqual([p for p in self.daemon.pods("gang").values() if p["spec"].get("nodeName")], [])
        groups = {g["metadata"]["labels"]["tensorstack.dev/owner-name"]: g for g in self.daemon.list(GROUPS.format(ns="default"))}
        self.assertEqual(groups["gang"]["status"]["reason"], "InsufficientResources")
        self.remove("blocker")
        self.daemon.wait_running("gang", 4)
        self.remove("gang")

    def test_who_runs_too_long_is_paused(self):
        self.make_queue("brief", maxDuration="1s")
        self.submit("long", "brief", "100m")
        self.wait_job("long", lambda s: s.get("phase") == "Paused", "to be paused")
        self.assertTrue(self.daemon.get_job("long")["spec"]["runMode"]["pause"]["enabled"])
        self.remove("long")


class Schedulers(DaemonTest):
    """Several by mistake or for safety: one acts, another when that is gone."""
    options = ("--only", "api")

    def holder(self, lease):
        leases = self.daemon.wait_for("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                                      lambda found: found if found.get(lease, {}).get("spec", {}).get("holderIdentity") else None, f"a holder of {lease}")
        return int(leases[lease]["spec"]["holderIdentity"].split("_")[2])

    def test_another_takes_over(self):
        config = os.path.join(self.daemon.folder, "kubeconfig")
        schedulers = [self.daemon.spawn("scheduler", "--kubeconfig", config) for _ in range(2)]
        first = self.holder("muster-scheduler")
        self.assertIn(first, [s.pid for s in schedulers])
        self.daemon.spawn("controller", "--kubeconfig", config)
        self.daemon.spawn("node", "--kubeconfig", config, "--dir", self.daemon.data)
        self.daemon.create(job("one", ["sleep", "1000"], replicas=2))
        self.daemon.wait_running("one", 2)
        leader = next(s for s in schedulers if s.pid == first)
        leader.kill()
        leader.wait()
        self.daemon.create(job("two", ["sleep", "1000"], replicas=2))
        self.daemon.wait_running("two", 2)
        self.assertNotEqual(self.holder("muster-scheduler"), first)
        self.remove("one", "two")


if __name__ == "__main__":
    harness.main()
