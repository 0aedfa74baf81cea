#!/usr/bin/python3
"""Requests nobody should send: each gets a clean 4xx or a closed connection, others are served meanwhile, memory stays
within bounds and the server stops cleanly afterwards."""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import select
import socket
import struct
import subprocess
import sys
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

MEGABYTE = 1 << 20
SANITIZED = "asan" in harness.BIN
# The sanitizer keeps what was freed for a while; what is bounded is bounded there too, only higher.
MEMORY_LIMIT = (900 if SANITIZED else 250) * MEGABYTE
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
IDLE = 5000


class Hostile(harness.WithDaemon):
    options = ("--only", "api")

    def tearDown(self):
        self.assertIsNone(self.daemon.process.poll(), "the server is gone")
        self.assertEqual(self.daemon.request("GET", CONFIG_MAPS)[0], 200)
        self.assertLess(self.memory(), MEMORY_LIMIT)

    def memory(self, daemon=None):
        status = pathlib.Path(f"/proc/{(daemon or self.daemon).process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE)
        self.addCleanup(connection.close)
        return connection

    def head(self, method, path, *lines, host=True, token=True):
        text = [f"{method} {path} HTTP/1.1"]
        text += [f"Host: 127.0.0.1:{self.daemon.port}"] if host else []
        text += [f"Authorization: Bearer {self.daemon.token}"] if token else []
        return "\r\n".join([*text, *lines, "", ""]).encode("latin-1")

    @staticmethod
    def answer(connection):
        """The status of what comes back, 0 when the connection was closed without one; and all that came."""
        got = b""
        with contextlib.suppress(ConnectionError):
            while b"\r\n\r\n" not in got:
                piece = connection.recv(65536)
                if not piece:
                    break
                got += piece
        return (int(got.split()[1]) if got.startswith(b"HTTP/1.") else 0), got

    def send(self, raw):
        connection = self.connect()
        with contextlib.suppress(ConnectionError):
            connection.sendall(raw)
        status, got = self.answer(connection)
        connection.close()
        return status, got

    def body(self, body, content_type="application/json", method="POST", path=CONFIG_MAPS):
        body = body.encode() if isinstance(body, str) else body
        lines = [f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"Content-Type: {content_type}"] if content_type is not None else []
        return self.send(self.head(method, path, *lines) + body)

    def refused(self, status, got, what, allowed=range(400, 500)):
        self.assertTrue(status == 0 or status in allowed, f"{what!r:.200}: {status} {got[:400]}")

    # --- bodies

    def test_broken_json(self):
        for text in ("{", '{"a":', "nul", "[1,2", '{"a" 1}', '{"a":1}x', "'a'", "{a:1}", '"\x01"', '{"a":01}', "\0", "",
                     '{"kind":"ConfigMap"}\0', "[]", '"ConfigMap"', "1e99999", "-", '{"a":"\\ud800"}' * 2):
            self.refused(*self.body(text), text)
        self.refused(*self.body(b'{"a":"\xff\xfe"}'), "not UTF-8")

    def test_deep_nesting(self):
        for text in ("[" * 100000, '{"a":' * 100000, "[" * 1000000 + "]" * 1000000):
            self.refused(*self.body(text), text[:20])
        deep = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"deep"},"spec":' + '{"a":' * 5000 + "1" + "}" * 5001
        self.refused(*self.body(deep, path=PODS), "a deep pod")

    def test_duplicate_keys(self):
        text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}'
        self.refused(*self.body(text), text, [201, *range(400, 500)])
        self.refused(*self.body(text, path=CONFIG_MAPS + "?fieldValidation=Strict"), text)

    def test_broken_yaml_and_protobuf(self):
        laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9))
        for text in (laughs, "a: [", "a: b: c", "? ", "\t", "- " * 10000, "&a [*a]", "a: *nope", "%YAML 9.9\n---\n", "{" * 20000,
                     "a: !!binary x", "kind: ConfigMap\nkind: Secret", "---\n---\n---\n"):
            self.refused(*self.body(text, "application/yaml"), text)
        magic = b"k8s\0"
        for raw in (b"", magic, magic + b"\xff" * 100, magic + b"\x0a\xff\xff\xff\xff\x0f", magic + b"\x0a\x04\x0a\x02v1",
                    b"nope", magic + b"\x12\x80\x80\x80\x80\x10", magic + bytes(range(256)) * 20):
            self.refused(*self.body(raw, "application/vnd.kubernetes.protobuf"), raw)

    def test_wrong_content_types(self):
        good = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "typed"}})
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "image/png",
                     "application/octet-stream", ";;;", "a" * 5000):
            status, got = self.body(good, kind)
            self.assertEqual(status, 415, f"{kind:.80} {got[:300]}")
        for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded", None):
            self.refused(*self.body("{}", kind, "PATCH", CONFIG_MAPS + "/typed"), kind)
        for kind in ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"):
            for text in ("", "[", "[]]", "null", '[{"op":"explode"}]', '[{"op":"move","path":"/a"}]', "7"):
                self.refused(*self.body(text, f"application/{kind}", "PATCH", CONFIG_MAPS + "/typed"), (kind, text))

    def test_large_bodies(self):
        """Told to go before it is read: 413, and far less than 100 MB was taken."""
        connection = self.connect()
        size, sent = 100 * MEGABYTE, 0
        connection.sendall(self.head("POST", CONFIG_MAPS, "Content-Type: application/json", f"Content-Length: {size}"))
        piece = b"x" * 65536
        with contextlib.suppress(ConnectionError):
            while sent < size and not select.select([connection], [], [], 0)[0]:
                sent += connection.send(piece)
        status, got = self.answer(connection)
        self.assertIn(status, (0, 413), got[:300])
        self.assertLess(sent, 40 * MEGABYTE)
        status, got = self.send(self.head("POST", CONFIG_MAPS, "Content-Type: application/json", f"Content-Length: {size}"))
        self.assertEqual(status, 413, got[:300])
        status, got = self.body("x" * 4 * MEGABYTE)
        self.assertEqual(status, 413, got[:300])
        self.assertIn(b'"reason":"RequestEntityTooLarge"', got)

    def test_broken_lengths_and_chunks(self):
        where = ("POST", CONFIG_MAPS, "Content-Type: application/json", "Connection: close")
        for lines, body in ((["Content-Length: -1"], b"{}"), (["Content-Length: 99999999999999999999"], b"{}"),
                            (["Content-Length: 2", "Content-Length: 3"], b"{}x"), (["Content-Length: two"], b"{}"),
                            (["Transfer-Encoding: chunked"], b"zz\r\n{}\r\n0\r\n\r\n"),
                            (["Transfer-Encoding: chunked"], b"-2\r\n{}\r\n0\r\n\r\n"),
                            (["Transfer-Encoding: chunked"], b"ffffffffffffffffff\r\n{}"),
                            (["Transfer-Encoding: chunked"], b"2\r\n{}XX0\r\n\r\n"),
                            (["Transfer-Encoding: chunked", "Content-Length: 5"], b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n")):
            connection = self.connect()
            with contextlib.suppress(ConnectionError):
                connection.sendall(self.head(*where, *lines) + body)
                with contextlib.suppress(OSError):  # it may have closed already, which is an answer too
                    connection.shutdown(socket.SHUT_WR)
            self.refused(*self.answer(connection), (lines, body[:40]))

    def refused_and_closed(self, lines, status, sentence, requests=(("POST", CONFIG_MAPS), ("GET", "/version")), slowly=False):
        """One answer, and nothing of what stands behind the header is read."""
        for method, path in requests:
            for connection in (self.connect(), self.daemon.tls_context().wrap_socket(self.connect(), server_hostname="127.0.0.1")):
                raw = self.head(method, path, "Content-Type: application/json", *lines) + b"0\r\n\r\n" + self.head("GET", "/version")
                connection.sendall(self.head("GET", "/healthz"))  # a connection that has been good for something
                with contextlib.suppress(ConnectionError):
                    for at in range(0, len(raw), 1 if slowly else len(raw)):
                        connection.sendall(raw[at:at + (1 if slowly else len(raw))])
                got = b""
                with contextlib.suppress(ConnectionError), connection:
                    while piece := connection.recv(65536):
                        got += piece
                first, _, answer = got.partition(b"HTTP/1.1 ")[2].partition(b"HTTP/1.1 ")
                self.assertTrue(first.startswith(b"200 "), got)
                self.assertEqual(answer.split(b" ")[0], str(status).encode(), (lines, got[:600]))
                self.assertIn(sentence, answer, lines)
                self.assertNotIn(b"HTTP/1.1 ", answer)

    def test_two_lengths_are_refused_and_nothing_behind_them_is_read(self):
        for lines in (["Transfer-Encoding: chunked", "Content-Length: 5"], ["Content-Length: 5", "Transfer-Encoding: chunked"],
                      ["content-length: 0", "TRANSFER-ENCODING: chunked"], ["Content-Length: 2", "Content-Length: 3"],
                      ["Content-Length: 0", "content-length: 5"], ["Content-Length: 5", "Content-Length: 5"],
                      ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"]):
            self.refused_and_closed(lines, 400, b"its length once: Content-Length or Transfer-Encoding, not both")

    def test_a_length_that_is_no_number_is_answered_once(self):
        for value in ("+5", "-1", "0x5", "5 5", "2, 2", "two", ""):
            self.refused_and_closed([f"Content-Length: {value}"], 400, b"a Content-Length is a number")
        self.refused_and_closed(["Content-Length: 99999999999999999999"], 413, b"too large")

    def test_codings_other_than_chunked_are_refused_at_once(self):
        for value in ("xchunked", "chunked, identity", "gzip, chunked", "identity", "chunked;q=1", "chun ked", ""):
            self.refused_and_closed([f"Transfer-Encoding: {value}"], 501, b"the only Transfer-Encoding here is chunked")

    def test_headers_whose_names_are_none_are_refused_and_nothing_behind_them_is_read(self):
        for lines in (["Transfer-Encoding : chunked"], ["Transfer-Encoding\t: chunked"], ["Content-Length : 5"],
                      ["X: y", "  Transfer-Encoding: chunked"], ["X\x0b: y"], ["X(: y"], ["X\xe9: y"]):
            self.refused_and_closed(lines, 400, b"a header's name")
        for line in ("X: y\rTransfer-Encoding: chunked", "Content-Length: 5\r"):
            self.refused_and_closed([line], 400, b"a header's value")

    def test_folded_lines_are_refused_and_nothing_behind_them_is_read(self):
        for lines in (["Content-Length:", " 60"], ["Content-Length: 0", " 60"], ["Transfer-Encoding:", " chunked"],
                      ["Transfer-Encoding:", " chunked", "Content-Length: 5"]):
            self.refused_and_closed(lines, 400, b"a header's value")

    def test_what_another_reader_might_read_differently_is_refused_and_nothing_behind_it_is_read(self):
        """Over plain HTTP and TLS, in one piece and byte by byte."""
        for lines, sentence in ((["Transfer-Enc: chunked", " oding"], b"a header's name"), (["Transfer-Enc", " oding: chunked"], b"a header's name"),
                                (["X: y", "\tz"], b"a header's value"), (["Content-Length: 0\0N"], b"control characters"),
                                (["X: y\nContent-Length: 5"], b"end with CR LF"), (["X: y\n"], b"end with CR LF"),
                                ([": y"], b"a header's name"), (["X: \x7f"], b"control characters"),
                                (["Host: localhost"], b"Host occurs twice"), (["Expect: more"], b"100-continue")):
            for slowly in (False, True):
                with self.subTest(lines=lines, slowly=slowly):
                    self.refused_and_closed(lines, 417 if b"100" in sentence else 400, sentence, slowly=slowly)
        for request in (("GET ", "/version"), ("GET", " /version"), ("GET", "/version "), ("GET", "/ver sion"), ("G\0ET", "/version"),
                        ("GET\n", "/version"), ("\r\nGET", "/version"), ("GET", "http:///version"), ("GET", "/version\xe9")):
            with self.subTest(request=request):
                self.refused_and_closed([], 400, b'"reason":"BadRequest"', requests=[request])

    def test_what_is_allowed_is_taken(self):
        """A blank behind a value, an extension of a chunk, trailers; and the connection goes on."""
        body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken"}}).encode()
        chunked = b"%x;a=b\r\n%s\r\n0\r\nX: y\r\n\r\n" % (len(body), body)
        for lines, sent in ((["Transfer-Encoding: chunked \t"], chunked), ([f"Content-Length:{len(body)} "], body)):
            connection = self.connect()
            connection.sendall(self.head("POST", CONFIG_MAPS, "Content-Type: application/json", *lines) + sent)
            self.assertEqual(self.answer(connection)[0], 201)
            connection.sendall(self.head("DELETE", CONFIG_MAPS + "/taken", "Connection: close"))
            self.assertEqual(self.answer(connection)[0], 200)

    def test_a_whole_address_says_the_host(self):
        """As to a proxy: what the header Host says does not count then."""
        port = self.daemon.port
        for host, status in ((f"127.0.0.1:{port}", 200), (f"localhost:{port}", 200), (f"evil.example:{port}", 403),
                             (f"127.0.0.1@evil.example:{port}", 403), (f"evil.example@127.0.0.1:{port}", 403)):
            for path in ("/readyz", "/readyz?verbose"):
                with self.subTest(host=host, path=path):
                    got = self.send(self.head("GET", f"http://{host}{path}", "Connection: close"))
                    self.assertEqual(got[0], status, got[1][:200])

    def test_broken_chunks_are_refused_and_nothing_behind_them_is_read(self):
        for body in (b"5\nhello\r\n0\r\n\r\n", b"0\n\n", b"0 \r\n\r\n", b"0\r\n\n", b"1\r\nXY\r\n0\r\n\r\n", b"0;a\nb\r\n\r\n"):
            for connection in (self.connect(), self.daemon.tls_context().wrap_socket(self.connect(), server_hostname="127.0.0.1")):
                connection.sendall(self.head("POST", CONFIG_MAPS, "Transfer-Encoding: chunked") + body + self.head("GET", "/version"))
                got = b""
                with contextlib.suppress(ConnectionError), connection:
                    while piece := connection.recv(65536):
                        got += piece
                self.assertTrue(got.startswith(b"HTTP/1.1 400 "), (body, got[:300]))
                self.assertEqual(got.count(b"HTTP/1.1 "), 1, body)

    # --- request lines and headers

    def test_paths(self):
        for path in ("//", "/../", "/api/v1/../../etc/passwd", "/api/v1/%2e%2e/%2e%2e/etc/passwd", "/%00", "/api/v1/pods%00",
                     "/api/v1/namespaces/../pods", f"{CONFIG_MAPS}/..", f"{CONFIG_MAPS}/%2e%2e",
                     f"{CONFIG_MAPS}/..%2f..%2fsecrets", f"{CONFIG_MAPS}/a%00b", f"{CONFIG_MAPS}/%", f"{CONFIG_MAPS}/%zz",
                     f"{CONFIG_MAPS}/" + "a" * 300, f"{CONFIG_MAPS}/" + "a" * 8000, "/" + "a/" * 4000, "/" + "%41" * 2000,
                     "/api/v1/namespaces/%2e%2e/configmaps/x", "*", "http://evil.example/api/v1",
                     f"/{'a' * 5000}/api", "/api/v1/namespaces/default/pods/x/log/y",
                     f"{PODS}/x/log?container=../../../etc/passwd", f"{PODS}/..%2f..%2fx/log", "/apis/x/y/z/w/v/u", "/\xff\xfe"):
            self.refused(*self.send(self.head("GET", path, "Connection: close")), path)
        for path in ("/api//v1/pods", "//api/v1/pods", "/api/v1/namespaces//configmaps", f"{CONFIG_MAPS}/"):
            status, got = self.send(self.head("GET", path, "Connection: close"))  # what it looks like, or nothing
            self.assertTrue(status == 404 or b'"items":[' in got, f"{path} {got[:200]}")
        for length in (16000, 100000, 1000000):
            self.refused(*self.send(self.head("GET", "/" + "a" * length)), length)

    def test_queries(self):
        for query in ("limit=-1", "limit=99999999999999999999999", "limit=x", "resourceVersion=x", "resourceVersion=-1",
                      "resourceVersion=1.5", "continue=%%%", "continue=AAAA", "labelSelector=%28%28%28", "labelSelector=a%20in%20",
                      "labelSelector=" + "a," * 2000, "fieldSelector=a", "fieldSelector=spec.nope%3Dx",
                      "watch=true&timeoutSeconds=x", "watch=true&resourceVersion=%00", "resourceVersionMatch=Exact&resourceVersion=x"):
            self.refused(*self.send(self.head("GET", f"{CONFIG_MAPS}?{query}", "Connection: close")), query)
        for query in ("&&&===", "%", "a=%zz", "x" * 10000, "limit=1&limit=2", "limit=", "?" * 100):
            status, got = self.send(self.head("GET", f"{CONFIG_MAPS}?{query}", "Connection: close"))
            self.assertTrue(status in (0, 200) or 400 <= status < 500, f"{query:.100} {got[:200]}")

    def test_methods(self):
        for method in ("BREW", "TRACE", "CONNECT", "OPTIONS", "PROPFIND", "get", "G\0T", "A" * 5000, "PUT", ""):
            self.refused(*self.send(self.head(method, CONFIG_MAPS, "Content-Length: 0", "Connection: close")), method)
        for method, path in (("POST", CONFIG_MAPS + "/x"), ("PATCH", CONFIG_MAPS), ("DELETE", "/api/v1"), ("POST", "/version"),
                             ("PUT", "/healthz"), ("DELETE", "/api/v1/nodes"), ("POST", f"{PODS}/x/log")):
            self.refused(*self.send(self.head(method, path, "Content-Length: 0", "Connection: close")), (method, path))

    def test_headers(self):
        get = ("GET", CONFIG_MAPS, "Connection: close")
        for lines in (["X: " + "a" * 100000], [f"X{i}: {i}" for i in range(5000)], ["no colon"],
                      ["Accept: " + "application/x," * 1000], ["Accept: application/xml"]):
            self.refused(*self.send(self.head(*get, *lines)), lines[0][:30])
        for raw in (b"\x16\x03\x01\x02\0\x01\0", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                    b"\r\n" * 1000 + b"x\r\n\r\n", b"GET / HTTP/1.1\n\n", b"HELO x\r\n\r\n", os.urandom(20000)):
            connection = self.connect()
            with contextlib.suppress(ConnectionError):
                connection.sendall(raw)
                with contextlib.suppress(OSError):  # it may have closed already, which is an answer too
                    connection.shutdown(socket.SHUT_WR)
            self.refused(*self.answer(connection), raw[:30], [505, *range(400, 500)])

    def test_pages_of_others(self):
        """DNS rebinding and foreign pages: refused before the token is looked at."""
        port = self.daemon.port
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil", "", "0.0.0.0", "127.0.0.1:x",
                     f"[::ffff:1.2.3.4]:{port}"):
            status, got = self.send(self.head("GET", CONFIG_MAPS, f"Host: {host}", "Connection: close", host=False))
            self.assertIn(status, (400, 403), f"{host} {got[:200]}")
        self.refused(*self.send(self.head("GET", CONFIG_MAPS, "Connection: close", host=False)), "no host")
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1:1", f"http://localhost:{port}.evil"):
            status, got = self.send(self.head("GET", CONFIG_MAPS, f"Origin: {origin}", "Connection: close"))
            self.assertEqual(status, 403, f"{origin} {got[:200]}")
        status, got = self.send(self.head("GET", CONFIG_MAPS, "Connection: close", token=False))
        self.assertEqual(status, 401)

    # --- clients that do not go on

    def open_many(self, count):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 200)), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.assertGreaterEqual(min(hard, count + 200), count, "too few descriptors for this test")
        found = []
        self.addCleanup(lambda: [connection.close() for connection in found])
        return found

    def test_thousands_of_idle_connections(self):
        """A third says nothing, a third stops in the header, a third in the body."""
        found = self.open_many(IDLE)
        starts = (b"", self.head("GET", CONFIG_MAPS)[:60],
                  self.head("POST", CONFIG_MAPS, "Content-Type: application/json", "Content-Length: 3000000") + b"{" * 2000)
        slowest = 0
        for number in range(IDLE):
            connection = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE)
            found.append(connection)
            if starts[number % 3]:
                connection.sendall(starts[number % 3])
            if number % 500 == 499:
                begin = time.monotonic()
                self.assertEqual(self.daemon.request("GET", CONFIG_MAPS)[0], 200)
                slowest = max(slowest, time.monotonic() - begin)
        self.assertLess(slowest, harness.PATIENCE / 4, "others had to wait")
        self.assertLess(self.memory(), MEMORY_LIMIT)
        descriptors = len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))
        self.assertLess(descriptors, 4400, "more connections than the ceiling")
        self.assertEqual(self.daemon.call("GET", CONFIG_MAPS)["kind"], "ConfigMapList")

    def test_thousands_of_half_handshakes(self):
        """A third stops after the first byte, a third within the hello, a third where it would have to answer."""
        found = self.open_many(IDLE)
        hello = harness.client_hello()
        starts = (hello[:1], hello[:60], hello)
        for number in range(IDLE):
            connection = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE)
            found.append(connection)
            with contextlib.suppress(ConnectionError):  # those that came first make room
                connection.sendall(starts[number % 3])
            if number % 500 == 499:
                self.assertEqual(self.daemon.request("GET", CONFIG_MAPS)[0], 200)
        secure = http.client.HTTPSConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE,
                                             context=self.daemon.tls_context())
        self.addCleanup(secure.close)
        secure.request("GET", "/readyz")
        self.assertEqual(secure.getresponse().status, 200)
        self.assertLess(self.memory(), MEMORY_LIMIT)
        descriptors = len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))
        self.assertLess(descriptors, 3 * 4096 + 300, "more connections than the ceiling")

    def test_who_says_half_a_hello_gets_no_session(self):
        """It would take some twenty kilobytes of each."""
        daemon = harness.Daemon("--only", "api")
        self.addCleanup(daemon.close)
        found = self.open_many(IDLE)
        hello = harness.client_hello()
        before = self.memory(daemon)
        for number in range(2000):
            connection = socket.create_connection(("127.0.0.1", daemon.port), timeout=harness.PATIENCE)
            found.append(connection)
            connection.sendall(hello[:5 if number % 2 else len(hello) - 1])
        self.assertEqual(daemon.request("GET", CONFIG_MAPS)[0], 200)
        self.assertLess(self.memory(daemon) - before, 2000 * 8 * 1024)
        found[-2].sendall(hello[-1:])  # the last byte
        self.assertEqual(found[-2].recv(1), b"\x16")

    def test_half_handshakes_where_descriptors_are_few(self):
        """A connection that made room leaves its descriptors to the thread of TLS: those that come are taken all the same."""
        daemon = harness.Daemon(start=False)
        self.addCleanup(daemon.close)
        with open(os.path.join(daemon.folder, "daemon.txt"), "ab") as log:
            daemon.process = subprocess.Popen(["sh", "-c", f"ulimit -n 1024; exec {harness.BIN} up --listen 127.0.0.1:0"],
                                              stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=daemon.environment)
        harness.wait_until(daemon.is_ready, "the daemon to be ready")
        found = self.open_many(IDLE)
        hello = harness.client_hello()
        for number in range(IDLE):
            connection = socket.create_connection(("127.0.0.1", daemon.port), timeout=harness.PATIENCE)
            found.append(connection)
            with contextlib.suppress(ConnectionError):
                connection.sendall(hello[:60])
        self.assertEqual(daemon.request("GET", CONFIG_MAPS)[0], 200)

    def test_bodies_of_strangers_are_not_read(self):
        for lines in (("Content-Length: 3000000",), ("Transfer-Encoding: chunked",)):
            status, got = self.send(self.head("POST", CONFIG_MAPS, "Content-Type: application/json", *lines, token=False))
            self.assertEqual(status, 401, got)
            self.assertIn(b"Connection: close", got)
        status, _ = self.send(self.head("POST", "/console/v1/login", "Content-Type: application/json", "Content-Length: 3000000",
                                        token=False))
        self.assertGreaterEqual(status, 400)

    def test_watchers_that_never_read(self):
        """What they do not take is not kept for them."""
        name = CONFIG_MAPS + "/churned"
        self.daemon.call("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "churned"},
                                               "data": {"a": ""}})
        found = self.open_many(300)
        for _ in range(300):
            connection = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE)
            found.append(connection)
            connection.sendall(self.head("GET", CONFIG_MAPS + "?watch=true"))
        for number in range(100):
            self.daemon.call("PATCH", name, {"data": {"a": f"{number}" + "x" * 200000}}, content_type="application/merge-patch+json")
        self.assertLess(self.memory(), MEMORY_LIMIT)
        self.daemon.call("DELETE", name)

    def test_watchers_of_converted_events_that_never_read(self):
        """They share what was converted; what they get when they read after all is whole."""
        name = CONFIG_MAPS + "/converted"
        self.daemon.call("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "converted"}})
        accept = "Accept: application/vnd.kubernetes.protobuf;stream=watch"
        before = self.memory()
        watches = []
        for _ in range(200):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(harness.PATIENCE)
            connection.connect(("127.0.0.1", self.daemon.port))
            self.addCleanup(connection.close)
            connection.sendall(self.head("GET", CONFIG_MAPS + "?watch=true&fieldSelector=metadata.name%3Dconverted", accept))
            watches.append(connection)
        for connection in watches:  # every one has begun
            self.assertIn(b"200 OK", connection.recv(64))
        for letter in "abc":
            self.daemon.call("PATCH", name, {"data": {"a": letter * 900000}}, content_type="application/merge-patch+json")
        self.assertLess(self.memory() - before, 100 << 20)
        for connection in watches[::50]:
            got = b""
            while got.count(b"c") < 900000:
                got += connection.recv(1 << 20)
            body = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", got)  # the chunks' own lines
            for letter in b"abc":
                self.assertEqual(body.count(bytes([letter]) * 900000), 1)
        self.daemon.call("DELETE", name)


# Three thousand folders, one in the other, one of which may not be changed.
DEEP = """
import fcntl, os
os.chdir("/var/tmp/deep")
for level in range(3000):
    os.mkdir("d")
    if level == 40:
        kept = os.open(".", os.O_RDONLY)
    os.chdir("d")
try:
    fcntl.ioctl(kept, 0x40086602, (0x10).to_bytes(8, "little"))  # chattr +i
except OSError:
    raise SystemExit(3)
"""


class Volumes(harness.DaemonTest):
    def test_probes_too_long_to_be_sent_are_refused(self):
        def probe(**request):
            return {"metadata": {"name": "probed"}, "spec": {"containers": [{
                "name": "c", "image": "none", "command": ["true"], "readinessProbe": {"httpGet": {"port": 1, **request}}}]}}
        for request, field in (({"path": "/" + "a" * 8192}, "httpGet.path: Forbidden"),
                               ({"httpHeaders": [{"name": f"X-{i}", "value": "v" * 100} for i in range(400)]},
                                "httpGet.httpHeaders: Forbidden")):
            status, answer = self.daemon.request("POST", PODS, probe(**request))
            self.assertEqual(status, 422, answer)
            self.assertIn(field, json.loads(answer)["message"])

    def test_controls_of_terminals_stay_out_of_messages_and_events(self):
        controls = "\x1b[2J\x07\x9b2J\u202e\u2028"
        self.daemon.call("POST", PODS, {"metadata": {"name": "unstarted"}, "spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "none", "command": [f"/no/{controls}evil"]}]}})
        script = "printf '%s' \"$0\"; exit 1"
        self.daemon.call("POST", PODS, {"metadata": {"name": "unwell"}, "spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "none", "command": ["sleep", "1000"], "livenessProbe": {
                "exec": {"command": ["sh", "-c", script, f"{controls}evil"]}, "periodSeconds": 1, "failureThreshold": 1}}]}})
        texts = [self.daemon.wait_for(PODS, lambda pods: next((s["state"]["terminated"]["message"] for s in pods["unstarted"][
            "status"].get("containerStatuses", []) if "terminated" in s["state"]), None), "it to fail")]
        texts.append(self.daemon.wait_for("/api/v1/namespaces/default/events", lambda events: next(
            (e["message"] for e in events.values() if e["reason"] == "Unhealthy"), None), "the probe's event"))
        for name in ("unstarted", "unwell"):
            self.daemon.call("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        for text in texts:
            self.assertIn("evil", text)
            self.assertIsNone(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", text), repr(text))

    def test_what_cannot_be_removed_holds_up_nobody(self):
        daemon = self.daemon
        daemon.call("POST", PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "deep"},
            "spec": {"restartPolicy": "Never", "volumes": [{"name": "deep", "emptyDir": {}}], "containers": [
                {"name": "main", "image": "none", "command": ["/usr/bin/python3", "-c", DEEP],
                 "volumeMounts": [{"name": "deep", "mountPath": "/var/tmp/deep"}]}]}})
        ended = daemon.wait_for(PODS, lambda pods: pods if pods["deep"]["status"].get("phase") in ("Succeeded", "Failed")
                                else None, "it to end")["deep"]
        code = ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
        self.assertIn(code, (0, 3))  # not every file system can, nor every user
        daemon.call("DELETE", f"{PODS}/deep?gracePeriodSeconds=0")
        daemon.wait_for(PODS, lambda pods: not pods, "the pod to be gone")
        scratch = pathlib.Path(daemon.folder, "scratch")
        harness.wait_until(lambda: all(one.name.startswith(".gone-") for one in scratch.iterdir()), "its folder to be put aside")
        self.assertEqual(daemon.terminate(), 0)
        left = list(scratch.glob(".gone-*"))
        if code == 0:
            self.assertEqual(len(left), 1)
            self.let_go(left[0])
        daemon.start()
        harness.wait_until(lambda: not list(scratch.iterdir()), "it to go")

    def let_go(self, folder):
        """Makes it removable again: level by level, for the whole path is longer than a path may be."""
        for path in [folder, *folder.iterdir()]:
            handle = os.open(path, os.O_RDONLY)
            with contextlib.suppress(OSError):
                while True:
                    fcntl.ioctl(handle, 0x40086602, bytes(8))
                    below = os.open("d", os.O_RDONLY, dir_fd=handle)
                    os.close(handle)
                    handle = below
            os.close(handle)


