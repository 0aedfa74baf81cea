#!/usr/bin/python3
"""Files of claims, as the console's page of volumes has them: told, measured, read and written within bounds, never outside the
claim, and only for who has the right."""
import hashlib
import http.client
import json
import os
import pathlib
import socket
import urllib.parse

import app_client
import harness

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
LARGE_BYTES = 200 * 1024 * 1024


class Volumes(app_client.AppClient, harness.WithDaemon):
    def setUp(self):
        self.daemon.call("POST", CLAIMS, {"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        self.me = {"Authorization": f"Bearer {self.daemon.token}"}
        self.folder = pathlib.Path(self.daemon.folder, "volumes/default/data")
        self.daemon.wait_for(CLAIMS, lambda found: found["data"]["status"]["phase"] == "Bound" or None)

    def tearDown(self):
        self.daemon.call("DELETE", f"{CLAIMS}/data")
        harness.shutil.rmtree(self.folder, ignore_errors=True)

    def at(self, path, what="files", ns="default", claim="data"):
        return f"/console/v1/volumes/{ns}/{claim}/{what}/{path}" if what == "files" else \
            f"/console/v1/volumes/{ns}/{claim}/{what}"

    def files(self, method, path, body=None, who=None, query=""):
        return self.ask(method, self.at(urllib.parse.quote(path)) + query, body, who or self.me)

    def names(self, path=""):
        status, _, body = self.files("GET", path)
        self.assertEqual(status, 200, body)
        return {one["name"]: one["type"] for one in json.loads(body)["entries"]}

    def refused(self, answer, status, words):
        self.assertEqual(answer[0], status, answer[2])
        self.assertIn(words, json.loads(answer[2])["message"])

    def account(self, name, rules):
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        self.daemon.call("POST", f"{rbac}/roles", {"metadata": {"name": name}, "rules": rules})
        self.daemon.call("POST", f"{rbac}/rolebindings", {
            "metadata": {"name": name}, "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}})
        token = self.daemon.call("POST", f"/api/v1/namespaces/default/serviceaccounts/{name}/token", {})["status"]["token"]
        return {"Authorization": f"Bearer {token}"}

    def test_told_read_written_measured(self):
        self.assertEqual(self.names(), {})
        self.assertEqual(self.files("POST", "数据 1")[0], 201)
        self.assertEqual(self.files("PUT", "数据 1/a#b?.txt", b"hello")[0], 201)
        self.assertEqual(self.files("PUT", "empty", b"")[0], 201)
        self.assertEqual(self.names(), {"数据 1": "folder", "empty": "file"})
        self.assertEqual(list(self.names()), ["数据 1", "empty"])  # folders first
        self.assertEqual(self.names("数据 1"), {"a#b?.txt": "file"})
        status, headers, body = self.files("GET", "数据 1/a#b?.txt")
        self.assertEqual((status, body), (200, b"hello"))
        self.assertEqual(headers["Content-Disposition"], "attachment; filename*=UTF-8''a%23b%3F.txt")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.refused(self.files("PUT", "empty", b"x"), 409, "it already exists")
        self.assertEqual(self.files("PUT", "empty", b"new", query="?replace=1")[0], 201)
        self.assertEqual((self.folder / "empty").read_bytes(), b"new")
        self.refused(self.files("PUT", "数据 1", b"x", query="?replace=1"), 409, "a folder of that name")
        self.refused(self.files("GET", "none"), 404, "it does not exist")
        self.refused(self.files("PUT", "none/x", b"x"), 404, "it does not exist")
        status, _, body = self.ask("GET", self.at("", "usage"), headers=self.me)
        self.assertEqual(status, 200, body)
        size = json.loads(body)
        self.assertEqual((size["entries"], size["partial"]), (3, False))
        self.assertGreaterEqual(size["bytes"], 8192)
        self.refused(self.ask("GET", self.at("", claim="other"), headers=self.me), 404, "not found")
        self.assertFalse((self.folder.parent / "other").exists())

    def test_no_way_leads_out_of_the_claim(self):
        outside = pathlib.Path(self.daemon.folder, "outside")
        outside.mkdir()
        (outside / "secret").write_text("treasure")
        (self.folder / "inside").write_text("fine")
        (self.folder / "inner").mkdir()
        os.symlink("/etc/passwd", self.folder / "absolute")
        os.symlink(outside, self.folder / "folder")
        os.symlink("../../../token", self.folder / "up")
        os.symlink("inside", self.folder / "good")
        os.symlink("/proc/self/root/etc/passwd", self.folder / "magic")
        os.mkfifo(self.folder / "pipe")
        self.assertEqual(self.files("PUT", "folder/new", b"x")[0], 403)
        self.assertEqual(self.files("POST", "folder/new")[0], 403)
        told = self.names()
        self.assertEqual((told["up"], told["folder"], told["good"], told["pipe"]), ("link", "link", "file", "other"))
        for path in ("../../../token", "inner/../../../../token", "absolute", "up", "folder/secret", "folder", "magic"):
            for method, body in (("GET", None), ("PUT", b"x")):
                status, _, text = self.files(method, path, body, query="?replace=1" if body else "")
                self.assertNotIn(b"treasure", text)
                self.assertNotIn(b"root:", text)
                if method == "GET":
                    self.assertEqual(status, 403, (path, text))
        for path in ("%2e%2e/%2e%2e/%2e%2e/token", "..%2f..%2f..%2ftoken", "/etc/passwd", "%2fetc%2fpasswd"):
            status, _, text = self.ask("GET", self.at(path), headers=self.me)
            self.assertIn(status, (403, 404), (path, text))
        self.assertEqual(sorted(p.name for p in outside.iterdir()), ["secret"])
        self.assertEqual((outside / "secret").read_text(), "treasure")
        self.assertEqual(pathlib.Path("/etc/passwd").read_bytes()[:5], b"root:")
        self.refused(self.files("GET", "pipe"), 400, "not a regular file")
        self.assertEqual(self.files("GET", "good")[2], b"fine")
        for name in (".", "..", ""):
            self.assertIn(self.files("PUT", f"x/{name}", b"x")[0], (400, 404))

    def test_large_files_cost_no_memory(self):
        block = os.urandom(1 << 20)
        most, before = 0, self.daemon_kib()
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.putrequest("PUT", self.at("large"))
        for name, value in {**self.me, "Content-Length": str(LARGE_BYTES)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        digest = hashlib.sha256()
        for _ in range(LARGE_BYTES >> 20):
            connection.send(block)
            digest.update(block)
            most = max(most, self.daemon_kib())
        answer = connection.getresponse()
        self.assertEqual((answer.status, json.loads(answer.read())["path"]), (201, "large"))
        connection.close()
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.request("GET", self.at("large"), headers=self.me)
        answer, back = connection.getresponse(), hashlib.sha256()
        while block := answer.read(1 << 20):
            back.update(block)
            most = max(most, self.daemon_kib())
        connection.close()
        self.assertEqual(back.hexdigest(), digest.hexdigest())
        # of 200 MiB; the sanitizer keeps up to 256 MiB of what was freed, and what lies between
        self.assertLess(most - before, (400 if "asan" in harness.BIN else 8) * 1024)

    def daemon_kib(self):
        for line in pathlib.Path(f"/proc/{self.daemon.process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1])
        raise AssertionError("no Anonymous: in smaps_rollup")

    def test_a_file_that_is_cut_short_breaks_its_answer_off(self):
        path = self.folder / "shrinks"
        path.write_bytes(b"z" * (40 << 20))
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(f"GET {self.at('shrinks')} HTTP/1.1\r\nHost: 127.0.0.1:{self.daemon.port}\r\n"
                               f"Authorization: Bearer {self.daemon.token}\r\n\r\n".encode())
            received = connection.recv(4096)
            self.assertTrue(received.startswith(b"HTTP/1.1 200"), received)
            os.truncate(path, 1000)
            while piece := connection.recv(1 << 20):  # until the server closes it
                received = received[-100:] + piece
        self.assertFalse(received.endswith(b"0\r\n\r\n"), received[-20:])

    def test_a_body_that_breaks_off_leaves_nothing(self):
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE) as s:
            s.sendall(f"PUT {self.at('half')} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n"
                      f"Authorization: {self.me['Authorization']}\r\n\r\n".encode() + b"x" * 400000)
            until = harness.time.monotonic() + harness.PATIENCE
            while not any(p.name.startswith(".muster-upload-") and p.stat().st_size for p in self.folder.iterdir()):
                self.assertEqual(self.names(), {})
                self.assertLess(harness.time.monotonic(), until)
        until = harness.time.monotonic() + harness.PATIENCE
        while list(self.folder.iterdir()):
            self.assertEqual(self.names(), {})
            self.assertLess(harness.time.monotonic(), until)
        self.refused(self.ask("PUT", self.at("x"), iter([b"abc"]), self.me), 400,
                     "Content-Length")

    def begin_upload(self, name, length):
        """A connection whose answer waits for the body, or refuses it."""
        s = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE)
        self.addCleanup(s.close)
        s.sendall(f"PUT {self.at(name)} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n"
                  f"Authorization: {self.me['Authorization']}\r\n\r\n".encode())
        return s

    def answer_of(self, connection):
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, json.loads(answer.read()).get("message")

    def test_a_file_may_have_16_gib(self):
        for length in (16 * 1024 ** 3 + 1, 2 ** 63, 10 ** 30):
            status, _ = self.answer_of(self.begin_upload("big", length))
            self.assertIn(status, (400, 413), length)
        status, message = self.answer_of(self.begin_upload("big", 16 * 1024 ** 3 + 1))
        self.assertEqual((status, message), (413, "a file may have 16 GiB here"))
        # That many are not refused: what is sent of them is taken.
        s = self.begin_upload("big", 16 * 1024 ** 3)
        s.sendall(b"x" * 300000)
        harness.wait_until(lambda: any(p.name.startswith(".muster-upload-") and p.stat().st_size
                                       for p in self.folder.iterdir()), "the first block to be written")
        s.close()
        harness.wait_until(lambda: not list(self.folder.iterdir()), "it to be dropped")

    def test_32_at_a_time_of_all_callers(self):
        held = [self.begin_upload(f"f{i}", 10) for i in range(32)]
        for s in held:
            s.sendall(b"x")
        harness.wait_until(lambda: len([p for p in self.folder.iterdir() if p.name.startswith(".muster-upload-")]) == 32,
                           "all to have begun")
        self.refused(self.files("GET", ""), 429, "too many concurrent files")
        for s in held:
            s.sendall(b"x" * 9)
            self.assertEqual(self.answer_of(s)[0], 201)
        self.assertEqual(len(self.names()), 32)

    def test_names_have_bounds(self):
        self.assertEqual(self.files("PUT", "n" * 255, b"x")[0], 201)
        self.assertEqual(self.files("PUT", "文" * 85, b"x")[0], 201)  # 255 bytes
        for name in ("n" * 256, "文" * 86, "d/" * 3000 + "x", "a\nb/../..", "nul\0nul"):
            for method, body in (("PUT", b"x"), ("POST", None), ("GET", None)):
                status, _, text = self.files(method, name, body)
                self.assertIn(status, (400, 403, 404, 414, 431), (name[:20], method, text))
        self.assertEqual(sorted(self.names()), sorted(["n" * 255, "文" * 85]))
        # What is not UTF-8 is not told, nor is an unfinished upload: neither can be made.
        (self.folder / os.fsdecode(b"\xff\xfe")).touch()
        for method, body in (("PUT", b"x"), ("POST", None)):
            self.refused(self.files(method, ".muster-upload-x", body), 400, "not a valid name")
            self.refused(self.ask(method, self.at("%ff%fe%fd"), body, self.me), 400, "not a valid name")
        self.assertEqual(len(self.names()), 2)

    def test_a_folder_is_told_up_to_its_bounds(self):
        for n in range(2001):
            (self.folder / f"{n:05}").touch()
        listed = json.loads(self.files("GET", "")[2])
        self.assertEqual((len(listed["entries"]), listed["more"], listed["entries"][-1]["name"]), (2000, True, "01999"))
        (self.folder / "02000").unlink()
        listed = json.loads(self.files("GET", "")[2])
        self.assertEqual((len(listed["entries"]), listed["more"]), (2000, False))
        for n in range(2000, 20100):
            (self.folder / f"{n:05}").touch()
        listed = json.loads(self.files("GET", "")[2])
        self.assertEqual((len(listed["entries"]), listed["more"]), (2000, True))
        size = json.loads(self.ask("GET", self.at("", "usage"), headers=self.me)[2])
        self.assertEqual((size["entries"], size["partial"]), (20100, False))

    def test_rights(self):
        (self.folder / "x").write_text("x")
        see = {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["get", "list"]}
        looks = self.account("looks", [see])
        reads = self.account("reads", [see, {"apiGroups": [""], "resources": ["persistentvolumeclaims/files"],
                                             "verbs": ["get"]}])
        works = self.account("works", [see, {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}])
        blind = self.account("blind", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}])
        self.assertEqual(self.ask("GET", self.at("", "usage"), headers=looks)[0], 200)
        self.refused(self.files("GET", "x", who=looks), 403, "persistentvolumeclaims/files")
        self.refused(self.files("PUT", "y", b"y", who=looks), 403, "persistentvolumeclaims/files")
        self.assertEqual(self.files("GET", "x", who=reads)[2], b"x")
        self.refused(self.files("PUT", "y", b"y", who=reads), 403, "create persistentvolumeclaims/files")
        self.refused(self.files("POST", "y", who=reads), 403, "create persistentvolumeclaims/files")
        self.assertEqual(self.files("GET", "x", who=works)[2], b"x")
        self.assertEqual(self.files("PUT", "y", b"y", who=works)[0], 201)
        self.refused(self.files("GET", "x", who=blind), 403, "you may not get it")
        self.assertEqual(self.ask("GET", self.at("", ns="kube-system"), headers=works)[0], 403)
        self.assertEqual(self.ask("GET", self.at("x"))[0], 401)
        self.assertEqual(self.ask("GET", self.at("x"), headers={**self.me, "Origin": "http://evil.example"})[0], 403)


if __name__ == "__main__":
    harness.main()
