#!/usr/bin/python3
"""Signing in with a browser: cookies, codes that are good once, and who may not."""
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

    def cookie(self, token=None):
        status, headers, _ = self.ask("POST", "/console/v1/login", {"token": token or self.daemon.token})
        self.assertEqual(status, 204)
        whole = headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="):
            self.assertIn(part, whole)
        self.assertNotIn(self.daemon.token, whole, "the owner's token itself stays out of the browser")
        return whole.split(";")[0]

    def test_token_becomes_a_cookie(self):
        cookie = self.cookie()
        status, _, body = self.ask("GET", "/console/v1/session", Cookie=f"other=1; {cookie}")
        self.assertEqual((status, json.loads(body)["user"]), (200, "owner"))
        self.assertEqual(self.ask("GET", "/api/v1/namespaces", Cookie=cookie)[0], 200)

    def test_wrong_token_or_cookie(self):
        for body in ({"token": "no"}, {"token": ""}, {}, [], "x"):
            self.assertEqual(self.ask("POST", "/console/v1/login", body)[0], 401, body)
        name, value = self.cookie().split("=", 1)
        mark, until, signature = value.split(".", 2)
        forged = (f"{mark}.{int(until) + 1}.{signature}", f"{mark}.{until}.{signature[:-1]}", f"{mark}.{until}", "o.", "t.x", "")
        for one in forged:
            self.assertEqual(self.ask("GET", "/api/v1/namespaces", Cookie=f"{name}={one}")[0], 401, one)

    def test_changes_need_the_consoles_header(self):
        cookie = self.cookie()
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "forged"}}
        status, _, text = self.ask("POST", "/api/v1/namespaces", body, Cookie=cookie, Content_Type="application/json")
        self.assertEqual(status, 403, text)
        self.assertIn(b"X-Muster-Console", text)
        status, _, text = self.ask("POST", "/api/v1/namespaces?dryRun=All", body, Cookie=cookie, Content_Type="application/json", X_Muster_Console="1")
        self.assertEqual(status, 201, text)

    def test_websockets_need_an_origin(self):
        cookie = self.cookie()
        path = "/api/v1/namespaces/default/pods/x/exec?command=sh&stdout=true"
        wanted = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13", "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
                  "Sec_WebSocket_Protocol": "v4.channel.k8s.io", "Cookie": cookie}
        self.assertEqual(self.ask("GET", path, **wanted)[0], 403)
        self.assertEqual(self.ask("GET", path, **wanted, Origin="http://evil.example")[0], 403)
        self.assertEqual(self.ask("GET", path, **wanted, Origin=f"http://127.0.0.1:{self.daemon.port}")[0], 404)

    def test_foreign_host_and_origin(self):
        cookie = self.cookie()
        self.assertEqual(self.ask("GET", "/console/v1/session", Cookie=cookie, Host="evil.example")[0], 403)
        self.assertEqual(self.ask("GET", "/console/v1/session", Cookie=cookie, Origin="http://evil.example")[0], 403)
        self.assertEqual(self.ask("GET", "/jobs", Accept="text/html", Host="evil.example")[0], 403)

    def test_code_is_good_once(self):
        path = self.daemon.call("POST", "/console/v1/code", {})["path"]
        status, headers, _ = self.ask("GET", path)
        self.assertEqual((status, headers["Location"]), (303, "/jobs"))
        self.assertIn(f"muster_session_{self.daemon.port}=o.", headers["Set-Cookie"])
        status, headers, _ = self.ask("GET", path)
        self.assertEqual(status, 303)
        self.assertIsNone(headers["Set-Cookie"])
        self.assertIsNone(self.ask("GET", "/login?code=")[1]["Set-Cookie"])
        self.assertEqual(self.ask("POST", "/console/v1/code", {})[0], 401)

    def test_up_says_where_the_console_is(self):
        found = re.search(r"console: http://[^/]+(/login\?code=\S+)", self.daemon.output())
        self.assertTrue(found, self.daemon.output())
        self.assertIn(f"muster_session_{self.daemon.port}=", self.ask("GET", found[1])[1]["Set-Cookie"])

    def test_sign_out(self):
        status, headers, _ = self.ask("POST", "/console/v1/logout", Cookie=self.cookie(), X_Muster_Console="1")
        self.assertEqual(status, 204)
        self.assertRegex(headers["Set-Cookie"], r"muster_session_\d+=;.*Max-Age=0")

    def test_sign_out_ends_what_the_session_has_open(self):
        """The tabs of the session that signs out, no other's: not of the same user in another browser."""
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "visitor"}})
        token = self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts/visitor/token",
                                 {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]
        mine, other, also = self.cookie(), self.cookie(token), self.cookie(token)
        tabs = [stream_test.Tab(self.daemon.port, Origin=f"http://127.0.0.1:{self.daemon.port}", Cookie=cookie)
                for cookie in (mine, mine, other, also)]
        for cookie, ended, left in ((mine, tabs[:2], tabs[2:]), (other, tabs[2:3], tabs[3:])):
            self.assertEqual(self.ask("POST", "/console/v1/logout", Cookie=cookie, X_Muster_Console="1")[0], 204)
            for tab in ended:
                self.assertEqual(tab.frame(), (stream_test.TEXT, b'{"t":"signedOut"}'))
                self.assertEqual(tab.frame()[0], stream_test.CLOSE)
                tab.close()
            for tab in left:
                tab.quiet()
        tabs[3].close()

    def test_a_service_account_signs_in_with_its_own_rights(self):
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "guest"}})
        made = self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts/guest/token",
                                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        status, headers, _ = self.ask("POST", "/console/v1/login", {"token": made["status"]["token"]})
        self.assertEqual(status, 204)
        cookie = headers["Set-Cookie"].split(";")[0]
        self.assertEqual(json.loads(self.ask("GET", "/console/v1/session", Cookie=cookie)[2])["user"], "system:serviceaccount:default:guest")
        self.assertEqual(self.ask("GET", "/api/v1/namespaces/default/pods", Cookie=cookie)[0], 403)
        self.assertEqual(self.ask("POST", "/console/v1/code", {}, Cookie=cookie, X_Muster_Console="1")[0], 403)
        self.daemon.call("DELETE", "/api/v1/namespaces/default/serviceaccounts/guest")
        self.assertEqual(self.ask("GET", "/console/v1/session", Cookie=cookie)[0], 401)


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
