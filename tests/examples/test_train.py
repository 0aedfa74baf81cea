"""examples/ddp/train.py, on a few images: alone, in a group, under torchrun, killed and resumed.

Made-up images, so that no dataset is needed: every class is a bright square at its own place. Needs PyTorch;
the interpreter is $PYTHON, else build/venv/bin/python."""

import gzip
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../.."))
TRAIN = os.path.join(ROOT, "examples/ddp/train.py")
PYTHON = os.environ.get("PYTHON", os.path.join(ROOT, "build/venv/bin/python"))
TIMEOUT_S = 120
# An early checkpoint, and then so long that no machine is too busy to end the process before its training ends.
SLOWLY = ("--checkpoint-every", "2", "--step-delay-ms", "200")

sys.path.insert(0, HERE)
from test_eventfile import only_file, read_scalars  # noqa: E402


def write_images(folder, which, count, seed, compressed=True):
    rng = random.Random(seed)
    images, labels = bytearray(), bytearray()
    for _ in range(count):
        label = rng.randrange(10)
        image = bytearray(28 * 28)
        for row in range(6):
            start = (label // 5 * 14 + 4 + row) * 28 + label % 5 * 5 + 1
            image[start:start + 4] = bytes(rng.randrange(150, 256) for _ in range(4))
        images += image
        labels.append(label)
    opener, ending = (gzip.open, ".gz") if compressed else (open, "")
    with opener(os.path.join(folder, f"{which}-images-idx3-ubyte{ending}"), "wb") as file:
        file.write(struct.pack(">HBBIII", 0, 8, 3, count, 28, 28) + images)
    with opener(os.path.join(folder, f"{which}-labels-idx1-ubyte{ending}"), "wb") as file:
        file.write(struct.pack(">HBBI", 0, 8, 1, count) + labels)


def wait_for(condition, what):
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"no {what} within {TIMEOUT_S} s")
        time.sleep(0.02)


