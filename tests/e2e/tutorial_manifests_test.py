#!/usr/bin/python3
"""Manifests in the shape of the tutorials' examples run with no line of them changed: a claim at /t9k/mnt, memory at
/dev/shm, user 1000, torchrun with four processes, a parameter server and four workers, and a debug job whose program
is started by hand.

As a reader would, the test lays the scripts into the claim's folder first: the data-parallel one trains, on few images; the
parameter server's is a short stand-in with the same options and the same demands on its surroundings.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "programs"))
import small_dataset
from harness import Daemon, JOBS, PODS

HERE = pathlib.Path(__file__).resolve().parent
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
EXAMPLES = "tutorial-examples/job/pytorchtrainingjob"
PATIENCE = 240  # for a whole training run on a busy machine
VENV = harness.ROOT / "build/venv"
KUBECTL = harness.ROOT / "build/bin/kubectl-1.32"


def make_tools():
    """python and torchrun on a PATH that every user may read, wherever the checkout is."""
    tools = pathlib.Path(tempfile.mkdtemp(prefix="muster-tools-"))
    tools.chmod(0o755)
    fix, = VENV.glob("lib/python3*/site-packages/torchrun_fix.py")  # see tools/setup.sh
    shutil.copy(fix, tools)
    (tools / "python").symlink_to("/usr/bin/python3")
    (tools / "torchrun").write_text(f"""#!/bin/sh
PYTHONPATH={tools} exec python -c 'import torchrun_fix; from torch.distributed.run import main; main()' "$@"
""")
    (tools / "torchrun").chmod(0o755)
    return tools


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = make_tools()
        cls.claim = pathlib.Path(tempfile.mkdtemp(prefix="muster-claim-"))
        cls.claim.chmod(0o777)
        for name, script in (("ddp", "torch_mnist_trainingjob.py"), ("ps", "torch_mnist_trainingjob_ps.py")):
            folder = cls.claim / EXAMPLES / name
            folder.mkdir(parents=True)
            folder.chmod(0o777)
            shutil.copy(HERE / "programs" / script, folder)
        small_dataset.write(cls.claim / EXAMPLES / "ddp/data", 320)
        # The machine of the tests may be smaller than the examples ask for.
        cls.daemon = Daemon("--overcommit", "--volume", f"tutorial={cls.claim}",
                            environment={"PATH": f"{cls.tools}:/usr/bin:/bin"})

    @classmethod
    def tearDownClass(cls):
        wrong = cls.daemon.close()
        shutil.rmtree(cls.claim)
        shutil.rmtree(cls.tools)
        if wrong:
            raise AssertionError("\n".join(wrong))

    def tearDown(self):
        names = [item["metadata"]["name"] for item in self.daemon.list(JOBS.format(ns="default"))]
        if names:
            self.daemon.cli("rm", *names)
        self.daemon.wait_for(PODS.format(ns="default"), lambda pods: not pods, "pods to be gone")

    def kubectl(self, *arguments):
        environment = dict(self.daemon.environment, KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig"))
        done = subprocess.run([str(KUBECTL), *arguments], capture_output=True, text=True, env=environment,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def finish(self, manifest, name):
        self.kubectl("create", "-f", str(HERE / "manifests" / manifest))
        job = self.daemon.wait_phase(name, "Succeeded", patience=PATIENCE)
        return job, "".join(self.daemon.log(pod) for pod, it in sorted(self.daemon.pods(name).items())
                            if it["status"]["phase"] == "Succeeded")

    def owner(self):
        """Root's daemon makes it user 1000's; an ordinary user's files stay his own."""
        return 1000 if os.geteuid() == 0 else os.geteuid()

    def test_torchrun_with_four_processes(self):
        _, log = self.finish("ddp_job_cpu.yaml", "torch-mnist-trainingjob")
        for rank in range(4):
            self.assertIn(f"rank {rank} of 4 as user 1000 in /t9k/mnt/{EXAMPLES}/ddp", log)
        self.assertEqual(len(re.findall(r"test loss: [0-9.]+, test accuracy: [0-9.]+", log)), 4, log)
        model = self.claim / EXAMPLES / "ddp/model_state_dict.pt"
        self.assertEqual(model.stat().st_uid, self.owner())
        self.assertFalse(os.path.exists("/t9k"))

    def test_parameter_server_and_four_workers(self):
        job, log = self.finish("ps_job_cpu.yaml", "torch-mnist-trainingjob-ps")
        self.assertEqual([(task["type"], len(task["replicas"])) for task in job["status"]["tasks"]],
                         [("ps", 1), ("worker", 4)])
        self.assertIn("rank 0 leaves, the sum is 40", log)
        for rank in range(1, 5):
            self.assertTrue((self.claim / EXAMPLES / f"ps/log/worker_{rank}/done").exists(), log)
            self.assertTrue((self.claim / EXAMPLES / f"ps/model_state_dict.pt.{rank}").exists(), log)

    def test_debug_job_is_entered_and_started_by_hand(self):
        self.kubectl("create", "-f", str(HERE / "manifests/debug_job.yaml"))
        pod, = self.daemon.wait_running("torch-mnist-trainingjob-debug", 1)
        self.assertEqual(self.kubectl("exec", pod, "--", "bash", "-c", "id -u; pwd; ls *.py").split(),
                         ["1000", f"/t9k/mnt/{EXAMPLES}/ddp", "torch_mnist_trainingjob.py"])
        log = self.kubectl("exec", pod, "--", "torchrun", "--nproc_per_node", "2", "torch_mnist_trainingjob.py",
                           "--save_path", "by_hand.pt", "--log_dir", "log", "--no_cuda")
        self.assertIn("rank 1 of 2 as user 1000", log)
        self.assertEqual((self.claim / EXAMPLES / "ddp/by_hand.pt").stat().st_uid, self.owner())
        self.kubectl("cp", f"{pod}:/t9k/mnt/{EXAMPLES}/ddp/by_hand.pt", f"{self.daemon.folder}/copy.pt")
        self.assertEqual((self.claim / EXAMPLES / "ddp/by_hand.pt").read_bytes(),
                         pathlib.Path(self.daemon.folder, "copy.pt").read_bytes())


if __name__ == "__main__":
    harness.main()