ECHO = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection = listener.accept()[0]
    connection.sendall(connection.recv(100))
    connection.close()
"""


def control(kind, payload, flags=0, version=3):
    """A control frame of SPDY."""
    return struct.pack(">HHI", 0x8000 | version, kind, flags << 24 | len(payload)) + payload


class Streams(Hostile):
    """Broken frames on upgraded connections; a pod to exec in is needed."""

    options = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.create(harness.job("target", ["/usr/bin/python3", "-c", ECHO], replicas=1))
        cls.pod = next(iter(cls.daemon.wait_running("target", 1)))

    @classmethod
    def tearDownClass(cls):
        cls.daemon.cli("rm", "target")
        super().tearDownClass()

    def upgraded(self, what, *lines, method="GET"):
        connection = self.connect()
        connection.sendall(self.head(method, f"{PODS}/{self.pod}/{what}", "Connection: Upgrade", *lines))
        status, got = self.answer(connection)
        self.assertEqual(status, 101, got)
        return connection

    def is_over(self, connection):
        """The other side ends it: by an end, a reset or a closing frame."""
        with contextlib.suppress(ConnectionError):
            while connection.recv(65536):
                pass
        connection.close()

    def test_websocket_frames(self):
        key = base64.b64encode(b"0123456789abcdef").decode()
        mask = b"\1\2\3\4"
        for raw in (b"\x82\x05hello",                                # not masked
                    b"\xf2\x85" + mask + b"hello",                    # reserved bits
                    b"\x83\x80" + mask,                               # no such opcode
                    b"\x89\xfe\x01\x00" + mask + b"x" * 256,           # a ping too long
                    b"\x09\x80" + mask,                               # a ping in pieces
                    b"\x82\xff" + b"\xff" * 8 + mask,                 # 2^64 bytes
                    b"\x80\x85" + mask + b"hello",                     # goes on with nothing
                    os.urandom(5000)):
            connection = self.upgraded(
                "exec?command=cat&stdin=true&stdout=true", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Protocol: v5.channel.k8s.io")
            with contextlib.suppress(ConnectionError):
                connection.sendall(raw)
                with contextlib.suppress(OSError):  # it may have closed already, which is an answer too
                    connection.shutdown(socket.SHUT_WR)
            self.is_over(connection)

    def test_data_before_its_error_stream(self):
        """A forwarded connection's bytes wait until both of its streams are there."""
        port = self.daemon.log(self.pod, query="?follow=true&limitBytes=6").strip()  # returns when it is said
        connection = self.upgraded("portforward", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: portforward.k8s.io",
                                   "Content-Length: 0", method="POST")
        deflate = zlib.compressobj()

        def opening(stream, kind):
            headers = {"streamtype": kind, "port": port, "requestid": "0"}
            plain = struct.pack(">I", len(headers)) + b"".join(
                struct.pack(">I", len(text)) + text.encode() for pair in headers.items() for text in pair)
            return control(1, struct.pack(">IIxx", stream, 0) + deflate.compress(plain) + deflate.flush(zlib.Z_SYNC_FLUSH))

        connection.sendall(opening(1, "data") + struct.pack(">II", 1, 5) + b"hello")
        connection.sendall(opening(3, "error"))
        file, got = connection.makefile("rb"), b""
        while not got:
            head, size = struct.unpack(">II", file.read(8))
            body = file.read(size & 0xffffff)
            self.assertNotEqual(head, 3, body)  # nothing is said to be wrong
            got = body if head == 1 else b""
            self.assertFalse(head == 1 and not body, "the connection was ended")
        self.assertEqual(got, b"hello")
        file.close()
        connection.close()

    def test_spdy_frames(self):
        for raw in (control(1, b""), control(1, b"\0" * 10), control(1, b"\0\0\0\1\0\0\0\0\0\0" + b"\xff" * 50),
                    control(1, b"\0" * 70000), control(1, b"\0\0\0\2\0\0\0\0\0\0"), control(6, b"\0"), control(3, b"\0" * 3),
                    control(99, b"x" * 50), control(1, b"\0\0\0\1" + b"\0" * 6, version=2),
                    struct.pack(">II", 7, 0x00ffffff), struct.pack(">II", 1, 5) + b"hello", b"\xff" * 4000, os.urandom(5000)):
            for what in ("exec?command=cat&stdin=true&stdout=true", "portforward"):
                offer = "v4.channel.k8s.io" if what.startswith("exec") else "portforward.k8s.io"
                connection = self.upgraded(what, "Upgrade: SPDY/3.1", f"X-Stream-Protocol-Version: {offer}", "Content-Length: 0",
                                           method="POST")
                with contextlib.suppress(ConnectionError):
                    connection.sendall(raw)
                    with contextlib.suppress(OSError):  # it may have closed already, which is an answer too
                        connection.shutdown(socket.SHUT_WR)
                self.is_over(connection)


for inherited in [name for name in dir(Hostile) if name.startswith("test_")]:
    setattr(Streams, inherited, None)  # once is enough


if __name__ == "__main__":
    harness.main()
