#!/usr/bin/python3
"""MPIJobs with real Open MPI on a real API server: the machines are `muster node`, the launcher starts its ranks through
pods/exec with the rights that its job gave it."""
import contextlib
import os
import pathlib
import signal
import subprocess
import unittest

from control_plane import MUSTER, PATIENCE_S, ControlPlane

MPI_JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/mpijobs"
PODS = "/api/v1/namespaces/default/pods"
SMALL = {"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
HELLO = """
from mpi4py import MPI
world = MPI.COMM_WORLD
print("rank", world.rank, "of", world.size, "on", MPI.Get_processor_name(), "sum", world.allreduce(world.rank), flush=True)
"""
ONE_FAILS = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
if world.rank == 3:
    os._exit(5)
world.Barrier()
"""
IN_WORKER = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
print("rank", world.rank, "of", world.allreduce(1), "in", os.environ["HOSTNAME"], "with", os.environ["MARK"], flush=True)
"""
LOOP = """
from mpi4py import MPI
world = MPI.COMM_WORLD
print("rank", world.rank, "is up", flush=True)
while True:
    world.Barrier()
"""


def mpi_job(name, program, **spec):
    worker = {"containers": [{"name": "worker", "image": "none", "resources": SMALL}], "terminationGracePeriodSeconds": 1}
    launcher = {"containers": [{"name": "launcher", "image": "none", "resources": SMALL}]}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "MPIJob", "metadata": {"name": name}, "spec": {
        "scheduler": {"t9kScheduler": {"queue": "default"}}, "runPolicy": {"cleanUpPolicy": "None"},
        "mpiConfig": {"script": ["/usr/bin/python3", "-c", program], "slotsPerWorker": 2},
        "replicaSpecs": [{"type": "launcher", "template": {"spec": launcher}},
                         {"type": "worker", "replicas": 2, "template": {"spec": worker}}], **spec}}


class Mpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls).start(nodes=True).prepare()
        plane.let_in_to_nodes()
        for name, address in (("east", "127.0.0.2"), ("west", "127.0.0.3")):
            plane.start_node("--listen", address + ":0", name=name)
        plane.start_ours()

    def tearDown(self):
        for job in self.api.get(MPI_JOBS)["items"]:
            self.api.delete("%s/%s" % (MPI_JOBS, job["metadata"]["name"]))
        self.api.wait(PODS, lambda pods: not pods, "pods to be gone")

    def ended(self, name, phase):
        def over(jobs):
            status = jobs[name].get("status", {})
            return status if status.get("phase") in ("Succeeded", "Failed") else None

        status = self.api.wait(MPI_JOBS, over, name + " to end")
        self.assertEqual(status["phase"], phase, (status, self.log(name)))
        return status

    def launcher(self, name):
        return next(p for p in (pod["metadata"]["name"] for pod in self.api.get(PODS)["items"])
                    if p.startswith(name + "-") and "launcher" in p)

    def log(self, name):
        return self.plane.kubectl("logs", self.launcher(name), check=False).stdout

    def test_two_workers_with_two_slots(self):
        self.api.create(MPI_JOBS, mpi_job("hello", HELLO))
        self.ended("hello", "Succeeded")
        lines = self.log("hello").splitlines()
        self.assertEqual(lines[0], "services are ready!")
        ranks = sorted(line.split() for line in lines if line.startswith("rank "))
        self.assertEqual([(r[1], r[3], r[7]) for r in ranks], [(str(i), "4", "6") for i in range(4)], lines)
        workers = sorted(p["metadata"]["name"] for p in self.api.get(PODS)["items"] if "worker" in p["metadata"]["name"])
        self.assertEqual([r[5] for r in ranks], [workers[0]] * 2 + [workers[1]] * 2)

    def test_over_ssh(self):
        """With the sshd of the workers' image, which needs no muster then; the launcher needs no right to start anything."""
        for name in ("east", "west"):  # pods of one machine share its ports: one worker on each
            amounts = {"example.com/sshd": "1"}
            self.api.patch("/api/v1/nodes/%s/status" % name, {"status": {"capacity": amounts, "allocatable": amounts}})
        what = mpi_job("shell", IN_WORKER, ssh={"sshdPath": "/usr/sbin/sshd"})
        worker = what["spec"]["replicaSpecs"][1]["template"]["spec"]["containers"][0]
        worker["resources"] = {"requests": SMALL["requests"], "limits": {**SMALL["limits"], "example.com/sshd": "1"}}
        worker["env"] = [{"name": "MARK", "value": "it's $HOME \"here\""}]
        self.api.create(MPI_JOBS, what)
        self.ended("shell", "Succeeded")
        lines = self.log("shell").splitlines()
        pods = {p["metadata"]["name"]: p for p in self.api.get(PODS)["items"]}
        workers = [pods[n] for n in sorted(pods) if "worker" in n]
        self.assertEqual({p["status"]["podIP"] for p in workers}, {"127.0.0.2", "127.0.0.3"})
        self.assertIn("/usr/sbin/sshd", workers[0]["spec"]["containers"][0]["command"])
        self.assertEqual(sorted(line for line in lines if line.startswith("rank ")), [
            "rank %d of 4 in %s with it's $HOME \"here\"" % (i, workers[i // 2]["metadata"]["name"]) for i in range(4)], lines)
        launcher = self.launcher("shell")
        role = self.api.get("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/" + launcher)
        self.assertEqual([r["resources"] for r in role["rules"]], [["pods"]])
        self.api.delete(MPI_JOBS + "/shell")
        self.api.wait("/api/v1/namespaces/default/secrets", lambda found: not found, "its key to be gone")

    def test_a_rank_that_fails(self):
        self.api.create(MPI_JOBS, mpi_job("fails", ONE_FAILS))
        status = self.ended("fails", "Failed")
        self.assertRegex(str(status), r"rank 3 on fails-\S+-worker-1 exited with code 5")

    def kill(self, uid):
        """The processes that belong to that pod, and no others."""
        mark = b"MUSTER_POD_UID=" + uid.encode()
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                environment = (folder / "environ").read_bytes().split(b"\0")
                if mark in environment and any(item.startswith(b"MUSTER_CONTAINER=") for item in environment):
                    os.kill(int(folder.name), signal.SIGKILL)

    def test_a_worker_that_is_killed(self):
        self.api.create(MPI_JOBS, mpi_job("killed", LOOP))
        self.api.wait(PODS, lambda pods: any("launcher" in n and p.get("status", {}).get("phase") == "Running"
                                             for n, p in pods.items()), "the launcher")
        while self.log("killed").count("is up") < 4:
            pass  # each look asks the node
        worker = next(p for p in self.api.get(PODS)["items"] if "worker-1" in p["metadata"]["name"])
        self.kill(worker["metadata"]["uid"])
        self.assertIn(worker["metadata"]["name"], str(self.ended("killed", "Failed")))

    def test_an_account_without_rights(self):
        """An account that may look at pods and start nothing in them: said before mpirun, with what is needed."""
        self.api.create(MPI_JOBS, mpi_job("asked", LOOP))
        worker = self.api.wait(PODS, lambda pods: next((n for n, p in pods.items() if "worker-0" in n and any(
            c["type"] == "Ready" and c["status"] == "True" for c in p.get("status", {}).get("conditions", []))), None), "a worker")
        self.plane.kubectl("create", "serviceaccount", "bare")
        self.plane.kubectl("create", "role", "look", "--verb=get,list,watch", "--resource=pods")
        self.plane.kubectl("create", "rolebinding", "look", "--role=look", "--serviceaccount=default:bare")
        done = subprocess.run([MUSTER, "mpi-launch", "--worker=" + worker, "--timeout=3000", "--", "true"], text=True,
                              capture_output=True, timeout=PATIENCE_S, env={
                                  "PATH": os.environ["PATH"], "MUSTER_EXE": MUSTER, "MUSTER_NAMESPACE": "default",
                                  "MUSTER_SERVER": "https://127.0.0.1:%d" % self.plane.port,
                                  "MUSTER_TOKEN": self.plane.account_token("default", "bare"),
                                  "MUSTER_CA": self.plane.authority.read_text()})
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("nothing can be started in worker %s: create of pods/exec is forbidden" % worker, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
