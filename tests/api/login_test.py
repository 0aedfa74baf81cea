#!/usr/bin/python3
"""Signing in with a browser: sessions and their keys, codes that are good once, and who may not."""
import base64
import http.client
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import stream_test  # noqa: E402


class Login(harness.DaemonTest):
    def ask(self, method, path, body=None, **headers):
        """Without any token: status, headers, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def key(self, **how):
        """The key of a new session, with a token (the owner's unless told otherwise) or a code."""
        status, headers, body = self.ask("POST", "/console/v1/login", how or {"token": self.daemon.token})
        self.assertEqual(status, 201, body)
        self.assertIsNone(headers["Set-Cookie"], "nothing that a browser sends by itself")
        self.assertEqual(headers["Cache-Control"], "no-store")
        return json.loads(body)["key"]

    def with_key(self, method, path, key, body=None, **headers):
        return self.ask(method, path, body, Authorization=f"Bearer {key}", **headers)

    def visitor(self, name):
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
        return self.daemon.call("POST", f"/api/v1/namespaces/default/serviceaccounts/{name}/token",
                                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]

    def test_token_becomes_a_session(self):
        key = self.key()
        self.assertNotIn(self.daemon.token, key)
        status, _, body = self.with_key("GET", "/console/v1/session", key)
        self.assertEqual((status, json.loads(body)["user"]), (200, "owner"))
        self.assertEqual(json.loads(body)["kubeconfig"], str(pathlib.Path(self.daemon.data, "kubeconfig")))
        self.assertEqual(self.with_key("GET", "/api/v1/namespaces", key)[0], 200)
        self.assertEqual(self.ask("POST", "/console/v1/login", {"token": key})[0], 401, "a session begets no other")
        kept = pathlib.Path(self.daemon.data, "sessions.json")
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        self.assertNotIn(key, kept.read_text())
        self.assertNotIn(self.daemon.token, kept.read_text())

    def test_what_a_browser_sends_by_itself_is_worth_nothing(self):
        """Every port of 127.0.0.1 gets its cookies, so none counts; nor does a password it remembers."""
        key = self.key()
        basic = base64.b64encode(f"me:{key}".encode()).decode()
        password = base64.b64encode(f"me:{self.daemon.token}".encode()).decode()
        for headers in ({"Cookie": f"muster_session_{self.daemon.port}={key}; muster-session={key}"},
                        {"Authorization": f"Basic {basic}"},
                        {"Authorization": f"Basic {password}"}, {"Authorization": f"Bearer {key[:-1]}"},
                        {"Authorization": f"Bearer {key}0"}, {"Authorization": "Bearer muster-session-"}):
            for method, path in (("GET", "/api/v1/namespaces"), ("GET", "/console/v1/session"), ("POST", "/console/v1/code")):
                self.assertEqual(self.ask(method, path, {}, **headers)[0], 401, headers)

    def test_wrong_token(self):
        for body in ({"token": "no"}, {"token": ""}, {"code": "x"}, {"code": ""}, {}, [], "x"):
            self.assertEqual(self.ask("POST", "/console/v1/login", body)[0], 401, body)

    def websocket(self, *protocols, **headers):
        wanted = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
                  "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec_WebSocket_Protocol": ", ".join(protocols), **headers}
        return self.ask("GET", "/api/v1/namespaces/default/pods/x/exec?command=sh&stdout=true", **wanted)[0]

    def test_a_websocket_has_the_key_among_its_protocols(self):
        mine = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(self.key().encode()).decode().rstrip("=")
        self.assertEqual(self.websocket("v4.channel.k8s.io", mine), 404)  # it may ask: there is no such pod
        self.assertEqual(self.websocket("v4.channel.k8s.io"), 401)
        self.assertEqual(self.websocket("v4.channel.k8s.io", mine[:-2]), 401)
        self.assertEqual(self.websocket("v4.channel.k8s.io", mine, Authorization="Bearer no"), 401)
        self.assertEqual(self.websocket("v4.channel.k8s.io", mine, Origin="http://evil.example"), 403)
        tab = stream_test.Tab(self.daemon.port, **{"Sec-WebSocket-Protocol": f"stream.muster.dev, {mine}"})
        self.assertIn(b"Sec-WebSocket-Protocol: stream.muster.dev\r\n", tab.head + b"\r\n")
        self.assertNotIn(mine.encode(), tab.head)
        tab.close()
        # Not of a plain request: any page may make a browser send those.
        self.assertEqual(self.ask("GET", "/api/v1/namespaces", Sec_WebSocket_Protocol=mine)[0], 401)

    def test_foreign_host_and_origin(self):
        key = self.key()
        self.assertEqual(self.with_key("GET", "/console/v1/session", key, Host="evil.example")[0], 403)
        self.assertEqual(self.with_key("GET", "/console/v1/session", key, Origin="http://evil.example")[0], 403)
        self.assertEqual(self.ask("GET", "/jobs", Accept="text/html", Host="evil.example")[0], 403)

    def test_code_is_good_once(self):
        code = self.daemon.call("POST", "/console/v1/code", {})["path"].removeprefix("/login?code=")
        self.assertEqual(self.with_key("GET", "/api/v1/namespaces", self.key(code=code))[0], 200)
        status, _, body = self.ask("POST", "/console/v1/login", {"code": code})
        self.assertEqual(status, 401)
        self.assertIn(b"already been used", body)
        self.assertEqual(self.ask("POST", "/console/v1/code", {})[0], 401)

    def test_up_says_where_the_console_is(self):
        codes = re.findall(r"console: http://[^/]+/login\?code=(\S+)", self.daemon.output())
        self.assertTrue(codes, self.daemon.output())
        self.key(code=codes[-1])

    def test_sign_out_ends_the_session(self):
        key, other = self.key(), self.key()
        status, headers, _ = self.with_key("POST", "/console/v1/logout", key)
        self.assertEqual(status, 204)
        self.assertEqual(self.with_key("GET", "/api/v1/namespaces", key)[0], 401)
        self.assertEqual(self.with_key("POST", "/console/v1/logout", key)[0], 401)
        self.assertEqual(self.with_key("GET", "/api/v1/namespaces", other)[0], 200)

    def test_sign_out_ends_what_the_session_has_open(self):
        """The tabs of the session that signs out, no other's: not of the same user in another browser."""
        token = self.visitor("visitor")
        mine, other, also = self.key(), self.key(token=token), self.key(token=token)
        tabs = [stream_test.Tab(self.daemon.port, Origin=f"http://127.0.0.1:{self.daemon.port}", Authorization=f"Bearer {key}")
                for key in (mine, mine, other, also)]
        for key, ended, left in ((mine, tabs[:2], tabs[2:]), (other, tabs[2:3], tabs[3:])):
            self.assertEqual(self.with_key("POST", "/console/v1/logout", key)[0], 204)
            for tab in ended:
                self.assertEqual(tab.frame(), (stream_test.TEXT, b'{"t":"signedOut"}'))
                self.assertEqual(tab.frame()[0], stream_test.CLOSE)
                tab.close()
            for tab in left:
                tab.quiet()
        tabs[3].close()

    def test_sign_out_ends_watches_and_terminals(self):
        self.daemon.create(harness.job("sleeper", ["/bin/sleep", "1000"], replicas=1))
        pod = self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: next(
            (name for name, one in pods.items() if one.get("status", {}).get("phase") == "Running"), None))
        key = self.key()
        watch = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        watch.request("GET", "/api/v1/namespaces?watch=true", headers={"Authorization": f"Bearer {key}"})
        events = watch.getresponse()
        self.assertIn(b"ADDED", events.readline())
        terminal = type("Exec", (stream_test.Tab,), {"path": f"{harness.PODS.format(ns='default')}/{pod}/exec?command=cat&stdin=true&stdout=true"})(
            self.daemon.port, **{"Authorization": f"Bearer {key}", "Sec-WebSocket-Protocol": "v4.channel.k8s.io"})
        terminal.send_frame(2, b"\0hello")
        while terminal.frame()[1] != b"\1hello":
            pass
        self.assertEqual(self.with_key("POST", "/console/v1/logout", key)[0], 204)
        with self.assertRaises((http.client.IncompleteRead, ConnectionError, EOFError)):
            while True:
                if not events.readline():
                    raise EOFError
        with self.assertRaises((EOFError, ConnectionError)):
            while True:
                terminal.frame()
        watch.close()
        terminal.close()
        self.remove("sleeper")

    def test_sessions_outlive_the_daemon_and_ends_do_too(self):
        stays, ends = self.key(token=self.visitor("keeper")), self.key()
        self.assertEqual(self.with_key("POST", "/console/v1/logout", ends)[0], 204)
        self.daemon.kill()
        self.daemon.start()
        status, _, body = self.with_key("GET", "/console/v1/session", stays)
        self.assertEqual((status, json.loads(body)["user"]), (200, "system:serviceaccount:default:keeper"))
        self.assertEqual(self.with_key("GET", "/console/v1/session", ends)[0], 401)

    def test_one_account_signs_nobody_else_out(self):
        owner, other = self.key(), self.key(token=self.visitor("other"))
        token = self.visitor("many")
        first = self.key(token=token)
        for _ in range(257):
            last = self.key(token=token)
        for key in (owner, other, last):
            self.assertEqual(self.with_key("GET", "/console/v1/session", key)[0], 200)
        self.assertEqual(self.with_key("GET", "/console/v1/session", first)[0], 401, "his own oldest made room")

    def test_a_service_account_signs_in_with_its_own_rights(self):
        token = self.visitor("guest")
        key = self.key(token=token)
        self.assertNotIn(token, pathlib.Path(self.daemon.data, "sessions.json").read_text())
        session = json.loads(self.with_key("GET", "/console/v1/session", key)[2])
        self.assertEqual(session["user"], "system:serviceaccount:default:guest")
        self.assertNotIn("kubeconfig", session, "where the owner's files are is for the owner")
        self.assertEqual(self.with_key("GET", "/api/v1/namespaces/default/pods", key)[0], 403)
        self.assertEqual(self.with_key("POST", "/console/v1/code", key, {})[0], 403)
        self.daemon.call("DELETE", "/api/v1/namespaces/default/serviceaccounts/guest")
        self.assertEqual(self.with_key("GET", "/console/v1/session", key)[0], 401)


