#!/usr/bin/python3
"""examples/ps trains for real: a parameter server first, then workers, over torch's RPC."""
import os
import pathlib
import signal

import harness
from torch_runs import PATIENCE, TorchTest


class ParameterServer(TorchTest):
    def manifest(self, options):
        self.path = self.example("ps")
        return self.edit(self.path / "job.yaml", '--epochs, "2"', f"--epochs, {options}")

    def test_ps_then_workers(self):
        output = self.run_job(self.manifest('"2", --limit, "10000", --batch-size, "32"'))
        self.check_accuracy(output, 0.75)
        self.assertRegex(output, r"(?m)^ps-0 \s*\| serving parameters to 4 workers")
        for index in range(4):  # ps-0 has rank 0, so worker-0 has rank 1
            self.assertRegex(output, rf"(?m)^worker-{index} \| worker {index + 1} of 4 has joined")
            self.assertRegex(output, rf"(?m)^worker-{index} \| worker {index + 1} is done after [1-9]")
        job = self.daemon.get_job("ps")
        self.assertEqual(job["status"]["phase"], "Succeeded")
        self.assertEqual([(task["type"], len(task["replicas"])) for task in job["status"]["tasks"]],
                         [("ps", 1), ("worker", 4)])
        pods = self.daemon.pods("ps")
        masters = [pod["metadata"]["labels"]["replica-type"] for pod in pods.values()
                   if pod["metadata"]["labels"].get("job-role") == "master"]
        self.assertEqual(masters, ["ps"])
        self.remove("ps")

    def test_killed_worker_restarts_all_from_the_servers_checkpoint(self):
        daemon = self.daemon
        manifest = self.manifest('"1", --limit, "6400", --batch-size, "32", --checkpoint-every, "20"')
        runner, output = self.start_job(manifest)
        before = daemon.wait_running("ps", 5, patience=PATIENCE)
        checkpoint = pathlib.Path(self.path, "out/checkpoint.pt")
        while not checkpoint.exists():
            self.assertIsNone(runner.poll(), output.read_text()[-3000:])
            harness.time.sleep(0.02)
        victim = next(pod for name, pod in before.items() if name.endswith("-worker-2"))
        os.kill(min(daemon.pod_processes(victim["metadata"]["uid"], container=True)), signal.SIGKILL)
        self.wait_text(runner, output, r"^ps-0 .*resumed from checkpoint at step [1-9]")
        self.assertEqual(runner.wait(PATIENCE), 0, output.read_text()[-3000:])
        self.assertEqual(daemon.get_job("ps")["status"]["backoffCount"], 1)
        self.remove("ps")


if __name__ == "__main__":
    harness.main()
