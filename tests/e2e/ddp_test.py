#!/usr/bin/python3
"""examples/ddp trains for real: to its accuracy, and on from its checkpoint after a worker was killed."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import harness
from harness import DaemonTest

VENV = harness.ROOT / "build/venv/bin"
PATIENCE = 240
EXAMPLE = harness.ROOT / "examples/ddp"


class Ddp(DaemonTest):
    options = ("--overcommit",)  # the machine of the tests may be smaller than the example asks for
    environment = {"PATH": f"{VENV}:{os.environ['PATH']}"}

    def setUp(self):
        self.assertTrue((VENV / "python").exists(), "tools/setup.sh demo makes build/venv")
        # A copy: a run leaves checkpoints in its folder, and two suites must not share them.
        self.example = os.path.join(self.daemon.folder, "ddp")
        shutil.rmtree(self.example, ignore_errors=True)
        shutil.copytree(EXAMPLE, self.example, ignore=shutil.ignore_patterns("out", "__pycache__"))

    def accuracies(self, text):
        return [float(found) for found in re.findall(r"accuracy[^0-9]*([0-9]+\.[0-9]+)", text)]

    def check_accuracy(self, text):
        found = self.accuracies(text)
        self.assertTrue(found, text[-2000:])
        best = found[-1] / 100 if found[-1] > 1 else found[-1]
        self.assertGreaterEqual(best, 0.80)

    def test_four_workers_train(self):
        done = self.daemon.cli("run", os.path.join(self.example, "job.yaml"), timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.check_accuracy(done.stdout)
        for line in done.stdout.splitlines():
            self.assertRegex(line, r"^worker-[0-3] \| ")
        self.assertEqual(self.daemon.get_job("ddp")["status"]["phase"], "Succeeded")
        self.remove("ddp")

    def test_torchrun(self):
        done = self.daemon.cli("run", os.path.join(self.example, "job-torchrun.yaml"), timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:] + done.stdout[-3000:])
        self.check_accuracy(done.stdout)
        self.remove("ddp-torchrun")

    def test_killed_worker_restarts_all_from_the_checkpoint(self):
        daemon = self.daemon
        output = open(os.path.join(daemon.folder, "restart.txt"), "w+")
        runner = daemon.spawn("run", os.path.join(self.example, "job-restart.yaml"), stdout=output, stderr=subprocess.STDOUT)
        before = daemon.wait_running("ddp-restart", patience=PATIENCE)
        checkpoint = pathlib.Path(self.example, "out/restart/checkpoint.pt")
        while not checkpoint.exists():  # written by the program: there is no event to wait for but the file
            self.assertIsNone(runner.poll(), pathlib.Path(output.name).read_text()[-3000:])
        victim = before[sorted(before)[3]]
        processes = daemon.pod_processes(victim["metadata"]["uid"], container=True)
        os.kill(min(processes), signal.SIGKILL)
        after = daemon.wait_for(
            harness.PODS.format(ns="default"),
            lambda pods: pods if len(pods) == 4 and not set(harness.uids(pods).values()) & set(harness.uids(before).values())
            else None, "all four to be replaced", PATIENCE)
        self.assertEqual(sorted(after), sorted(before))
        self.assertEqual(runner.wait(PATIENCE), 0, pathlib.Path(output.name).read_text()[-3000:])
        status = daemon.get_job("ddp-restart")["status"]
        self.assertEqual((status["phase"], status["backoffCount"]), ("Succeeded", 1))
        output.seek(0)
        text = output.read()
        output.close()
        for worker in range(4):
            self.assertRegex(text, rf"worker-{worker} \| .*resumed from checkpoint")
        self.check_accuracy(text)
        self.remove("ddp-restart")


if __name__ == "__main__":
    harness.main()
