#!/usr/bin/python3
"""Controllers and schedulers that are killed: another one takes over, in time, and nothing is done twice."""
import signal
import time
import unittest

from control_plane import ControlPlane
from faults_test import CONTROLLER, SCHEDULER
from install_test import JOBS, job
from workload import PODS, Workload

FAILOVER_S = 15
LEASES = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases"


class Leader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ControlPlane.of(cls).start().prepare_for_jobs()
        cls.count = 0
        cls.running = {"controller": cls.two(CONTROLLER), "scheduler": cls.two(SCHEDULER)}

    @classmethod
    def spawn(cls, program):
        cls.count += 1
        return cls.plane.muster(*program, name="%s-%d" % (program[0], cls.count), account="muster-" + program[0])

    @classmethod
    def two(cls, program):
        """The first leads when the second starts."""
        first = cls.spawn(program)
        holder = cls.holder("muster-" + program[0], "")
        return [first, cls.spawn(program)], holder

    @classmethod
    def holder(cls, lease, other):
        """The holder of the lease, once it is another."""
        def done(leases):
            now = leases.get(lease, {}).get("spec", {}).get("holderIdentity", "")
            return now if now != other else None

        return cls.api.wait(LEASES, done, "%s to be held" % lease)

    def kill_leader(self, program):
        """Kills the one that leads; gives when it was dead. Another one is started in its place."""
        processes, _ = self.running[program[0]]
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        dead = time.monotonic()
        self.running[program[0]] = [processes[1], self.spawn(program)], None
        return dead

    def test_another_controller_acts_in_time(self):
        self.api.create(JOBS, job("before"))
        self.api.wait(PODS, lambda pods: any(n.startswith("before-") for n in pods), "the first to act")
        dead = self.kill_leader(CONTROLLER)
        self.api.create(JOBS, job("after"))
        self.api.wait(PODS, lambda pods: any(n.startswith("after-") for n in pods), "the second to act")
        self.assertLessEqual(time.monotonic() - dead, FAILOVER_S)

    def test_another_scheduler_acts_in_time(self):
        def bound(name):
            return lambda pods: [p for n, p in pods.items() if n.startswith(name) and p["spec"].get("nodeName")]

        scheduler = {"t9kScheduler": {"queue": "default"}}
        self.api.create(JOBS, job("placed", scheduler=scheduler))
        self.api.wait(PODS, bound("placed-"), "the first to act")
        dead = self.kill_leader(SCHEDULER)
        self.api.create(JOBS, job("placed2", scheduler=scheduler))
        self.api.wait(PODS, bound("placed2-"), "the second to act")
        self.assertLessEqual(time.monotonic() - dead, FAILOVER_S)

    def killed_in_the_middle(self, name, program):
        work = Workload(self.plane, name, 100)
        self.addCleanup(work.stop_playing.set)
        work.create()
        self.api.wait(JOBS, lambda jobs: sum(n.startswith(name + "-") and o.get("status", {}).get("phase") == "Succeeded"
                                             for n, o in jobs.items()) >= 20, "the first of 100 jobs")
        self.kill_leader(program)
        work.check(self)

    def test_controller_killed_in_the_middle(self):
        self.killed_in_the_middle("cut-short", CONTROLLER)

    def test_scheduler_killed_in_the_middle(self):
        self.killed_in_the_middle("unplaced", SCHEDULER)


if __name__ == "__main__":
    unittest.main(verbosity=2)
