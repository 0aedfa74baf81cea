"""What the end-to-end tests with real PyTorch share."""
import os
import pathlib
import re
import shutil
import subprocess

import harness
from harness import DaemonTest

VENV = harness.ROOT / "build/venv/bin"
PATIENCE = 240  # for a whole training run on a busy machine
PROGRAMS = harness.ROOT / "tests/e2e/programs"


class TorchTest(DaemonTest):
    options = ("--overcommit",)  # the machine of the tests may be smaller than the examples ask for
    environment = {"PATH": f"{VENV}:{os.environ['PATH']}"}

    def setUp(self):
        self.assertTrue((VENV / "python").exists(), "tools/setup.sh demo makes build/venv")

    def folder(self, name):
        """A folder of the test's own, empty: runs leave checkpoints, and two suites must not share them."""
        path = pathlib.Path(self.daemon.folder, name)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    def example(self, name):
        """A copy of an example's folder."""
        path = self.folder(name)
        shutil.copytree(harness.ROOT / "examples" / name, path, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("out", "__pycache__"))
        return path

    def edit(self, path, old, new):
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))
        return str(path)

    def program(self, name, folder):
        return shutil.copy(PROGRAMS / name, folder)

    def run_job(self, manifest):
        """`muster run` to a good end; answers what it printed."""
        done = self.daemon.cli("run", str(manifest), timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:] + done.stdout[-3000:])
        return done.stdout

    def start_job(self, manifest):
        """`muster run` in the background: its process, and the file its output goes to."""
        output = pathlib.Path(self.daemon.folder, f"run-{pathlib.Path(manifest).stem}.txt")
        with output.open("w") as file:
            return self.daemon.spawn("run", str(manifest), stdout=file, stderr=subprocess.STDOUT), output

    def wait_text(self, runner, output, pattern, patience=PATIENCE):
        """Until the followed job has printed a line with pattern. Lines come by file: there is no event but them."""
        seen = re.compile(pattern, re.MULTILINE)
        until = harness.time.monotonic() + patience
        while not seen.search(output.read_text()):
            self.assertLess(harness.time.monotonic(), until, f"no {pattern!r} in:\n{output.read_text()[-4000:]}")
            if runner.poll() is not None and not seen.search(output.read_text()):
                self.fail(f"ended with {runner.returncode} without {pattern!r}:\n{output.read_text()[-4000:]}")
            harness.time.sleep(0.02)
        return seen.search(output.read_text())

    def check_accuracy(self, text, least=0.80):
        found = re.findall(r"test accuracy: ([0-9.]+)", text)
        self.assertTrue(found, text[-2000:])
        self.assertGreaterEqual(float(found[-1]), least)
