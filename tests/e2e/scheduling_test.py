#!/usr/bin/python3
"""Jobs start whole, first come first served; a waiting one says in one sentence what is missing."""
import os

import harness
from harness import DaemonTest, job


def cpu_milli(text):
    return int(text[:-1]) if text.endswith("m") else int(float(text) * 1000)


class Scheduling(DaemonTest):
    def setUp(self):
        self.cpu = self.daemon.wait_for(
            harness.NODES, lambda nodes: next((cpu_milli(node["status"]["allocatable"]["cpu"]) for node in nodes.values()
                                               if node.get("status", {}).get("allocatable")), None), "the node")

    def wait_why(self, name, *words):
        """Until the job waits with a message that has these words; answers the message."""
        def reached(jobs):
            status = jobs.get(name, {}).get("status", {})
            message = status.get("message", "")
            return message if status.get("phase") == "Pending" and all(w in message for w in words) else None
        return self.daemon.wait_for(harness.JOBS.format(ns="default"), reached, f"{name} to say {words}")

    def sleeper(self, name, milli, replicas=1):
        self.daemon.create(job(name, ["sleep", "1000"], replicas=replicas, cpu=f"{milli}m"))

    def scheduled(self, name):
        return [pod for pod in self.daemon.pods(name).values() if pod["spec"].get("nodeName")]

    def test_first_come_first_served(self):
        self.sleeper("first", self.cpu * 5 // 10)
        self.daemon.wait_running("first", 1)
        self.sleeper("second", self.cpu * 4 // 10, replicas=2)  # one replica would fit, the gang does not
        message = self.wait_why("second", "CPU")
        self.assertNotIn("\n", message)
        self.sleeper("third", self.cpu * 3 // 10)  # would fit, but the second could not start then when the first has ended
        self.wait_why("third", "second")
        self.assertEqual(self.scheduled("second") + self.scheduled("third"), [])
        shown = self.daemon.cli("ps")
        self.assertIn(message, shown.stdout)
        self.remove("first")
        self.daemon.wait_running("second", 2)
        self.remove("second")
        self.daemon.wait_running("third", 1)
        self.remove("third")

    def test_what_can_never_fit_blocks_no_other_job(self):
        self.sleeper("giant", self.cpu, replicas=3)
        self.wait_why("giant", "can never fit")
        self.sleeper("small", 10)
        self.daemon.wait_running("small", 1)
        self.assertEqual(self.scheduled("giant"), [])
        self.remove("giant", "small")

    def test_a_restarting_replica_keeps_its_room(self):
        go = os.path.join(self.daemon.folder, "go")
        program = f'[ "$RANK" = 1 ] && [ ! -e {go}.done ] || exec sleep 1000; ' \
                  f'while [ ! -e {go} ]; do sleep 0.05; done; touch {go}.done; exit 1'
        self.daemon.create(job("keeps", ["sh", "-c", program], replicas=2, restart="OnFailure", cpu=f"{self.cpu * 45 // 100}m"))
        self.daemon.wait_running("keeps", 2)
        self.sleeper("waits", self.cpu * 4 // 10)
        self.wait_why("waits", "CPU")
        open(go, "w").close()

        def restarted(jobs):
            status = jobs.get("keeps", {}).get("status", {})
            return status.get("backoffCount") == 1 and status.get("phase") == "Running" or None
        self.daemon.wait_for(harness.JOBS.format(ns="default"), restarted, "the replica to run again")
        self.daemon.wait_running("keeps", 2)
        self.assertEqual(self.scheduled("waits"), [])
        self.remove("keeps")
        self.daemon.wait_running("waits", 1)
        self.remove("waits")

    def test_ports_differ_and_are_given_back(self):
        for name in ("one", "two"):
            self.sleeper(name, 10, replicas=2)
        ports = set()
        for name in ("one", "two"):
            for pod in self.daemon.wait_running(name, 2).values():
                env = {e["name"]: e.get("value") for e in pod["spec"]["containers"][0]["env"]}
                ports.add((name, env["MASTER_PORT"]))
        self.assertEqual(len(ports), 2)
        self.assertEqual(len({port for _, port in ports}), 2)
        self.daemon.wait_for(harness.LEASES, lambda leases: leases.keys() == {f"master-port-{port}" for _, port in ports},
                             "their leases and none of those who are gone")
        self.remove("one", "two")
        self.daemon.wait_for(harness.LEASES, lambda leases: not leases, "leases to be given back")


class Overcommit(DaemonTest):
    options = ("--overcommit",)

    def test_overcommit_starts_what_does_not_fit(self):
        self.daemon.create(job("big", ["sleep", "1000"], replicas=4, cpu="100"))
        self.daemon.wait_running("big")
        self.remove("big")


if __name__ == "__main__":
    harness.main()
