#!/usr/bin/python3
"""Every way a kubeconfig says who we are and how the server is reached, on a real API server, by `muster ps` and
`muster exec`'s connection."""
import base64
import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import threading
import time
import unittest

from control_plane import ADMIN, MUSTER, PATIENCE_S, ControlPlane, free_port

NO_JOBS = "no jobs in namespace default; start one with: muster run FILE\n"
PLUGIN = """#!/bin/sh
echo ran >>"%(log)s"
printf '{"apiVersion":"client.authentication.k8s.io/%(version)s","kind":"ExecCredential","status":%(status)s}'
"""


class Proxy:
    """One that only connects; it counts."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.asked = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        host, port = re.match(rb"CONNECT (\S+):(\d+) ", head).groups()
        self.asked.append(host.decode())
        if host == b"api.example":  # there is none
            client.close()
            return
        server = socket.create_connection((host.decode(), int(port)))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = threading.Thread(target=self.copy, args=(server, client), daemon=True)
        back.start()
        self.copy(client, server)
        back.join()
        client.close()
        server.close()

    @staticmethod
    def copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


class Kubeconfig(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls)
        run = lambda *what: subprocess.run(["openssl", *what], check=True, capture_output=True, cwd=plane.folder)
        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca")
        cls.sign(plane.folder, "user", "/O=system:masters/CN=carol")
        plane.server_options = ["--client-ca-file=%s" % (plane.folder / "ca.pem")]
        plane.start()
        plane.install()
        plane.wait_established()
        plane.kubectl("get", "pj,mj")  # new kinds are not served at once, and kubectl asks again

    @staticmethod
    def sign(folder, name, subject):
        for what in (("req", "-newkey", "rsa:2048", "-nodes", "-keyout", name + ".key", "-out", name + ".csr", "-subj", subject),
                     ("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", name + ".pem")):
            subprocess.run(["openssl", *what], check=True, capture_output=True, cwd=folder)

    def config(self, user, context=None, **cluster):
        """A kubeconfig, whose other context leads nowhere."""
        where = {"server": "https://127.0.0.1:%d" % self.plane.port,
                 "certificate-authority-data": base64.b64encode(self.plane.authority.read_bytes()).decode()}
        where.update(cluster)
        path = self.plane.folder / "config"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": context or "right",
            "clusters": [{"name": "c", "cluster": {k: v for k, v in where.items() if v is not None}},
                         {"name": "gone", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "right", "context": {"cluster": "c", "user": "u"}},
                         {"name": "wrong", "context": {"cluster": "gone", "user": "u"}}]}))
        return path

    def ps(self, *options, **environment):
        return subprocess.run([MUSTER, "ps", *options], capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, HOME=str(self.plane.folder), **environment))

    def works(self, path, *options, **environment):
        done = self.ps("--kubeconfig", str(path), *options, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, NO_JOBS))

    def fails(self, path, words, *options):
        done = self.ps("--kubeconfig", str(path), *options)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(words, done.stderr)

    def plugin(self, version="v1", **status):
        (self.plane.folder / "ran").unlink(missing_ok=True)
        program = self.plane.folder / "plugin"
        program.write_text(PLUGIN % {"log": self.plane.folder / "ran", "version": version,
                                     "status": json.dumps(status).replace("\\n", "\\\\n")})
        program.chmod(0o755)
        exec_ = {"apiVersion": "client.authentication.k8s.io/" + version, "command": "./plugin"}
        return {"exec": dict(exec_, interactiveMode="Never") if version == "v1" else exec_}

    def test_tokens(self):
        self.works(self.config({"token": ADMIN}))
        (self.plane.folder / "token").write_text(ADMIN + "\n")
        self.works(self.config({"tokenFile": "token"}))
        self.fails(self.config({"token": "wrong"}), "Unauthorized")

    def test_certificates(self):
        self.works(self.config({"client-certificate": "user.pem", "client-key": "user.key"}))
        data = {"client-%s-data" % what: base64.b64encode((self.plane.folder / name).read_bytes()).decode()
                for what, name in (("certificate", "user.pem"), ("key", "user.key"))}
        self.works(self.config(data))

    def test_a_certificate_that_is_renewed(self):
        """A user without rights first; from the next request on the one that replaced it."""
        folder = self.plane.folder
        self.sign(folder, "nobody", "/CN=nobody")

        def put(name):
            for end in ("key", "pem"):
                (folder / ("next." + end)).write_bytes((folder / ("%s.%s" % (name, end))).read_bytes())
                (folder / ("next." + end)).rename(folder / ("own." + end))

        put("nobody")
        config = self.config({"client-certificate": "own.pem", "client-key": "own.key"})
        controller = self.plane.spawn("renewed", MUSTER, "controller", "--no-scheduler", "--namespace", "muster-system", "--kubeconfig",
                                      str(config.rename(folder / "renewed.kubeconfig")))
        self.addCleanup(controller.wait)
        self.addCleanup(controller.terminate)
        end = time.monotonic() + PATIENCE_S
        while not any(e["responseStatus"]["code"] == 403 for e in self.plane.audit("nobody")):
            self.assertIsNone(controller.poll(), controller.log.read_text()[-2000:])
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)  # nobody tells of this
        put("user")
        leases = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases"
        self.plane.admin.wait(leases, lambda found: any(l["spec"].get("holderIdentity") for l in found.values()), "it to lead")

    def test_the_servers_certificate(self):
        self.works(self.config({"token": ADMIN}, **{"certificate-authority-data": None,
                                                    "certificate-authority": str(self.plane.authority)}))
        self.fails(self.config({"token": ADMIN}, **{"certificate-authority-data": None}), "cannot reach")
        self.works(self.config({"token": ADMIN}, **{"certificate-authority-data": None, "insecure-skip-tls-verify": True}))
        self.works(self.config({"token": ADMIN}, **{"tls-server-name": "kubernetes.default.svc"}))
        self.fails(self.config({"token": ADMIN}, **{"tls-server-name": "another.example"}), "cannot reach")

    def test_plugins(self):
        self.works(self.config(self.plugin(token=ADMIN)))
        self.works(self.config(self.plugin("v1beta1", token=ADMIN, expirationTimestamp="2099-01-01T00:00:00Z")))
        self.assertEqual((self.plane.folder / "ran").read_text(), "ran\n")
        read = lambda name: (self.plane.folder / name).read_text()
        self.works(self.config(self.plugin(clientCertificateData=read("user.pem"), clientKeyData=read("user.key"))))
        self.fails(self.config(self.plugin(token="wrong")), "Unauthorized")
        user = self.plugin(token=ADMIN)
        (self.plane.folder / "plugin").unlink()
        user["exec"]["installHint"] = "get it from the shop"
        self.fails(self.config(user), "get it from the shop")

    def test_a_cluster_without_metrics(self):
        done = subprocess.run([MUSTER, "top", "--kubeconfig", str(self.config({"token": ADMIN}))], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("this API server measures nothing: it has no metrics.k8s.io", done.stderr)

    def test_proxies(self):
        proxy = Proxy()
        self.addCleanup(proxy.close)
        self.works(self.config({"token": ADMIN}, **{"proxy-url": proxy.url}), NO_PROXY="*")
        self.assertEqual(set(proxy.asked), {"127.0.0.1"})
        asked = len(proxy.asked)
        done = subprocess.run([MUSTER, "exec", "--kubeconfig", str(self.plane.folder / "config"), "none", "--", "true"],
                              capture_output=True, text=True, timeout=120)
        self.assertIn("none", done.stderr)
        self.assertGreater(len(proxy.asked), asked)
        # this machine is reached without one; another would not be
        del proxy.asked[:]
        self.works(self.config({"token": ADMIN}), HTTPS_PROXY=proxy.url)
        self.assertEqual(proxy.asked, [])
        elsewhere = {"server": "https://api.example:%d" % self.plane.port}
        self.ps("--kubeconfig", str(self.config({"token": ADMIN}, **elsewhere)), HTTPS_PROXY=proxy.url, NO_PROXY="other.example")
        self.assertEqual(set(proxy.asked), {"api.example"})
        del proxy.asked[:]
        self.ps("--kubeconfig", str(self.config({"token": ADMIN}, **elsewhere)), HTTPS_PROXY=proxy.url, NO_PROXY=".example")
        self.assertEqual(proxy.asked, [])

    def test_the_console_behind_a_proxy(self):
        """Its answers are the server's: status, headers and all, not those of the proxy's connection."""
        proxy = Proxy()
        self.addCleanup(proxy.close)
        path = self.config({"token": ADMIN}, **{"proxy-url": proxy.url})
        console = subprocess.Popen([MUSTER, "console", "--kubeconfig", str(path), "--print", "--listen", "127.0.0.1:%d" % free_port()],
                                   env=dict(os.environ, HOME=str(self.plane.folder)), stdout=subprocess.PIPE, text=True)
        self.addCleanup(console.stdout.close)
        self.addCleanup(console.wait)
        self.addCleanup(console.terminate)
        port, code = re.fullmatch(r"http://127.0.0.1:(\d+)/login\?code=(\S+)\n", console.stdout.readline()).groups()

        def ask(path, *, method="GET", body=None, key=""):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=120)
            with contextlib.closing(connection):
                connection.request(method, path, body, {"Authorization": "Bearer " + key} if key else {})
                answer = connection.getresponse()
                return answer, json.loads(answer.read())

        key = ask("/console/v1/login", method="POST", body=json.dumps({"code": code}))[1]["key"]
        for path, status, kind in (("/api/v1/namespaces", 200, "NamespaceList"), ("/api/v1/namespaces/none", 404, "Status")):
            answer, body = ask(path, key=key)
            self.assertEqual((answer.status, answer.headers["Content-Type"], body["kind"]), (status, "application/json", kind))
            self.assertTrue(answer.headers["Audit-Id"])
        self.assertTrue(proxy.asked)

    def test_contexts(self):
        path = self.config({"token": ADMIN}, "wrong")
        self.fails(path, "cannot reach https://127.0.0.1:1")
        self.works(path, "--context", "right")
        self.fails(path, 'context "third" is not in the file', "--context", "third")
        done = self.ps("--context", "right", KUBECONFIG="/nonexistent:%s" % path)
        self.assertEqual((done.returncode, done.stderr), (0, NO_JOBS))
        (self.plane.folder / ".kube").mkdir(exist_ok=True)
        path.rename(self.plane.folder / ".kube/config")
        done = self.ps("--context", "right", KUBECONFIG="")
        self.assertEqual((done.returncode, done.stderr), (0, NO_JOBS))

    def test_what_is_not_done_is_said(self):
        for field in ("auth-provider", "as", "as-groups"):
            self.fails(self.config({"token": ADMIN, field: {"name": "x"}}), field + " is not supported")


if __name__ == "__main__":
    unittest.main(verbosity=2)
