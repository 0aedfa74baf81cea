#!/usr/bin/python3
"""MPIJobs with real Open MPI: what they print, how they fail, and that nothing of them is left."""
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import harness
from harness import DaemonTest

MPI_JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/mpijobs"
PODS = harness.PODS.format(ns="default")
EXAMPLES = harness.ROOT / "examples/mpi"
LOOP = """
from mpi4py import MPI
world = MPI.COMM_WORLD
print("rank", world.rank, "is up", flush=True)
while True:
    world.Barrier()
"""

# As MPICH's and Intel MPI's mpirun do: a proxy in every host of the list, started as with ssh.
HYDRA = """#!/bin/sh
[ "$1" = {form} ] && [ "$3" = -genvnone ] && [ "${variable}_AUTOFORK" = 0 ] && [ "${variable}" = ssh ] || exit 99
hosts=$(cat "$2")
shift 3
for host in $hosts; do
    echo "$host" and $("${variable}_EXEC" {options} "${{host%:*}}" "$@")
done
"""


def mpi_job(name, script, replicas=2, container=None, launcher=None, config=None, run_policy=None, restart=None):
    worker = {"name": "worker", "image": "none", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
              **(container or {})}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [worker]}
    small = {"containers": [{"name": "launcher", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"},
                                                               "limits": {"cpu": "2", "memory": "1Gi"}},
                             **(launcher or {})}]}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "MPIJob", "metadata": {"name": name},
            "spec": {"mpiConfig": {"script": script, **(config or {})}, "runPolicy": run_policy or {},
                     "replicaSpecs": [{"type": "launcher", "template": {"spec": small}},
                                      {"type": "worker", "replicas": replicas, "template": {"spec": spec},
                                       **({"restartPolicy": restart} if restart else {})}]}}


