#!/usr/bin/python3
"""Programs of pods in the browser: any port of a pod, HTTP and WebSocket both ways, large bodies in little memory, and
who may."""
import hashlib
import http.client
import json

import app_client
import harness

MEGABYTE = 1 << 20
LARGE = 200  # megabytes
# the sanitizer keeps up to 256 MB of what was freed
GROWTH_KB = 4096 + (256 << 10 if "asan" in harness.BIN else 0)

# Serves on a free port, which it prints: what it was asked, a WebSocket that echoes, bodies of any size both ways.
PROGRAM = """
import base64, hashlib, http.server, json, struct, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def answer(self, value, code=200, **headers):
        body = json.dumps(value).encode()
        self.send_response(code)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if self.headers.get("Upgrade"):
            self.echo()
        elif self.path == "/large":
            self.send_response(200)
            self.send_header("Content-Length", str(200 << 20))
            self.end_headers()
            for i in range(200):
                self.wfile.write(bytes([i]) * (1 << 20))
        elif self.path == "/away":
            self.answer({}, 302, Location="/here")
        else:
            self.answer({"path": self.path, "headers": dict(self.headers)})
    def do_PUT(self):
        left, digest = int(self.headers["Content-Length"]), hashlib.sha256()
        if self.path == "/refuse":
            self.close_connection = True
            return self.answer({"refused": left}, 413, Connection="close")
        while left:
            part = self.rfile.read(min(left, 1 << 16))
            digest.update(part)
            left -= len(part)
        self.answer({"sha": digest.hexdigest()})
    def echo(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.say(json.dumps(dict(self.headers)).encode())
        while True:
            head = self.rfile.read(2)
            if len(head) < 2: break
            length = head[1] & 127
            if length == 126: length = struct.unpack("!H", self.rfile.read(2))[0]
            mask, data = self.rfile.read(4), self.rfile.read(length)
            self.say(bytes(b ^ mask[i % 4] for i, b in enumerate(data)))
        self.close_connection = True
    def say(self, data):
        length = bytes([len(data)]) if len(data) < 126 else bytes([126]) + struct.pack("!H", len(data))
        self.wfile.write(bytes([0x81]) + length + data)
        self.wfile.flush()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
"""


