#!/usr/bin/python3
"""TensorBoards: the real one started by a job and seen through the console's address; suspended, resumed, deleted;
what is said when there is none; and the proxy before it, against a program that answers in every odd way."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse

import app_client
import harness

BOARDS = "/apis/tensorstack.dev/v1beta1/namespaces/default/tensorboards"
VENV = harness.ROOT / "build/venv/bin"
KUBECTL = harness.ROOT / "build/bin/kubectl-1.32"
MERGE = "application/merge-patch+json"

# Stands in for tensorboard: takes its options and answers as told by the path.
FAKE = '''#!/usr/bin/python3
import hashlib, http.server, json, sys, urllib.parse
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
prefix = options["--path_prefix"]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def answer(self, body, code=200, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    def do_GET(self):
        what = self.path[len(prefix):].split("?")[0]
        if what == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(1000):
                self.wfile.write(b"3e8;x=y\\r\\n" + bytes([97 + i % 26]) * 1000 + b"\\r\\n")
            self.wfile.write(b"0\\r\\nTrailer: x\\r\\n\\r\\n")
        elif what == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b"x" * 50000)
            self.close_connection = True
        elif what == "/big":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            for i in range(64):
                self.wfile.write(bytes([i]) * 1048576)
            self.close_connection = True
        elif what == "/nonsense":
            self.wfile.write(b"220 smtp.example ESMTP\\r\\n\\r\\n")
            self.close_connection = True
        elif what == "/mute":
            self.close_connection = True
        elif what == "/headers":
            self.answer(b"{}", 302, Set_Cookie="a=b", Location="http://evil.example/", ETag="e", Server="me",
                        Content_Type="application/json", Access_Control_Allow_Origin="*")
        elif what in ("/page", "/script"):
            self.answer(b"x", Cache_Control="max-age=3600", Expires="Thu, 01 Jan 2099 00:00:00 GMT",
                        Content_Type="text/html; charset=utf-8" if what == "/page" else "text/javascript")
        elif what == "/own":
            self.answer(b"", 302, Location=prefix + "/echo")
        elif what == "/redirect":
            self.answer(b"", 302, Location=urllib.parse.unquote(self.path.split("?")[1]))
        else:
            self.answer(json.dumps({"path": self.path, "headers": dict(self.headers), "options": options}).encode(),
                        Content_Type="application/json")
    do_HEAD = do_GET
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(json.dumps({"sha": hashlib.sha256(body).hexdigest(), "len": len(body)}).encode())
http.server.ThreadingHTTPServer((options["--host"], int(options["--port"])), Handler).serve_forever()
'''

# Says when it listens and when it is connected to; answers everybody.
SQUATTER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    with listener.accept()[0] as connection:
        print("asked", flush=True)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nContent-Length: 8\\r\\n\\r\\nsquatter")
"""

# Writes two runs with Python's standard library only.
TRAIN = """
import sys
sys.path.insert(0, sys.argv[1])
from eventfile import EventWriter
for run, tags in {"a": ["train/loss", "val/accuracy"], "b/deep": ["train/loss"]}.items():
    w = EventWriter("/data/log/" + run)
    for step in range(20):
        for tag in tags:
            w.add_scalar(tag, step / 4, step)
    w.close()
"""


