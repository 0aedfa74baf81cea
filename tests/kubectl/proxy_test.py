#!/usr/bin/python3
"""The proxy subresource of pods and services: with stock kubectl (`get --raw`, `proxy`) and over HTTP."""
import http.client
import json
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import app_client  # noqa: E402
import harness  # noqa: E402
from harness import PODS  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402

NAMESPACE = "/api/v1/namespaces/default"
ACCOUNTS = f"{NAMESPACE}/serviceaccounts"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"

# Answers with what it was asked, on a free port, which it prints.
PROGRAM = """
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        text = json.dumps({"method": self.command, "path": self.path, "headers": dict(self.headers), "body": body})
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("Content-Type", "text/html" if self.path == "/page" else "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("X-Of-The-Program", "yes")
        self.send_header("Set-Cookie", "stolen=1")
        if self.path == "/away": self.send_header("Location", "/here")
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(text.encode())
    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
"""


class Proxy(app_client.AppClient, StockKubectl):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.call("POST", PODS.format(ns="default"), {
            "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [
                {"name": "main", "image": "none", "command": ["/usr/bin/python3", "-c", PROGRAM]}]}})
        cls.daemon.wait_for(PODS.format(ns="default"), lambda pods: True if any(
            c["type"] == "Ready" and c["status"] == "True"
            for c in pods["web"].get("status", {}).get("conditions", [])) else None)
        harness.wait_until(lambda: "port" in cls.daemon.log("web"), "the program to listen")
        cls.port = int(cls.daemon.log("web").split()[1])
        cls.path = f"{NAMESPACE}/pods/web:{cls.port}/proxy"
        for name, ports in (("one", [{"port": 80, "targetPort": cls.port}]),
                            ("two", [{"name": "a", "port": 80, "targetPort": 1},
                                     {"name": "b", "port": 81, "targetPort": cls.port}])):
            cls.daemon.call("POST", f"{NAMESPACE}/services", {
                "metadata": {"name": name}, "spec": {"selector": {"app": "web"}, "ports": ports}})

    @classmethod
    def tearDownClass(cls):
        pods = PODS.format(ns="default")
        cls.daemon.call("DELETE", f"{pods}/web?gracePeriodSeconds=0")
        cls.daemon.wait_for(pods, lambda found: True if not found else None)
        super().tearDownClass()

    def as_owner(self, method, path, body=None, **headers):
        """(status, headers, body)"""
        with open(f"{self.daemon.folder}/token", encoding="ascii") as token:
            owner = {"Authorization": f"Bearer {token.read().strip()}"}
        return self.ask(method, path, body, {"Host": f"127.0.0.1:{self.daemon.port}", **owner, **headers})

    def test_raw(self):
        asked = json.loads(self.kubectl("get", "--raw", f"{self.path}/a/b?c=d").stdout)
        self.assertEqual((asked["method"], asked["path"]), ("GET", "/a/b?c=d"))
        self.assertNotIn("Authorization", asked["headers"])
        for name in (f"http:web:{self.port}", f"web%3A{self.port}"):
            self.assertEqual(json.loads(self.kubectl("get", "--raw", f"{NAMESPACE}/pods/{name}/proxy/").stdout)["path"], "/")

    def test_services(self):
        for name in ("one", "one:80", "http:one:", "two:b", "two:81"):
            done = self.kubectl("get", "--raw", f"{NAMESPACE}/services/{name}/proxy/x")
            self.assertEqual(json.loads(done.stdout)["path"], "/x", name)
        for name in ("two", "two:c", "two:99"):
            done = self.kubectl("get", "--raw", f"{NAMESPACE}/services/{name}/proxy/", code=1)
            self.assertIn('no endpoints available for service "two"', done.stderr)
        self.assertIn("not found", self.kubectl("get", "--raw", f"{NAMESPACE}/services/none/proxy/", code=1).stderr)

    def test_kubectl_proxy(self):
        with self.background("proxy", "--port=0") as process:
            port = int(process.stdout.readline().rsplit(":", 1)[1])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.PATIENCE)
            connection.request("GET", f"{self.path}/page")
            answer = connection.getresponse()
            self.assertEqual(json.loads(answer.read())["path"], "/page")
            connection.close()
        # A page of the pod must not be of the origin at which all of the API is.
        policies = ", ".join(answer.headers.get_all("Content-Security-Policy"))
        self.assertIn("sandbox", policies)
        self.assertNotIn("allow-same-origin", policies)
        self.assertNotIn("Set-Cookie", answer.headers)

    def test_methods_bodies_and_headers(self):
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            status, headers, body = self.as_owner(method, f"{self.path}/m", "hello", **{"X-Mine": "1", "Cookie": "a=b"})
            asked = json.loads(body)
            self.assertEqual((status, asked["method"], asked["body"], asked["headers"]["X-Mine"]), (200, method, "hello", "1"))
            self.assertEqual(headers["X-Of-The-Program"], "yes")
            for name in ("Cookie", "Authorization"):
                self.assertNotIn(name, asked["headers"])
        self.assertEqual(self.as_owner("HEAD", f"{self.path}/m")[0], 200)
        status, headers, _ = self.as_owner("GET", f"{self.path}/away")
        self.assertEqual((status, headers["Location"]), (302, f"{self.path}/here"))
        self.assertEqual(self.as_owner("GET", self.path)[1]["Location"], f"{self.path}/")

    def test_what_is_not_reached(self):
        with socket.create_server(("127.0.0.1", 0)) as another:
            another.setblocking(False)
            for number in (another.getsockname()[1], self.daemon.port):
                done = self.kubectl("get", "--raw", f"{NAMESPACE}/pods/web:{number}/proxy/", code=1)
                self.assertIn("Another program on this machine listens on its port", done.stderr)
            with self.assertRaises(BlockingIOError):
                another.accept()
        for path, code in ((f"{NAMESPACE}/pods/https:web:{self.port}/proxy/", 400), (f"{NAMESPACE}/pods/web:x/proxy/", 400),
                           (f"{NAMESPACE}/pods/none:1/proxy/", 404), (f"{self.path}/../x", 400), (f"{self.path}/%2e%2e/x", 400),
                           (f"{self.path}x/", 404)):
            self.assertEqual(self.as_owner("GET", path)[0], code, path)

    def test_rights(self):
        """Each verb is a right of its own; a browser's session has none, and without a token nobody comes in."""
        account = "system:serviceaccount:default:visitor"
        self.daemon.call("POST", ACCOUNTS, {"metadata": {"name": "visitor"}})
        self.addCleanup(self.daemon.call, "DELETE", f"{ACCOUNTS}/visitor")
        done = self.kubectl("get", "--raw", f"{self.path}/", "--as", account, code=1)
        self.assertIn(f'User "{account}" cannot get resource "pods/proxy" in API group "" in the namespace "default"', done.stderr)
        self.daemon.call("POST", f"{ROLES}/roles", {"metadata": {"name": "look"}, "rules": [
            {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"], "resourceNames": [f"web:{self.port}"]}]})
        self.addCleanup(self.daemon.call, "DELETE", f"{ROLES}/roles/look")
        self.daemon.call("POST", f"{ROLES}/rolebindings", {
            "metadata": {"name": "look"}, "roleRef": {"kind": "Role", "name": "look"},
            "subjects": [{"kind": "ServiceAccount", "name": "visitor", "namespace": "default"}]})
        self.addCleanup(self.daemon.call, "DELETE", f"{ROLES}/rolebindings/look")
        self.kubectl("get", "--raw", f"{self.path}/", "--as", account)
        for path in (f"{NAMESPACE}/pods/web:1/proxy/", f"{NAMESPACE}/services/one/proxy/"):
            self.assertIn("is forbidden", self.kubectl("get", "--raw", path, "--as", account, code=1).stderr)
        self.assertEqual(self.as_owner("POST", f"{self.path}/", "x", **{"Impersonate-User": account})[0], 403)
        self.assertEqual(self.ask("GET", f"{self.path}/", headers={"Host": f"127.0.0.1:{self.daemon.port}"})[0], 401)
        status, _, body = self.ask("GET", f"{self.path}/", headers=self.sign_in())
        self.assertEqual(status, 403)
        self.assertIn(b"a browser's session may not use the proxy", body)

    def test_it_is_discovered(self):
        names = {r["name"]: r for r in json.loads(self.kubectl("get", "--raw", "/api/v1").stdout)["resources"]}
        for name in ("pods/proxy", "services/proxy"):
            self.assertEqual(sorted(names[name]["verbs"]), ["create", "delete", "get", "patch", "update"])


class Proxy120(Proxy, harness.WithDaemon):
    version = "1.20"


class Proxy132(Proxy, harness.WithDaemon):
    version = "1.32"


if __name__ == "__main__":
    harness.main()
