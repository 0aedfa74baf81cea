#!/usr/bin/python3
"""Elastic torchrun, 1 to 3 nodes: it loses a node and gets it back, and the others' pods are not touched.

torchrun notices a node that is gone after 15 s without a sign of life; nothing here can make that shorter.
"""
import os
import re
import signal

import harness
from torch_runs import PATIENCE, TorchTest

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: {name}
spec:
  elastic: {{enabled: true, minReplicas: 1, maxReplicas: 3, expectedReplicas: 3}}
  torchrunConfig:
    enabled: true
    maxRestarts: 20
    procPerNode: "1"
    rdzvBackend: c10d
    extraOptions: [--rdzv_conf, "last_call_timeout=1"]
  replicaSpecs:
  - type: node
    replicas: 3
    restartPolicy: OnFailure
    template:
      spec:
        terminationGracePeriodSeconds: 2
        containers:
        - name: pytorch
          args: [elastic.py]
          resources: {{requests: {{cpu: 100m, memory: 128Mi}}}}
"""


class Run:
    """One elastic job that is followed."""

    def __init__(self, test, name):
        self.test, self.daemon, self.name = test, test.daemon, name
        self.path = test.folder(name)
        test.program("elastic.py", self.path)
        manifest = self.path / f"{name}.yaml"
        manifest.write_text(JOB.format(name=name))
        self.runner, self.output = test.start_job(manifest)
        self.seen = 0

    def wait_group(self, size):
        """Until a group of size has begun to train since the last look; answers the step it goes on from."""
        until = harness.time.monotonic() + PATIENCE
        while True:
            text = self.output.read_text()
            found = re.findall(rf"group of {size}: rank \d+ goes on from step (\d+)", text[self.seen:])
            if len(found) >= size:
                self.seen = len(text)
                return int(found[-1])
            self.test.assertIsNone(self.runner.poll(), text[-4000:])
            self.test.assertLess(harness.time.monotonic(), until, f"no group of {size}:\n{text[self.seen:][-4000:]}")
            harness.time.sleep(0.05)

    def wait_checkpoint(self):
        while not (self.path / "checkpoint.pt").exists():
            self.test.assertIsNone(self.runner.poll(), self.output.read_text()[-4000:])
            harness.time.sleep(0.02)

    def wait_pods(self, count):
        return harness.uids(self.daemon.wait_running(self.name, count, patience=PATIENCE))

    def kill(self, uid):
        for pid in self.daemon.main_processes(uid):
            os.kill(pid, signal.SIGKILL)

    def scale(self, count):
        self.daemon.call("PATCH", f"{harness.JOBS.format(ns='default')}/{self.name}",
                         {"spec": {"elastic": {"expectedReplicas": count}}},
                         content_type="application/merge-patch+json")

    def restarts(self):
        return self.daemon.get_job(self.name)["status"].get("backoffCount", 0)

    def finish(self):
        (self.path / "finish").touch()
        self.test.assertEqual(self.runner.wait(PATIENCE), 0, self.output.read_text()[-3000:])
        self.test.assertRegex(self.output.read_text(), r"finished with 3 after step \d+")
        self.test.assertEqual(self.daemon.get_job(self.name)["status"]["phase"], "Succeeded")


def last_of(pods):
    return next(name for name in pods if name.endswith("-node-2"))


class Elastic(TorchTest):
    def test_a_node_is_lost_and_regained(self):
        """Two jobs side by side, as they mostly wait: of one a node is killed and replaced, the other is scaled."""
        killed, scaled = Run(self, "killed"), Run(self, "scaled")
        before = {run: run.wait_pods(3) for run in (killed, scaled)}
        for run in before:
            run.wait_group(3)
            run.wait_checkpoint()
        killed.kill(before[killed][last_of(before[killed])])
        scaled.scale(2)
        self.check_killed(killed, before[killed])
        self.check_scaled(scaled, before[scaled])
        for run in before:
            run.finish()

    def check_killed(self, run, before):
        """The job replaces the node for one restart, and torchrun takes it in again."""
        self.assertGreater(run.wait_group(3), 0)
        after = run.wait_pods(3)
        self.assertEqual({name for name in before if before[name] != after.get(name)}, {last_of(before)})
        self.assertEqual(run.restarts(), 1)

    def check_scaled(self, run, before):
        """Training goes on with two, then with three again; the other two pods are the same all the time."""
        step = run.wait_group(2)
        self.assertGreater(step, 0)
        fewer = run.wait_pods(2)
        self.assertEqual(fewer, {name: uid for name, uid in before.items() if name != last_of(before)})
        run.scale(3)
        self.assertGreater(run.wait_group(3), step)
        after = run.wait_pods(3)
        self.assertEqual(sorted(after), sorted(before))
        self.assertEqual({name: after[name] for name in fewer}, fewer)
        self.assertEqual(run.restarts(), 0)  # scaling is no failure


if __name__ == "__main__":
    harness.main()