class Train(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.TemporaryDirectory()
        # one in twelve is kept for validation, which leaves 1280
        write_images(cls.data.name, "train", 1396, seed=1)
        write_images(cls.data.name, "t10k", 400, seed=2, compressed=False)

    @classmethod
    def tearDownClass(cls):
        cls.data.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(folder.name, "out")

    def start(self, *options, python=(), before=(), env=None):
        clean = {name: value for name, value in os.environ.items()
                 if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK")}
        process = subprocess.Popen(
            [*before, PYTHON, *python, TRAIN, "--data", self.data.name, "--out", self.out, "--log-every", "5",
             *options], env={**clean, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        self.addCleanup(self.reap, process)
        return process

    @staticmethod
    def reap(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()

    def port(self):
        """For this test alone: held here, where nobody listens, which lets those listen who reuse an address, as PyTorch does."""
        held = socket.socket()
        self.addCleanup(held.close)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        return str(held.getsockname()[1])

    def start_group(self, size, *options):
        port = self.port()
        return [self.start(*options, env={"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                                          "MASTER_PORT": port}) for rank in range(size)]

    def finish(self, process, code=0):
        output = process.communicate(timeout=TIMEOUT_S)[0]
        self.assertEqual(process.returncode, code, output)
        return output

    def run_one(self, *options):
        return self.finish(self.start(*options))

    def checkpoint(self):
        return os.path.join(self.out, "checkpoint.pt")

    def model_bytes(self, name="model.pt"):
        """The numbers of the saved model, by PyTorch itself."""
        script = ("import sys, torch\nfor name, value in torch.load(sys.argv[1]).items():\n"
                  "    print(name, value.flatten().tolist())")
        return subprocess.run([PYTHON, "-c", script, os.path.join(self.out, name)], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def test_alone_it_learns_and_writes_curves_and_model(self):
        output = self.run_one("--epochs", "2", "--batch-size", "32")
        accuracy = re.findall(r"^test accuracy: (\d\.\d{4})$", output, re.M)
        self.assertEqual(len(accuracy), 1, output)
        self.assertGreater(float(accuracy[0]), 0.9)
        self.assertRegex(output, r"(?m)^epoch 1/2 step 5 loss \d\.\d{4} \(\d+ img/s\)$")
        scalars = read_scalars(only_file(os.path.join(self.out, "log")))
        self.assertEqual({tag for tag, _, _ in scalars},
                         {"train/loss", "val/loss", "val/accuracy", "test/loss", "test/accuracy"})
        self.assertEqual([step for tag, step, _ in scalars if tag == "train/loss"], list(range(5, 81, 5)))
        self.assertEqual([f"{value:.4f}" for tag, _, value in scalars if tag == "test/accuracy"], accuracy)
        self.assertIn("weight", self.model_bytes())

    def test_two_workers_agree(self):
        first, second = [self.finish(process) for process in self.start_group(2, "--epochs", "1")]
        self.assertEqual(first.count("test accuracy"), 1)
        self.assertEqual(second.count("test accuracy"), 0)
        done = r"epoch 1/1 done: .*"
        self.assertEqual(re.search(done, first)[0], re.search(done, second)[0])

    def test_under_torchrun_with_its_default_options(self):
        process = self.start("--epochs", "1", env={"OMP_NUM_THREADS": "1"},
                             python=("-m", "torch.distributed.run", "--nproc_per_node", "2", "--rdzv_backend", "c10d",
                                     "--rdzv_id", "test", "--rdzv_endpoint", f"127.0.0.1:{self.port()}"))
        output = self.finish(process)
        self.assertIn("[rank 0] training on 1280 images with 2 workers", output)
        self.assertIn("[rank 1] epoch 1/1 done", output)
        self.assertEqual(len(re.findall(r"^test accuracy: ", output, re.M)), 1)

    def test_a_finished_run_is_not_trained_again(self):
        self.run_one("--epochs", "1")
        before = self.model_bytes()
        output = self.run_one("--epochs", "1")
        self.assertIn("nothing left to train", output)
        self.assertNotIn("step", output)
        self.assertIn("test accuracy", output)
        self.assertEqual(self.model_bytes(), before)
        self.assertIn("resumed from checkpoint at epoch 2 step 0", self.run_one("--epochs", "2"))
        self.assertIn("training on", self.run_one("--epochs", "1", "--fresh"))

    def test_terminated_and_resumed_it_ends_with_the_same_model(self):
        self.run_one("--epochs", "2", "--batch-size", "32")
        wanted = self.model_bytes()
        self.out += ".again"
        process = self.start("--epochs", "2", "--batch-size", "32", *SLOWLY)
        wait_for(lambda: os.path.exists(self.checkpoint()), "checkpoint")
        process.send_signal(signal.SIGTERM)
        self.finish(process, code=-signal.SIGTERM)
        output = self.run_one("--epochs", "2", "--batch-size", "32")
        self.assertRegex(output, r"resumed from checkpoint at epoch 1 step ([2468]|[1-3][02468])\b")
        self.assertEqual(self.model_bytes(), wanted)

    def test_one_of_two_killed_the_other_fails_and_both_resume(self):
        options = ("--epochs", "1", "--batch-size", "16")
        survivor, victim = self.start_group(2, *options, *SLOWLY)
        wait_for(lambda: os.path.exists(self.checkpoint()), "checkpoint")
        victim.kill()
        self.assertIn("error: ", self.finish(survivor, code=1))
        outputs = [self.finish(process) for process in self.start_group(2, *options)]
        for output in outputs:
            self.assertRegex(output, r"resumed from checkpoint at epoch 1 step \d+")

    def test_it_goes_on_with_another_number_of_workers(self):
        process = self.start("--epochs", "1", "--batch-size", "16", *SLOWLY)
        wait_for(lambda: os.path.exists(self.checkpoint()), "checkpoint")
        process.kill()
        process.wait()
        outputs = [self.finish(process) for process in self.start_group(2, "--epochs", "1", "--batch-size", "16")]
        self.assertIn("resumed from checkpoint at epoch 1", outputs[1])
        self.assertIn("test accuracy", outputs[0])

    def test_sigterm_ends_a_worker_that_waits_for_others(self):
        process = self.start(env={"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                                  "MASTER_PORT": self.port()})
        # It waits once its port can be connected to; the state of a process does not tell.
        wait_for(lambda: self.listens(process), "listening worker")
        process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        self.finish(process, code=-signal.SIGTERM)
        self.assertLess(time.monotonic() - started, TIMEOUT_S / 2)  # not when its patience with the others ends

    def test_sigterm_ends_the_first_process_of_a_container(self):
        own_pids = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
        if subprocess.run([*own_pids, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("this machine allows no process namespaces")
        process = self.start(*SLOWLY, before=own_pids)
        wait_for(lambda: os.path.exists(self.checkpoint()), "checkpoint")
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            os.kill(int(file.read()), signal.SIGTERM)
        self.finish(process, code=143)

    @staticmethod
    def listens(process):
        sockets = set()
        try:
            for name in os.listdir(f"/proc/{process.pid}/fd"):
                target = os.readlink(f"/proc/{process.pid}/fd/{name}")
                sockets.update(re.findall(r"socket:\[(\d+)\]", target))
        except OSError:
            return False
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            if os.path.exists(table):
                with open(table) as file:
                    rows = [line.split() for line in file][1:]
                if any(row[3] == "0A" and row[9] in sockets for row in rows):
                    return True
        return False

    def test_damaged_checkpoints_are_ignored_with_a_warning(self):
        self.run_one("--epochs", "1")
        with open(self.checkpoint(), "rb") as file:
            good = file.read()
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 1
        for content in (b"", b"no checkpoint at all", good[:len(good) // 2], bytes(flipped)):
            with open(self.checkpoint(), "wb") as file:
                file.write(content)
            output = self.run_one("--epochs", "1")
            self.assertIn("warning: starting anew: cannot use checkpoint", output)
            self.assertIn("training on 1280 images", output)
            self.assertIn("test accuracy", output)

    def test_errors_are_one_line(self):
        missing = os.path.join(self.folder, "nowhere")
        output = self.finish(self.start("--data", missing), code=1)
        self.assertRegex(output, r"\Aerror: .*nowhere/train-images-idx3-ubyte.*\n\Z")
        output = self.finish(self.start("--batch-size", "5000"), code=1)
        self.assertEqual(output, "error: 1280 training images do not fill one step of 1 workers with 5000 each\n")


if __name__ == "__main__":
    unittest.main()
