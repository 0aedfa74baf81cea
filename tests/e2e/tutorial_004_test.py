#!/usr/bin/python3
"""The fields of the PyTorchTrainingJob tutorial, pasted as they stand there: each does what is said of it.

A line with nothing but dots stands, as in the tutorial, for what is left out. A snippet that begins with `spec:` is
added to the basic example; one that names replicaSpecs itself takes the place of its spec.
"""
import os
import pathlib
import re
import shutil
import subprocess

import harness
from torch_runs import TorchTest

BASIC = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: pytorch-example
spec:
  replicaSpecs:
  - replicas: 4
    restartPolicy: OnFailure
    template:
      spec:
        containers:
        - command:
          - python
          - dist_mnist.py
          image: pytorch/pytorch:2.0.0-cuda11.7-cudnn8-devel
          name: pytorch
    type: worker
"""

TORCHRUN = """\
spec:
  torchrunConfig:
    enable: true
    minNodes: 1
    maxRestarts: 10
    procPerNode: "1"
    rdzvBackend: c10d
    extraOptions: []
"""

BEST_PRACTICE = """\
...
spec:
  torchrunConfig:
    enable: false
    minNodes: 1
    maxRestarts: 10
    procPerNode: "1"
    rdzvBackend: c10d
    extraOptions: []
  replicaSpecs:
  - replicas: 4
    restartPolicy: OnFailure
    template:
      spec:
        containers:
        - command:
          - python
          args:
          - dist_mnist.py
          image: pytorch/pytorch:2.0.0-cuda11.7-cudnn8-devel
          name: pytorch
    type: worker
...
"""

MODULE = """\
...
spec:
  torchrunConfig:
    enable: false
    ...
  replicaSpecs:
  - replicas: 4
    restartPolicy: OnFailure
    template:
      spec:
        containers:
        - command:
          - python
          args:
          - -m
          - training.module
          image: pytorch/pytorch:2.0.0-cuda11.7-cudnn8-devel
          name: pytorch
    type: worker
...
"""

SCHEDULER = """\
...
spec:
  scheduler:
    t9kScheduler:
      queue: default
      priority: 50
"""

TENSORBOARD = """\
...
spec:
  tensorboardSpec:
    image: t9kpublic/tensorboard:2.11.0
    trainingLogFilesets:
    - t9k://pvc/torch-tensorboard-pvc/log
"""

DEBUG_1 = """\
...
spec:
  runMode:
    debug:
      enable: true
      replicaSpecs:
        - type: worker
          skipInitContainer: true
          command: ["/usr/bin/sshd"]
"""

DEBUG_2 = """\
...
spec:
  runMode:
    debug:
      enable: true
"""

INIT = """\
        initContainers:
        - name: prepare
          image: busybox
          command: [touch, prepared]
"""


# The master waits for all others, so that no one's clean-up comes before its words.
FAILS_ONCE = """\
import os, pathlib, sys, time
rank = os.environ["RANK"]
if rank == "2" and not os.path.exists("failed"):
    pathlib.Path("failed").touch()
    sys.exit(1)
print("rank", rank, "of 4: fine")
pathlib.Path(f"done-{rank}").touch()
while rank == "0" and not all(os.path.exists(f"done-{other}") for other in range(4)):
    time.sleep(0.02)
