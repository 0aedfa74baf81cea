#!/usr/bin/python3
"""Controller and scheduler behind a proxy that breaks things: jobs end as they would without it, with exact budgets, no pod
twice, and with no more requests than the faults account for."""
import signal
import subprocess
import unittest

from control_plane import ControlPlane
from fault_proxy import FaultProxy
from workload import Workload

CONTROLLER = ("controller", "--no-scheduler", "--namespace", "muster-system")
SCHEDULER = ("scheduler", "--namespace", "muster-system")
JOBS = 50
SKEW_S = {"controller": 3600, "scheduler": -3000}
SKEW = """
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec += SECONDS;
    return rc;
}
"""
# Of a job without any fault: 16 of the controller, 7 of the scheduler, and what a replica more costs.
REQUESTS_A_JOB = 30
OLDER = "--emulated-version=1.34"  # serves what that version did, and says to be it


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ControlPlane.of(cls).start().prepare_for_jobs()

    def skewed(self, program):
        """The environment in which its clock is wrong."""
        library = self.plane.folder / (program + "-clock.so")
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-DSECONDS=%d" % SKEW_S[program], "-shared", "-fPIC", "-x", "c", "-", "-o", library,
                        "-ldl"], input=SKEW, text=True, check=True)
        return {"LD_PRELOAD": str(library)}

    def run_behind(self, name, faults, meanwhile=None, more=0, skew=False, **how):
        proxy = FaultProxy(self.plane, faults, **how)
        self.addCleanup(proxy.stop)
        for program in (CONTROLLER, SCHEDULER):
            process = self.plane.muster(*program, name=name + "-" + program[0], account="muster-" + program[0], port=proxy.port,
                                        env=self.skewed(program[0]) if skew else None)
            self.addCleanup(process.wait)
            self.addCleanup(process.terminate)
        work = Workload(self.plane, name, JOBS)
        self.addCleanup(work.stop_playing.set)
        work.create()
        if meanwhile:
            meanwhile(proxy)
        work.check(self)
        for fault in faults:
            self.assertGreater(proxy.done[fault], 0, fault)
        struck = sum(proxy.done.values())
        asked = sum(n for (_, path), n in proxy.counts.items() if "/leases" not in path)
        # A fault costs a look again, which may write all that was planned anew, or a list of each kind.
        self.assertLess(asked, JOBS * REQUESTS_A_JOB + struck * 40 + 200 + more, (struck, asked, proxy.counts.most_common(12)))
        return proxy

    def test_refused_now_and_then(self):
        self.run_behind("refused", {409: 20, 500: 20, 503: 20, 410: 5})

    def test_busy_servers_are_asked_when_they_say(self):
        proxy = self.run_behind("busy", {429: 100})
        self.assertEqual(proxy.too_early, [])

    def test_connections_that_break(self):
        self.run_behind("broken", {"cut": 20, "lost": 30, "slow": 50})

    def test_watches_that_end(self):
        self.run_behind("watches", {"end": 30, "half": 20, "expired": 20})

    def test_answers_that_never_come(self):
        self.run_behind("stuck", {"stuck": 6}, stuck_s=600)

    def test_clocks_that_differ(self):
        self.run_behind("skewed", {"end": 10}, skew=True)

    def test_the_server_is_started_again(self):
        def restart(proxy):
            self.plane.server.send_signal(signal.SIGKILL)
            self.plane.server.wait()
            self.plane.admin.close()
            self.plane.admin.connection = None
            self.plane.start_server()

        self.run_behind("restart", {}, restart, more=1000)  # what nobody answered is asked again, ever more seldom


class ServerUpgrade(unittest.TestCase):
    run_behind = Faults.run_behind

    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls)
        plane.server_options = [OLDER]
        plane.start().prepare_for_jobs()

    def test_the_server_is_upgraded(self):
        """From a minor version to the next, in the middle of jobs."""
        plane = self.plane
        before = plane.admin.get("/version")

        def upgrade(proxy):
            plane.server.terminate()
            plane.server.wait()
            plane.admin.close()
            plane.server_command = tuple(word for word in plane.server_command if word != OLDER)
            plane.start_server()

        self.run_behind("upgrade", {}, upgrade, more=1000)
        after = plane.admin.get("/version")
        self.assertEqual((before["emulationMinor"], after["emulationMinor"]), ("34", after["minor"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