class Mpi:
    """What the classes below share; self.daemon is a running one."""

    def tearDown(self):
        names = [item["metadata"]["name"] for item in self.daemon.list(MPI_JOBS)]
        if names:
            self.daemon.cli("rm", *names)
        self.daemon.wait_for(PODS, lambda pods: not pods, "pods to be gone")
        self.assertEqual(self.mpi_processes(), {})

    def create(self, job):
        return self.daemon.call("POST", MPI_JOBS, job)

    def ended(self, name, phase):
        """Waits for the end; answers the job's own sentence."""
        def reached(jobs):
            status = jobs[name].get("status", {})
            return status if status.get("phase") in ("Succeeded", "Failed") else None
        status = self.daemon.wait_for(MPI_JOBS, reached, f"{name} to end")
        if status["phase"] != phase:  # only then: a launcher that had not ended may just be gone
            self.fail(json.dumps(status, indent=1) + self.daemon.cli("logs", name).stdout)
        return " ".join(c.get("message", "") for c in status["conditions"] if c["type"] in ("Failed", "Completed"))

    def launcher(self, name):
        return next((pod for pod in self.daemon.pods(name) if "launcher" in pod), None)

    def launcher_log(self, name):
        return self.daemon.log(self.launcher(name))

    def mpi_processes(self):
        """{pid: command line} of mpirun, its daemons and ranks, wherever they are."""
        return {pid: line for pid, line in self.daemon.pod_processes().items()
                if any(word in line for word in ("orted", "mpirun", "mpi-rsh", "world.Barrier"))}

    def wait_processes(self, ends):
        """Until those of mpi_processes have ended whose command line is one that ends."""
        until = time.monotonic() + harness.PATIENCE
        while left := {pid: line for pid, line in self.mpi_processes().items() if ends(line)}:
            self.assertLess(time.monotonic(), until, left)

    def looping(self, name, replicas, **how):
        """A job whose ranks all run until they are ended; returns its workers' names."""
        self.create(mpi_job(name, ["/usr/bin/python3", "-c", LOOP], replicas, **how))
        pods = self.daemon.wait_running(name, replicas + 1)
        log = subprocess.Popen([harness.BIN, "logs", "-f", name, "--replica", "launcher-0"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.daemon.environment)
        try:
            up = 0
            while up < replicas:
                line = log.stdout.readline()
                self.assertTrue(line, "the launcher's log ended")
                up += "is up" in line
        finally:
            log.kill()
            log.wait()
            log.stdout.close()
        self.wait_processes(lambda line: line.startswith(f"{harness.BIN} mpi-rsh "))  # they have done their work
        return sorted(pod for pod in pods if "worker" in pod)

    def check_pi(self):
        done = self.daemon.cli("run", str(EXAMPLES / "pi.yaml"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = self.launcher_log("pi").splitlines()
        self.assertEqual(lines[0], "services are ready!")
        self.assertIn("pi is 3.14159265359", "\n".join(lines))
        hosts = sorted(line.split(" on ")[1] for line in lines if line.startswith("rank "))
        self.assertEqual([host.split("-", 2)[2] for host in hosts], [f"worker-{i}" for i in range(4)], lines)


def build_examples():
    subprocess.run(["make", "-s", "-C", str(EXAMPLES)], check=True, capture_output=True)


class AllInOne(Mpi, DaemonTest):
    @classmethod
    def setUpClass(cls):
        build_examples()
        super().setUpClass()

    def tearDown(self):
        Mpi.tearDown(self)

    def test_pi_over_four_workers(self):
        self.check_pi()

    def test_a_program_that_is_not_there(self):
        self.create(mpi_job("wrong", ["/no/such/program"]))
        sentence = self.ended("wrong", "Failed")
        self.assertIn("/no/such/program", sentence)
        self.assertIn("exit code 127", sentence)

    def test_a_rank_that_fails(self):
        self.create(mpi_job("bad", ["/usr/bin/python3", "-c", "raise ValueError('no such data')"]))
        sentence = self.ended("bad", "Failed")
        self.assertIn("exited with code 1; it last said: ValueError: no such data", sentence)

    def test_a_rank_that_fails_under_recovery(self):
        """Open MPI 4 exits with 0 then, as the vendor's manifests ask it to; the job has failed all the same."""
        recovery = {"extraArgs": ["-N", "1", "--enable-recovery", "--max-restarts", "100"]}
        fails = 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then echo "no data" >&2; exit 3; fi'
        self.create(mpi_job("minded", ["sh", "-c", fails], config=recovery))
        self.create(mpi_job("contexts", ["true", ":", "-n", "1", "sh", "-c", "exit 5"],  # two programs
                            config={"slotsPerWorker": 1, "extraArgs": ["-n", "1", "--enable-recovery"]}))
        self.create(mpi_job("well", ["true"], config=recovery))
        # Open MPI 4 seldom ends by itself then.
        lost = 'test "$OMPI_COMM_WORLD_RANK" != 2 || exit 6; sleep 1'
        self.create(mpi_job("lost", ["sh", "-c", lost], config={"slotsPerWorker": 2, "extraArgs": ["--enable-recovery"]}))
        killed = 'test "$OMPI_COMM_WORLD_RANK" != 1 || kill -9 $$$$; sleep 1'
        self.create(mpi_job("killed", ["sh", "-c", killed], config=recovery))
        sentence = self.ended("minded", "Failed")
        worker = self.launcher("minded").replace("launcher", "worker-1")
        self.assertIn(f"failed with exit code 3: error: rank 1 on {worker} exited with code 3; it last said: no data",
                      sentence)
        self.assertRegex(self.ended("contexts", "Failed"), r"rank 1 on \S+-worker-1 exited with code 5")
        self.ended("well", "Succeeded")
        self.assertRegex(self.ended("lost", "Failed"), r"rank 2 on \S+-worker-1 exited with code 6")
        # The worker knows that memory was not short; the launcher says nothing of its own.
        self.assertRegex(self.ended("killed", "Failed"), r"rank 1 on \S+-worker-1 exited with code 137 \(killed, SIGKILL\)")
        self.assertNotIn("likely out of memory", self.launcher_log("killed"))

    def test_a_listener_where_an_x_display_would_be(self):
        """hwloc asks the displays it can dial for GPUs: one that accepts and says nothing, as a TensorBoard on 6006, holds
        up neither mpirun nor its daemons. What the user says of hwloc stays."""
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):  # another has it: as well
                listener.bind(("127.0.0.1", 6006))
                listener.listen()
            show = ["sh", "-c", 'echo "rank has $HWLOC_COMPONENTS"']
            own = {"env": [{"name": "HWLOC_COMPONENTS", "value": "-gl,-opencl"}]}
            self.create(mpi_job("display", show))
            self.create(mpi_job("own", show, container=own, launcher=own))
            for name, value in (("display", "-gl"), ("own", "-gl,-opencl")):
                self.ended(name, "Succeeded")
                said = [line for line in self.launcher_log(name).splitlines() if "rank has" in line]
                self.assertEqual(said, [f"rank has {value}"] * 2)

    def test_an_mpirun_of_others(self):
        """On one machine every worker's name is this machine's; the proxies run in the workers all the same."""
        for name, form, variable, options in (("mpich", "-f", "HYDRA_LAUNCHER", "-x"),
                                              ("intel", "-machinefile", "I_MPI_HYDRA_BOOTSTRAP", "-q -x")):
            program = pathlib.Path(self.daemon.folder, name, "bin/mpirun")
            program.parent.mkdir(parents=True)
            program.write_text(HYDRA.format(form=form, variable=variable, options=options))
            program.chmod(0o755)
            self.create(mpi_job(name, ["hostname"], config={"implementation": name, "slotsPerWorker": 3,
                                                            "home": str(program.parent.parent)}))
        for name in ("mpich", "intel"):
            self.ended(name, "Succeeded")
            workers = [self.launcher(name).replace("launcher", f"worker-{i}") for i in range(2)]
            self.assertEqual(self.launcher_log(name).splitlines()[1:], [f"{one}:3 and {one}" for one in workers])

    def test_a_machine_without_mpirun(self):
        nowhere = {"env": [{"name": "PATH", "value": "/nonexistent"}]}
        self.create(mpi_job("no-mpi", ["true"], launcher=nowhere, config={"home": "/opt/mpi"}))
        sentence = self.ended("no-mpi", "Failed")
        self.assertIn("mpirun was not found: there is no /opt/mpi/bin/mpirun, and none in PATH", sentence)
        self.assertIn("exit code 127", sentence)

    def test_a_worker_that_never_gets_ready(self):
        waits = {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "missing", "key": "a"}}}]}
        self.create(mpi_job("late", ["true"], container=waits, launcher={"env": [{"name": "A", "value": "1"}]},
                            config={"readyTimeoutSeconds": 10}))
        sentence = self.ended("late", "Failed")
        self.assertRegex(sentence, r"worker late-.*-worker-0 was not ready after 10 s: its pod is Pending: container "
                         r'worker waits: .*configmap "missing" not found \(2 of 2 workers are not ready\)')

    def test_an_account_without_rights(self):
        """What is missing is said at once, not after the time that workers have to get ready."""
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        self.looping("one", 1)
        worker = next(pod for pod in self.daemon.pods("one") if "worker" in pod)
        self.daemon.call("POST", accounts, {"metadata": {"name": "bare"}})
        token = self.daemon.call("POST", f"{accounts}/bare/token", {"spec": {}})["status"]["token"]
        environment = {"PATH": os.environ["PATH"], "MUSTER_EXE": harness.BIN, "MUSTER_TOKEN": token, "MUSTER_CA": self.daemon.authority(),
                       "MUSTER_SERVER": f"https://127.0.0.1:{self.daemon.port}"}

        def launch(**more):
            return subprocess.run([harness.BIN, "mpi-launch", f"--worker={worker}", "--timeout=3000", "--", "true"], text=True,
                                  capture_output=True, env={**environment, **more}, timeout=harness.PATIENCE)
        done = launch()
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertRegex(done.stderr, "warning: worker .* cannot be watched, still trying: .* cannot list resource \"pods\"")
        self.assertIn("needs get, list and watch of pods, create and get of pods/exec", done.stderr)
        self.daemon.call("POST", f"{rbac}/roles", {"metadata": {"name": "look"}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]})
        self.daemon.call("POST", f"{rbac}/rolebindings", {
            "metadata": {"name": "look"}, "roleRef": {"kind": "Role", "name": "look"},
            "subjects": [{"kind": "ServiceAccount", "name": "bare", "namespace": "default"}]})
        done = launch()
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn(f"nothing can be started in worker {worker}: create of pods/exec is forbidden", done.stderr)
        waiting = subprocess.Popen([harness.BIN, "mpi-launch", f"--worker={worker}", "--timeout=3000", "--", "true"], text=True,
                                   stderr=subprocess.PIPE, env={**environment, "MUSTER_CA": ""})
        self.assertIn("certificate verification failed", waiting.stderr.readline())
        waiting.kill()
        waiting.communicate()

    def test_a_killed_worker(self):
        workers = self.looping("lose", 3)
        victim = self.daemon.pods("lose")[workers[1]]["metadata"]["uid"]
        for pid in self.daemon.main_processes(victim):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        sentence = self.ended("lose", "Failed")
        self.assertIn(workers[1], sentence)

    def test_a_killed_launcher(self):
        """Workers that are kept keep nothing of MPI."""
        workers = self.looping("headless", 2, run_policy={"cleanUpPolicy": "None"})
        uid = self.daemon.pods("headless")[self.launcher("headless")]["metadata"]["uid"]
        self.assertTrue(any("orted" in line for line in self.mpi_processes().values()))
        for pid, line in self.daemon.pod_processes(uid).items():
            if "mpi-launch" in line:
                os.kill(pid, signal.SIGKILL)
        sentence = self.ended("headless", "Failed")
        self.assertIn("launcher failed with exit code 137 (killed, SIGKILL)", sentence)
        self.wait_processes(lambda line: True)  # its daemons see that their mpirun is gone, each for itself
        running = {name for name, pod in self.daemon.pods("headless").items() if pod["status"]["phase"] == "Running"}
        self.assertEqual(running, set(workers))

    def test_a_control_plane_that_is_killed(self):
        """The ranks go on; nothing of the job hangs on the daemon that started it."""
        self.looping("steady", 2)
        before = self.mpi_processes()
        self.daemon.kill()
        self.assertEqual(self.mpi_processes(), before)
        self.daemon.start()
        self.assertEqual(self.daemon.call("GET", f"{MPI_JOBS}/steady")["status"]["phase"], "Running")
        self.assertEqual(self.mpi_processes(), before)

    def test_manifests_as_they_come(self):
        """The oldest layouts, YAML's traps, and keys given twice."""
        path = self.write("old.yaml", """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata:
  name: old
spec:
  runPolicy: {cleanUpWorkers: false}
  mca:
    btl: ^openib
    pml: ob1
  worker:
    replicas: 2
    extraMPIArgs: [-N, "1"]
    cmd: [/usr/bin/python3, allreduce.py]
    template:
      spec:
        containers:
        - name: mpi-worker
          image: none
          command: [/usr/sbin/sshd, -D]
          workingDir: EXAMPLES
          resources: {requests: {cpu: 1m, memory: 1Mi}}
  runPolicy: {cleanUpWorkers: true}
""".replace("EXAMPLES", str(EXAMPLES)))
        done = self.daemon.cli("run", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("sum of 2 vectors", self.launcher_log("old"))

    def test_a_command_in_a_worker(self):
        worker = self.looping("steady", 2)[0]
        done = self.daemon.cli("exec", worker, "--", "sh", "-c", "cat; echo to stderr >&2; hostname; exit 7",
                               stdin="not passed on")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, worker + "\n", "to stderr\n"))
        text = "many words " * 100000
        done = self.daemon.cli("exec", "-i", "steady", "--replica", "worker-1", "--", "cat", stdin=text)
        self.assertEqual((done.returncode, done.stdout == text), (0, True), done.stderr)
        done = self.daemon.cli("exec", "steady", "--replica", "worker-9", "--", "true")
        self.assertEqual(done.returncode, 5)
        self.assertIn("'steady' has no running replica worker-9", done.stderr)
        done = self.daemon.cli("exec", worker, "--", "ls", "--color=wrong")
        self.assertIn("--color", done.stderr)
        self.assertIn("ls", done.stderr)