"""


def without_dots(snippet):
    return "".join(line for line in snippet.splitlines(True) if line.strip() != "...")


def paste(snippet, into=BASIC):
    """The manifest that results: as text, as a reader would make it."""
    body = without_dots(snippet)
    head, _ = into.split("spec:\n", 1)
    if "replicaSpecs:\n  - replicas" in body:
        return head + body
    return into + body.removeprefix("spec:\n")


class Tutorial(TorchTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder("tutorial")
        self.program("dist_mnist.py", self.path)
        (self.path / "training").mkdir()
        (self.path / "training/__init__.py").touch()
        shutil.copy(self.path / "dist_mnist.py", self.path / "training/module.py")

    def manifest(self, text):
        path = self.path / "job.yaml"
        path.write_text(text)
        return path

    def said(self, output):
        """What the ranks said of themselves, in the order of ranks."""
        return sorted(re.findall(r"(?m)^worker-\d \| (rank \d of \d: .*)$", output))

    def check_run(self, text, how):
        output = self.run_job(self.manifest(text))
        self.assertEqual(self.said(output), [f"rank {rank} of 4: sum 6, by {how}" for rank in range(4)])
        job = self.daemon.get_job("pytorch-example")
        self.assertEqual(job["status"]["phase"], "Succeeded")
        return job

    def containers(self):
        """Of the pods that are left: those that had not ended when the master had were cleaned up."""
        pods = self.daemon.pods("pytorch-example")
        self.assertIn("worker-0", " ".join(pods))
        return [pods[name]["spec"]["containers"][0] for name in sorted(pods)]

    def test_basic_example(self):
        job = self.check_run(BASIC, "python")
        self.assertEqual([(t["type"], len(t["replicas"])) for t in job["status"]["tasks"]], [("worker", 4)])
        for container in self.containers():
            self.assertEqual((container["command"], container.get("args")), (["python", "dist_mnist.py"], None))
            self.assertEqual(container["image"], "pytorch/pytorch:2.0.0-cuda11.7-cudnn8-devel")

    def test_replica_that_fails_is_restarted(self):
        (self.path / "dist_mnist.py").write_text(FAILS_ONCE)
        output = self.run_job(self.manifest(BASIC))
        self.assertEqual(self.said(output), [f"rank {rank} of 4: fine" for rank in range(4)])
        self.assertEqual(self.daemon.get_job("pytorch-example")["status"]["backoffCount"], 1)

    def test_torchrun_snippet(self):
        """The command is not used any more; script and arguments are those of args."""
        text = paste(TORCHRUN, BASIC.replace("          - dist_mnist.py\n", "          args:\n          - dist_mnist.py\n"))
        self.check_run(text, "torchrun, role worker")
        for container in self.containers():
            self.assertEqual(container["command"], ["torchrun"])
            line = " ".join(container["args"])
            for part in ("--nnodes 1:4 ", "--max_restarts 10 ", "--nproc_per_node 1 ", "--rdzv_backend c10d "):
                self.assertIn(part, line)
            self.assertTrue(line.endswith(" dist_mnist.py"), line)
            self.assertNotIn("python", line)

    def test_torchrun_snippet_without_args(self):
        """Added to the basic example unchanged there is no script left to run: creation warns, the pods say why."""
        done = self.daemon.cli("run", str(self.manifest(paste(TORCHRUN))))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("has no args", done.stderr)
        self.assertIn("training_script", done.stdout + done.stderr)

    def test_best_practice_is_switched_by_one_word(self):
        self.check_run(paste(BEST_PRACTICE), "python")
        for container in self.containers():
            self.assertEqual((container["command"], container["args"]), (["python"], ["dist_mnist.py"]))
        self.remove("pytorch-example")
        self.check_run(paste(BEST_PRACTICE).replace("enable: false", "enable: true"), "torchrun, role worker")

    def test_module_is_switched_by_one_word(self):
        self.check_run(paste(MODULE), "python")
        self.remove("pytorch-example")
        self.check_run(paste(MODULE).replace("enable: false", "enable: true"), "torchrun, role worker")
        self.assertEqual(self.containers()[0]["args"][-2:], ["-m", "training.module"])

    def test_scheduler_snippet(self):
        job = self.check_run(paste(SCHEDULER), "python")
        self.assertEqual(job["spec"]["scheduler"]["t9kScheduler"], {"queue": "default", "priority": 50})

    def test_tensorboard_snippet(self):
        job = self.check_run(paste(TENSORBOARD), "python")
        self.assertEqual(job["spec"]["tensorboardSpec"]["trainingLogFilesets"], ["t9k://pvc/torch-tensorboard-pvc/log"])

    def test_debug_example_1(self):
        """The worker leaves its init container out and runs /usr/bin/sshd."""
        text = paste(DEBUG_1, BASIC.replace("        containers:\n", INIT + "        containers:\n"))
        created = self.daemon.cli("run", "--detach", str(self.manifest(text)))
        self.assertEqual(created.returncode, 0, created.stderr)
        pods = self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: pods if len(pods) == 4 else None)
        for pod in pods.values():
            self.assertEqual(pod["spec"]["containers"][0]["command"], ["/usr/bin/sshd"])
            self.assertFalse(pod["spec"].get("initContainers"))
        if not os.path.exists("/usr/bin/sshd"):
            status = self.daemon.wait_phase("pytorch-example", "Failed")["status"]
            self.assertIn("/usr/bin/sshd", status["message"])
        self.assertFalse((self.path / "prepared").exists())

    def test_debug_example_2(self):
        """The init container runs, and then `sleep inf`."""
        text = paste(DEBUG_2, BASIC.replace("        containers:\n", INIT + "        containers:\n"))
        created = self.daemon.cli("run", "--detach", str(self.manifest(text)))
        self.assertEqual(created.returncode, 0, created.stderr)
        self.daemon.wait_running("pytorch-example", 4)
        self.assertTrue((self.path / "prepared").exists())
        self.assertEqual(list(self.daemon.main_processes().values()), ["sleep inf"] * 4)
        self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs:
                             jobs["pytorch-example"]["status"].get("aggregate", {}).get("running") == 4)
        self.assertEqual(self.daemon.get_job("pytorch-example")["status"]["phase"], "Running")


class TutorialByKubectl(TorchTest):
    def test_every_snippet_is_accepted(self):
        environment = dict(os.environ, HOME=self.daemon.folder,
                           KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig"))
        for version in ("1.20", "1.32"):
            for snippet in (None, TORCHRUN, BEST_PRACTICE, MODULE, SCHEDULER, TENSORBOARD, DEBUG_1, DEBUG_2):
                path = pathlib.Path(self.daemon.folder, "pasted.yaml")
                path.write_text(paste(snippet) if snippet else BASIC)
                done = subprocess.run([str(harness.ROOT / f"build/bin/kubectl-{version}"), "create", "--dry-run=server",
                                       "-f", str(path)], capture_output=True, text=True, env=environment,
                                      timeout=harness.PATIENCE)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("pytorchtrainingjob.batch.tensorstack.dev/pytorch-example created", done.stdout)


if __name__ == "__main__":
    harness.main()
