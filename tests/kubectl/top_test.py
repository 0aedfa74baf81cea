#!/usr/bin/python3
"""kubectl top, old and current."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
BUSY = "kept = b'x' * (30 << 20)\nprint('up', flush=True)\nwhile True:\n    pass"


def pod(name, *commands, **labels):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [
                {"name": f"c{i}", "image": "none", "command": command, "resources": {"limits": {"cpu": "300m"}}}
                for i, command in enumerate(commands)]}}


class Top(harness.DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.call("POST", PODS, pod("busy", ["python3", "-c", BUSY], ["sleep", "1000"], app="busy"))
        cls.daemon.call("POST", PODS, pod("idle", ["sleep", "1000"], app="idle"))
        cls.daemon.wait_for(PODS, lambda pods: all(one.get("status", {}).get("phase") == "Running" for one in pods.values()))
        harness.wait_until(lambda: cls.daemon.log("busy", query="?container=c0") == "up\n", "the program to be busy")
        # Measured every two seconds, and a rate needs two looks.
        looks = {name: cls.looks(name) for name in ("busy", "idle")}
        harness.wait_until(lambda: all(cls.looks(name) >= n + 2 for name, n in looks.items()), "samples")
        harness.wait_until(lambda: len(cls.daemon.list("/apis/metrics.k8s.io/v1beta1/pods")) == 2, "metrics")

    @classmethod
    def looks(cls, name):
        return len(cls.daemon.call("GET", f"{PODS}/{name}/samples")["time"])

    @classmethod
    def tearDownClass(cls):
        for name in ("busy", "idle"):
            cls.daemon.call("DELETE", f"{PODS}/{name}")
        cls.daemon.wait_for(PODS, lambda pods: not pods, "pods to be gone")
        super().tearDownClass()

    def tearDown(self):
        pass  # the pods are for all tests

    def top(self, version, *arguments, code=0):
        home = tempfile.mkdtemp(prefix="muster-kubectl-")
        self.addCleanup(shutil.rmtree, home, True)
        done = subprocess.run([str(harness.ROOT / f"build/bin/kubectl-{version}"), "top", *arguments],
                              capture_output=True, text=True, timeout=harness.PATIENCE,
                              env={"HOME": home, "PATH": os.environ["PATH"],
                                   "KUBECONFIG": os.path.join(self.daemon.folder, "kubeconfig")})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return [line.split() for line in (done.stdout if code == 0 else done.stderr).splitlines()]

    def check(self, version):
        header, *rows = self.top(version, "pods", "--sort-by=cpu")
        self.assertEqual(header, ["NAME", "CPU(cores)", "MEMORY(bytes)"])
        self.assertEqual([row[0] for row in rows], ["busy", "idle"])
        cpu, memory = re.fullmatch(r"(\d+)m", rows[0][1]), re.fullmatch(r"(\d+)Mi", rows[0][2])
        self.assertGreater(int(cpu[1]), 50)
        self.assertIn(int(memory[1]), range(30, 100))
        header, *rows = self.top(version, "pods", "--containers", "-l", "app=busy", "--sort-by=memory")
        self.assertEqual([row[:2] for row in rows], [["busy", "c0"], ["busy", "c1"]])
        self.assertEqual([row[:2] for row in self.top(version, "pods", "-A")[1:]],
                         [["default", "busy"], ["default", "idle"]])
        self.assertEqual(self.top(version, "pod", "idle", "--no-headers")[0][0], "idle")
        header, row = self.top(version, "nodes")
        self.assertEqual(len(row), 5)
        self.assertRegex(" ".join(row[1:]), r"\d+m \d+% \d+Mi \d+%")
        self.assertIn("NotFound", " ".join(self.top(version, "pod", "nobody", code=1)[0]))

    def test_1_20(self):
        self.check("1.20")

    def test_1_32(self):
        self.check("1.32")


if __name__ == "__main__":
    harness.main()
