#!/usr/bin/python3
"""`muster console`: the way in on one machine, and the console as a process of its own before another API server, plain
and behind TLS, with the rights of who signed in and no other."""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import pty
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

sys.path.insert(0, str(harness.ROOT / "examples/ddp"))

import eventfile  # noqa: E402
from stream_test import MIB, RBAC, Refused, Tab  # noqa: E402

MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PODS = harness.PODS.format(ns="default")


class Console:
    """One `muster console --kubeconfig`, and a browser's requests to it."""

    def __init__(self, daemon, server, token=None, ca=None, options=()):
        self.daemon = daemon
        file = daemon.kubeconfig(token, server, ca)
        self.process = daemon.spawn("console", "--kubeconfig", file, "--listen", "127.0.0.1:0", "--print", *options,
                                    stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.port = int(re.match(r"http://127\.0\.0\.1:(\d+)/", self.address)[1])
        self.origin = f"http://127.0.0.1:{self.port}"

    def open(self, method, path, body=None, key=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            headers.setdefault("Authorization", f"Bearer {key}")
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def ask(self, *what, **how):
        answer = self.open(*what, **how)
        try:
            return answer.status, answer.headers, answer.read()
        finally:
            answer.connection.close()

    def sign_in(self, token):
        status, headers, body = self.ask("POST", "/console/v1/login", {"token": token})
        assert status == 201, (status, body)
        assert headers["Set-Cookie"] is None
        return json.loads(body)["key"]

    def tab(self, key, **headers):
        return Tab(self.port, **{"Authorization": f"Bearer {key}", "Origin": self.origin, **headers})

    def rss(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def close(self):
        self.process.stdout.close()


class WayIn(harness.DaemonTest):
    def test_prints_an_address_that_signs_in_once(self):
        for options in ([], ["--print"]):
            ran = subprocess.run([harness.BIN, "console", *options], env=self.daemon.environment, capture_output=True,
                                 text=True, timeout=harness.PATIENCE, check=True)
            code = re.fullmatch(rf"http://127\.0\.0\.1:{self.daemon.port}/login\?code=(\S+)\n", ran.stdout)[1]
            for wanted in (201, 401):
                connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
                connection.request("POST", "/console/v1/login", json.dumps({"code": code}))
                self.assertEqual(connection.getresponse().status, wanted)
                connection.close()

    def test_a_browser_is_started_without_a_secret(self):
        with tempfile.TemporaryDirectory() as folder:
            opener, opened = pathlib.Path(folder, "xdg-open"), pathlib.Path(folder, "opened")
            os.mkfifo(opened)
            opener.write_text(f'#!/bin/sh\nprintf %s "$1" >{opened}\n')
            opener.chmod(0o755)
            terminal, end = pty.openpty()
            ran = subprocess.Popen([harness.BIN, "console"], stdin=end, stdout=end, stderr=subprocess.DEVNULL,
                                   env={**self.daemon.environment, "DISPLAY": ":0",
                                        "PATH": f"{folder}:{os.environ['PATH']}"})
            os.close(end)
            argument = opened.read_text()
            self.assertEqual(ran.wait(harness.PATIENCE), 0)
            address = os.read(terminal, 4096).decode().strip()
            self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/login\?code=")
            self.assertEqual(argument, f"{self.daemon.data}/open.html")
            self.assertEqual(os.stat(argument).st_mode & 0o777, 0o600)
            self.assertIn(f'content="0;url={address}"', pathlib.Path(argument).read_text())
            os.close(terminal)

    def test_in_a_pod_it_serves_everybody_over_tls_and_signs_in_nobody_with_the_pods_token(self):
        pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "MUSTER_SERVER": f"https://127.0.0.1:{self.daemon.port}",
               "MUSTER_CA": self.daemon.authority(), "MUSTER_TOKEN": self.daemon.token}
        with subprocess.Popen([harness.BIN, "console", "--listen", "0.0.0.0:0"], stdout=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**self.daemon.environment, **pod}) as console:
            self.addCleanup(console.kill)
            port = int(re.fullmatch(r"https://0\.0\.0\.0:(\d+)/\n", console.stdout.readline())[1])
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=harness.PATIENCE,
                                                     context=ssl._create_unverified_context())
            for method, path, body, wanted in (("GET", "/healthz", None, 200), ("GET", "/readyz", None, 200), ("GET", "/metrics", None, 200),
                                               ("GET", "/api/v1/pods", None, 401),
                                               ("POST", "/console/v1/login", {"token": self.daemon.token}, 201)):
                connection.request(method, path, json.dumps(body) if body else None, {"Host": "muster-console.example"})
                answer = connection.getresponse()
                self.assertEqual((path, answer.status), (path, wanted), answer.read())
                answer.read()
            connection.close()
            console.terminate()
            self.assertEqual(console.wait(harness.PATIENCE), 0)

    def test_no_command_line_has_the_token(self):
        """Everybody on the machine can read them."""
        self.daemon.create(harness.job("seen", ["sleep", "1000"], replicas=1))
        self.daemon.wait_running("seen", 1)
        config = os.path.join(self.daemon.folder, "kubeconfig")
        followers = [self.daemon.spawn("logs", "-f", "seen"), self.daemon.spawn("controller", "--kubeconfig", config),
                     self.daemon.spawn("exec", "seen", "--", "sleep", "1001")]
        harness.wait_until(lambda: "sleep 1001" in self.daemon.pod_processes().values(), "the command to run")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                self.assertNotIn(self.daemon.token.encode(), pathlib.Path("/proc", pid, "cmdline").read_bytes())
        self.assertEqual([one.poll() for one in followers], [None] * 3)
        self.daemon.cli("rm", "seen")

    def test_says_what_is_wrong(self):
        for options, environment, code, words in (
                ([], {"MUSTER_HOME": "/nonexistent/x"}, 1, "muster is not up"),
                (["--listen", "127.0.0.1:0"], {}, 2, "--listen is for --kubeconfig"),
                (["--volume", "a/b=/c"], {}, 2, "--volume is for --kubeconfig"),
                (["--volume", "b=/c"], {}, 2, "it is NAMESPACE/NAME=DIR"),
                (["--kubeconfig", "/nonexistent"], {}, 5, "/nonexistent cannot be read")):
            ran = subprocess.run([harness.BIN, "console", *options], env={**self.daemon.environment, **environment},
                                 capture_output=True, text=True, timeout=harness.PATIENCE, check=False)
            self.assertEqual(ran.returncode, code, ran)
            self.assertIn(words, ran.stderr)


