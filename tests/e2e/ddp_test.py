#!/usr/bin/python3
"""examples/ddp trains for real: to its accuracy, and on from its checkpoint after a worker was killed."""
import os
import pathlib
import re
import signal

import harness
from torch_runs import PATIENCE, TorchTest

# The examples' own settings take a minute; these are enough for the accuracy that must be reached.
LESS = '"2", --limit, "10000", --batch-size, "24"'


class Ddp(TorchTest):
    def setUp(self):
        super().setUp()
        self.folder_of_example = self.example("ddp")

    def manifest(self, name, epochs):
        return self.edit(self.folder_of_example / name, f'--epochs, "{epochs}"', f"--epochs, {LESS}")

    def test_four_workers_train(self):
        output = self.run_job(self.manifest("job.yaml", 3))
        self.check_accuracy(output)
        for line in output.splitlines():
            self.assertRegex(line, r"^worker-[0-3] \| ")
        self.assertEqual(self.daemon.get_job("ddp")["status"]["phase"], "Succeeded")
        self.remove("ddp")

    def test_torchrun_with_two_processes_per_node(self):
        output = self.run_job(self.manifest("job-torchrun.yaml", 2))
        self.check_accuracy(output)
        # Which node has which ranks is torchrun's choice; two each, and neighbours.
        ranks = {node: sorted(set(re.findall(rf"(?m)^node-{node} \| \[rank (\d)\] ", output))) for node in range(2)}
        self.assertEqual(sorted(ranks.values()), [["0", "1"], ["2", "3"]])
        self.assertIn("with 4 workers", output)
        self.remove("ddp-torchrun")

    def test_killed_worker_restarts_all_from_the_checkpoint(self):
        daemon = self.daemon
        runner, output = self.start_job(self.manifest("job-restart.yaml", 2))
        before = daemon.wait_running("ddp-restart", patience=PATIENCE)
        checkpoint = pathlib.Path(self.folder_of_example, "out/restart/checkpoint.pt")
        while not checkpoint.exists():  # written by the program: there is no event to wait for but the file
            self.assertIsNone(runner.poll(), output.read_text()[-3000:])
            harness.time.sleep(0.02)
        victim = before[sorted(before)[3]]
        processes = daemon.pod_processes(victim["metadata"]["uid"], container=True)
        os.kill(min(processes), signal.SIGKILL)
        after = daemon.wait_for(
            harness.PODS.format(ns="default"),
            lambda pods: pods if len(pods) == 4 and not set(harness.uids(pods).values()) & set(harness.uids(before).values())
            else None, "all four to be replaced", PATIENCE)
        self.assertEqual(sorted(after), sorted(before))
        self.assertEqual(runner.wait(PATIENCE), 0, output.read_text()[-3000:])
        status = daemon.get_job("ddp-restart")["status"]
        self.assertEqual((status["phase"], status["backoffCount"]), ("Succeeded", 1))
        text = output.read_text()
        for worker in range(4):
            self.assertRegex(text, rf"worker-{worker} \| .*resumed from checkpoint")
        self.check_accuracy(text)
        self.remove("ddp-restart")


if __name__ == "__main__":
    harness.main()
