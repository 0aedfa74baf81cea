#!/usr/bin/python3
"""Kubernetes' own Go libraries against `muster up`: tests/upstream/clients and tests/upstream/protobuf, built before."""
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import harness  # noqa: E402

BUILT = pathlib.Path(os.environ.get("B", ROOT / "build")).resolve() / "upstream"


class Upstream(harness.DaemonTest):
    def run_program(self, name, **environment):
        done = subprocess.run([BUILT / name], env=dict(os.environ, **environment), capture_output=True, text=True, timeout=900)
        print("\n" + done.stdout, flush=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])

    def test_client_go_and_controller_runtime_at_their_defaults(self):
        self.run_program("clients", KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig"))

    def test_protobuf_is_what_kubernetes_writes_and_reads(self):
        self.run_program("protobuf")


if __name__ == "__main__":
    unittest.main(verbosity=2)
