#!/usr/bin/python3
"""A program ends by itself as its job is preempted, and the daemon is killed around it: the end counts, once.

Which came first is no race here: those who watch over the program are stopped while it ends and while its pod is evicted."""
import os
import pathlib
import select
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import DaemonTest, job  # noqa: E402

# The first run ends when it is told through the pipe, with the code given; any later one at once, and well.
PROGRAM = """
import os, signal, sys
runs, pipe, code = sys.argv[1:]
with open(runs, "a") as out:
    first = out.tell() == 0
    print("run", file=out)
if first:
    with open(pipe) as events:
        events.read(1)
    os._exit(int(code))
"""


def in_queue(what, queue):
    what["spec"]["scheduler"] = {"t9kScheduler": {"queue": queue}}
    return what


def is_dead(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


class PreemptedEnd(DaemonTest):
    options = ("--cpus", "2")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = cls.daemon.cli("queue", "create", "high", "--priority", "50")
        assert made.returncode == 0, made.stderr

    def signal_supervisors(self, pids, number):
        for pid in pids:
            os.kill(pid, number)

    def end_while_preempted(self, name, code, kills):
        """The job's status when it is over, and how often its program ran. kills: where the daemon is killed."""
        daemon = self.daemon
        runs, pipe = (os.path.join(daemon.folder, f"{name}.{end}") for end in ("runs", "pipe"))
        os.mkfifo(pipe)
        daemon.create(in_queue(job(name, ["/usr/bin/python3", "-c", PROGRAM, runs, pipe, str(code)], replicas=1,
                                   restart="OnFailure", cpu="2"), "default"))
        (pod,) = daemon.wait_running(name, 1).values()
        with open(pipe, "w") as events:  # opened when it reads
            uid = pod["metadata"]["uid"]
            (program,) = daemon.main_processes(uid)
            watchers = [pid for pid, line in daemon.pod_processes(uid).items() if "supervise" in line]
            self.signal_supervisors(watchers, signal.SIGSTOP)
            events.write("x")
        end = os.pidfd_open(program)
        select.select([end], [], [], harness.PATIENCE)
        os.close(end)
        self.assertTrue(is_dead(program))
        daemon.create(in_queue(job(f"{name}-high", ["true"], replicas=1, cpu="2"), "high"))
        daemon.wait_for(harness.PODS.format(ns="default"),
                        lambda pods: pods[pod["metadata"]["name"]]["metadata"].get("deletionTimestamp"), "the eviction")
        if "before" in kills:
            daemon.kill()
            daemon.start()
        self.signal_supervisors(watchers, signal.SIGCONT)
        if "after" in kills:
            daemon.kill()
            daemon.start()
        status = daemon.wait_phase(name, "Succeeded")["status"]
        daemon.wait_phase(f"{name}-high", "Succeeded")
        self.remove(name, f"{name}-high")
        return status, len(pathlib.Path(runs).read_text().split())

    def test_a_success_is_not_run_again(self):
        for kills in ((), ("before",), ("after",), ("before", "after")):
            with self.subTest(kills=kills):
                status, runs = self.end_while_preempted("well-" + "-".join(kills or ("alone",)), 0, kills)
                self.assertEqual((status.get("backoffCount", 0), runs), (0, 1))

    def test_a_failure_is_charged(self):
        for kills in ((), ("before",), ("after",), ("before", "after")):
            with self.subTest(kills=kills):
                status, runs = self.end_while_preempted("badly-" + "-".join(kills or ("alone",)), 1, kills)
                self.assertEqual((status.get("backoffCount", 0), runs), (1, 2))


if __name__ == "__main__":
    harness.main()
