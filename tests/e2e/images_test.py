#!/usr/bin/python3
"""Pods in their images: a registry on the loopback, images made of BusyBox, as root and as an ordinary user."""
import base64
import contextlib
import ctypes
import gzip
import hashlib
import http.client
import http.server
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pods"))

import gpu_stand_in  # noqa: E402
import harness  # noqa: E402
from harness import PODS, wait_until  # noqa: E402
from pods_test import ORDINARY, OtherDaemon  # noqa: E402

EVENTS = "/api/v1/namespaces/default/events"
LOGIN = ("reader", "a secret of the test")
BUSYBOX = "/bin/busybox"
COMMANDS = "sh ls cat id echo pwd env sleep touch mkdir grep stat chmod tar printenv test true mknod mount kill rm".split()
PASSWD = "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1001:An app:/home/app:/bin/sh\n"
GROUP = "root:x:0:\napps:x:1001:\nextra:x:1005:app\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Gate(http.server.ThreadingHTTPServer):
    """In front of a registry: counts requests for blobs, and holds up in the middle those that `held` names."""
    daemon_threads = True

    def __init__(self, behind):
        self.behind, self.blobs, self.held = behind, [], None
        self.reached, self.released = threading.Event(), threading.Event()
        super().__init__(("127.0.0.1", 0), Forward)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def hold(self, digest):
        self.held = digest
        self.reached.clear()
        self.released.clear()


