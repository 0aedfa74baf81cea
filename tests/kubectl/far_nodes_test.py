#!/usr/bin/python3
"""Pods on nodes that are processes of their own, with data folders of their own: the API server asks them over HTTPS, and
kubectl, old and current, sees no difference."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
import streams_test  # noqa: E402
from harness import DaemonTest, PODS  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402

DEFAULT = PODS.format(ns="default")
MERGE = "application/merge-patch+json"
METRICS = "/apis/metrics.k8s.io/v1beta1"


class FarNodes(DaemonTest):
    """An API server, the controllers, and nodes east and west."""
    options = ("--only", "api")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubeconfig = os.path.join(cls.daemon.folder, "kubeconfig")
        cls.daemon.spawn("controller", "--kubeconfig", cls.kubeconfig)
        cls.nodes = {name: cls.start_node(name) for name in ("east", "west")}

    @classmethod
    def start_node(cls, name):
        folder = os.path.join(cls.daemon.folder, name)
        os.makedirs(folder, 0o700, exist_ok=True)
        before = cls.endpoint(name)
        process = cls.daemon.spawn("node", "--kubeconfig", cls.kubeconfig, "--dir", folder, "--node-name", name)
        cls.daemon.wait_for(harness.NODES, lambda nodes: cls.endpoint(name) not in (None, before), f"node {name}'s endpoint")
        return process

    @classmethod
    def endpoint(cls, name):
        nodes = {node["metadata"]["name"]: node for node in cls.daemon.list(harness.NODES)}
        return nodes.get(name, {}).get("status", {}).get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port")

    def tearDown(self):
        for name, pod in self.daemon.pods().items():
            lost = pod["spec"].get("nodeName") == "liar"
            self.daemon.call("DELETE", f"{DEFAULT}/{name}{'?gracePeriodSeconds=0' if lost else ''}", expect=(200, 404))
        super().tearDown()

    def wait_gone(self, name):
        self.daemon.wait_for(DEFAULT, lambda pods: name not in pods, f"{name} to be gone")

    def start_pod(self, name, node, script):
        self.daemon.call("POST", DEFAULT, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeName": node, "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "none", "command": ["sh", "-c", script]}]}})
        self.daemon.wait_for(DEFAULT, lambda pods: pods[name].get("status", {}).get("phase") == "Running", f"pod {name}")


class FarStreams(FarNodes):
    """Everything that holds of exec, attach, cp and port-forward on one machine. How much is held is asked of the server
    itself, not of a sanitizer, which keeps what was freed: TLS frees each record."""
    environment = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}


class Streams1_20(streams_test.Streams, FarStreams):
    version = "1.20"


class Streams1_32(streams_test.Streams, FarStreams):
    version = "1.32"


class Ask(StockKubectl):
    """Logs and use, for one version; the classes at the end say which."""

    def test_logs(self):
        self.start_pod("east-one", "east", "echo one; echo two; exec sleep 1000")
        self.start_pod("west-one", "west", "echo three; exec sleep 1000")
        self.assertEqual(self.kubectl("logs", "east-one").stdout, "one\ntwo\n")
        self.assertEqual(self.kubectl("logs", "west-one").stdout, "three\n")
        self.assertEqual(self.kubectl("logs", "east-one", "--tail=1").stdout, "two\n")
        self.assertRegex(self.kubectl("logs", "east-one", "--timestamps").stdout, r"^\d{4}-\d\d-\d\dT\S+Z one\n")
        self.assertEqual(self.kubectl("logs", "east-one", "--limit-bytes=2").stdout, "on")
        self.assertEqual(self.kubectl("logs", "east-one", "--since-time=2100-01-01T00:00:00Z").stdout, "")
        self.assertEqual(self.kubectl("logs", "east-one", "--since=1h").stdout, "one\ntwo\n")
        done = self.kubectl("logs", "east-one", "--previous", code=1)
        self.assertIn('previous terminated container "main" in pod "east-one" not found', done.stderr)
        with self.background("logs", "-f", "west-one") as follow:
            self.assertEqual(follow.stdout.readline(), "three\n")
            self.kubectl("exec", "west-one", "--", "true")
            self.assertIsNone(follow.poll())

    def test_previous(self):
        mark = os.path.join(self.home, "second")
        self.start_pod("again", "east", f"test -e {mark} && echo second && exec sleep 1000; touch {mark}; echo first; exit 1")
        self.daemon.wait_for(DEFAULT, lambda pods: pods["again"]["status"]["containerStatuses"][0]["restartCount"] == 1
                             and "running" in pods["again"]["status"]["containerStatuses"][0]["state"], "the second run")
        self.assertEqual(self.kubectl("logs", "again").stdout, "second\n")
        self.assertEqual(self.kubectl("logs", "again", "--previous").stdout, "first\n")

    def test_follow_to_the_end(self):
        """Much more than is buffered anywhere, at the reader's pace."""
        self.start_pod("long", "west", "seq 1 300000; exec sleep 2")
        lines = self.kubectl("logs", "-f", "long").stdout.split()
        self.assertEqual((len(lines), lines[0], lines[-1]), (300000, "1", "300000"))

    def test_top(self):
        for name in ("east", "west"):
            self.start_pod(f"busy-{name}", name, "while :; do :; done")
            self.addCleanup(self.wait_gone, f"busy-{name}")
        harness.wait_until(lambda: len(self.daemon.list(f"{METRICS}/pods")) >= 2 and len(self.daemon.list(f"{METRICS}/nodes")) == 2,
                           "samples")
        rows = [line.split() for line in self.kubectl("top", "pods", "--no-headers").stdout.splitlines()]
        self.assertLessEqual({"busy-east", "busy-west"}, {row[0] for row in rows})
        self.assertEqual({line.split()[0] for line in self.kubectl("top", "nodes", "--no-headers").stdout.splitlines()},
                         {"east", "west"})
        self.assertRegex(self.kubectl("top", "pod", "busy-east", "--containers", "--no-headers").stdout, r"^busy-east +main +\d+m")
        harness.wait_until(lambda: self.daemon.call("GET", f"{DEFAULT}/busy-east/samples")["time"], "samples with a history")
        of_node = self.daemon.call("GET", f"{harness.NODES}/west/samples")
        self.assertIn("cpu", of_node["columns"])
        self.assertTrue(of_node["time"])