class Pages(harness.DaemonTest):
    ask = Login.ask

    def test_pages_are_for_browsers(self):
        for path in ("/", "/jobs", "/jobs/default/MPIJob/x/logs", "/login"):
            status, headers, body = self.ask("GET", path, Accept="text/html,*/*")
            self.assertEqual(status, 200, path)
            policy = headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertNotIn(b"{{NONCE}}", body)
        self.assertEqual(self.ask("GET", "/")[0], 401, "the API's own root is not public")
        self.assertEqual(self.ask("GET", "/api/v1/pods", Accept="text/html")[0], 401)

    def test_files_come_compressed_and_are_kept(self):
        _, _, page = self.ask("GET", "/jobs", Accept="text/html")
        script = re.search(rb'src="(/assets/main\.\w+\.js)"', page)[1].decode()
        plain = self.ask("GET", script)[2]
        self.assertGreater(len(plain), 1000)
        for encoding in ("br", "gzip"):
            status, headers, body = self.ask("GET", script, Accept_Encoding=encoding)
            self.assertEqual((status, headers["Content-Encoding"]), (200, encoding))
            self.assertLess(len(body), len(plain))
            self.assertIn("immutable", headers["Cache-Control"])
        self.assertIsNone(self.ask("GET", script, Accept_Encoding="br;q=0, gzip;q=0")[1]["Content-Encoding"])
        self.assertEqual(self.ask("GET", script, If_None_Match=headers["ETag"])[0], 304)
        self.assertEqual(self.ask("GET", "/assets/none.js")[0], 404)
        self.assertEqual(self.ask("GET", "/assets/../token")[0], 404)


if __name__ == "__main__":
    harness.main()