class ThreeProcesses(Mpi, DaemonTest):
    options = ("--only", "api")

    @classmethod
    def setUpClass(cls):
        build_examples()
        super().setUpClass()
        kubeconfig = os.path.join(cls.daemon.folder, "kubeconfig")
        cls.daemon.spawn("controller", "--kubeconfig", kubeconfig)
        cls.daemon.spawn("node", "--kubeconfig", kubeconfig, "--dir", cls.daemon.data)
        cls.daemon.wait_for(harness.NODES, lambda nodes: nodes, "a node to appear")

    def tearDown(self):
        Mpi.tearDown(self)

    def test_pi_over_four_workers(self):
        self.check_pi()


class OrdinaryUser(unittest.TestCase):
    """Everything as a user who is not root, started by himself."""

    def test_mpi4py(self):
        home = tempfile.mkdtemp(prefix="muster-mpi-")
        self.addCleanup(shutil.rmtree, home, True)
        who = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
            who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        environment = {"MUSTER_HOME": f"{home}/data", "HOME": home, "PATH": os.environ["PATH"], "TMPDIR": home}
        # The checkout may be in a folder that others cannot enter.
        binary = shutil.copy(harness.BIN, home)
        examples = shutil.copytree(EXAMPLES, os.path.join(home, "examples"))

        def muster(*arguments, code=0):
            done = subprocess.run([binary, *arguments], capture_output=True, text=True, env=environment, cwd=home,
                                  timeout=harness.PATIENCE, **who)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            return done.stdout
        muster("up", "--detach", "--listen", "127.0.0.1:0")
        try:
            text = muster("run", os.path.join(examples, "allreduce.yaml"))
            self.assertIn("sum of 6 vectors of 65536 numbers is 21 everywhere", text)
            self.assertNotIn("root", text)
        finally:
            muster("rm", "allreduce")
            muster("down")


if __name__ == "__main__":
    harness.main()