class Ask1_20(Ask, FarNodes):
    version = "1.20"


class Ask1_32(Ask, FarNodes):
    version = "1.32"


class Trouble(StockKubectl, FarNodes):
    """Nodes that go, and one that lies."""
    version = "1.32"

    def test_logs_of_the_gone(self):
        """By their UID, wherever they were: nobody says which node had them."""
        self.start_pod("shortly", "west", "echo last words; exec sleep 1000")
        harness.wait_until(lambda: self.daemon.log("shortly") == "last words\n", "its words")
        uid = self.daemon.call("GET", f"{DEFAULT}/shortly")["metadata"]["uid"]
        self.daemon.call("DELETE", f"{DEFAULT}/shortly")
        self.daemon.wait_for(DEFAULT, lambda pods: "shortly" not in pods, "the pod to be gone")
        self.assertEqual(self.daemon.log("shortly", query=f"?container=main&uid={uid}"), "last words\n")
        found = self.daemon.log("shortly", query=f"?container=main&uid={uid}&search=W.RDS&regex=1&ignoreCase=1")
        self.assertEqual(json.loads(found.splitlines()[0])["text"], "last words")
        bad = self.daemon.call("GET", f"{DEFAULT}/shortly/log?container=main&uid={uid}&search=(&regex=1", expect=(400,))
        self.assertIn("not a regular expression", bad["message"])
        listed = self.daemon.request("GET", "/apis/muster.dev/v1/namespaces/default/podlogs")[1]
        self.assertIn(uid, [json.loads(line)["uid"] for line in listed.splitlines()])
        none = self.daemon.call("GET", f"{DEFAULT}/shortly/log?container=main&uid=other", expect=(404,))
        self.assertIn("left no log", none["message"])

    def test_killed_in_the_middle(self):
        """A node that is killed ends what hangs on it, at once, and is told of; its pods go on, and so does it."""
        self.start_pod("steady", "east", "echo up; exec sleep 1000")
        with self.background("logs", "-f", "steady") as follow, self.background("exec", "steady", "--", "sleep", "1000") as command:
            self.assertEqual(follow.stdout.readline(), "up\n")
            uid = self.daemon.call("GET", f"{DEFAULT}/steady")["metadata"]["uid"]
            harness.wait_until(lambda: len(self.daemon.pod_processes(uid, container=True)) == 2, "the command")
            self.nodes["east"].kill()
            self.nodes["east"].wait()
            self.assertNotEqual(follow.wait(harness.PATIENCE), 0)
            self.assertNotEqual(command.wait(harness.PATIENCE), 0)
        for arguments in (("logs", "steady"), ("exec", "steady", "--", "true"), ("attach", "steady"), ("port-forward", "steady", ":1")):
            done = self.kubectl(*arguments, code=1)
            self.assertIn('node "east" does not answer: cannot reach https://127.0.0.1:', done.stderr)
        self.assertEqual(self.daemon.request("GET", f"{DEFAULT}/steady/log")[0], 503)
        done = self.daemon.cli("logs", "steady")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('node "east" does not answer', done.stderr)
        self.nodes["east"] = self.start_node("east")
        self.assertEqual(self.kubectl("logs", "steady").stdout, "up\n")
        self.assertEqual(self.kubectl("exec", "steady", "--", "echo", "there").stdout, "there\n")

    def test_one_that_does_not_answer(self):
        """Stopped, it takes connections and says nothing."""
        self.start_pod("mute", "west", "echo up; exec sleep 1000")
        self.assertEqual(self.kubectl("logs", "mute").stdout, "up\n")
        self.nodes["west"].send_signal(signal.SIGSTOP)
        try:
            status, text = self.daemon.request("GET", f"{DEFAULT}/mute/log")
            self.assertEqual(status, 504, text)
            self.assertIn(b'node \\"west\\" does not answer', text)
            done = self.kubectl("exec", "mute", "--", "true", code=1)
            self.assertIn('node "west" does not answer', done.stderr)
            self.assertEqual({node["metadata"]["name"] for node in self.daemon.list(f"{METRICS}/nodes")} - {"east"}, set())
        finally:
            self.nodes["west"].send_signal(signal.SIGCONT)
        self.assertEqual(self.kubectl("logs", "mute").stdout, "up\n")

    def lie(self, port, ca, name="liar"):
        """A Node made up by a user who may write Nodes, and a pod bound to it."""
        self.daemon.call("POST", harness.NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "annotations": {"muster.dev/ca": ca} if ca else {}}})
        self.addCleanup(self.daemon.call, "DELETE", f"{harness.NODES}/{name}", expect=(200, 404))
        self.daemon.call("PATCH", f"{harness.NODES}/{name}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2100-01-01T00:00:00Z"}]}}, content_type=MERGE)
        self.daemon.call("POST", DEFAULT, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bait"}, "spec": {
            "nodeName": name, "terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "none", "command": ["true"]}]}})
        self.daemon.call("PATCH", f"{DEFAULT}/bait/status", {"status": {"phase": "Running", "containerStatuses": [
            {"name": "main", "image": "none", "imageID": "", "ready": True, "restartCount": 0,
             "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}}, content_type=MERGE)

    def refused(self, says):
        for arguments in (("logs", "bait"), ("exec", "bait", "--", "true"), ("port-forward", "bait", ":1")):
            self.assertIn(says, self.kubectl(*arguments, code=1).stderr, arguments)

    def test_an_address_of_somebody_else(self):
        """The liar sends the server to a place of its choosing, and to one that is not its own: neither hears anything."""
        heard = []
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def listen():
            with contextlib.suppress(OSError):
                while True:
                    connection = listener.accept()[0]
                    connection.settimeout(harness.PATIENCE)
                    with connection, contextlib.suppress(OSError):
                        while piece := connection.recv(65536):
                            heard.append(piece)
                            connection.shutdown(socket.SHUT_WR)
        threading.Thread(target=listen, daemon=True).start()
        node = next(n for n in self.daemon.list(harness.NODES) if n["metadata"]["name"] == "west")
        self.lie(listener.getsockname()[1], node["metadata"]["annotations"]["muster.dev/ca"])
        self.refused('node "liar" does not answer')
        self.assertTrue(heard)
        for piece in heard:  # not the request, and no certificate: that comes after the server's own
            self.assertIn(piece[0], (0x15, 0x16))  # an alert, a handshake
            self.assertNotIn(b"muster:server", piece)
            self.assertNotIn(self.daemon.token.encode(), piece)
            self.assertNotIn(b"bait", piece)

    def test_an_authority_of_its_own(self):
        """One that the server does speak to gets a certificate shown, and no word that is good anywhere else."""
        folder = self.daemon.folder
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-keyout", f"{folder}/liar.key", "-out", f"{folder}/liar.crt", "-subj", "/CN=liar",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/liar.crt", f"{folder}/liar.key")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(os.path.join(self.daemon.data, "ca.pem"))
        heard, shown = [], []
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def listen():
            with contextlib.suppress(OSError):
                while True:
                    plain = listener.accept()[0]
                    plain.settimeout(harness.PATIENCE)
                    with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
                        shown.append(connection.getpeercert()["subject"])
                        text = b""
                        while b"\r\n\r\n" not in text:
                            text += connection.recv(65536)
                        heard.append(text.decode())
                        connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 8\r\n\r\nno\x1b[31m!")
        threading.Thread(target=listen, daemon=True).start()
        self.lie(listener.getsockname()[1], pathlib.Path(f"{folder}/liar.crt").read_text())
        self.refused('node "liar" refuses the API server: no [31m!')
        self.assertGreaterEqual(len(heard), 3)  # kubectl that gets no WebSocket tries SPDY
        for subject in shown:
            self.assertIn((("commonName", "muster:server"),), subject)
        for text in heard:
            self.assertNotIn("Authorization", text)
            self.assertNotIn(self.daemon.token, text)

    def test_the_place_of_another_node(self):
        """Led to west with west's authority, the server asks there for a pod that west does not have."""
        west = next(n for n in self.daemon.list(harness.NODES) if n["metadata"]["name"] == "west")
        self.start_pod("real", "west", "echo secret; exec sleep 1000")
        self.lie(self.endpoint("west"), west["metadata"]["annotations"]["muster.dev/ca"])
        self.assertIn("left no log", self.kubectl("logs", "bait", code=1).stderr)
        self.assertIn("pod does not exist", self.kubectl("exec", "bait", "--", "true", code=1).stderr)

    def test_no_endpoint(self):
        self.lie(1, None)
        self.refused('pod "bait": node "liar" has no endpoint')


if __name__ == "__main__":
    harness.main()
