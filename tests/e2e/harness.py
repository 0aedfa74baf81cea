"""What the end-to-end tests share: a private daemon, its API, its processes.

Everything is waited for by an event: a line of a watch, the end of a process, an answer of /readyz. Everything that
was started is ended by its process id, and a test fails when anything is left.
"""
import base64
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import termios
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = str(pathlib.Path(os.environ.get("MUSTER_BIN", ROOT / "build/muster")).resolve())
# Sanitized binaries and busy machines are slower; no test passes sooner because of it.
PATIENCE = float(os.environ.get("MUSTER_TEST_PATIENCE", "60"))

JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/{ns}/pytorchtrainingjobs"
PODS = "/api/v1/namespaces/{ns}/pods"
SERVICES = "/api/v1/namespaces/{ns}/services"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases"
NODES = "/api/v1/nodes"
KUBECTL = str(ROOT / "build/bin/kubectl-1.32")


class Timeout(AssertionError):
    pass


def job(name, command, replicas=4, restart="Never", cpu="10m", memory="8Mi", run_policy=None, grace=1, ns="default"):
    """A PyTorchTrainingJob whose replicas all run command."""
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
        "metadata": {"name": name, "namespace": ns},
        "spec": {
            **({"runPolicy": run_policy} if run_policy else {}),
            "replicaSpecs": [{
                "type": "worker", "replicas": replicas, "restartPolicy": restart,
                "template": {"spec": {
                    "terminationGracePeriodSeconds": grace,
                    "containers": [{"name": "python", "image": "none", "command": command,
                                    "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}}}]}}


class Daemon:
    """One data folder and, most of the time, one `muster up` on it. Pods of root do not see the data folder: what they
    share with a test is in the folder around it, in which the names of the data folder's own files lead there."""

    OWN = ("hosts", "kubeconfig", "logs", "muster.db", "muster.log", "muster.pid", "pods", "pods.cgroups", "pods.samples",
           "scratch", "token", "volumes")

    def __init__(self, *options, environment=None, start=True):
        self.folder = tempfile.mkdtemp(prefix="muster-e2e-")
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data, 0o700)
        for name in self.OWN:
            os.symlink(os.path.join("data", name), os.path.join(self.folder, name))
        self.options = options
        self.environment = dict(os.environ, MUSTER_HOME=self.data, **(environment or {}))
        self.environment.pop("KUBECONFIG", None)
        self.process = self.port = self.token = None
        self.others = []
        if start:
            self.start()

    def give_to(self, uid):
        for path in (self.folder, self.data):
            os.chown(path, uid, uid)

    # --- processes

    def spawn(self, *arguments, **how):
        """Another muster process of this data folder; it is ended with the daemon."""
        log = open(os.path.join(self.folder, f"out-{len(self.others)}.txt"), "wb")
        process = subprocess.Popen([BIN, *arguments], stdin=subprocess.DEVNULL,
                                   stdout=how.pop("stdout", log), stderr=how.pop("stderr", log),
                                   env=self.environment, **how)
        log.close()
        self.others.append(process)
        return process

    def start(self, *options):
        with open(os.path.join(self.folder, "daemon.txt"), "ab") as log:
            self.process = subprocess.Popen(
                [BIN, "up", "--listen", f"127.0.0.1:{self.port or 0}", *self.options, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        until = time.monotonic() + PATIENCE
        while not self.is_ready():
            if self.process.poll() is not None:
                raise AssertionError(f"muster up ended with {self.process.returncode}:\n{self.output()}")
            if time.monotonic() > until:
                raise Timeout(f"not ready:\n{self.output()}")
            time.sleep(0.005)

    def output(self):
        return pathlib.Path(self.folder, "daemon.txt").read_text(errors="replace")

    def is_ready(self):
        folder = pathlib.Path(self.folder)
        # The process id in the lock file is written when the address is known: an old kubeconfig does not fool us.
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError, OSError):
            pid, address = (folder / "muster.pid").read_text().split()
            if int(pid) != self.process.pid:
                return False
            self.port = int(address.rsplit(":", 1)[1])
            self.token = (folder / "token").read_text().strip()
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            try:
                connection.request("GET", "/readyz")
                return connection.getresponse().status == 200
            finally:
                connection.close()
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        return self.process.returncode

    def close(self):
        """Ends what was started; answers what was wrong with how it ended."""
        wrong = []
        self.wait_forgotten()
        for process in [*self.others, self.process]:
            if not process or process.poll() is not None:
                continue
            process.terminate()
            try:
                if process.wait(PATIENCE) not in (0, 130):
                    wrong.append(f"{process.args[1:]} ended with {process.returncode}")
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                wrong.append(f"{process.args[1:]} did not stop")
        self.wait_ending()
        left = self.pod_processes()
        wrong += [f"left behind: {pid} {line}" for pid, line in left.items()]
        for _ in range(20):  # a supervisor that is killed may be replaced before the next one is
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            left = self.pod_processes() if left else {}
        for path in self.output_files():
            text = path.read_text(errors="replace")
            if "Sanitizer" in text or "runtime error:" in text:
                wrong.append(f"{path}:\n{text[-4000:]}")
        shutil.rmtree(self.folder, ignore_errors=True)
        return wrong

    def wait_forgotten(self):
        """A pod deleted without grace is gone from the API at once; the daemon must live to stop what still runs of it."""
        if not self.process or self.process.poll() is not None:
            return
        until = time.monotonic() + PATIENCE
        with contextlib.suppress(OSError, AssertionError, ValueError):
            known = {pod["metadata"]["uid"] for pod in self.list("/api/v1/pods")}
            for pid in self.pod_processes():
                if pod_uid(pid) not in known:
                    wait_exit(pid, until)

    def wait_ending(self):
        """Processes of a pod that is over, or was told to stop, may still be on their way out: until they are gone."""
        until = time.monotonic() + PATIENCE
        for pid in self.pod_processes():
            wait_exit(pid, until, self.is_ending)

    def is_ending(self, pid):
        """Whether the pod of one of pod_processes is over or was told to stop."""
        uid = pod_uid(pid)
        if not uid:
            return False  # it is gone, and perhaps its number another's
        folder = pathlib.Path(self.folder, "pods", uid)
        if (folder / "stop.json").exists():
            return True
        with contextlib.suppress(FileNotFoundError):
            record = json.loads((folder / "state.json").read_text())
            return record["final"] or all(one["state"] == "terminated" for one in record["containers"])
        return not folder.exists()  # removed: the API has forgotten it

    def output_files(self):
        """What muster's own processes have said: daemons, clients, supervisors."""
        folder = pathlib.Path(self.folder)
        return [*folder.glob("*.txt"), *folder.glob("muster.log"), *folder.glob("data/**/.supervisor.log")]

    def pod_processes(self, uid=None, container=False):
        """{pid: command line} of what runs for this data folder's pods, supervisors included."""
        folder = self.folder.encode()
        with contextlib.suppress(FileNotFoundError):
            uids = [uid] if uid else os.listdir(os.path.join(self.folder, "pods"))
            marks = [f"MUSTER_POD_UID={one}".encode() for one in uids]
            found = {}
            for entry in os.listdir("/proc"):
                if not entry.isdigit():
                    continue
                with contextlib.suppress(OSError):
                    line, environ = read_process(entry)
                    if not is_alive(entry):
                        continue
                    ours = any(mark in environ for mark in marks)
                    supervisor = b"supervise" in line and folder in line and (not uid or uid.encode() in line)
                    if container and not any(item.startswith(b"MUSTER_CONTAINER=") for item in environ):
                        continue
                    if ours or (supervisor and not container):
                        found[int(entry)] = line.replace(b"\0", b" ").decode(errors="replace").strip()
            return found
        return {}

    def main_processes(self, uid=None):
        """Only those the supervisors started themselves: a shell's children come and go."""
        found = self.pod_processes(uid, container=True)
        parents = {}
        for pid in found:
            with contextlib.suppress(OSError):
                parents[pid] = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        return {pid: found[pid] for pid, parent in parents.items() if parent not in found}

    # --- the API

    def authority(self):
        """The certificate of the daemon's own authority, as the kubeconfig has it: PEM text."""
        config = pathlib.Path(self.folder, "kubeconfig").read_text()
        return base64.b64decode(re.search(r"certificate-authority-data: (\S+)", config)[1]).decode()

    def tls_context(self):
        return ssl.create_default_context(cadata=self.authority())

    def kubeconfig(self, token=None, server=None, ca=None):
        """A kubeconfig like the daemon's own, for another user or server; without a token, for an anonymous one."""
        cluster = {"server": server or f"https://127.0.0.1:{self.port}",
                   "certificate-authority-data": base64.b64encode((ca or self.authority()).encode()).decode()}
        if cluster["server"].startswith("http:"):
            del cluster["certificate-authority-data"]
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".kubeconfig", delete=False) as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": cluster}],
                       "users": [{"name": "c", "user": {"token": token} if token else {}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": "default"}}]}, file)
        return file.name

    def exchange(self, method, path, body=None, content_type="application/json", headers=None):
        """(status, text, headers) of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            all_headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
            if body is not None:
                all_headers["Content-Type"] = content_type
            connection.request(method, path, json.dumps(body) if body is not None else None, all_headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def request(self, *arguments, **how):
        return self.exchange(*arguments, **how)[:2]

    def call(self, method, path, body=None, expect=(200, 201), **how):
        status, text = self.request(method, path, body, **how)
        if status not in expect:
            raise AssertionError(f"{method} {path} gave {status}: {text.decode(errors='replace')}")
        return json.loads(text) if text else None

    def create(self, what, ns="default"):
        return self.call("POST", JOBS.format(ns=ns), what)

    def get_job(self, name, ns="default"):
        return self.call("GET", f"{JOBS.format(ns=ns)}/{name}")

    def list(self, path):
        return self.call("GET", path)["items"]

    def pods(self, owner=None, ns="default"):
        found = self.list(PODS.format(ns=ns))
        return {pod["metadata"]["name"]: pod for pod in found
                if not owner or pod["metadata"].get("labels", {}).get("tensorstack.dev/owner-name") == owner}

    def log(self, pod, ns="default", query=""):
        status, text = self.request("GET", f"{PODS.format(ns=ns)}/{pod}/log{query}")
        if status != 200:
            raise AssertionError(f"log of {pod} gave {status}: {text}")
        return text.decode(errors="replace")

    def wait_for(self, path, wanted, what="", patience=None):
        """Until wanted({name: object}) is true of a collection; by list and watch. Answers its value."""
        until = time.monotonic() + (patience or PATIENCE)
        while True:
            listed = self.call("GET", path)
            objects = {item["metadata"]["name"]: item for item in listed["items"]}
            value = wanted(objects)
            if value:
                return value
            version = listed["metadata"]["resourceVersion"]
            connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                    timeout=max(0.1, until - time.monotonic()))
            try:
                connection.request("GET", f"{path}?watch=true&resourceVersion={version}",
                                   headers={"Authorization": f"Bearer {self.token}"})
                for line in connection.getresponse():
                    event = json.loads(line)
                    if event["type"] in ("ERROR", "BOOKMARK"):
                        break
                    name = event["object"]["metadata"]["name"]
                    if event["type"] == "DELETED":
                        objects.pop(name, None)
                    else:
                        objects[name] = event["object"]
                    value = wanted(objects)
                    if value:
                        return value
            except (TimeoutError, OSError):
                pass
            finally:
                connection.close()
            if time.monotonic() > until:
                raise Timeout(f"waited in vain for {what or path}: " + json.dumps(
                    {name: item.get("status") for name, item in objects.items()}, indent=1)[:6000] +
                    "\n" + self.output()[-3000:])

    def wait_phase(self, name, phase, ns="default", patience=None):
        def reached(jobs):
            status = jobs.get(name, {}).get("status", {})
            if status.get("phase") in ("Succeeded", "Failed") and status["phase"] != phase:
                raise AssertionError(f"{name} is {status['phase']}, not {phase}: {json.dumps(status, indent=1)}")
            return jobs[name] if status.get("phase") == phase else None
        return self.wait_for(JOBS.format(ns=ns), reached, f"{name} to be {phase}", patience)

    def wait_running(self, name, count=4, ns="default", patience=None):
        """Until count pods of the job run; answers them by name."""
        def reached(pods):
            running = {n: p for n, p in pods.items()
                       if p["metadata"].get("labels", {}).get("tensorstack.dev/owner-name") == name
                       and p.get("status", {}).get("phase") == "Running"
                       and not p["metadata"].get("deletionTimestamp")}
            return running if len(running) == count else None
        return self.wait_for(PODS.format(ns=ns), reached, f"{count} pods of {name} to run", patience)

    # --- the command line

    def cli(self, *arguments, stdin=None, timeout=None, environment=None, cwd=None):
        return subprocess.run([BIN, *arguments], input=stdin, capture_output=True, text=True, cwd=cwd,
                              env={**self.environment, **(environment or {})}, timeout=timeout or PATIENCE)

    def terminal(self, *arguments, columns=80, until=None, send=b"", steps=(), environment=None, cwd=None):
        """(exit code, what a terminal shows of it); until: a pattern at which send is typed, once; steps: several such, each
        looked for in what came after the one before."""
        steps = [(until, send)] if until else list(steps)
        main, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (24, columns))
        process = subprocess.Popen([BIN, *arguments], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), cwd=cwd,
                                   env={**self.environment, "TERM": "xterm", **(environment or {})})
        os.close(terminal)
        seen, looked, deadline = b"", 0, time.monotonic() + PATIENCE
        with contextlib.suppress(OSError):  # EIO: its other end is closed
            while time.monotonic() < deadline:
                if select.select([main], [], [], 1)[0]:
                    seen += os.read(main, 65536)
                if steps and re.search(steps[0][0].encode(), seen[looked:], re.S):
                    looked = len(seen)
                    os.write(main, steps.pop(0)[1])
        if process.poll() is None and time.monotonic() >= deadline:
            process.kill()
        try:
            return process.wait(max(1, deadline - time.monotonic())), seen.decode(errors="replace").replace("\r\n", "\n")
        finally:
            os.close(main)


def client_hello():
    """What a client sends first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def other_address():
    """An IPv4 address of this machine that is not a loopback one; None without any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # connecting one sends nothing
        try:
            probe.connect(("192.0.2.1", 9))
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


class WithDaemon(unittest.TestCase):
    """Tests with a daemon of their own per class; what they leave in it is their own affair."""

    options = ()
    environment = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.options, environment=cls.environment)

    @classmethod
    def tearDownClass(cls):
        wrong = cls.daemon.close()
        if wrong:
            raise AssertionError("\n".join(wrong))


class DaemonTest(WithDaemon):
    """Tests with jobs."""

    def tearDown(self):
        """Whatever a test leaves in the namespace, above all a failed one, is gone before the next begins."""
        names = [item["metadata"]["name"] for item in self.daemon.list(JOBS.format(ns="default"))]
        if names:
            self.daemon.cli("rm", *names)
        self.daemon.wait_for(PODS.format(ns="default"), lambda pods: True if not pods else None, "pods to be gone")

    def describe(self, kind, name, *more):
        environment = {"PATH": os.environ["PATH"], "HOME": self.daemon.folder,
                       "KUBECONFIG": os.path.join(self.daemon.folder, "kubeconfig")}
        return subprocess.run([KUBECTL, "describe", kind, name, *more], capture_output=True, text=True, check=True,
                              env=environment, timeout=PATIENCE).stdout

    def remove(self, *names):
        """Removes jobs and waits until everything of them is gone."""
        done = self.daemon.cli("rm", *names)
        self.assertEqual(done.returncode, 0, done.stderr)

    def write(self, name, text):
        path = os.path.join(self.daemon.folder, name)
        pathlib.Path(path).write_text(text if isinstance(text, str) else json.dumps(text))
        return path


def is_alive(pid):
    """A zombie is dead: who reaps it is not our affair."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def read_process(pid):
    """Its command line, and its environment as a list."""
    while True:
        line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        environ = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if line or not is_alive(pid):
            return line, environ
        os.readlink(f"/proc/{pid}/exe")  # fails: the kernel's own
        # Else it is in the middle of an exec, whose report comes before the new words are to be seen.


def pod_uid(pid):
    """Of a pod's program or one of its supervisors; None when it is neither, or gone."""
    with contextlib.suppress(OSError):
        for item in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if item.startswith(b"MUSTER_POD_UID="):
                return item.partition(b"=")[2].decode()
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"supervise" in words:
            return os.path.basename(words[words.index(b"supervise") + 1].decode())
    return None


def wait_exit(pid, until, wanted=lambda pid: True):
    """Until the process has ended, unless it is not wanted; held by its descriptor, so that the number is not another's."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            if wanted(pid):
                poll = select.poll()
                poll.register(handle, select.POLLIN)
                poll.poll(max(0, until - time.monotonic()) * 1000)
        finally:
            os.close(handle)


def wait_until(condition, what):
    """For what no event tells: processes of others, what is measured."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise Timeout(f"waited in vain for {what}")
        time.sleep(0.01)


def uids(pods):
    return {name: pod["metadata"]["uid"] for name, pod in pods.items()}


def main():
    unittest.main(verbosity=2, argv=sys.argv[:1] + [a for a in sys.argv[1:] if not re.match("^-v$", a)])