class Process(unittest.TestCase):
    tls = False

    @classmethod
    def setUpClass(cls):
        cls.daemon = harness.Daemon()
        server = f"http{'s' if cls.tls else ''}://127.0.0.1:{cls.daemon.port}"
        cls.mounted = os.path.join(cls.daemon.folder, "mounted")
        cls.console = Console(cls.daemon, server, cls.daemon.token, options=("--volume", f"default/runs={cls.mounted}"))
        cls.daemon.call("POST", ACCOUNTS, {"metadata": {"name": "guest"}})
        for kind, body in (("roles", {"rules": [{"apiGroups": [""], "resources": ["configmaps"],
                                                 "verbs": ["list", "watch", "create"]}]}),
                           ("rolebindings", {"subjects": [{"kind": "ServiceAccount", "name": "guest",
                                                           "namespace": "default"}],
                                             "roleRef": {"kind": "Role", "name": "guest"}})):
            cls.daemon.call("POST", f"{RBAC}/{kind}", {"apiVersion": "rbac.authorization.k8s.io/v1",
                                                      "metadata": {"name": "guest"}, **body})
        made = cls.daemon.call("POST", f"{ACCOUNTS}/guest/token", {"apiVersion": "authentication.k8s.io/v1",
                                                                  "kind": "TokenRequest"})
        cls.token = made["status"]["token"]

    @classmethod
    def tearDownClass(cls):
        cls.console.close()
        wrong = cls.daemon.close()
        if wrong:
            raise AssertionError("\n".join(wrong))

    def owner(self):
        return self.console.sign_in(self.daemon.token)

    def guest(self):
        return self.console.sign_in(self.token)

    def test_the_address_signs_in_as_the_kubeconfigs_user_once(self):
        code = self.console.address.removeprefix(f"{self.console.origin}/login?code=")
        status, headers, body = self.console.ask("POST", "/console/v1/login", {"code": code})
        self.assertEqual((status, headers["Set-Cookie"]), (201, None), body)
        self.assertNotIn(self.daemon.token, body.decode())
        session = json.loads(self.console.ask("GET", "/console/v1/session", key=json.loads(body)["key"])[2])
        self.assertEqual((session["local"], session["namespace"]), (False, "default"))
        self.assertRegex(session["console"], r"^([0-9a-f]{16})?$")
        self.assertEqual(self.console.ask("POST", "/console/v1/login", {"code": code})[0], 401)

    def test_pages_and_files_are_the_same(self):
        status, headers, page = self.console.ask("GET", "/jobs", Accept="text/html")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        if b"CONSOLE=0" not in page:
            status, headers, text = self.console.ask("GET", "/assets/THIRD_PARTY.txt")
            self.assertEqual((status, headers["Cache-Control"]), (200, "no-cache"))
            self.assertIn(b"preact", text)

    def test_who_is_not_signed_in_gets_nothing(self):
        for path in ("/api/v1/pods", "/apis", "/version", "/openapi/v2", "/console/v1/session", "/board/x"):
            for key in (None, "made-up", "muster-session-", self.daemon.token):
                self.assertEqual(self.console.ask("GET", path, key=key)[0], 401, path)
        for token in ("wrong", "", "with space", "x" * 20000):
            status, headers, body = self.console.ask("POST", "/console/v1/login", {"token": token})
            self.assertEqual((status, headers["Set-Cookie"]), (401, None), body)
        self.assertEqual(self.console.ask("GET", "/api/v1/pods", Authorization=f"Bearer {self.daemon.token}")[0], 401)
        with self.assertRaisesRegex(Refused, "401"):
            Tab(self.console.port, Origin=self.console.origin)

    def test_pages_elsewhere_get_nothing(self):
        key = self.owner()
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
            self.assertEqual(self.console.ask("GET", "/api/v1/pods", key=key, **headers)[0], 403)
        status, _, body = self.console.ask("POST", MAPS, {"metadata": {"name": "forged"}}, Cookie=f"muster-session={key}")
        self.assertEqual(status, 401)
        with self.assertRaisesRegex(Refused, "403"):
            self.console.tab(key, Origin="http://evil.example")

    def test_sign_out(self):
        key = self.owner()
        self.assertEqual(self.console.ask("GET", MAPS, key=key)[0], 200)
        watch = self.console.open("GET", "/api/v1/namespaces?watch=true", key=key)
        self.assertIn(b"ADDED", watch.readline())
        tab = self.console.tab(key)
        self.assertEqual(self.console.ask("POST", "/console/v1/logout", key=key)[0], 204)
        self.assertEqual(self.console.ask("GET", MAPS, key=key)[0], 401)
        self.assertEqual(tab.frame()[1], b'{"t":"signedOut"}')
        with self.assertRaises((http.client.IncompleteRead, ConnectionError, EOFError)):
            while True:
                if not watch.readline():
                    raise EOFError
        watch.connection.close()
        tab.close()

    def test_everybody_has_their_own_rights(self):
        owner, guest = self.owner(), self.guest()
        user = json.loads(self.console.ask("GET", "/console/v1/session", key=guest)[2])["user"]
        self.assertEqual(user, "system:serviceaccount:default:guest")
        self.assertEqual(self.console.ask("GET", "/api/v1/nodes", key=owner)[0], 200)
        status, _, body = self.console.ask("GET", "/api/v1/nodes", key=guest)
        self.assertEqual(status, 403)
        self.assertIn('User \\"system:serviceaccount:default:guest\\" cannot list resource \\"nodes\\"', body.decode())
        for key in (owner, guest):  # rather than another session's answer
            status, _, body = self.console.ask("GET", "/api/v1/nodes", key=key, Impersonate_User="alice")
            self.assertEqual(status, 400, body)
            self.assertIn(b"Impersonate", body)
        status, headers, body = self.console.ask("POST", MAPS, {"metadata": {"name": "mine"}}, key=guest)
        self.assertEqual((status, headers["Content-Type"]), (201, "application/json"), body)
        self.assertEqual(self.console.ask("DELETE", f"{MAPS}/mine", key=guest)[0], 403)
        patched = self.console.ask("PATCH", f"{MAPS}/mine", {"data": {"a": "b"}}, key=owner,
                                   Content_Type="application/merge-patch+json")
        self.assertEqual(json.loads(patched[2])["data"], {"a": "b"})
        self.assertEqual(self.console.ask("DELETE", f"{MAPS}/mine", key=owner)[0], 200)

    def test_what_is_not_there_says_so(self):
        key = self.owner()
        board, notebook = ("TensorBoards are not shown by a console that is a process of its own: run kubectl -n default "
                           "port-forward service/x-tb 6006:http, then open http://127.0.0.1:6006/tensorboard/default/x/",
                           "Notebooks are not shown by a console that is a process of its own: run kubectl -n default "
                           "port-forward service/managed-notebook-http-x 8888:http, then open "
                           "http://127.0.0.1:8888/notebook/default/x/")
        for method, path, body, said in (
                ("GET", "/tensorboard/default/x/", None, board),
                ("POST", "/console/v1/open", {"path": "/tensorboard/default/x/#scalars"}, board),
                ("GET", "/notebook/default/x/lab", None, notebook),
                ("POST", "/console/v1/open", {"path": "/notebook/default/x/"}, notebook),
                ("POST", "/console/v1/open", {"path": "/app/default/pods/x/80/"}, "programs of pods are not shown by a console "
                 "that is a process of its own: run kubectl port-forward")):
            status, _, body = self.console.ask(method, path, body, key=key)
            self.assertEqual((status, json.loads(body)["message"]), (404, said))
        self.assertEqual(self.console.ask("GET", "/board/default/x", key=key)[0], 404)
        self.assertEqual(self.console.ask("GET", "/tensorboard/default/x/", Accept="text/html")[0], 200)  # it signs in
        self.assertEqual(self.console.ask("GET", "/nothing", key=key)[0], 404)
        self.assertEqual(self.console.ask("HEAD", "/api/v1/pods", key=key)[0], 405)

    def test_curves_are_read_from_claims_that_are_mounted_and_nothing_else(self):
        with contextlib.closing(eventfile.EventWriter(f"{self.mounted}/here")) as writer:
            writer.add_scalar("loss", 0.5, 5)
        for name, fileset in (("mounted", "t9k://pvc/runs/here"), ("elsewhere", "t9k://pvc/other/"), ("unsaid", None)):
            job = harness.job(name, ["true"], replicas=1)
            job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["workingDir"] = self.daemon.folder
            if fileset:
                job["spec"]["tensorboardSpec"] = {"trainingLogFilesets": [fileset]}
            self.daemon.create(job)
        owner, guest = self.owner(), self.guest()

        def points(name, key):
            while True:
                status, _, body = self.console.ask("GET", f"/board/api/pytorchtrainingjobs/default/{name}/points", key=key)
                answer = json.loads(body)
                if not answer.get("reading"):
                    return status, answer

        (series,) = points("mounted", owner)[1]["series"]
        self.assertEqual((series["tag"], series["step"], series["value"]), ("loss", [5], [0.5]))
        self.assertEqual(points("mounted", guest)[0], 403)
        self.assertEqual(points("nobody", owner)[0], 404)
        for name, words in (("elsewhere", "give the console --volume default/other=FOLDER, or create a TensorBoard for it"),
                            ("unsaid", "set spec.tensorboardSpec.trainingLogFilesets")):
            status, answer = points(name, owner)
            self.assertEqual((status, answer["series"]), (200, []))
            self.assertIn(words, answer["message"])

    def test_watches_come_through_as_they_happen(self):
        key = self.owner()
        answer = self.console.open("GET", f"{MAPS}?watch=true&fieldSelector=metadata.name%3Dlive", key=key)
        self.addCleanup(answer.connection.close)
        self.daemon.call("POST", MAPS, {"metadata": {"name": "live"}})
        self.assertEqual(json.loads(answer.readline())["type"], "ADDED")
        self.daemon.call("DELETE", f"{MAPS}/live")
        self.assertEqual(json.loads(answer.readline())["type"], "DELETED")

    def test_the_stream_has_the_users_rights(self):
        tab = self.console.tab(self.guest())
        self.addCleanup(tab.close)
        refused = tab.begin("watch", "/api/v1/nodes")
        message = tab.next()
        self.assertEqual((message["id"], message["t"], message["code"]), (refused, "error", 403))
        granted = tab.begin("watch", MAPS, query="fieldSelector=metadata.name%3Dseen")

        def next_granted():
            message = tab.next()
            while (message["id"], message["t"]) == (refused, "error"):  # nodes are asked for again and again
                message = tab.next()
            self.assertEqual(message["id"], granted)
            return message
        message = next_granted()
        self.assertEqual((message["items"], message.get("part")), ([], None))
        self.daemon.call("POST", MAPS, {"metadata": {"name": "seen"}})
        self.addCleanup(self.daemon.call, "DELETE", f"{MAPS}/seen")
        message = next_granted()
        self.assertEqual((message["type"], message["object"]["metadata"]["name"]), ("ADDED", "seen"))

    # --- pods

    def run_pod(self, name, script):
        self.daemon.call("POST", PODS, {
            "metadata": {"name": name}, "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                                                 "containers": [{"name": "main", "image": "none",
                                                                 "command": ["/bin/sh", "-c", script]}]}})
        self.addCleanup(self.daemon.call, "DELETE", f"{PODS}/{name}")
        self.daemon.wait_for(PODS, lambda found: found.get(name, {}).get("status", {}).get("phase") == "Running",
                             "the pod to run")

    def test_exec_goes_through(self):
        self.run_pod("shell", "exec sleep 1000")
        path = f"{PODS}/shell/exec?container=main&command=cat&stdin=1&stdout=1&stderr=1"
        key = self.owner()
        tab = self.websocket(path, key)
        self.addCleanup(tab.close)
        text = os.urandom(48).hex().encode() * 3000  # more than is kept on the way
        got = b""

        def send():
            for at in range(0, len(text), 8192):
                tab.send_frame(2, b"\0" + text[at:at + 8192])
            tab.send_frame(2, b"\xff\0")  # v5: no more input
        thread = threading.Thread(target=send)
        thread.start()
        while len(got) < len(text):
            opcode, data = tab.frame()
            if opcode == 2 and data[:1] == b"\1":
                got += data[1:]
        thread.join()
        self.assertEqual(got, text)
        while opcode != 8:  # and how it ended
            opcode, data = tab.frame()
            if opcode == 2 and data[:1] == b"\3":
                self.assertEqual(json.loads(data[1:])["status"], "Success")
        with self.assertRaisesRegex(Refused, "403"):
            self.websocket(path, self.guest())
        with self.assertRaisesRegex(Refused, "403"):
            self.websocket(path, key, Origin="http://evil.example")
        with self.assertRaisesRegex(Refused, "404"):
            self.websocket(path.replace("shell", "none"), key)

    def websocket(self, path, key, **headers):
        class Exec(Tab):
            pass
        Exec.path = path
        mine = base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")  # as a browser shows it
        return Exec(self.console.port, **{"Origin": self.console.origin, "Sec-WebSocket-Protocol":
                                          f"v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.{mine}", **headers})

    def test_a_log_that_nobody_reads_is_not_kept(self):
        self.run_pod("floods", "yes 0123456789012345678901234567890123456789012345678901234567890123 | "
                               "head -c 100000000; exec sleep 1000")
        key = self.owner()
        before = self.console.rss()
        tab = self.console.tab(key)
        self.addCleanup(tab.close)
        number = tab.begin("logs", f"{PODS}/floods/log?follow=true", credit=1000)
        self.assertEqual(tab.next()["bytes"], 1000)
        answers = []
        for _ in range(4):  # answers that are begun and not read on
            answer = self.console.open("GET", f"{PODS}/floods/log?follow=true", key=key)
            self.addCleanup(answer.connection.close)
            self.assertEqual(len(answer.read(1000)), 1000)
            answers.append(answer)
        for _ in range(50):
            tab.quiet()
            self.assertEqual(self.console.ask("GET", "/version", key=key)[0], 200)
        self.assertLess(self.console.rss() - before, (24 if "asan" not in harness.BIN else 640) * MIB)
        self.assertEqual(len(answers[0].read(20 * MIB)), 20 * MIB)  # and it goes on when it is read
        tab.say(id=number, op="credit", bytes=5 * MIB)
        seen = 0
        while seen < 5 * MIB:
            seen += tab.next()["bytes"]
        self.assertEqual(seen, 5 * MIB)


