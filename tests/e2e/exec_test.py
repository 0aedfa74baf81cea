#!/usr/bin/python3
"""`muster exec` and what a pod's service account gets it: terminals, refusals, TLS, and the token itself."""
import contextlib
import os
import select
import socket
import ssl
import subprocess
import sys
import threading
import time

import harness
from harness import DaemonTest

sys.path.insert(0, str(harness.ROOT / "tests/kubectl"))

from streams_test import Terminal  # noqa: E402

PODS = harness.PODS.format(ns="default")


def pod(name, command, account=None, **more):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                     **({"serviceAccountName": account} if account else {}),
                     "containers": [{"name": "main", "image": "none", "command": command, **more}]}}


class TlsFront:
    """Takes TLS connections and passes their bytes to the server: what stands before a cluster's."""

    def __init__(self, folder, port):
        self.certificate = os.path.join(folder, "front.pem")
        key = os.path.join(folder, "front.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-keyout", key, "-out", self.certificate, "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.server_port = port
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                raw, _ = self.listener.accept()
                threading.Thread(target=self.pass_on, args=(raw,), daemon=True).start()

    def pass_on(self, raw):
        with contextlib.suppress(OSError, ssl.SSLError), raw, \
                socket.create_connection(("127.0.0.1", self.server_port)) as server, \
                self.context.wrap_socket(raw, server_side=True) as client:
            while True:
                ready = [client] if client.pending() else select.select([client, server], [], [])[0]
                for one in ready:
                    data = one.recv(65536)
                    if not data:
                        return
                    (server if one is client else client).sendall(data)

    def close(self):
        self.listener.close()


class Exec(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.call("POST", PODS, pod("p", ["sleep", "1000"]))
        cls.daemon.wait_for(PODS, lambda pods: pods["p"]["status"].get("phase") == "Running", "the pod to run")

    @classmethod
    def tearDownClass(cls):
        cls.daemon.call("DELETE", PODS)
        cls.daemon.wait_for(PODS, lambda pods: not pods, "pods to be gone")
        super().tearDownClass()

    def tearDown(self):
        pass  # the pod is for all tests

    def test_a_terminal(self):
        terminal = Terminal([harness.BIN, "exec", "-it", "p", "--", "sh"], self.daemon.environment, 100, 40)
        terminal.type("stty size; exit 3\n")
        terminal.expect("40 100")
        self.assertEqual(terminal.process.wait(harness.PATIENCE), 3)
        os.close(terminal.master)

    def test_a_signal_ends_the_command(self):
        process = subprocess.Popen([harness.BIN, "exec", "p", "--", "sh", "-c", "echo up; exec sleep 997"],
                                   stdout=subprocess.PIPE, env=self.daemon.environment)
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.terminate()
        self.assertEqual(process.wait(harness.PATIENCE), 143)
        process.stdout.close()
        until = time.monotonic() + harness.PATIENCE
        while any("sleep 997" in line for line in self.daemon.pod_processes().values()):
            self.assertLess(time.monotonic(), until, "the command still runs")

    def test_refusals(self):
        for arguments, code, words in (
                (["nobody", "--", "true"], 5, "no job 'nobody' in namespace default"),
                (["p", "-c", "other", "--", "true"], 1, "container other is not valid for pod p"),
                (["p", "--", "/no/such/command"], 127, ""),
                (["p"], 2, "'muster exec' wants")):
            with self.subTest(arguments=arguments):
                done = self.daemon.cli("exec", *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stderr)

    def test_over_tls(self):
        front = TlsFront(self.daemon.folder, self.daemon.port)
        self.addCleanup(front.close)
        path = self.write("tls.yaml", {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{front.port}",
                                                   "certificate-authority": front.certificate}}],
            "users": [{"name": "c", "user": {"token": self.daemon.token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]})
        text = "over the wire " * 50000
        done = self.daemon.cli("exec", "--kubeconfig", path, "-i", "p", "--", "sh", "-c", "cat; exit 5", stdin=text)
        self.assertEqual((done.returncode, len(done.stdout), done.stderr), (5, len(text), ""))
        self.assertEqual(done.stdout, text)

    def test_the_token_of_a_pod(self):
        """What its account may do it can do with it, and nothing else; others' programs do not have it."""
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "reader"}})
        self.daemon.call("POST", f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})
        self.daemon.call("POST", f"{rbac}/rolebindings", {
            "metadata": {"name": "reader"}, "roleRef": {"kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}]})
        asks = """
import os, urllib.request, urllib.error
for path in ("pods/p", "secrets"):
    request = urllib.request.Request(os.environ["MUSTER_SERVER"] + "/api/v1/namespaces/default/" + path,
                                     headers={"Authorization": "Bearer " + os.environ["MUSTER_TOKEN"]})
    try:
        print(path, urllib.request.urlopen(request).status)
    except urllib.error.HTTPError as error:
        print(path, error.code)
print(os.environ["MUSTER_EXE"], os.environ["MUSTER_NAMESPACE"])
with open("/var/run/secrets/kubernetes.io/serviceaccount/token") as file:
    print(file.read() == os.environ["MUSTER_TOKEN"])
"""
        self.daemon.call("POST", PODS, pod("asks", ["/usr/bin/python3", "-c", asks], "reader"))
        self.daemon.call("POST", PODS, pod("has-none", ["sh", "-c", "echo $(MUSTER_EXE); env | grep -c MUSTER_TOKEN"]))
        for name, wanted in (("asks", f"pods/p 200\nsecrets 403\n{harness.BIN} default\nTrue\n"),
                             ("has-none", f"{harness.BIN}\n0\n")):
            self.daemon.wait_for(PODS, lambda pods, name=name: pods[name]["status"].get("phase") in
                                 ("Succeeded", "Failed"), f"{name} to end")
            self.assertEqual(self.daemon.log(name), wanted)

    def test_an_account_that_is_not_there(self):
        self.daemon.call("POST", PODS, pod("orphan", ["true"], "nobody"))
        def said(events):
            return any('No token for service account nobody: serviceaccounts "nobody" not found' in e["message"]
                       for e in events.values())
        self.daemon.wait_for("/api/v1/namespaces/default/events", said, "the reason to be said")
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "nobody"}})
        self.daemon.wait_for(PODS, lambda pods: pods["orphan"]["status"].get("phase") == "Succeeded", "the pod to run")


if __name__ == "__main__":
    harness.main()