def board(name, **spec):
    return {"apiVersion": "tensorstack.dev/v1beta1", "kind": "TensorBoard",
            "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def folder(claim="curves", *paths):
    return {"pvc": [{"name": claim, "subPath": list(paths)}]}


class Boards(app_client.AppClient, harness.DaemonTest):
    """A daemon whose PATH starts with a folder of ours."""

    @classmethod
    def setUpClass(cls):
        cls.programs = tempfile.mkdtemp(prefix="muster-programs-")
        home = os.path.join(cls.programs, "home")
        os.mkdir(home)
        cls.environment = {"PATH": f"{cls.programs}:{cls.path}", "HOME": home}
        os.environ.pop("VIRTUAL_ENV", None)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        try:
            super().tearDownClass()
        finally:
            shutil.rmtree(cls.programs, ignore_errors=True)

    def tearDown(self):
        for item in self.daemon.list(BOARDS):
            with contextlib.suppress(AssertionError):
                self.daemon.call("DELETE", f"{BOARDS}/{item['metadata']['name']}", expect=(200, 404))
        super().tearDown()

    def install_fake(self):
        path = pathlib.Path(self.programs, "tensorboard")
        path.write_text(FAKE)
        path.chmod(0o755)

    def make_folder(self, claim, path):
        """As a job would that writes there."""
        pathlib.Path(self.daemon.folder, "volumes", "default", claim, path).mkdir(parents=True, exist_ok=True)

    def wait_phase(self, name, phase):
        return self.daemon.wait_for(
            BOARDS, lambda found: found[name] if found.get(name, {}).get("status", {}).get("phase") == phase else None,
            f"TensorBoard {name} to be {phase}")

    def patch(self, name, spec):
        self.daemon.call("PATCH", f"{BOARDS}/{name}", {"spec": spec}, content_type=MERGE)

    def exchange(self, method, path, body=None, headers=None, session=None):
        """A request at the origin of the program that the path is of, or else to the API with the owner's token."""
        program = re.match("/tensorboard/[^/]+/[^/?]+", path)
        if not program:
            return self.ask(method, path, body, {"Authorization": f"Bearer {self.daemon.token}", **(headers or {})})
        session = session or self.sign_in()
        opened = self.ask("POST", "/console/v1/open", json.dumps({"path": program[0] + "/"}), session)
        if opened[0] != 201:
            return opened
        own = self.enter(program[0] + "/", session)
        origin = {"Origin": f"http://{own['Host']}"} if method == "POST" else {}
        return self.ask(method, path, body, {**own, **origin, **(headers or {})})

    def wait_gone(self):
        """Nothing is left of any TensorBoard: pods, services, leases."""
        for path in (BOARDS, harness.PODS.format(ns="default"), harness.SERVICES.format(ns="default"), harness.LEASES):
            self.daemon.wait_for(path, lambda found: True if not [
                n for n in found if n.startswith("master-port") or n.endswith("-tb") or path == BOARDS] else None)


class Proxy(Boards):
    path = "/usr/bin:/bin"

    def start(self, name="b", **spec):
        self.install_fake()
        self.daemon.call("POST", BOARDS, board(name, logDir=folder(), **spec))
        return self.wait_phase(name, "Running")

    def test_not_installed_says_how_to_get_it_and_is_tried_again(self):
        pathlib.Path(self.programs, "tensorboard").unlink(missing_ok=True)
        job = harness.job("sleeper", ["/bin/sleep", "1000"], replicas=1)
        job["spec"]["tensorboardSpec"] = {"trainingLogFilesets": ["t9k://pvc/curves/log"]}
        created = self.daemon.create(job)
        job = self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: jobs["sleeper"] if jobs["sleeper"]
                                   .get("status", {}).get("tensorboard", {}).get("type") == "Warning" else None)
        told = job["status"]["tensorboard"]
        name = told["dependent"]["name"]
        self.assertRegex(name, "^sleeper-[0-9a-f]{5}$")
        self.assertEqual((told["ready"], told["action"], told["name"]), (False, "NOP", name))
        for words in ("pip install tensorboard", "muster board sleeper", "Training tab"):
            self.assertIn(words, told["note"])
        found = self.wait_phase(name, "Failed")
        self.assertEqual(found["metadata"]["ownerReferences"][0]["uid"], created["metadata"]["uid"])
        self.assertEqual((found["status"]["reason"], found["status"]["failures"]), ("NotInstalled", 1))
        status, headers, page = self.exchange("GET", f"/tensorboard/default/{name}/", headers={"Accept": "text/html"})
        self.assertEqual((status, headers["Content-Type"]), (503, "text/html; charset=utf-8"))
        self.assertIn(b"pip install tensorboard", page)
        self.assertIn(b"http-equiv=refresh", page)
        # Installed meanwhile: resuming does not wait for the next try.
        self.install_fake()
        self.make_folder("curves", "log")
        self.patch(name, {"suspend": True})
        self.wait_phase(name, "Paused")
        self.patch(name, {"suspend": False})
        self.wait_phase(name, "Running")
        self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: True if jobs["sleeper"]["status"]
                             ["tensorboard"]["reason"] == "DependentReady" else None)
        self.remove("sleeper")  # it goes with its job
        self.wait_gone()

    def test_refusals_name_the_field(self):
        for spec, words in (({"logDir": {"s3": {"uri": ["s3://b/x"]}}}, "spec.logDir.s3: Forbidden: event files on S3"),
                            ({"logDir": {"http": {"url": ["http://x"]}}}, "spec.logDir.http: Forbidden"),
                            ({"trainingLogFilesets": ["t9k://minio/s/b/p"]}, "spec.trainingLogFilesets[0]"),
                            ({}, "spec.logDir: Required value")):
            status, text = self.daemon.request("POST", BOARDS, board("bad", **spec))
            self.assertEqual(status, 422, text)
            self.assertIn(words, json.loads(text)["message"])

    def test_requests_are_rewritten(self):
        found = self.start()
        status, headers, text = self.exchange("GET", "/tensorboard/default/b/echo/%C3%A4?q=1&r=%20", headers={
            "Authorization": "Basic eDp5", "Accept": "application/json", "X-Forwarded-For": "1.2.3.4", "Connection": "X-Odd",
            "X-Odd": "1", "If-None-Match": '"e"', "User-Agent": "me"})
        self.assertEqual(status, 200)
        seen = json.loads(text)
        self.assertEqual(seen["path"], "/tensorboard/default/b/echo/%C3%A4?q=1&r=%20")
        self.assertEqual(seen["headers"], {"Host": "localhost", "Connection": "close", "Accept": "application/json",
                                           "Accept-Encoding": "identity", "If-None-Match": '"e"'})
        self.assertEqual(seen["options"]["--logdir"], "/pvc-curves")
        self.assertEqual(seen["options"]["--port"], str(found["status"]["port"]))
        policy = headers.get_all("Content-Security-Policy")[-1]
        self.assertIn("default-src 'self' data: blob: ", policy)
        self.assertNotIn("allow-popups", policy)
        # It was looked at, and that is written down.
        self.daemon.wait_for(BOARDS, lambda boards: boards["b"]["metadata"].get("annotations", {})
                             .get("muster.dev/last-used"))
        status, headers, text = self.exchange("GET", "/tensorboard/default/b?x=1")
        self.assertEqual((status, headers["Location"]), (307, "/tensorboard/default/b/?x=1"))
        body = os.urandom(2 * 1024 * 1024)
        status, headers, text = self.exchange("POST", "/tensorboard/default/b/post", body)
        self.assertEqual(json.loads(text), {"sha": hashlib.sha256(body).hexdigest(), "len": len(body)})
        status, headers, text = self.exchange("POST", "/tensorboard/default/b/post")
        self.assertEqual(json.loads(text)["len"], 0)

    def test_answers_of_every_kind(self):
        self.start()
        status, headers, text = self.exchange("GET", "/tensorboard/default/b/chunked")
        self.assertEqual(text, b"".join(bytes([97 + i % 26]) * 1000 for i in range(1000)))
        self.assertIsNone(headers["Trailer"])
        memory = self.memory()
        status, headers, text = self.exchange("GET", "/tensorboard/default/b/big")
        self.assertEqual(hashlib.sha256(text).digest(),
                         hashlib.sha256(b"".join(bytes([i]) * 1048576 for i in range(64))).digest())
        if "asan" not in harness.BIN:
            self.assertLess(self.memory() - memory, 16 * 1024)
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            self.exchange("GET", "/tensorboard/default/b/cut")
        status, headers, text = self.exchange("GET", "/tensorboard/default/b/nonsense")
        self.assertEqual(status, 502)
        self.assertIn(b"gave an invalid answer", text)
        self.assertEqual(json.loads(text)["code"], status)
        status, headers, text = self.exchange("GET", "/tensorboard/default/b/mute")  # as a server that was asked to stop does
        self.assertEqual(status, 503)
        self.assertIn(b"ended the connection without an answer", text)
        status, headers, text = self.exchange("GET", "/tensorboard/default/b/headers")
        self.assertEqual((status, headers["ETag"]), (302, "e"))
        for name in ("Set-Cookie", "Location", "Server", "Access-Control-Allow-Origin"):
            self.assertIsNone(headers[name])
        for what, caching in (("page", ("no-store", None)), ("script", ("max-age=3600", "Thu, 01 Jan 2099 00:00:00 GMT"))):
            status, headers, text = self.exchange("GET", f"/tensorboard/default/b/{what}")
            self.assertEqual((headers["Cache-Control"], headers["Expires"]), caching, what)
        status, headers, text = self.exchange("GET", "/tensorboard/default/b/own")
        self.assertEqual((status, headers["Location"]), (302, "/tensorboard/default/b/echo"))
        for location in ("/tensorboard/default/b/../../../api/v1/secrets", "/tensorboard/default/b/%2e%2E/%2e./api",
                         "/tensorboard/default/b/..\\..\\api", "//evil.example/tensorboard/default/b/", "http://localhost@evil.example/",
                         "http://evil.example/tensorboard/default/b/", "/tensorboard/default/other/", "javascript:alert(1)"):
            status, headers, text = self.exchange("GET", f"/tensorboard/default/b/redirect?{urllib.parse.quote(location, safe='')}")
            self.assertEqual((status, headers["Location"]), (302, None), location)
        status, headers, text = self.exchange("GET", "/tensorboard/default/b/redirect?http%3A%2F%2Flocalhost%2Ftensorboard%2Fdefault%2Fb%2Fx%3Fy")
        self.assertEqual(headers["Location"], "/tensorboard/default/b/x?y")
        for location, whole in (("headers", "headers"), ("x/y?z", "x/y?z"), ("?z", "redirect?z"), ("../../api", None), ("./x", None)):
            status, headers, text = self.exchange("GET", f"/tensorboard/default/b/redirect?{urllib.parse.quote(location, safe='')}")
            self.assertEqual((status, headers["Location"]), (302, whole and f"/tensorboard/default/b/{whole}"))
        status, headers, text = self.exchange("HEAD", "/tensorboard/default/b/echo")
        self.assertEqual((status, text), (200, b""))

    def memory(self):
        """Kilobytes the daemon holds."""
        for line in pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def test_foreign_paths_and_callers_are_refused(self):
        self.start()
        for path, wanted in (("/tensorboard", 404), ("/tensorboard/", 404), ("/tensorboard/default", 404),
                             ("/tensorboard/default/nope/", 404), ("/tensorboard/other/b/", 404),
                             ("/tensorboard/default/b/../c/", 400), ("/tensorboard/default/b/%2E%2e/c", 400),
                             ("/tensorboard/default/b/./", 400), ("/tensorboard/default/b%2Fx/", 404),
                             ("/tensorboard/default/127.0.0.1:22/", 404)):
            status, headers, text = self.exchange("GET", path)
            self.assertEqual(status, wanted, path)
        self.assertEqual(self.exchange("PUT", "/tensorboard/default/b/", headers={"Origin": "x"})[0], 403)
        own = self.enter("/tensorboard/default/b/")
        self.assertEqual(self.ask("OPTIONS", "/tensorboard/default/b/", headers={**own, "Origin": f"http://{own['Host']}"})[0], 405)
        self.check_service_account()

    def test_a_program_has_an_origin_of_its_own(self):
        self.start()
        session = self.sign_in()
        own = self.enter("/tensorboard/default/b/", session)
        mine = {"Origin": f"http://{own['Host']}"}
        echo = "/tensorboard/default/b/echo"
        self.assertEqual(self.ask("GET", echo, headers=own)[0], 200)
        self.assertNotIn("Cookie", json.loads(self.ask("GET", echo, headers=own)[2])["headers"])
        # The API is not served there for any caller, and its pages' cookies are not valid for the API.
        for path in ("/", "/api/v1/secrets", "/jobs", "/console/v1/session", "/readyz", "/board/x", "/tensorboard/default/other/",
                     "/assets/THIRD_PARTY.txt"):
            for headers in (own, {**own, **session}, {**own, "Accept": "text/html"}):
                self.assertEqual(self.ask("GET", path, headers=headers)[0], 404, path)
        for headers in ({"Cookie": own["Cookie"]}, {"Authorization": f"Bearer {own['Cookie'].split('=')[1]}"}):
            self.assertEqual(self.ask("GET", "/api/v1/secrets", headers=headers)[0], 401)
        self.assertEqual(self.ask("GET", "/api/v1/secrets", headers={**session, **mine})[0], 403)
        # At the API's own address there is nothing of the program, whatever a browser sends there by itself.
        for headers in (session, {"Authorization": f"Bearer {self.daemon.token}"}):
            status, _, body = self.ask("GET", echo, headers=headers)
            self.assertEqual(status, 404)
            self.assertIn(b"an origin of their own", body)
        self.assertEqual(self.ask("GET", echo)[0], 401)
        # Its own pages only, and they say so when they change something; no worker outlives them.
        for headers, wanted in (({"Origin": self.daemon_origin()}, 403), ({"Origin": "null"}, 403), ({"Service-Worker": "script"}, 403),
                                (mine, 200)):
            self.assertEqual(self.ask("GET", echo, headers={**own, **headers})[0], wanted, headers)
        self.assertEqual(self.ask("POST", "/tensorboard/default/b/post", "x", own)[0], 403)
        self.assertEqual(self.ask("POST", "/tensorboard/default/b/post", "x", {**own, **mine})[0], 200)
        # Cookies that a program at another port of this host put in front change nothing.
        tossed = "; ".join(["muster_app=", "muster_app=1.x", own["Cookie"][:-1], own["Cookie"]])
        self.assertEqual(self.ask("GET", echo, headers={**own, "Cookie": tossed})[0], 200)
        # One program's cookie is not another's; the ticket was good once; without a cookie it is the console's turn.
        self.daemon.call("POST", BOARDS, board("other", logDir=folder(), suspend=True))
        other = self.enter("/tensorboard/default/other/", session)
        self.assertNotEqual(own["Host"], other["Host"])
        for headers in ({**own, "Cookie": other["Cookie"]}, {**own, "Cookie": own["Cookie"][:-1]}, {"Host": own["Host"]},
                        {"Host": own["Host"], **session}):
            self.assertEqual(self.ask("GET", echo, headers=headers)[0], 401)
            status, answer, _ = self.ask("GET", echo + "?a=b", headers={**headers, "Accept": "text/html,*/*"})
            self.assertEqual((status, answer["Location"]), (303, f"{self.daemon_origin()}{echo}?a=b"))
        host, way = self.open(echo, session)
        self.assertEqual(self.ask("GET", way, headers={"Host": other["Host"]})[0], 404)
        self.assertEqual(self.ask("GET", way, headers={"Host": host})[0], 200)
        self.assertEqual(self.ask("GET", way, headers={"Host": host})[0], 401)
        # A token alone opens nothing, nor does it open what is no program.
        body = json.dumps({"path": echo})
        self.assertEqual(self.ask("POST", "/console/v1/open", body, {"Authorization": f"Bearer {self.daemon.token}"})[0], 403)
        for path in ("/api/v1/secrets", "/tensorboard/default", "/tensorboard//b/", "", "/tensorboard/default/b/ x"):
            self.assertEqual(self.ask("POST", "/console/v1/open", json.dumps({"path": path}), session)[0], 404, path)
        # It outlives the daemon, as the session does, and ends with it: at once, also what is under way.
        self.daemon.kill()
        self.daemon.start()
        harness.wait_until(lambda: self.ask("GET", echo, headers=own)[0] == 200, "the program to be reached again")
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.request("GET", "/tensorboard/default/b/big", headers=own)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.ask("POST", "/console/v1/logout", headers=session)[0], 204)
        self.assertEqual(self.ask("GET", echo, headers=own)[0], 401)
        with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
            self.assertLess(len(answer.read()), 64 * 1048576)
        connection.close()

    def daemon_origin(self):
        return f"http://127.0.0.1:{self.daemon.port}"

    def test_a_browser_without_a_session_gets_the_page_that_signs_in(self):
        for path in ("/tensorboard/default/b/", "/tensorboard/default/b"):
            status, headers, page = self.ask("GET", path, headers={"Accept": "text/html,*/*"})
            self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            self.assertIn("default-src 'none'; script-src 'self'", headers["Content-Security-Policy"])

    def test_who_listens_on_the_other_loopback_address_is_asked_nothing(self):
        """Browsers try ::1 too, for a name below localhost."""
        if not socket.has_dualstack_ipv6():
            self.skipTest("this machine has no IPv6")
        with socket.socket(socket.AF_INET6) as other, self.assertRaises(OSError):
            other.bind(("::1", self.daemon.port))
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("::1", self.daemon.port))

    def check_service_account(self):
        ns = "/api/v1/namespaces/default/serviceaccounts"
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        self.daemon.call("POST", ns, {"metadata": {"name": "viewer"}})
        token = self.daemon.call("POST", f"{ns}/viewer/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]
        own = self.sign_in(token)
        self.assertEqual(self.exchange("GET", "/tensorboard/default/b/echo", session=own)[0], 403)
        self.daemon.call("POST", f"{rbac}/roles", {"metadata": {"name": "viewer"}, "rules": [
            {"apiGroups": ["tensorstack.dev"], "resources": ["tensorboards"], "verbs": ["get"]}]})
        self.daemon.call("POST", f"{rbac}/rolebindings", {
            "metadata": {"name": "viewer"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                                                        "name": "viewer"},
            "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}]})
        self.assertEqual(self.exchange("GET", "/tensorboard/default/b/echo", session=own)[0], 200)

    def test_a_status_alone_does_not_lead_it_elsewhere(self):
        self.start()
        with socket.create_server(("127.0.0.1", 0)) as victim:
            victim.setblocking(False)
            for port in (victim.getsockname()[1], 22, 20000):
                self.daemon.call("PATCH", f"{BOARDS}/b/status", {"status": {"port": port}}, content_type=MERGE)
                status, headers, text = self.exchange("GET", "/tensorboard/default/b/echo")
                self.assertIn(status, (200, 503))  # 200: the controller was quicker
            with self.assertRaises(BlockingIOError):
                victim.accept()
        harness.wait_until(lambda: self.exchange("GET", "/tensorboard/default/b/echo")[0] == 200, "its own port to be asked again")

    def test_a_folder_that_does_not_exist_is_said(self):
        self.install_fake()
        sleep = pathlib.Path(self.programs, "sleep")  # so that the minute it waits is over at once
        sleep.write_text("#!/bin/sh\n")
        sleep.chmod(0o755)
        self.addCleanup(sleep.unlink)
        self.daemon.call("POST", BOARDS, board("b", logDir=folder("fresh", "runs/one")))
        failed = self.daemon.wait_for(BOARDS, lambda boards: boards["b"] if boards["b"].get("status", {}).get("reason") == "NoFolder" else None)
        self.assertIn("Its folder does not exist: runs/one of the claim fresh.", failed["status"]["message"])
        status, _, page = self.exchange("GET", "/tensorboard/default/b/", headers={"Accept": "text/html"})
        self.assertEqual(status, 503)
        self.assertIn(b"Its folder does not exist: runs/one of the claim fresh.", page)
        self.make_folder("fresh", "runs/one")
        self.wait_phase("b", "Running")

    def squat(self, port):
        """Another user of the machine, who answers whatever he is asked, also the readiness check."""
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        squatter = subprocess.Popen(["/usr/bin/python3", "-c", SQUATTER, str(port)], stdout=subprocess.PIPE, text=True, **user)
        self.addCleanup(squatter.wait)
        self.addCleanup(squatter.kill)
        self.assertEqual(squatter.stdout.readline(), "listening\n")
        return squatter

    def assert_unasked(self, squatter):
        squatter.kill()
        self.assertEqual(squatter.stdout.read(), "", "the squatter got a request")
        squatter.stdout.close()

    def test_another_port_is_used_when_somebody_has_taken_its_own(self):
        port = self.start()["status"]["port"]
        self.patch("b", {"suspend": True})
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: "b-tb" not in pods)
        squatter = self.squat(port)
        self.patch("b", {"suspend": False})
        moved = self.wait_phase("b", "Running")["status"]["port"]
        self.assertNotEqual(moved, port)
        self.assertEqual(self.exchange("GET", "/tensorboard/default/b/echo")[0], 200)
        self.daemon.wait_for(harness.SERVICES.format(ns="default"), lambda found: "b-tb" in found and
                             found["b-tb"]["spec"]["ports"][0]["port"] == moved or None, "the Service to follow")
        self.assertTrue([e for e in self.daemon.list("/api/v1/namespaces/default/events")
                         if e["message"] == "Another program had taken its port; retrying with another one."])
        self.assert_unasked(squatter)
        self.assertEqual(self.daemon.call("GET", f"{BOARDS}/b")["status"]["port"], moved)

    def test_who_takes_the_port_before_the_program_does_is_never_asked(self):
        port = self.start()["status"]["port"]
        self.patch("b", {"suspend": True})
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: "b-tb" not in pods)
        program = pathlib.Path(self.programs, "tensorboard")
        program.write_text("#!/bin/sh\nexec sleep 1000\n")  # found its port free, and is slow to take it
        self.patch("b", {"suspend": False})
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: pods.get("b-tb", {}).get("status", {}).get(
            "phase") == "Running" or None)
        pod = self.daemon.list(harness.PODS.format(ns="default"))[0]["metadata"]["uid"]
        harness.wait_until(lambda: any(pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n"
                                       for pid in self.daemon.main_processes(pod)), "the program to have begun")
        squatter = self.squat(port)
        self.daemon.wait_for("/api/v1/namespaces/default/events", lambda events: any(
            "a program outside the pod listens on it" in one["message"] for one in events.values()), "the failed readiness check")
        board = next(one for one in self.daemon.list(BOARDS) if one["metadata"]["name"] == "b")
        self.assertEqual(board["status"]["phase"], "Initializing")
        # Nor is he asked when everything says that it runs.
        self.daemon.call("PATCH", f"{BOARDS}/b/status", {"status": {"phase": "Running"}}, content_type=MERGE)
        status, _, text = self.exchange("GET", "/tensorboard/default/b/")
        self.assertEqual(status, 503)
        self.assertNotIn(b"squatter", text)
        self.assert_unasked(squatter)
        self.install_fake()

    def test_an_ended_one_is_started_again_and_changes_make_a_new_pod(self):
        first = self.start()
        self.make_folder("curves", "x")
        self.patch("b", {"logDir": folder("curves", "./x", "y")})
        second = self.daemon.wait_for(BOARDS, lambda boards: boards["b"] if boards["b"]["status"]["phase"] == "Running"
                                      and boards["b"]["status"]["pod"] != first["status"]["pod"] else None)
        self.assertEqual(second["status"]["port"], first["status"]["port"])
        options = json.loads(self.exchange("GET", "/tensorboard/default/b/echo")[2])["options"]
        self.assertEqual(options["--logdir_spec"], "curves/x:/pvc-curves/x,curves/y:/pvc-curves/y")
        pod = second["status"]["pod"]["reference"]
        for pid in self.daemon.main_processes(pod["uid"]):
            os.kill(pid, 9)
        failed = self.wait_phase("b", "Failed")
        self.assertEqual(failed["status"]["failures"], 1)
        self.assertIn("137", failed["status"]["message"])


