#!/usr/bin/python3
"""`muster notebook --setup`, with a package index of the test's own: JupyterLab is installed, also where the machine has one,
and each way it can fail ends in a sentence that says why and what to do."""
import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zipfile

import harness

VERSION = "4.9.9"


def write_wheel(folder):
    """A package that is called as JupyterLab and has its command."""
    files = {
        "jupyterlab_fake.py": f"def main(): print('{VERSION}')\n",
        f"jupyterlab-{VERSION}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: jupyterlab\nVersion: {VERSION}\n",
        f"jupyterlab-{VERSION}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"jupyterlab-{VERSION}.dist-info/entry_points.txt": "[console_scripts]\njupyter-lab = jupyterlab_fake:main\n"}

    def digest(text):
        return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    record = "".join(f"{name},sha256={digest(text)},{len(text)}\n" for name, text in files.items())
    files[f"jupyterlab-{VERSION}.dist-info/RECORD"] = record + f"jupyterlab-{VERSION}.dist-info/RECORD,,\n"
    with zipfile.ZipFile(folder / f"jupyterlab-{VERSION}-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)


class Setup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-setup-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.index = cls.folder / "index"
        cls.index.mkdir()
        write_wheel(cls.index)

    def setUp(self):
        self.modules = self.folder / "modules"  # python3 looks here first
        shutil.rmtree(self.modules, ignore_errors=True)
        self.modules.mkdir()

    def setup(self, home="home", language="C.UTF-8", **environment):
        environment = {"HOME": str(self.folder / home), "PATH": "/usr/bin:/bin", "LC_ALL": language,
                       "PYTHONPATH": str(self.modules), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index),
                       "PIP_CONFIG_FILE": "/dev/null", "PIP_RETRIES": "1", **environment}
        return subprocess.run([harness.BIN, "notebook", "--setup"], env=environment, text=True, capture_output=True,
                              timeout=10 * harness.PATIENCE)

    def check_refused(self, done, *said):
        self.assertEqual(done.returncode, 1, done.stderr)
        error, hint = done.stderr.splitlines()[-2:]
        for word, line in zip(said, (error, hint)):
            self.assertIn(word, line, done.stderr)

    def test_no_python(self):
        self.check_refused(self.setup(PATH=str(self.index)), "error: there is no python3 in PATH", "apt install python3-venv")

    def test_an_old_python(self):
        (self.modules / "sitecustomize.py").write_text("import sys\nsys.version, sys.version_info = '3.6.9 (x)', (3, 6, 9)\n")
        self.check_refused(self.setup(), "error: JupyterLab needs Python 3.8 or newer: Python 3.6.9 /usr/bin/python3",
                           "newer python3 first in PATH")

    def test_no_venv(self):
        for module in ("venv", "ensurepip"):
            with self.subTest(module=module):
                self.setUp()
                (self.modules / f"{module}.py").write_text("raise ImportError('not here')\n")
                self.check_refused(self.setup(), "error: python3 cannot make virtual environments: its module venv or ensurepip "
                                   "is missing", "apt install python3-venv")

    def test_a_folder_that_cannot_be_written(self):
        (self.folder / "taken").write_text("")
        self.check_refused(self.setup("taken"), "error: python3 could not make the virtual environment",
                           "the folder must be yours")

    def test_in_chinese(self):
        self.check_refused(self.setup(PATH=str(self.index), language="zh_CN.UTF-8"), "错误：PATH 中没有 python3", "Debian 和 Ubuntu")

    def test_installed_though_the_index_failed_before(self):
        """One after the other in one environment, whose making takes seconds."""
        nothing = {"PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
        self.check_refused(self.setup(**nothing, PIP_INDEX_URL="http://127.0.0.1:1/simple"), "error: PyPI cannot be reached",
                           "HTTPS_PROXY")
        self.check_refused(self.setup(**nothing, PIP_INDEX_URL="https://pypi.invalid/simple", HTTPS_PROXY="http://127.0.0.1:1"),
                           "error: PyPI cannot be reached", "PIP_INDEX_URL")
        self.check_refused(self.setup(PIP_FIND_LINKS=str(self.modules)),
                           "error: the package index has no JupyterLab for this Python: Python 3", "PIP_INDEX_URL")
        self.check_refused(self.setup(PIP_REQUIRE_HASHES="1"), "error: pip could not install JupyterLab", "run it again")
        # The machine's own satisfies pip, and its command is not in the environment.
        info = self.modules / "jupyterlab-4.0.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jupyterlab\nVersion: 4.0.0\n")
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"JupyterLab {VERSION} is there", done.stdout)
        venv = self.folder / "home/.local/share/muster/jupyter"
        self.assertTrue((venv / "bin/jupyter-lab").exists())
        # The machine got another Python: the environment's is gone.
        (venv / "bin/python3").unlink()
        (venv / "bin/python3").symlink_to("/usr/bin/python3.0")
        (venv / "stale").write_text("")
        done = self.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((venv / "stale").exists())
        program = next((venv / "lib").glob("python*/site-packages/jupyterlab_fake.py"))
        program.write_text("def main(): raise SystemExit('no kernel')\n")
        self.check_refused(self.setup(), "error: JupyterLab is installed but does not run", "remove the folder")


if __name__ == "__main__":
    harness.main()
