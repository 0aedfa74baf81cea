"""Stock kubectl against a test's daemon: a version of it, a HOME of its own, and what it said."""
import contextlib
import os
import shutil
import subprocess
import tempfile

import harness


class StockKubectl:
    """For tests with self.daemon; their classes for one version each say which."""

    version = None

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="muster-kubectl-")
        self.addCleanup(shutil.rmtree, self.home, True)
        self.binary = str(harness.ROOT / f"build/bin/kubectl-{self.version}")
        # A fresh HOME each: a warm discovery cache would hide what the server does.
        self.environment = {"HOME": self.home, "PATH": os.environ["PATH"],
                            "KUBECONFIG": os.path.join(self.daemon.folder, "kubeconfig")}

    def kubectl(self, *arguments, code=0, stdin=None, text=True):
        done = subprocess.run([self.binary, *arguments], input=stdin, capture_output=True, text=text,
                              env=self.environment, timeout=harness.PATIENCE)
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), f"kubectl {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}")
        return done

    @contextlib.contextmanager
    def background(self, *arguments, **how):
        process = subprocess.Popen([self.binary, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment, **how)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()
