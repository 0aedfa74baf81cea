#!/usr/bin/python3
"""A job is paused in mid-training and resumed: its processes are asked to stop, and training goes on where it was."""
import harness
from torch_runs import PATIENCE, TorchTest

# The shell notes the signal; without it the program would just be gone.
FIRST = ("trap 'echo TERM >stopped-'$RANK'; kill $pid; wait $pid; exit 143' TERM; "
         "python train.py --out out --epochs 2 --limit 4000 --batch-size 20 --checkpoint-every 5 --step-delay-ms 100 & "
         "pid=$!; wait $pid")
JOB = f"""\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: pausing
spec:
  runMode:
    pause:
      enabled: false
      resumeSpecs:
      - type: worker
        command: [python]
        args: [train.py, --out, out, --epochs, "2", --limit, "4000", --batch-size, "20", --log-every, "7"]
  replicaSpecs:
  - type: worker
    replicas: 2
    restartPolicy: OnFailure
    template:
      spec:
        terminationGracePeriodSeconds: 60
        containers:
        - name: pytorch
          command: [sh, -c]
          args:
          - |
            {FIRST}
          resources: {{requests: {{cpu: 250m, memory: 512Mi}}}}
"""


class Pause(TorchTest):
    def pause(self, on):
        self.daemon.call("PATCH", f"{harness.JOBS.format(ns='default')}/pausing",
                         {"spec": {"runMode": {"pause": {"enabled": on}}}}, content_type="application/merge-patch+json")

    def condition(self, kind):
        return next(c for c in self.daemon.get_job("pausing")["status"]["conditions"] if c["type"] == kind)

    def test_pause_and_resume_in_mid_training(self):
        daemon = self.daemon
        path = self.example("ddp")
        (path / "pausing.yaml").write_text(JOB)
        runner, output = self.start_job(path / "pausing.yaml")
        before = daemon.wait_running("pausing", 2)
        while not (path / "out/checkpoint.pt").exists():
            self.assertIsNone(runner.poll(), output.read_text()[-3000:])
            harness.time.sleep(0.02)
        self.pause(True)
        daemon.wait_phase("pausing", "Paused")
        daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: True if not pods else None, "the pods to be gone")
        self.assertEqual(daemon.pod_processes(), {})
        for rank in range(2):
            self.assertEqual((path / f"stopped-{rank}").read_text(), "TERM\n")
        status = daemon.get_job("pausing")["status"]
        self.assertEqual((status["phase"], status["reason"]), ("Paused", "Paused"))
        self.assertEqual(self.condition("Paused")["status"], "True")
        self.assertIsNone(runner.poll())

        self.pause(False)
        after = daemon.wait_running("pausing", 2)
        self.assertEqual(sorted(after), sorted(before))
        for pod in after.values():
            container = pod["spec"]["containers"][0]
            self.assertEqual((container["command"], container["args"][-2:]), (["python"], ["--log-every", "7"]))
        self.assertEqual(runner.wait(PATIENCE), 0, output.read_text()[-3000:])
        text = output.read_text()
        for rank in range(2):
            self.assertRegex(text, rf"(?m)^worker-{rank} \| resumed from checkpoint at epoch \d+ step \d+")
        self.assertIn("test accuracy:", text)
        status = daemon.get_job("pausing")["status"]
        self.assertEqual((status["phase"], status.get("backoffCount", 0)), ("Succeeded", 0))
        self.assertEqual(self.condition("Paused")["status"], "False")
        self.remove("pausing")

    def test_resume_specs_are_refused_on_update(self):
        self.daemon.create({
            "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": "pausing"},
            "spec": {"runMode": {"pause": {"enabled": True, "resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
                     "replicaSpecs": [{"type": "worker", "template": {"spec": {"containers": [
                         {"name": "python", "command": ["true"]}]}}}]}})
        self.daemon.wait_phase("pausing", "Paused")
        self.assertEqual(self.daemon.pods("pausing"), {})
        code, text = self.daemon.request(
            "PATCH", f"{harness.JOBS.format(ns='default')}/pausing",
            {"spec": {"runMode": {"pause": {"resumeSpecs": [{"type": "worker", "args": ["b"]}]}}}},
            content_type="application/merge-patch+json")
        self.assertEqual(code, 422, text)
        self.assertIn(b"spec.runMode.pause.resumeSpecs", text)


if __name__ == "__main__":
    harness.main()