class Forward(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        gate = self.server
        connection = http.client.HTTPConnection("127.0.0.1", gate.behind)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():  # several of one name
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        self.end_headers()
        if self.command == "GET" and "/blobs/" in self.path:
            gate.blobs.append(self.path.rsplit("/", 1)[1])
        with contextlib.suppress(OSError):
            if gate.held and self.path.endswith(gate.held) and self.command == "GET":
                self.wfile.write(body[:len(body) // 2])
                self.wfile.flush()
                gate.reached.set()
                gate.released.wait(harness.PATIENCE)
                body = body[len(body) // 2:]
            self.wfile.write(body)

    do_HEAD = do_GET


class Registry:
    def __init__(self, login=None):
        self.folder = tempfile.mkdtemp(prefix="muster-registry-")
        self.port = free_port()
        config = {"version": "0.1", "log": {"level": "error"}, "http": {"addr": f"127.0.0.1:{self.port}"},
                  "storage": {"filesystem": {"rootdirectory": self.folder + "/files"}}}
        if login:
            library = ctypes.CDLL("libcrypt.so.1")
            library.crypt.restype = ctypes.c_char_p
            hashed = library.crypt(login[1].encode(), b"$2b$04$" + b"a" * 21 + b".").decode()
            pathlib.Path(self.folder, "htpasswd").write_text(f"{login[0]}:{hashed}\n")
            config["auth"] = {"htpasswd": {"realm": "test", "path": self.folder + "/htpasswd"}}
        pathlib.Path(self.folder, "config.yml").write_text(json.dumps(config))
        self.start()
        self.gate = Gate(self.port)
        self.address = f"127.0.0.1:{self.gate.server_address[1]}"

    def start(self):
        self.process = subprocess.Popen(["docker-registry", "serve", self.folder + "/config.yml"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def answers():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return True
        wait_until(answers, "the registry")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.gate.shutdown()
        self.gate.server_close()
        self.stop()
        shutil.rmtree(self.folder)


def layer(files):
    """A tar of {path: bytes, or a TarInfo}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, content in files.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(path)
            info.name = path
            if isinstance(content, bytes):
                info.size, info.mode = len(content), 0o755 if path.startswith("bin/") else 0o644
            tar.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def entry(kind, **members):
    info = tarfile.TarInfo()
    info.type = kind
    info.mode = 0o755
    for name, value in members.items():
        setattr(info, name, value)
    return info


def folder(mode=0o755, **members):
    return entry(tarfile.DIRTYPE, mode=mode, **members)


def link(target):
    return entry(tarfile.SYMTYPE, linkname=target)


def base_files():
    files = {"bin": folder(), "etc": folder(), "home": folder(), "home/app": folder(uid=1000, gid=1001),
             "tmp": folder(0o1777), "root": folder(0o700),
             "bin/busybox": pathlib.Path(BUSYBOX).read_bytes(), "etc/passwd": PASSWD.encode(), "etc/group": GROUP.encode()}
    for name in COMMANDS:
        files[f"bin/{name}"] = link("busybox")
    return files


def make_image(where, layers, config):
    """An OCI layout with one image, tagged latest. Answers the digests of its layers."""
    blobs = pathlib.Path(where, "blobs/sha256")
    blobs.mkdir(parents=True)

    def put(data):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}
    tars = [put(gzip.compress(one, 1, mtime=0)) for one in layers]
    configured = put(json.dumps({"architecture": "amd64", "os": "linux", "config": config, "rootfs": {
        "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(one).hexdigest() for one in layers]}}).encode())
    manifest = put(json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **configured},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **one} for one in tars]}).encode())
    pathlib.Path(where, "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    pathlib.Path(where, "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [{
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "annotations": {"org.opencontainers.image.ref.name": "latest"}, **manifest}]}))
    return [one["digest"] for one in tars]


def pod(name, image, command=None, args=None, container=None, **spec):
    one = {"name": "main", "image": image, **(container or {})}
    if command is not None:
        one["command"] = command
    if args is not None:
        one["args"] = args
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "runtimeClassName": "image", "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
        "containers": [one], **spec}}


def shell(name, image, script, **how):
    return pod(name, image, ["sh", "-c", script], **how)


class WithImages:
    """A registry, images and a daemon."""

    uid = 0
    wrapper = ()
    options = ("--overcommit",)
    environment = {}

    @classmethod
    def setUpClass(cls):
        cls.registry, cls.closed = Registry(), Registry(LOGIN)
        cls.work = tempfile.mkdtemp(prefix="muster-images-")
        cls.layers = {}
        cls.base = layer(base_files())
        cls.push("base", [cls.base], {"Env": ["PATH=/bin", "GREETING=hello"]})
        cls.push("entry", [cls.base], {"Entrypoint": ["/bin/echo", "entry"], "Cmd": ["cmd", "$(GREETING)"],
                                       "Env": ["PATH=/bin"], "WorkingDir": "/srv/made"})
        cls.push("cmd", [cls.base], {"Cmd": ["/bin/echo", "only", "cmd"]})
        cls.push("app", [cls.base], {"User": "app", "Env": ["PATH=/bin"]})
        cls.push("numbers", [cls.base], {"User": "1000:1005", "Env": ["PATH=/bin"]})
        cls.push("nobody", [cls.base], {"User": "missing", "Env": ["PATH=/bin"]})
        cls.push("closed", [cls.base], {"Entrypoint": ["/bin/echo", "let in"]}, cls.closed)
        cls.daemon = OtherDaemon(*cls.options, wrapper=cls.wrapper, uid=cls.uid, environment=cls.environment)

    @classmethod
    def push(cls, name, layers, config, registry=None):
        registry = registry or cls.registry
        where = os.path.join(cls.work, name)
        cls.layers[name] = make_image(where, layers, config)
        login = ["--dest-creds", ":".join(LOGIN)] if registry is cls.closed else []
        subprocess.run(["skopeo", "copy", "-q", "--dest-tls-verify=false", *login, f"oci:{where}:latest",
                        f"docker://127.0.0.1:{registry.port}/{name}:1"], check=True)
        shutil.rmtree(where)

    @classmethod
    def tearDownClass(cls):
        for name in cls.daemon.pods():
            cls.daemon.call("DELETE", f"{PODS.format(ns='default')}/{name}?gracePeriodSeconds=1", expect=(200, 202, 404))
        cls.daemon.wait_for(PODS.format(ns="default"), lambda pods: not pods, "pods to be gone")
        wrong = cls.daemon.close()
        for one in (cls.registry, cls.closed):
            one.close()
        shutil.rmtree(cls.work)
        if wrong:
            raise AssertionError("\n".join(wrong))

    # --- helpers

    def image(self, name, registry=None):
        return f"{(registry or self.registry).address}/{name}:1"

    def start(self, what):
        self.daemon.call("POST", PODS.format(ns="default"), what)
        return what["metadata"]["name"]

    def ended(self, name, phase="Succeeded"):
        """The pod, once it has ended."""
        def over(pods):
            return pods[name] if pods[name].get("status", {}).get("phase") in ("Succeeded", "Failed") else None
        found = self.daemon.wait_for(PODS.format(ns="default"), over, f"{name} to end")
        said = self.daemon.log(name) if found["status"]["containerStatuses"][0].get("containerID") else ""
        self.assertEqual(found["status"]["phase"], phase, json.dumps(found["status"], indent=1) + said)
        return found

    def running(self, name):
        self.daemon.wait_for(PODS.format(ns="default"),
                             lambda pods: pods[name].get("status", {}).get("phase") == "Running", f"{name} to run")

    def run_pod(self, what, phase="Succeeded"):
        """Its log."""
        name = self.start(what)
        self.ended(name, phase)
        return self.daemon.log(name)

    def waiting(self, name, *reasons):
        """The message of the container that waits for one of these reasons."""
        def waits(pods):
            for one in pods[name].get("status", {}).get("containerStatuses", []):
                state = one["state"].get("waiting", {})
                if state.get("reason") in reasons:
                    return state["message"]
        return self.daemon.wait_for(PODS.format(ns="default"), waits, f"{name} to wait for {reasons}")

    def remove(self, name):
        self.daemon.call("DELETE", f"{PODS.format(ns='default')}/{name}?gracePeriodSeconds=0")
        self.daemon.wait_for(PODS.format(ns="default"), lambda pods: name not in pods, f"{name} to be gone")

    def events(self, name):
        return [(one["reason"], one["message"]) for one in self.daemon.list(EVENTS)
                if one["involvedObject"]["name"] == name]

    def said(self, name, reason):
        """The message of the pod's event, once it is there."""
        return self.daemon.wait_for(EVENTS, lambda events: next(
            (one["message"] for one in events.values()
             if one["involvedObject"]["name"] == name and one["reason"] == reason), None), f"{reason} of {name}")

    def kubectl(self, *arguments, check=True):
        return subprocess.run([harness.ROOT / "build/bin/kubectl-1.32", "--kubeconfig", self.daemon.data + "/kubeconfig", *arguments],
                              capture_output=True, text=True, check=check, timeout=harness.PATIENCE)

    def store(self, *path):
        return pathlib.Path(self.daemon.data, "images", *path)

    def unpacked(self):
        found = self.store("unpacked")
        return sorted(one.name for one in found.iterdir()) if found.exists() else []


class Images(WithImages):
    # --- what runs

    def test_command_and_args_are_kubernetes(self):
        both = "entry cmd $(GREETING)"
        table = [  # image, command, args, what it prints
            ("entry", None, None, both),
            ("entry", None, ["own", "args"], "entry own args"),
            ("entry", ["echo", "command"], None, "command"),
            ("entry", ["echo", "command"], ["args"], "command args"),
            ("entry", [], ["args"], "entry args"),
            ("entry", None, ["$(WORD)"], "entry from env"),
            ("cmd", None, None, "only cmd"),
            ("cmd", None, ["/bin/echo", "args"], "args"),
            ("cmd", ["/bin/echo"], None, ""),
        ]
        env = {"env": [{"name": "WORD", "value": "from env"}]}
        names = [self.start(pod(f"rule-{i}", self.image(image), command, args, container=env))
                 for i, (image, command, args, _) in enumerate(table)]
        for name, row in zip(names, table):
            with self.subTest(row):
                self.ended(name)
                self.assertEqual(self.daemon.log(name).strip(), row[3])
        self.start(pod("rule-none", self.image("base")))
        self.assertIn("no command specified", self.waiting("rule-none", "CreateContainerConfigError"))

    def test_environment_folder_and_files_are_the_images(self):
        log = self.run_pod(shell("surroundings", self.image("base"), """
            echo "$GREETING $PATH $HOME $OWN"; pwd; ls /; cat /etc/hosts; test -e /etc/resolv.conf && echo resolv
            test -w /dev/shm && echo shm; test -c /dev/null && echo null; test -d /proc/self && echo proc
            test -e /dev/sda || test -e /dev/vda || test -e /dev/kmsg || echo no disks; touch /tmp/mine /mine && echo writable
        """, container={"env": [{"name": "OWN", "value": "set"}]})).splitlines()
        self.assertEqual(log[:2], ["hello /bin /root set", "/"])
        for word in ("resolv", "shm", "null", "proc", "no disks", "writable"):
            self.assertIn(word, log)
        self.assertFalse({"usr", "var", "opt", "work"} & set(log))
        self.assertTrue(any("surroundings.default.svc" in line for line in log))
        self.assertFalse(list(self.store("unpacked").glob("*/rootfs/mine")))  # written into the pod's own layer

    def test_the_images_folder_is_made_and_entered(self):
        self.assertEqual(self.run_pod(pod("folder", self.image("entry"), ["pwd"])).strip(), "/srv/made")
        self.assertEqual(self.run_pod(pod("folder-own", self.image("entry"), ["pwd"], container={
            "workingDir": "/not/there"})).strip(), "/not/there")

    def test_users_are_the_images(self):
        script = 'echo $(id -u) $(id -g) "$HOME"; touch /tmp/x && stat -c %u /tmp/x'
        table = [  # image, securityContext, what it prints
            ("base", {}, "0 0 /root"),
            ("app", {}, "1000 1001 /home/app"),
            ("numbers", {}, "1000 1005 /home/app"),
            ("app", {"runAsUser": 4321}, "4321 0 /"),
            ("base", {"runAsUser": 1000}, "1000 1001 /home/app"),
            ("base", {"runAsUser": 1000, "runAsGroup": 7}, "1000 7 /home/app"),
            ("numbers", {"runAsNonRoot": True}, "1000 1005 /home/app"),
        ]
        names = [self.start(shell(f"user-{i}", self.image(image), script, container={"securityContext": context}))
                 for i, (image, context, _) in enumerate(table)]
        for name, row in zip(names, table):
            with self.subTest(row):
                self.ended(name)
                self.assertEqual(self.daemon.log(name).splitlines(), [row[2], row[2].split()[0]])
        for image, words in (("nobody", 'no user "missing"'), ("base", "image will run as root"), ("app", "non-numeric user")):
            name = f"user-refused-{image}"
            self.start(shell(name, self.image(image), "true", container={"securityContext": {
                "runAsNonRoot": image != "nobody"}}))
            self.assertIn(words, self.waiting(name, "CreateContainerConfigError"))

    def test_volumes_at_points_of_the_image_and_beside(self):
        self.daemon.call("POST", "/api/v1/namespaces/default/configmaps", {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"key": "a value\n"}})
        log = self.run_pod(shell("volumes", self.image("base"), "cat /etc/settings/key; cat /etc/group; touch /deep/down/here/x && "
                                 "ls /deep/down/here; ls /home/app && echo empty", container={"volumeMounts": [
                                     {"name": "config", "mountPath": "/etc/settings"},
                                     {"name": "config", "mountPath": "/etc/group", "subPath": "key"},
                                     {"name": "room", "mountPath": "/deep/down/here"},
                                     {"name": "room", "mountPath": "/home/app"}]},
                                 volumes=[{"name": "config", "configMap": {"name": "settings"}},
                                          {"name": "room", "emptyDir": {}}]))
        self.assertEqual(log.split(), "a value a value x x empty".split())

    def test_a_read_only_root_is_one(self):
        log = self.run_pod(shell("read-only", self.image("base"), "touch /x || echo root; touch /etc/x || echo etc; "
                                 "touch /made/volume/x && echo volume; f=/dev/shm/$(cat /proc/sys/kernel/random/uuid); echo y > $f && rm $f && echo shm",
                                 container={"securityContext": {"readOnlyRootFilesystem": True}, "workingDir": "/new",
                                            "volumeMounts": [{"name": "room", "mountPath": "/made/volume"}]},
                                 volumes=[{"name": "room", "emptyDir": {}}]))
        self.assertEqual([line for line in log.splitlines() if "touch" not in line], ["root", "etc", "volume", "shm"])

    def test_a_restart_begins_with_the_image(self):
        self.start(shell("again", self.image("base"), "test -e /x && echo left; touch /x; exit 3",
                         restartPolicy="OnFailure"))
        self.daemon.wait_for(PODS.format(ns="default"), lambda pods: any(
            one["restartCount"] >= 1 and "lastState" in one and one["lastState"].get("terminated")
            for one in pods["again"].get("status", {}).get("containerStatuses", [])), "a restart")
        self.assertNotIn("left", self.daemon.log("again"))
        self.remove("again")

    def test_exit_codes_messages_and_probes(self):
        self.start(shell("message", self.image("base"), "echo the reason > /dev/termination-log; exit 9"))
        state = self.ended("message", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((state["exitCode"], state["message"].strip()), (9, "the reason"))
        self.start(pod("missing", self.image("base"), ["no-such-program"]))
        state = self.ended("missing", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertIn("not found in PATH (/bin)", state["message"])
        self.start(shell("probed", self.image("base"), "touch /ready; sleep 1000", container={
            "readinessProbe": {"exec": {"command": ["test", "-e", "/ready"]}, "periodSeconds": 1},
            "lifecycle": {"postStart": {"exec": {"command": ["touch", "/hooked"]}}}}))
        self.daemon.wait_for(PODS.format(ns="default"), lambda pods: any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in pods["probed"].get("status", {}).get("conditions", [])), "the probe")
        self.assertEqual(self.kubectl("exec", "probed", "--", "ls", "/hooked").stdout.strip(), "/hooked")

    def test_muster_itself_runs_in_any_image(self):
        version = subprocess.run([harness.BIN, "version"], capture_output=True, text=True, check=True).stdout
        script = '$MUSTER_EXE version && $MUSTER_EXE kubeconfig --help > /dev/null && touch /.muster/x || echo not writable'
        log = self.run_pod(shell("own", self.image("base"), script))
        self.assertEqual(log.splitlines()[0], version.splitlines()[0])
        self.assertIn("not writable", log)

    def test_exec_and_cp_see_the_image(self):
        self.start(shell("entered", self.image("app"), "echo data > /tmp/file; sleep 1000"))
        self.running("entered")
        self.assertEqual(self.kubectl("exec", "entered", "--", "sh", "-c", "id -u; cat /etc/passwd; cat /tmp/file").stdout,
                         "1000\n" + PASSWD + "data\n")
        target = os.path.join(self.work, "copied")
        self.kubectl("cp", "entered:/tmp/file", target)
        self.assertEqual(pathlib.Path(target).read_text(), "data\n")

    def test_the_daemon_is_killed_and_the_pod_goes_on(self):
        self.start(shell("survivor", self.image("base"), "touch /mine; while ! test -e /stop; do sleep 0.1; done; ls /mine; exit 5"))
        self.running("survivor")
        self.daemon.kill()
        self.daemon.start()
        self.kubectl("exec", "survivor", "--", "touch", "/stop")
        found = self.ended("survivor", "Failed")
        self.assertEqual(found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 5)
        self.assertIn("@sha256:", found["status"]["containerStatuses"][0]["imageID"])
        self.assertEqual(self.daemon.log("survivor").strip(), "/mine")

    # --- what is pulled

    def test_status_and_events_say_what_was_pulled(self):
        self.push("told", [self.base, layer({"told": b"1"})], {"Entrypoint": ["/bin/true"]})
        self.start(pod("told", self.image("told")))
        found = self.ended("told")["status"]["containerStatuses"][0]
        self.assertRegex(found["imageID"], rf"^{self.registry.address}/told@sha256:[0-9a-f]{{64}}$")
        self.assertIn("Pulling image", self.said("told", "Pulling"))
        self.assertIn("Successfully pulled image", self.said("told", "Pulled"))
        self.assertNotIn("ImageNotPulled", [reason for reason, _ in self.events("told")])
        by_digest = pod("by-digest", found["imageID"])
        self.start(by_digest)
        self.assertEqual(self.ended("by-digest")["status"]["containerStatuses"][0]["imageID"], found["imageID"])

    def test_a_login_opens_the_registry(self):
        image = self.image("closed", self.closed)
        self.start(pod("no-login", image))
        self.assertRegex(self.waiting("no-login", "ErrImagePull", "ImagePullBackOff"), "authentication required|unauthorized")
        self.waiting("no-login", "ImagePullBackOff")
        auth = base64.b64encode(":".join(LOGIN).encode()).decode()
        for name, key, content in (("new-style", ".dockerconfigjson", {"auths": {self.closed.address: {"auth": auth}}}),
                                   ("old-style", ".dockercfg", {self.closed.address: {"auth": auth}})):
            self.daemon.call("POST", "/api/v1/namespaces/default/secrets", {
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                "type": "kubernetes.io/" + key[1:], "data": {key: base64.b64encode(json.dumps(content).encode()).decode()}})
            log = self.run_pod(pod(f"login-{name}", image, container={"imagePullPolicy": "Always"},
                                   imagePullSecrets=[{"name": "absent"}, {"name": name}]))
            self.assertEqual(log.strip(), "let in")
        self.assertFalse(list(self.store("tmp").glob("**/auth.json")))

    def test_what_the_registry_does_not_have(self):
        for name, image, words in (("no-tag", f"{self.registry.address}/base:2", "manifest unknown"),
                                   ("no-digest", f"{self.registry.address}/base@sha256:{'0' * 64}", "manifest unknown"),
                                   ("no-registry", f"127.0.0.1:{free_port()}/base:1", "connection refused")):
            self.start(pod(name, image, ["true"]))
            self.assertIn(words, self.waiting(name, "ErrImagePull", "ImagePullBackOff"))
            self.assertIn(words, self.said(name, "Failed"))
            self.remove(name)
        for name, image in (("no-name", "-rf"), ("odd-name", "dir:/etc"), ("short-digest", "base@sha256:12")):
            self.start(pod(name, image, ["true"]))
            message = self.waiting(name, "InvalidImageName", "ErrImagePull")
            self.assertRegex(message, "not the name of an image|Failed to pull")
            self.remove(name)

    def test_pull_policies(self):
        self.push("moving", [self.base, layer({"version": b"one\n"})], {"Env": ["PATH=/bin"]})
        self.start(pod("never", self.image("moving"), ["true"], container={"imagePullPolicy": "Never"}))
        self.assertIn("pull policy of Never", self.waiting("never", "ErrImageNeverPull"))
        self.assertEqual(self.run_pod(pod("first", self.image("moving"), ["cat", "/version"])), "one\n")
        self.push("moving", [self.base, layer({"version": b"two\n"})], {"Env": ["PATH=/bin"]})
        for policy, said in (("IfNotPresent", "one\n"), ("Never", "one\n"), ("Always", "two\n"), ("IfNotPresent", "two\n")):
            name = f"policy-{policy.lower()}-{said.strip()}"
            self.assertEqual(self.run_pod(pod(name, self.image("moving"), ["cat", "/version"], container={
                "imagePullPolicy": policy})), said)
        self.remove("never")

    def test_two_pods_share_a_pull_and_images_share_layers(self):
        shared = layer({"shared": os.urandom(1 << 20)})
        self.push("left", [shared, self.base], {"Entrypoint": ["/bin/true"]})
        self.push("right", [shared, self.base, layer({"right": b""})], {"Entrypoint": ["/bin/true"]})
        digest = self.layers["left"][0]
        self.registry.gate.hold(digest)
        for name in ("left", "left-too"):
            self.start(pod(name, self.image("left")))
        self.start(pod("right", self.image("right")))
        self.assertTrue(self.registry.gate.reached.wait(harness.PATIENCE))
        self.assertIn("pulling image", self.waiting("left-too", "ContainerCreating"))
        self.registry.gate.released.set()
        for name in ("left", "left-too", "right"):
            self.ended(name)
        pulled = [one for one in self.registry.gate.blobs if one == digest]
        self.assertEqual(len(pulled), 1)

    def test_the_progress_of_a_pull_is_reported(self):
        self.push("large", [layer({"large": os.urandom(4 << 20)}), self.base], {"Entrypoint": ["/bin/true"]})
        self.registry.gate.hold(self.layers["large"][0])
        jobs = harness.JOBS.format(ns="default")
        self.daemon.call("POST", jobs, {
            "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": "patient"},
            "spec": {"replicaSpecs": [{"type": "worker", "replicas": 1, "template": {"spec": {
                "runtimeClassName": "image", "containers": [{"name": "pytorch", "image": self.image("large")}]}}}]}})
        self.assertTrue(self.registry.gate.reached.wait(harness.PATIENCE))
        words = r'pulling image ".*/large:1": 1 of 2 layers, [2-9]\.\d of \d\.\d MB'
        said = r"patient-.* is waiting: " + words
        self.daemon.wait_for(jobs, lambda found: re.search(said, json.dumps(found["patient"]["status"]).replace('\\"', '"')), words)
        self.registry.gate.released.set()
        self.daemon.wait_for(jobs, lambda found: found["patient"]["status"].get("phase") == "Succeeded", "the job to succeed")

    def test_a_pod_deleted_while_its_image_is_pulled(self):
        self.push("slow", [layer({"slow": os.urandom(1 << 20)}), self.base], {"Entrypoint": ["/bin/true"]})
        self.registry.gate.hold(self.layers["slow"][0])
        self.start(pod("hasty", self.image("slow")))
        self.assertTrue(self.registry.gate.reached.wait(harness.PATIENCE))
        self.push("next", [self.base, layer({"next": b"1"})], {"Entrypoint": ["/bin/true"]})
        self.start(pod("patient", self.image("next")))
        self.assertIn("another image is being pulled", self.waiting("patient", "ContainerCreating"))
        self.remove("hasty")
        self.ended("patient")  # although the first is still held up
        self.registry.gate.released.set()

    def test_killed_while_it_pulls(self):
        small = layer({"small": os.urandom(1 << 16)})
        self.push("cut", [small, layer({"large": os.urandom(1 << 20)}), self.base], {"Entrypoint": ["/bin/echo", "whole"]})
        self.registry.gate.hold(self.layers["cut"][1])
        before = self.unpacked()
        self.start(pod("cut", self.image("cut")))
        self.assertTrue(self.registry.gate.reached.wait(harness.PATIENCE))
        fetched = self.store("blobs", "sha256", self.layers["cut"][0].split(":")[1])
        self.daemon.kill()
        self.assertEqual(self.unpacked(), before)
        self.registry.gate.held = None
        self.registry.gate.released.set()
        had_small = fetched.exists()
        self.registry.gate.blobs.clear()
        self.daemon.start()
        self.ended("cut")
        self.assertEqual(self.daemon.log("cut").strip(), "whole")
        if had_small:  # what was complete is not fetched again
            self.assertNotIn(self.layers["cut"][0], self.registry.gate.blobs)
        self.assertEqual(list(self.store("tmp").iterdir()), [])

    def test_killed_while_it_unpacks(self):
        self.push("half", [self.base, layer({"half": b"1"})], {"Entrypoint": ["/bin/echo", "unpacked"]})
        programs = pathlib.Path(self.daemon.folder, "programs")
        programs.mkdir()
        (programs / "umoci").write_text('#!/bin/sh\nfor last; do :; done\nmkdir -p "$last/bin"\ntouch "$last/bin/sh"\nexec sleep 1000\n')
        (programs / "umoci").chmod(0o755)
        path = self.daemon.environment["PATH"]
        self.daemon.terminate()
        self.daemon.environment["PATH"] = f"{programs}:{path}"
        self.daemon.start()
        before = self.unpacked()
        self.start(pod("half", self.image("half")))
        half = self.store("tmp/pull/out/rootfs/bin/sh")
        wait_until(half.exists, "half an image")
        self.daemon.kill()
        self.assertEqual(self.unpacked(), before)
        self.daemon.environment["PATH"] = path
        self.daemon.start()
        self.ended("half")
        self.assertEqual(self.daemon.log("half").strip(), "unpacked")
        self.assertFalse(half.exists())

    def test_an_ended_daemon_waits_for_no_pull(self):
        self.push("endless", [layer({"endless": os.urandom(1 << 20)}), self.base], {"Entrypoint": ["/bin/true"]})
        self.registry.gate.hold(self.layers["endless"][0])
        self.start(pod("endless", self.image("endless")))
        self.assertTrue(self.registry.gate.reached.wait(harness.PATIENCE))
        self.daemon.terminate()
        self.registry.gate.held = None
        self.registry.gate.released.set()
        self.daemon.start()
        self.ended("endless")

    # --- what is in hostile ones

    def test_a_layer_cannot_leave_its_image(self):
        outside = os.path.join(self.daemon.folder, "outside")
        os.mkdir(outside, 0o777)
        os.chmod(outside, 0o777)
        self.push("hostile", [self.base, layer({
            "up": link(".." + "/.." * 12 + outside), "up/through-link": b"x",
            "abs": link(outside), "abs/through-absolute": b"x",
            "../" * 12 + outside[1:] + "/by-dots": b"x"}), layer({"abs/second-layer": b"x"})], {"Env": ["PATH=/bin"]})
        self.start(pod("hostile", self.image("hostile"), ["true"]))
        self.daemon.wait_for(PODS.format(ns="default"), lambda pods: pods["hostile"].get("status", {}).get("phase") in (
            "Succeeded", "Failed") or any(one["state"].get("waiting", {}).get("reason") in ("ErrImagePull", "ImagePullBackOff")
                                          for one in pods["hostile"]["status"].get("containerStatuses", [])), "an end")
        self.assertEqual(os.listdir(outside), [])
        self.remove("hostile")

    def test_mount_points_that_are_links_stay_inside(self):
        outside = os.path.join(self.daemon.folder, "beyond")
        os.mkdir(outside, 0o777)
        os.chmod(outside, 0o777)
        self.push("links", [self.base, layer({"out": link(outside), "in": link("/home/app"), "etc/resolv.conf": link("../run/none/resolv.conf"),
                                              "etc/hosts": link(outside + "/hosts")})], {"Env": ["PATH=/bin"]})
        room = {"volumes": [{"name": "room", "emptyDir": {}}]}
        log = self.run_pod(shell("links", self.image("links"), "grep localhost /etc/hosts; touch /in/deep/x && ls /home/app/deep", container={
            "volumeMounts": [{"name": "room", "mountPath": "/in/deep"}], "workingDir": "/in/work"}, **room))
        self.assertIn("127.0.0.1 localhost", log)
        self.assertEqual(log.splitlines()[-1], "x")
        self.start(shell("leads-out", self.image("links"), "true", container={
            "volumeMounts": [{"name": "room", "mountPath": "/out/deep"}]}, **room))
        self.assertIn("cannot be mounted at /out/deep: Not a directory", self.ended("leads-out", "Failed")["status"][
            "containerStatuses"][0]["state"]["terminated"]["message"])
        self.assertEqual(os.listdir(outside), [])
        self.push("proc", [self.base, layer({"proc": link("/tmp")})], {"Env": ["PATH=/bin"]})
        self.start(pod("proc", self.image("proc"), ["true"]))
        self.assertIn("/proc cannot be mounted in the image", self.ended("proc", "Failed")["status"]["containerStatuses"][0][
            "state"]["terminated"]["message"])

    def test_devices_of_an_image_do_not_work(self):
        self.push("device", [self.base, layer({"disk": entry(tarfile.CHRTYPE, mode=0o666, devmajor=1, devminor=3)})], {"Env": ["PATH=/bin"]})
        if self.uid:  # an ordinary user unpacks a plain file in its place
            self.assertIn("no device", self.run_pod(shell("device", self.image("device"), "[ -f /disk ] && [ ! -c /disk ] && echo no device")))
            return
        log = self.run_pod(shell("device", self.image("device"), "echo x > /disk || echo refused; mknod /tmp/own c 1 3; echo x > /tmp/own || echo refused too"))
        self.assertIn("refused\n", log)
        self.assertIn("refused too", log)

    # --- the command

    def test_the_command(self):
        run = self.daemon.cli if not self.uid else self.as_user
        self.push("handled", [self.base, layer({"handled": b"1"})], {"Entrypoint": ["/bin/sleep", "1000"]})
        image = self.image("handled")
        self.assertIn("sha256:", run("image", "pull", image).stdout)
        self.assertIn(image, run("image", "ls").stdout)
        self.start(pod("handled", image))
        self.running("handled")
        refused = run("image", "rm", image)
        self.assertEqual(refused.returncode, 6, refused.stderr)
        self.assertIn("in use by a pod", refused.stderr)
        self.remove("handled")
        wait_until(lambda: run("image", "rm", image).returncode == 0, "the pod's folder to be gone")
        self.assertNotIn(image, run("image", "ls").stdout)
        self.assertFalse(self.store("blobs", "sha256", self.layers["handled"][1].split(":")[1]).exists())
        where = os.path.join(self.work, "saved")
        make_image(where, [self.base], {"Entrypoint": ["/bin/echo", "from a file"]})
        archive = os.path.join(self.daemon.folder, "saved.tar")
        subprocess.run(["skopeo", "copy", "-q", f"oci:{where}:latest", f"docker-archive:{archive}:saved:1"], check=True)
        os.chmod(archive, 0o644)
        self.assertEqual(run("image", "load", archive, "saved:1").returncode, 0)
        self.assertEqual(self.run_pod(pod("loaded", "saved:1")).strip(), "from a file")
        self.assertEqual(run("image", "pull", "no/such//name").returncode, 1)

    def as_user(self, *arguments):
        return subprocess.run([*self.wrapper, self.daemon.binary, *arguments], env=self.daemon.environment,
                              capture_output=True, text=True)


class AsRoot(Images, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("not root")
        super().setUpClass()


class AsUser(Images, unittest.TestCase):
    uid = ORDINARY
    wrapper = ("setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--clear-groups")

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can become another user")
        super().setUpClass()


# Two GPUs' devices, and a dynamic linker's cache that knows a driver's library, in a mount namespace.
WITH_DEVICES = """
folder=$1; shift
mkdir "$folder/dev"; mount -t tmpfs dev "$folder/dev"
for name in null zero full random urandom tty ptmx; do cp -a "/dev/$name" "$folder/dev/"; done
ln -s /proc/self/fd "$folder/dev/fd"
for name in pts shm; do mkdir "$folder/dev/$name"; mount --bind "/dev/$name" "$folder/dev/$name"; done
for name in nvidia0 nvidia1 nvidiactl nvidia-uvm; do mknod -m 666 "$folder/dev/$name" c 1 3; done
mount --move "$folder/dev" /dev
mount --bind "$folder/ld.so.cache" /etc/ld.so.cache
exec "$@"
"""


class Gpus(WithImages, unittest.TestCase):
    """With stand-ins for devices and driver."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("not root")
        cls.machine = tempfile.mkdtemp(prefix="muster-gpus-")
        libraries = pathlib.Path(cls.machine, "lib64")
        libraries.mkdir()
        gpu_stand_in.write(libraries)
        gpu_stand_in.compile_library(libraries / "libcuda.so.1", "int cuInit(unsigned f) { return 0; }")
        (libraries / "nvidia-smi").write_text("#!/bin/sh\necho the machine\n")
        (libraries / "nvidia-smi").chmod(0o755)
        pathlib.Path(cls.machine, "ld.so.conf").write_text(f"{libraries}\n")
        subprocess.run(["/sbin/ldconfig", "-C", cls.machine + "/ld.so.cache", "-f", cls.machine + "/ld.so.conf", "-X"], check=True)
        cls.wrapper = ("unshare", "--mount", "sh", "-ec", WITH_DEVICES, "sh", cls.machine)
        cls.environment = {"LD_LIBRARY_PATH": str(libraries), "PATH": f"{os.environ['PATH']}:{libraries}"}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.machine)

    def test_a_container_sees_its_own_gpus_only(self):
        show = 'ls /dev | grep nvidia; echo "cuda ${CUDA_VISIBLE_DEVICES-not set}"; ls /usr/lib; nvidia-smi; sleep 1000'
        limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}, "env": [{"name": "PATH", "value": "/bin:/usr/bin"}]}
        for name, container in (("first", limits), ("second", limits), ("none", {})):
            self.start(shell(name, self.image("base"), show, container=container))
            self.running(name)
        for name in ("first", "second"):
            wait_until(lambda: "the machine" in self.daemon.log(name), f"what {name} sees")
            lines = self.daemon.log(name).splitlines()
            self.assertEqual(sum(line[:6] == "nvidia" and line[6:].isdigit() for line in lines), 1, lines)
            for wanted in ("nvidiactl", "cuda not set", "libcuda.so.1", "libnvidia-ml.so.1"):
                self.assertIn(wanted, lines)
        devices = {line for name in ("first", "second") for line in self.daemon.log(name).splitlines()
                   if line[:6] == "nvidia" and line[6:].isdigit()}
        self.assertEqual(devices, {"nvidia0", "nvidia1"})
        wait_until(lambda: "cuda " in self.daemon.log("none"), "what none sees")
        lines = self.daemon.log("none").splitlines()
        self.assertFalse({"nvidia0", "nvidia1", "libcuda.so.1"} & set(lines), lines)


if __name__ == "__main__":
    harness.main()