class ProcessTls(Process):
    tls = True

    def test_another_authority_is_not_trusted(self):
        other = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-keyout", "/dev/null"],
                               check=True, capture_output=True, text=True).stdout
        console = Console(self.daemon, f"https://127.0.0.1:{self.daemon.port}", None, other)
        self.addCleanup(console.close)
        self.assertTrue(console.address.endswith("/"))
        status, _, body = console.ask("POST", "/console/v1/login", {"token": self.daemon.token})
        self.assertEqual(status, 503)
        self.assertIn("certificate", json.loads(body)["message"])


class ServerGone(unittest.TestCase):
    def test_says_that_the_api_server_is_gone_and_comes_back(self):
        daemon = harness.Daemon("--only", "api")
        self.addCleanup(lambda: self.assertEqual(daemon.close(), []))
        console = Console(daemon, f"http://127.0.0.1:{daemon.port}")
        self.addCleanup(console.close)
        key = console.sign_in(daemon.token)
        tab = console.tab(key)
        self.addCleanup(tab.close)
        tab.begin("watch", MAPS)
        cursor = tab.list()[-1]["cursor"]
        self.assertTrue(cursor)
        daemon.kill()
        message = tab.next()
        while message["t"] != "error":
            message = tab.next()
        self.assertEqual(message["code"], 0)
        status, _, body = console.ask("GET", MAPS, key=key)
        self.assertEqual(status, 503)
        self.assertIn("the API server cannot be reached", json.loads(body)["message"])
        daemon.start()
        daemon.call("POST", MAPS, {"metadata": {"name": "after"}})
        message = tab.next()
        while message["t"] == "error":
            message = tab.next()
        names = [one["metadata"]["name"] for one in message.get("items", [message.get("object")])]
        self.assertIn("after", names)
        self.assertEqual(console.ask("GET", MAPS, key=key)[0], 200)


if __name__ == "__main__":
    harness.main()
