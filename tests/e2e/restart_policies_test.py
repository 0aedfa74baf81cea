#!/usr/bin/python3
"""Each restart policy with a program that exits as instructed: what is restarted, what it costs, how the job ends."""
import pathlib

import harness
from harness import DaemonTest, job

PROGRAM = str(harness.ROOT / "tests/e2e/programs/exits.sh")

# policy, what the runs of the one replica end with, runPolicy, phase, runs, restarts
CASES = [
    ("Never", ["0"], {}, "Succeeded", 1, 0),
    ("Never", ["1"], {}, "Failed", 1, 0),
    ("Never", ["137"], {}, "Failed", 1, 0),
    ("OnFailure", ["0"], {}, "Succeeded", 1, 0),
    ("OnFailure", ["1", "KILL"], {}, "Succeeded", 3, 2),
    ("OnFailure", ["1", "2"], {"backoffLimit": 1}, "Failed", 2, 1),
    ("OnFailure", ["1"], {"backoffLimit": 0}, "Failed", 1, 0),
    ("Always", ["0", "0", "0"], {"backoffLimit": 2}, "Succeeded", 3, 2),
    ("Always", ["1", "0", "5"], {"backoffLimit": 2}, "Failed", 3, 2),
    ("ExitCode", ["0"], {}, "Succeeded", 1, 0),
    ("ExitCode", ["130"], {}, "Succeeded", 2, 1),
    ("ExitCode", ["137"], {}, "Succeeded", 2, 1),
    ("ExitCode", ["138"], {}, "Succeeded", 2, 1),
    ("ExitCode", ["143"], {}, "Succeeded", 2, 1),
    ("ExitCode", ["INT"], {}, "Succeeded", 2, 1),
    ("ExitCode", ["KILL"], {}, "Succeeded", 2, 1),
    ("ExitCode", ["TERM"], {}, "Succeeded", 2, 1),
    ("ExitCode", ["1"], {}, "Failed", 1, 0),
    ("ExitCode", ["139"], {}, "Failed", 1, 0),
    ("ExitCode", ["SEGV"], {}, "Failed", 1, 0),
    ("ExitCode", ["138", "1"], {}, "Failed", 2, 1),
    # codes of the job's own, besides the four
    ("ExitCode", ["42", "139"], {"restartableExitCodes": [42, 139]}, "Succeeded", 3, 2),
    ("ExitCode", ["143"], {"restartableExitCodes": [42]}, "Succeeded", 2, 1),
    ("ExitCode", ["41"], {"restartableExitCodes": [42]}, "Failed", 1, 0),
    ("Never", ["42"], {"restartableExitCodes": [42]}, "Failed", 1, 0),
]
SIGNALS = {"INT": 130, "KILL": 137, "TERM": 143, "SEGV": 139}


def single(name, policy, plan, count, run_policy=None, replicas=1):
    what = job(name, ["sh", PROGRAM, *plan], replicas=replicas, restart=policy, run_policy=run_policy)
    what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["env"] = [{"name": "COUNT", "value": count}]
    return what


class RestartPolicies(DaemonTest):
    options = ("--overcommit",)

    def count_file(self, name):
        return str(pathlib.Path(self.daemon.folder, f"count-{name}"))

    def runs(self, name, rank=0):
        return len(pathlib.Path(f"{self.count_file(name)}.{rank}").read_text().splitlines())

    def test_every_policy(self):
        names = [f"case-{i}" for i in range(len(CASES))]
        for name, (policy, plan, run_policy, *_) in zip(names, CASES):
            self.daemon.create(single(name, policy, plan, self.count_file(name), run_policy))
        for name, (policy, plan, run_policy, phase, runs, restarts) in zip(names, CASES):
            with self.subTest(f"{policy} {plan} {run_policy}"):
                status = self.daemon.wait_phase(name, phase)["status"]
                self.assertEqual((self.runs(name), status.get("backoffCount", 0)), (runs, restarts))
                self.assertEqual(status["tasks"][0].get("restartCount", 0), restarts)
                if phase == "Failed":
                    code = SIGNALS.get(plan[-1], plan[-1])
                    self.assertIn(f"-worker-0 failed with exit code {code}", status["message"])

    def test_another_replicas_failure_does_not_end_the_job(self):
        """A worker fails for good: the job says so and goes on; the master's end is the job's."""
        what = job("others", ["sh", "-c", "[ $RANK = 0 ] || exit 3; until [ -e $GO ]; do sleep 0.05; done"], replicas=3)
        go = pathlib.Path(self.daemon.folder, "go")
        what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["env"] = [{"name": "GO", "value": str(go)}]
        self.daemon.create(what)
        status = self.daemon.wait_for(
            harness.JOBS.format(ns="default"), lambda jobs: jobs["others"]["status"]  # the master may begin last
            if {"failed": 2, "running": 1}.items() <= jobs["others"].get("status", {}).get("aggregate", {}).items() else None)
        self.assertEqual(status["phase"], "Running")
        failure = next(c for c in status["conditions"] if c["type"] == "ReplicaFailure")
        self.assertEqual(failure["status"], "True")
        self.assertIn("failed with exit code 3", failure["message"])
        go.touch()
        self.daemon.wait_phase("others", "Succeeded")


if __name__ == "__main__":
    harness.main()
