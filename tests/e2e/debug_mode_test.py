#!/usr/bin/python3
"""Debug mode: everything is set up, nothing trains; what each replica type waits with, and what it leaves out."""
import pathlib

import harness
from harness import DaemonTest


def container(name, folder, text):
    return {"name": name, "image": "none", "workingDir": folder, "command": ["sh", "-c", text],
            "resources": {"requests": {"cpu": "10m", "memory": "8Mi"}}}


class DebugMode(DaemonTest):
    options = ("--overcommit",)

    def make(self, debug, torchrun=False):
        folder = self.daemon.folder

        def replicas(kind, count):
            return {"type": kind, "replicas": count, "restartPolicy": "Never", "template": {"spec": {
                "terminationGracePeriodSeconds": 0,
                "initContainers": [container("prepare", folder, f"touch prepared-{kind}")],
                "containers": [dict(container("python", folder, f"touch trained-{kind}"), args=["train.py"]),
                               container("side", folder, f"touch sided-{kind}")]}}}

        return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
                "metadata": {"name": "debugged"},
                "spec": {"runMode": {"debug": debug}, "torchrunConfig": {"enabled": torchrun},
                         "replicaSpecs": [replicas("ps", 1), replicas("worker", 2)]}}

    def tearDown(self):
        super().tearDown()
        for path in pathlib.Path(self.daemon.folder).glob("*ed-*"):
            path.unlink()

    def exists(self, name):
        return pathlib.Path(self.daemon.folder, name).exists()

    def commands(self, pods):
        """{replica type: set of its containers' commands}"""
        found = {}
        for pod in pods.values():
            for c in pod["spec"]["containers"]:
                found.setdefault(pod["metadata"]["labels"]["replica-type"], set()).add(
                    tuple(c["command"] + c.get("args", [])))
        return found

    def check_nothing_trained(self):
        self.assertEqual([name for name in ("trained-ps", "trained-worker", "sided-ps", "sided-worker")
                          if self.exists(name)], [])

    def test_defaults(self):
        """`sleep inf` in place of command and args, init containers run; torchrun is not started either."""
        self.daemon.create(self.make({"enable": True}, torchrun=True))
        pods = self.daemon.wait_running("debugged", 3)
        self.assertEqual(self.commands(pods), {"ps": {("sleep", "inf")}, "worker": {("sleep", "inf")}})
        self.assertEqual(sorted(self.daemon.main_processes().values()), ["sleep inf"] * 6)
        self.assertTrue(self.exists("prepared-ps") and self.exists("prepared-worker"))
        self.check_nothing_trained()
        self.assertEqual(self.daemon.wait_phase("debugged", "Running")["status"]["phase"], "Running")

    def test_entry_per_type(self):
        """An entry is for its type alone; the others have the defaults."""
        self.daemon.create(self.make({"enabled": True, "replicaSpecs": [
            {"type": "worker", "skipInitContainer": True, "command": ["sh", "-c", "echo waiting; exec sleep 1234"]}]}))
        pods = self.daemon.wait_running("debugged", 3)
        self.assertEqual(self.commands(pods), {"ps": {("sleep", "inf")},
                                               "worker": {("sh", "-c", "echo waiting; exec sleep 1234")}})
        self.assertTrue(self.exists("prepared-ps"))
        self.assertFalse(self.exists("prepared-worker"))
        self.check_nothing_trained()

    def test_environment_is_that_of_training(self):
        """A shell in a replica has the group's variables."""
        self.daemon.create(self.make({"enabled": True}))
        pods = self.daemon.wait_running("debugged", 3)
        for rank, kind in ((0, "ps-0"), (1, "worker-0"), (2, "worker-1")):
            pod = next(p for name, p in pods.items() if name.endswith(kind))
            env = {e["name"]: e["value"] for e in pod["spec"]["containers"][0]["env"]}
            self.assertEqual((env["RANK"], env["WORLD_SIZE"]), (str(rank), "3"))

    def test_entry_of_no_type_is_warned_about(self):
        """... and does not turn the defaults off."""
        path = self.write("debugged.json", self.make({"enabled": True, "replicaSpecs": [
            {"type": "node", "command": ["false"]}]}))
        done = self.daemon.cli("run", "--detach", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('no replica type is named "node"', done.stderr)
        pods = self.daemon.wait_running("debugged", 3)
        self.assertEqual(self.commands(pods), {"ps": {("sleep", "inf")}, "worker": {("sleep", "inf")}})

    def test_off_is_off(self):
        self.daemon.create(self.make({"enabled": False, "replicaSpecs": [{"type": "worker"}]}))
        self.daemon.wait_phase("debugged", "Succeeded")
        self.assertTrue(self.exists("trained-ps"))


if __name__ == "__main__":
    harness.main()
