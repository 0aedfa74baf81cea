#!/usr/bin/python3
"""A node that is a process of its own, with a data folder of its own, serves what a kubelet serves: to those whom the API
server knows and who may, by token or by a certificate of the cluster's authority."""
import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile

import harness

sys.path.insert(0, str(harness.ROOT / "tests/api"))
from stream_test import Refused, Tab  # noqa: E402

CLUSTER = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
STDIN, STDOUT, ERROR, RESIZE = 0, 1, 3, 4


class Command(Tab):
    """exec and attach over a WebSocket's channels."""

    def __init__(self, path, port, **how):
        self.path = path
        super().__init__(port, **{"Sec-WebSocket-Protocol": "v5.channel.k8s.io"}, **how)

    def channel(self, number):
        """All of one channel, to the end."""
        text = b""
        try:
            while True:
                opcode, data = self.frame()
                if opcode == 8:
                    return text
                if data[:1] == bytes([number]):
                    text += data[1:]
        except EOFError:
            return text


class NodeDoor(harness.WithDaemon):
    options = ("--only", "api")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        daemon = cls.daemon
        kubeconfig = os.path.join(daemon.folder, "kubeconfig")
        daemon.spawn("controller", "--kubeconfig", kubeconfig)
        cls.folder = os.path.join(daemon.folder, "elsewhere")
        os.mkdir(cls.folder, 0o700)
        daemon.spawn("node", "--kubeconfig", kubeconfig, "--dir", cls.folder, "--node-name", "far")
        cls.node = daemon.wait_for(
            harness.NODES, lambda nodes: nodes["far"] if "daemonEndpoints" in nodes.get("far", {}).get("status", {})
            else None, "the node's endpoint")
        cls.port = cls.node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        daemon.create(harness.job("talk", ["sh", "-c", "echo one; echo two; exec sleep 1000"], replicas=1))
        cls.pod = next(iter(daemon.wait_running("talk", 1)))
        cls.container = daemon.pods("talk")[cls.pod]["spec"]["containers"][0]["name"]
        cls.uid = daemon.pods("talk")[cls.pod]["metadata"]["uid"]

    @classmethod
    def tearDownClass(cls):
        cls.daemon.cli("rm", "talk")
        super().tearDownClass()

    def context(self, certificate=None):
        context = ssl.create_default_context(cadata=self.node["metadata"]["annotations"]["muster.dev/ca"])
        if certificate:
            context.load_cert_chain(certificate)
        return context

    def ask(self, path, token=None, method="GET", certificate=None):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=harness.PATIENCE,
                                                 context=self.context(certificate))
        self.addCleanup(connection.close)
        connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def account(self, name, *subresources):
        self.daemon.call("POST", ACCOUNTS, {"metadata": {"name": name}})
        rules = [{"apiGroups": [""], "resources": [f"nodes/{one}" for one in subresources], "verbs": ["get"]}]
        self.daemon.call("POST", f"{CLUSTER}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        self.daemon.call("POST", f"{CLUSTER}/clusterrolebindings", {
            "metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
        return self.daemon.call("POST", f"{ACCOUNTS}/{name}/token", {"spec": {}})["status"]["token"]

    def certificate(self, user, group, authority):
        """A client's key and certificate in one file, signed by the authority whose file that is."""
        folder = tempfile.mkdtemp(dir=self.daemon.folder)
        subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", f"{folder}/key", "-out", f"{folder}/request", "-subj", f"/O={group}/CN={user}"],
                       check=True, capture_output=True)
        pathlib.Path(folder, "purpose").write_text("extendedKeyUsage=clientAuth\n")
        subprocess.run(["openssl", "x509", "-req", "-in", f"{folder}/request", "-CA", authority, "-CAkey", authority,
                        "-set_serial", "7", "-days", "2", "-extfile", f"{folder}/purpose", "-out", f"{folder}/signed"],
                       check=True, capture_output=True)
        both = pathlib.Path(folder, "both")
        both.write_text(pathlib.Path(folder, "key").read_text() + pathlib.Path(folder, "signed").read_text())
        return str(both)

    def test_who_may(self):
        logs = f"/containerLogs/default/{self.pod}/{self.container}"
        self.assertEqual(self.ask(logs)[0], 401)
        self.assertEqual(self.ask(logs, "wrong")[0], 401)
        self.assertEqual(self.ask("/healthz", self.daemon.token), (200, "ok"))
        self.assertEqual(self.ask("/nothing", self.daemon.token)[0], 404)
        reader = self.account("reader", "stats", "metrics")
        status, text = self.ask(logs, reader)
        self.assertEqual(status, 403)
        self.assertIn("user=system:serviceaccount:default:reader, verb=get, resource=nodes, subresource=proxy", text)
        self.assertEqual(self.ask("/stats/summary", reader)[0], 200)
        self.assertEqual(self.ask("/stats/summary", reader, method="POST")[0], 403)
        # A command is no reading, however it is opened.
        looker = self.account("looker", "proxy")
        self.assertEqual(self.ask(logs, looker)[0], 200)
        for path in (f"/exec/default/{self.pod}/{self.container}?command=id", f"/attach/default/{self.pod}/{self.container}",
                     f"/portForward/default/{self.pod}?port=1"):
            with self.assertRaisesRegex(Refused, "403"):
                Command(path, self.port, tls=self.context(), Authorization=f"Bearer {looker}")

    def test_plain_http_is_refused(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", "/healthz", headers={"Authorization": f"Bearer {self.daemon.token}"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 400)
        self.assertIn(b"use https://", answer.read())

    def test_certificates(self):
        own = os.path.join(self.daemon.data, "ca.pem")
        self.assertEqual(self.ask("/healthz", certificate=self.certificate("kube-apiserver", "system:masters", own)),
                         (200, "ok"))
        status, text = self.ask("/healthz", certificate=self.certificate("somebody", "nobody", own))
        self.assertEqual(status, 403, text)
        self.assertIn("user=somebody", text)
        other = os.path.join(self.folder, "ca.pem")  # of the node itself: it vouches for no client
        self.assertEqual(self.ask("/healthz", certificate=self.certificate("kube-apiserver", "system:masters", other))[0],
                         401)

    def test_logs(self):
        logs = f"/containerLogs/default/{self.pod}/{self.container}"
        self.assertEqual(self.ask(logs, self.daemon.token), (200, "one\ntwo\n"))
        self.assertEqual(self.ask(f"{logs}?tailLines=1", self.daemon.token), (200, "two\n"))
        self.assertEqual(self.ask(f"{logs}?tailLines=x", self.daemon.token)[0], 400)
        self.assertEqual(self.ask(f"/containerLogs/default/none/{self.container}", self.daemon.token)[0], 404)
        self.assertEqual(self.ask(f"/containerLogs/kube-system/{self.pod}/{self.container}", self.daemon.token)[0], 404)

    def command(self, path, token=None):
        return Command(path, self.port, tls=self.context(), Authorization=f"Bearer {token or self.daemon.token}")

    def test_exec(self):
        for uid in ("", f"/{self.uid}"):
            path = f"/exec/default/{self.pod}{uid}/{self.container}?command=echo&command=a+b&output=1"
            done = self.command(path)
            self.addCleanup(done.close)
            self.assertEqual(done.channel(STDOUT), b"a b\n")
        done = self.command(f"/exec/default/{self.pod}/{self.container}?command=false&output=1")
        self.addCleanup(done.close)
        self.assertIn("NonZeroExitCode", done.channel(ERROR).decode())
        for path, code in ((f"/exec/default/{self.pod}/other-uid/{self.container}?command=true&output=1", 404),
                           (f"/exec/default/{self.pod}/none?command=true&output=1", 400),
                           (f"/exec/default/{self.pod}/{self.container}?output=1", 400)):
            with self.assertRaises(Refused) as refused:
                self.command(path)
            self.assertEqual(refused.exception.args[0], code, path)
        with self.assertRaises(Refused) as refused:
            self.command(f"/exec/default/{self.pod}/{self.container}?command=true&output=1", "wrong")
        self.assertEqual(refused.exception.args[0], 401)

    def test_a_size_need_not_end_its_line(self):
        """As kubelets take them; browsers' clients send each in a frame of its own."""
        terminal = self.command(f"/exec/default/{self.pod}/{self.container}?command=sh&command=-c&command=read+x;+stty+size"
                                "&input=1&output=1&tty=1")
        self.addCleanup(terminal.close)
        terminal.send_frame(2, bytes([RESIZE]) + b'{"Width":77,"Hei')
        terminal.send_frame(2, bytes([RESIZE]) + b'ght":33}')
        terminal.send_frame(2, bytes([STDIN]) + b"\n")
        self.assertIn(b"33 77", terminal.channel(STDOUT))

    def test_pods_and_what_they_use(self):
        pods = json.loads(self.ask("/pods", self.daemon.token)[1])["items"]
        self.assertIn(self.uid, [pod["metadata"]["uid"] for pod in pods])

        def summary():
            return json.loads(self.ask("/stats/summary", self.daemon.token)[1])
        harness.wait_until(lambda: any("cpu" in pod and "memory" in pod for pod in summary()["pods"]), "a sample of the pod")
        summary = summary()
        self.assertEqual(summary["node"]["nodeName"], "far")
        self.assertIn(self.uid, [pod["podRef"]["uid"] for pod in summary["pods"]])
        text = self.ask("/metrics/resource", self.daemon.token)[1]
        labels = f'{{container="{self.container}",namespace="default",pod="{self.pod}"}} '
        for name in ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes",
                     "container_start_time_seconds"):
            self.assertRegex(text, f"(?m)^{name}{labels}".replace("{c", r"\{c").replace("} ", r"\} ") + r"[0-9.e+-]+ \d{13}$")
        self.assertRegex(text, r"(?m)^node_cpu_usage_seconds_total [0-9.e+]+ \d{13}$")

    def test_an_address_that_cannot_be_published(self):
        for address in ("0.0.0.0:0", "[::]:0", "localhost:0"):
            done = self.daemon.cli("node", "--kubeconfig", os.path.join(self.daemon.folder, "kubeconfig"),
                                   "--dir", self.folder, "--listen", address)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"--listen {address}: the Node tells others this address", done.stderr)

    def test_two_in_one_folder_are_refused(self):
        done = self.daemon.cli("node", "--kubeconfig", os.path.join(self.daemon.folder, "kubeconfig"), "--dir", self.folder, "--node-name", "twin")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("another muster node runs its pods in", done.stderr)

    def test_a_client_that_says_nothing(self):
        """Plain bytes on the port and unfinished handshakes do not block other clients."""
        quiet = socket.create_connection(("127.0.0.1", self.port))
        self.addCleanup(quiet.close)
        quiet.sendall(b"\x16")
        self.assertEqual(self.ask("/healthz", self.daemon.token)[0], 200)


if __name__ == "__main__":
    harness.main()
