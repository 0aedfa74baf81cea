#!/usr/bin/python3
"""Programs of pods in the browser: any port of a pod, HTTP and WebSocket both ways, large bodies in little memory, and
who may."""
import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
import unittest

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
        elif self.path == "/never":
            threading.Event().wait()
        elif self.path == "/interim":
            while True:
                self.wfile.write(b"HTTP/1.1 100 Continue\\r\\n\\r\\n")
        elif self.path == "/policy":
            self.answer({}, **{"Content-Security-Policy":
                "img-src 'none'; report-uri http://127.0.0.1:1/, Report-To elsewhere;font-src 'none'"})
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
        self.assertIn(b"Another program on this machine", body)

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

    def let_in(self, name, *rules):
        """A new account's token."""
        accounts, rbac = "/api/v1/namespaces/default/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        self.daemon.call("POST", accounts, {"metadata": {"name": name}})
        self.daemon.call("POST", f"{rbac}/roles", {"metadata": {"name": name}, "rules": [
            {"apiGroups": [""], **rule} for rule in rules]})
        self.daemon.call("POST", f"{rbac}/rolebindings", {
            "metadata": {"name": name}, "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}})
        return self.daemon.call("POST", f"{accounts}/{name}/token", {})["status"]["token"]

    def refused(self, path, session):
        status, _, body = self.ask("POST", "/console/v1/open", json.dumps({"path": path}), session)
        return status, json.loads(body).get("message")

    def test_who_may_not_forward_ports_is_refused(self):
        session = self.sign_in(self.let_in("viewer", {"resources": ["*"], "verbs": ["get", "list", "watch"]}))
        status, message = self.refused(self.path, session)
        self.assertEqual(status, 403)
        self.assertIn("pods/portforward", message)
        # nor does he learn what is there
        self.assertEqual(self.refused(self.path.replace("web", "nothing"), session)[0], 403)

    def test_a_right_to_one_pods_ports(self):
        rule = {"resources": ["pods/portforward"], "verbs": ["create"], "resourceNames": ["web"]}
        session = self.sign_in(self.let_in("one", rule))
        self.assertEqual(self.ask("GET", self.path, headers=self.enter(self.path, session))[0], 200)
        self.assertEqual(self.refused(self.path.replace("web", "other"), session)[0], 403)

    def test_users_who_open_programs_do_not_sign_others_out(self):
        rule = {"resources": ["pods/portforward"], "verbs": ["create"]}
        session = self.sign_in(self.let_in("busy", rule))
        host, way = self.open(self.path, self.sign_in())
        for _ in range(40):
            self.open(self.path, session)
        status, headers, _ = self.ask("GET", way, headers={"Host": host})
        self.assertEqual(status, 200)
        self.assertIn("Set-Cookie", headers)

    def begin(self, path, own):
        """A request that is sent, and nothing read."""
        client = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE)
        lines = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        client.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        return client

    def test_who_leaves_holds_nothing(self):
        own = self.enter(self.path)
        for _ in range(300):
            self.begin(self.path + "never", own).close()
        harness.wait_until(lambda: self.ask("GET", self.path, headers=own)[0] == 200, "room")

    def test_one_account_or_program_leaves_room(self):
        guest = self.enter(self.path, self.sign_in(self.let_in("greedy", {"resources": ["pods/portforward"],
                                                                          "verbs": ["create"]})))
        own = self.enter(self.path)
        for name, most in ((guest, 32), (own, 64)):
            held = []
            while len(held) <= most and self.ask("GET", self.path, headers=name)[0] == 200:
                held.append(self.begin(self.path + "never", name))
                harness.wait_until(lambda: self.never() >= len(held), "the program to be asked")
            self.assertEqual(len(held), most)
            if name is guest:
                self.assertEqual(self.ask("GET", self.path, headers=own)[0], 200)
            for one in held:
                one.close()
            harness.wait_until(lambda: self.never() == 0, "the program to be left")
        held = [self.socket(self.path + "ws", guest) for _ in range(33)]
        self.assertEqual([one.status for one in held], [101] * 32 + [429])
        mine = self.socket(self.path + "ws", own)
        self.assertEqual(mine.status, 101)
        for one in (*held, mine):
            one.close()

    def never(self):
        """How many connections the daemon has to the program."""
        with open("/proc/net/tcp", encoding="ascii") as lines:
            return sum(line.split()[2].endswith(f":{self.port:04X}") and line.split()[3] == "01" for line in lines)

    def test_a_program_that_never_comes_to_its_answer(self):
        self.assertEqual(self.ask("GET", self.path + "interim", headers=self.enter(self.path))[0], 502)

    def test_a_cookie_is_of_the_object_and_not_of_its_name(self):
        pods, path = harness.PODS.format(ns="default"), "/app/default/pods/again/80/"
        made = {"metadata": {"name": "again"}, "spec": {"schedulerName": "nobody", "containers": [
            {"name": "c", "image": "none", "command": ["true"]}]}}
        entered = []
        for _ in range(2):
            self.daemon.call("POST", pods, made)
            entered.append(self.enter(path))
            self.assertEqual(self.ask("GET", path, headers=entered[0])[0], 404 if len(entered) == 2 else 503)
            if len(entered) == 2:
                self.assertEqual(self.ask("GET", path, headers={**entered[1], "Cookie": entered[0]["Cookie"]})[0], 401)
            self.daemon.call("DELETE", f"{pods}/again?gracePeriodSeconds=0")
            self.daemon.wait_for(pods, lambda found: True if "again" not in found else None)
        self.assertNotEqual(entered[0]["Host"], entered[1]["Host"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_another_users_cookie_is_worth_nothing(self):
        own = self.enter(self.path)
        script = """if True:
            import encodings.idna, os, socket, sys
            os.setuid(int(sys.argv[1]))
            client = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
            client.sendall(sys.argv[3].encode())
            print(client.recv(1000).split()[1].decode())
        """
        text = f"GET {self.path} HTTP/1.1\r\nHost: {own['Host']}\r\nCookie: {own['Cookie']}\r\n\r\n"
        answers = [subprocess.run([sys.executable, "-c", script, str(user), str(self.daemon.port), text], check=True,
                                  capture_output=True, text=True, timeout=harness.PATIENCE).stdout for user in (0, 65534)]
        self.assertEqual(answers, ["200\n", "401\n"])

    def test_a_page_at_another_port_of_the_host_asks_nothing(self):
        own = self.enter(self.path)
        for site, wanted in (("none", 200), ("same-origin", 200), ("same-site", 401), ("cross-site", 401)):
            self.assertEqual(self.ask("GET", self.path, headers={**own, "Sec-Fetch-Site": site})[0], wanted, site)

    def test_a_page_elsewhere_opens_no_program(self):
        for site, opens in (("none", True), ("same-origin", True), ("same-site", False), ("cross-site", False)):
            status, headers, page = self.ask("GET", self.path + "?a=\"<b>", headers={"Accept": "text/html", "Sec-Fetch-Site": site})
            self.assertEqual((status, headers["Cross-Origin-Opener-Policy"]), (200, "same-origin"))
            self.assertEqual(b"<script" in page, opens, site)
            if not opens:
                self.assertIn(f'href="{self.path}?a=&quot;&lt;b&gt;"'.encode(), page)
                self.assertIn("default-src 'none'", headers["Content-Security-Policy"])

    def test_a_policy_reports_breaches_nowhere(self):
        _, headers, _ = self.ask("GET", self.path + "policy", headers=self.enter(self.path))
        policy = headers.get_all("Content-Security-Policy")
        self.assertEqual(policy[0].replace(" ", ""), "img-src'none';,;font-src'none'")
        self.assertIn("default-src 'self'", policy[1])


if __name__ == "__main__":
    harness.main()