class Apps(app_client.AppClient, harness.WithDaemon):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.call("POST", harness.PODS.format(ns="default"), {
            "metadata": {"name": "web"}, "spec": {"restartPolicy": "Never", "containers": [
                {"name": "main", "image": "none", "command": ["/usr/bin/python3", "-c", PROGRAM]}]}})
        cls.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: True if pods["web"]
                            .get("status", {}).get("phase") == "Running" else None)
        harness.wait_until(lambda: "port" in cls.daemon.log("web"), "the program to listen")
        cls.port = int(cls.daemon.log("web").split()[1])
        cls.path = f"/app/default/pods/web/{cls.port}/"

    @classmethod
    def tearDownClass(cls):
        pods = harness.PODS.format(ns="default")
        cls.daemon.call("DELETE", f"{pods}/web?gracePeriodSeconds=0")
        cls.daemon.wait_for(pods, lambda found: True if not found else None)
        super().tearDownClass()

    def memory_kb(self):
        with open(f"/proc/{self.daemon.process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

    def test_the_program_is_asked_by_its_own_paths(self):
        own = self.enter(self.path)
        status, _, body = self.ask("GET", self.path + "a/b?c=d", headers={**own, "Range": "bytes=0-1"})
        asked = json.loads(body)
        self.assertEqual((status, asked["path"], asked["headers"]["Range"]), (200, "/a/b?c=d", "bytes=0-1"))
        for name in ("Cookie", "Authorization", "Origin"):
            self.assertNotIn(name, asked["headers"])
        status, headers, _ = self.ask("GET", self.path + "away", headers=own)
        self.assertEqual((status, headers["Location"]), (302, self.path + "here"))
        status, headers, _ = self.ask("GET", self.path[:-1], headers=own)
        self.assertEqual((status, headers["Location"]), (307, self.path))

    def test_another_port_is_another_origin(self):
        own = self.enter(self.path)
        for path in (f"/app/default/pods/web/{self.port + 1}/", f"/app/default/pods/other/{self.port}/", "/api/v1/secrets"):
            self.assertEqual(self.ask("GET", path, headers=own)[0], 404, path)

    def test_a_port_of_another_program_is_not_asked(self):
        path = f"/app/default/pods/web/{self.daemon.port}/"
        status, _, body = self.ask("GET", path, headers=self.enter(path))
        self.assertEqual(status, 503)
        self.assertIn(b"Another program of this machine", body)

    def test_messages_go_both_ways_until_the_session_ends(self):
        session = self.sign_in()
        one = self.socket(self.path + "ws", self.enter(self.path, session))
        self.assertEqual(one.status, 101)
        asked = json.loads(one.receive())
        self.assertNotIn("Cookie", asked)
        self.assertEqual((asked["Host"], asked["Origin"]), ("localhost", "http://localhost"))
        for text in ("a", "b" * 5000):
            one.send(text)
            self.assertEqual(one.receive(), text)
        other = self.socket(self.path + "ws", self.enter(self.path))
        other.receive()
        self.ask("POST", "/console/v1/logout", "{}", session)
        self.assertIsNone(one.receive())
        other.send("still here")
        self.assertEqual(other.receive(), "still here")
        one.close()
        other.close()

    def test_a_page_of_another_origin_opens_no_socket(self):
        own = self.enter(self.path)
        for origin in ("http://127.0.0.1", f"http://127.0.0.1:{self.daemon.port}"):
            refused = self.socket(self.path + "ws", own, Origin=origin)
            self.assertEqual(refused.status, 403)
            refused.close()

    def put(self, path, own, megabytes):
        """The answer, the digest of what was sent, and the most memory the daemon had meanwhile."""
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        digest, most = hashlib.sha256(), 0
        connection.putrequest("PUT", path, skip_host=True)
        for name, value in {**own, "Origin": f"http://{own['Host']}", "Content-Length": megabytes * MEGABYTE}.items():
            connection.putheader(name, value)
        connection.endheaders()
        for i in range(megabytes):
            part = bytes([i]) * MEGABYTE
            connection.send(part)
            digest.update(part)
            most = max(most, self.memory_kb())
        answer = connection.getresponse()
        status, body = answer.status, answer.read()
        connection.close()
        return status, json.loads(body), digest.hexdigest(), most

    def test_large_bodies_need_little_memory(self):
        own = self.enter(self.path)
        self.put(self.path + "x", own, 1)
        before = self.memory_kb()
        status, answer, digest, most = self.put(self.path + "x", own, LARGE)
        self.assertEqual((status, answer["sha"]), (200, digest))
        self.assertLess(most - before, GROWTH_KB)
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.request("GET", self.path + "large", headers=own)
        answer = connection.getresponse()
        for i in range(LARGE):
            self.assertEqual(answer.read(MEGABYTE), bytes([i]) * MEGABYTE)
            most = max(most, self.memory_kb())
        self.assertEqual(answer.read(), b"")
        connection.close()
        self.assertLess(most - before, GROWTH_KB)

    def test_an_answer_before_the_end_of_the_body_is_passed_on(self):
        own = self.enter(self.path)
        status, _, body = self.ask("PUT", self.path + "refuse", b"x" * MEGABYTE, {**own, "Origin": f"http://{own['Host']}"})
        self.assertEqual((status, json.loads(body)), (413, {"refused": MEGABYTE}))

    def test_who_may_not_forward_ports_is_refused(self):
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "viewer"}})
        self.daemon.call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
            "metadata": {"name": "viewer"}, "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}})
        token = self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts/viewer/token", {})["status"]["token"]
        own = self.enter(self.path, self.sign_in(token))
        status, _, body = self.ask("GET", self.path, headers=own)
        self.assertEqual(status, 403)
        self.assertIn("pods/portforward", json.loads(body)["message"])


if __name__ == "__main__":
    harness.main()