class Real(Boards):
    """PyPI's TensorBoard."""
    path = f"{VENV}:/usr/bin:/bin"

    def tags(self, name, wanted):
        """Until TensorBoard has read the files; it does so by itself, every few seconds."""
        until = time.monotonic() + harness.PATIENCE
        while True:
            status, headers, text = self.exchange("GET", f"/tensorboard/default/{name}/data/plugin/scalars/tags")
            self.assertEqual(status, 200, text)
            found = {run: sorted(tags) for run, tags in json.loads(text).items()}
            if found == wanted:
                return
            if time.monotonic() > until:
                raise AssertionError(f"{found} instead of {wanted}")
            time.sleep(0.1)

    def kubectl(self, *arguments):
        done = subprocess.run([KUBECTL, *arguments], capture_output=True, text=True, env={
            **self.daemon.environment, "KUBECONFIG": os.path.join(self.daemon.folder, "kubeconfig"),
            "PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_jobs_tensorboard_from_start_to_end(self):
        job = harness.job("train", ["/usr/bin/python3", "-c", TRAIN, str(harness.ROOT / "examples/ddp")], replicas=1,
                          run_policy={"cleanUpPolicy": "All"})
        template = job["spec"]["replicaSpecs"][0]["template"]["spec"]
        template["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "curves"}}]
        template["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        job["spec"]["tensorboardSpec"] = {"logDir": {"pvc": [{"name": "curves", "subpath": ["./log"]}]},
                                          "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}
        self.daemon.create(job)
        self.daemon.wait_phase("train", "Succeeded")
        ready = self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: jobs["train"] if jobs["train"]
                                     ["status"]["tensorboard"]["ready"] else None)["status"]["tensorboard"]
        name = ready["dependent"]["name"]
        self.assertEqual((ready["reason"], ready["type"], ready["note"]),
                         ("DependentReady", "Normal", f"TensorBoard [{name}] is ready"))
        written = {"a": ["train/loss", "val/accuracy"], "b/deep": ["train/loss"]}
        self.tags(name, written)
        status, headers, page = self.exchange("GET", f"/tensorboard/default/{name}/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn(b"TensorBoard", page)
        status, headers, script = self.exchange("GET", f"/tensorboard/default/{name}/index.js",
                                                headers={"Accept-Encoding": "gzip"})
        self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"))
        self.assertGreater(len(script), 500000)
        status, headers, text = self.exchange(
            "GET", f"/tensorboard/default/{name}/data/plugin/scalars/scalars?tag=train%2Floss&run=b%2Fdeep")
        self.assertEqual([(step, value) for _, step, value in json.loads(text)], [(i, i / 4) for i in range(20)])
        location = json.loads(self.exchange("GET", f"/tensorboard/default/{name}/data/environment")[2])["data_location"]
        self.assertEqual(location, "/pvc-curves/log")
        native = json.loads(self.exchange("GET", "/board/api/pytorchtrainingjobs/default/train/runs")[2])
        self.assertEqual(sorted(run["name"] for run in native["runs"]), sorted(written))
        for word in (name, f"tensorboard/{name}"):  # muster board takes a TensorBoard's name too
            drawn = self.daemon.cli("board", word)
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            self.assertRegex(drawn.stdout, "(?m)^val/accuracy$")
        address = self.daemon.cli("board", name, "--open", environment={"BROWSER": "true"}).stdout.strip()
        self.assertEqual(address, f"http://127.0.0.1:{self.daemon.port}/tensorboard/default/{name}/")
        self.assertIn("no tensorboard 'nobody' in namespace default", self.daemon.cli("board", "tensorboard/nobody").stderr)
        self.assertIn("Running", self.kubectl("get", "tensorboard", name))
        self.suspend_and_resume(name, written)
        self.kubectl("delete", "tensorboard", name)
        self.wait_gone()
        self.assertEqual(self.exchange("GET", f"/tensorboard/default/{name}/")[0], 404)
        self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: True if jobs["train"]["status"]
                             ["tensorboard"]["reason"] == "DependentDeleted" else None)

    def suspend_and_resume(self, name, written):
        self.kubectl("patch", "tensorboard", name, "--type", "merge", "-p", '{"spec":{"suspend":true}}')
        self.wait_phase(name, "Paused")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: True if not pods else None)
        self.assertIn(f"{name}-tb", [s["metadata"]["name"]
                                     for s in self.daemon.list(harness.SERVICES.format(ns="default"))])
        status, headers, text = self.exchange("GET", f"/tensorboard/default/{name}/")
        self.assertEqual(status, 503)
        self.assertIn(b"It is suspended", text)
        self.kubectl("patch", "tensorboard", name, "--type", "merge", "-p", '{"spec":{"suspend":false}}')
        self.wait_phase(name, "Running")
        self.tags(name, written)


del Boards  # it has no tests of its own

if __name__ == "__main__":
    harness.main()
