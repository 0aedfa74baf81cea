#!/usr/bin/python3
"""One process: four replicas start, and one that is killed is replaced alone."""
import os
import signal

import harness
from harness import DaemonTest, job, uids


class KillOneReplica:
    """What must hold however the parts are spread over processes."""

    def check_kill_one(self):
        daemon = self.daemon
        daemon.create(job("sleepers", ["sleep", "1000"], restart="OnFailure"))
        before = daemon.wait_running("sleepers")
        daemon.wait_phase("sleepers", "Running")
        victim = sorted(before)[2]
        uid = before[victim]["metadata"]["uid"]
        processes = daemon.pod_processes(uid, container=True)
        self.assertEqual(len(processes), 1, processes)
        os.kill(next(iter(processes)), signal.SIGKILL)
        after = daemon.wait_for(
            harness.PODS.format(ns="default"),
            lambda pods: pods if len(pods) == 4 and pods[victim]["metadata"]["uid"] != uid
            and all(p.get("status", {}).get("phase") == "Running" for p in pods.values()) else None,
            "the replacement to run")
        old, new = uids(before), uids(after)
        self.assertEqual({n for n in old if old[n] != new[n]}, {victim})
        status = daemon.wait_for(
            harness.JOBS.format(ns="default"),
            lambda jobs: jobs["sleepers"]["status"] if jobs["sleepers"]["status"].get("aggregate", {}).get("running") == 4
            else None)
        self.assertEqual(status["backoffCount"], 1)
        self.assertEqual(status["phase"], "Running")
        self.assertEqual(len(daemon.pod_processes(container=True)), 4)
        self.remove("sleepers")
        self.assertEqual(daemon.pod_processes(), {})

    def check_environment(self):
        """Each replica sees its rank, and the same master."""
        daemon = self.daemon
        daemon.create(job("env", ["sh", "-c", "echo $RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT $PYTHONUNBUFFERED"],
                          run_policy={"cleanUpPolicy": "None"}))
        daemon.wait_phase("env", "Succeeded")
        daemon.wait_for(harness.PODS.format(ns="default"),
                        lambda pods: pods and all(p["status"]["phase"] == "Succeeded" for p in pods.values()))
        seen = [daemon.log(name).split() for name in sorted(daemon.pods("env"))]
        self.assertEqual([words[0] for words in seen], ["0", "1", "2", "3"])
        self.assertEqual({words[1] for words in seen}, {"4"})
        self.assertEqual(len({(words[2], words[3]) for words in seen}), 1)
        self.assertEqual({words[4] for words in seen}, {"1"})
        self.remove("env")


class AllInOne(KillOneReplica, DaemonTest):
    def test_files_of_objects_follow_them_in_a_running_pod(self):
        """An operator writes the certificate that it mounts after it was started."""
        maps, secrets, pods = (f"/api/v1/namespaces/default/{plural}" for plural in ("configmaps", "secrets", "pods"))
        self.daemon.call("POST", maps, {"metadata": {"name": "follows"}, "data": {"a": "old", "b": "goes", ".c": "stays"}})
        self.daemon.call("POST", secrets, {"metadata": {"name": "follows"}})
        wanted = "new stays 1 key new"
        self.daemon.call("POST", pods, {"metadata": {"name": "follows", "labels": {"n": "0"}}, "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "none", "command": [
                "sh", "-c", "echo started; cd /tmp/muster-follows; until [ ! -e map/b ] && [ \"$(cat map/a map/.c 2>/dev/null | xargs) "
                f"$(grep -o [0-9] own/labels) $(cat secret/k all/x/y 2>/dev/null | xargs)\" = '{wanted}' ]; do sleep 0.1; done"],
                "volumeMounts": [{"name": name, "mountPath": f"/tmp/muster-follows/{name}"} for name in ("map", "secret", "own", "all")]}],
            "volumes": [{"name": "map", "configMap": {"name": "follows"}},
                        {"name": "secret", "secret": {"secretName": "follows"}},
                        {"name": "own", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                        {"name": "all", "projected": {"sources": [
                            {"configMap": {"name": "follows", "items": [{"key": "a", "path": "x/y"}]}}]}}]}})
        self.daemon.wait_for(pods, lambda found: found["follows"]["status"].get("phase") == "Running" or None)
        merge = {"content_type": "application/merge-patch+json"}
        self.daemon.call("PATCH", f"{maps}/follows", {"data": {"a": "new\n", ".c": "stays\n", "b": None}}, **merge)
        self.daemon.call("PATCH", f"{secrets}/follows", {"stringData": {"k": "key\n"}}, **merge)
        self.daemon.call("PATCH", f"{pods}/follows", {"metadata": {"labels": {"n": "1"}}}, **merge)
        self.daemon.wait_for(pods, lambda found: found["follows"]["status"].get("phase") == "Succeeded" or None)
        for path in (f"{maps}/follows", f"{secrets}/follows", f"{pods}/follows"):
            self.daemon.call("DELETE", path)

    def test_killed_replica_is_replaced_alone(self):
        self.check_kill_one()

    def test_replicas_see_their_rank(self):
        self.check_environment()

    def test_budget_is_never_exceeded(self):
        """Four replicas that always fail, budget 2: two restarts in all, then Failed."""
        daemon = self.daemon
        daemon.create(job("crash", ["sh", "-c", "echo attempt; exit 7"], restart="OnFailure",
                          run_policy={"backoffLimit": 2}))
        status = daemon.wait_phase("crash", "Failed")["status"]
        self.assertEqual(status["backoffCount"], 2)
        self.assertIn("7", status["message"])
        self.remove("crash")


if __name__ == "__main__":
    harness.main()
