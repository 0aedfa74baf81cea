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


class Elastic(TorchTest):
    def start(self, name):
        self.path = self.folder(name)
        self.program("elastic.py", self.path)
        manifest = self.path / f"{name}.yaml"
        manifest.write_text(JOB.format(name=name))
        self.runner, self.output = self.start_job(manifest)

    def wait_group(self, size, after=0):
        """Until a group of size trains that began behind that many characters of output; answers the step it goes on
        from, and where to look from next."""
        pattern = rf"group of {size}: rank \d+ goes on from step (\d+)"
        until = harness.time.monotonic() + PATIENCE
        while True:
            text = self.output.read_text()
            found = re.findall(pattern, text[after:])
            if len(found) >= size:
                return int(found[-1]), len(text)
            self.assertIsNone(self.runner.poll(), text[-4000:])
            self.assertLess(harness.time.monotonic(), until, f"no group of {size}:\n{text[after:][-4000:]}")
            harness.time.sleep(0.05)

    def wait_checkpoint(self):
        while not (self.path / "checkpoint.pt").exists():
            self.assertIsNone(self.runner.poll(), self.output.read_text()[-4000:])
            harness.time.sleep(0.02)

    def finish(self, name):
        (self.path / "finish").touch()
        self.assertEqual(self.runner.wait(PATIENCE), 0, self.output.read_text()[-3000:])
        self.assertRegex(self.output.read_text(), r"finished with 3 after step \d+")
        self.assertEqual(self.daemon.get_job(name)["status"]["phase"], "Succeeded")
        self.remove(name)

    def test_killed_node_is_replaced_and_comes_back(self):
        daemon = self.daemon
        self.start("killed")
        before = daemon.wait_running("killed", 3, patience=PATIENCE)
        _, seen = self.wait_group(3)
        self.wait_checkpoint()
        victim = next(name for name in before if name.endswith("-node-2"))
        for pid in daemon.main_processes(before[victim]["metadata"]["uid"]):
            os.kill(pid, signal.SIGKILL)
        step, _ = self.wait_group(3, seen)
        self.assertGreater(step, 0)
        after = daemon.wait_running("killed", 3)
        old, new = harness.uids(before), harness.uids(after)
        self.assertEqual({name for name in old if old[name] != new.get(name)}, {victim})
        self.assertEqual(daemon.get_job("killed")["status"]["backoffCount"], 1)
        self.finish("killed")

    def test_scaled_down_and_up_again(self):
        daemon = self.daemon
        self.start("scaled")
        before = daemon.wait_running("scaled", 3, patience=PATIENCE)
        _, seen = self.wait_group(3)
        self.wait_checkpoint()
        self.scale("scaled", 2)
        step, seen = self.wait_group(2, seen)
        self.assertGreater(step, 0)
        fewer = daemon.wait_running("scaled", 2)
        self.assertEqual({n: u for n, u in harness.uids(before).items() if not n.endswith("-node-2")},
                         harness.uids(fewer))
        self.scale("scaled", 3)
        self.assertGreater(self.wait_group(3, seen)[0], step)
        after = daemon.wait_running("scaled", 3)
        self.assertEqual(sorted(after), sorted(before))
        for name, uid in harness.uids(fewer).items():
            self.assertEqual(after[name]["metadata"]["uid"], uid)
        # scaling is no failure
        self.assertEqual(daemon.get_job("scaled")["status"].get("backoffCount", 0), 0)
        self.finish("scaled")

    def scale(self, name, count):
        self.daemon.call("PATCH", f"{harness.JOBS.format(ns='default')}/{name}",
                         {"spec": {"elastic": {"expectedReplicas": count}}},
                         content_type="application/merge-patch+json")


if __name__ == "__main__":
    harness.main()
