#!/usr/bin/python3
"""The one WebSocket of a console's tab, spoken from plain sockets: lists, changes, logs by credit, and those who may not."""
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import socket
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

PATH = "/console/v1/stream"
MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
MIB = 1 << 20


class Refused(AssertionError):
    pass


class Tab:
    """A WebSocket client: what a browser does, without the browser. receive_bytes: how much the kernel takes for it."""
    path = PATH

    def __init__(self, port, receive_bytes=None, tls=None, **headers):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(harness.PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.data, self.next_id = b"", 1
        self.shake(port, headers)

    def shake(self, port, headers):
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {"Host": f"127.0.0.1:{port}", "Connection": "Upgrade", "Upgrade": "websocket",
                  "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value is not None)
        self.socket.sendall(f"GET {self.path} HTTP/1.1\r\n{lines}\r\n".encode())
        while b"\r\n\r\n" not in self.data:
            self.more()
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        self.head = head
        if not head.startswith(b"HTTP/1.1 101"):
            self.close()
            raise Refused(int(head.split()[1]))
        wanted = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        assert b"Sec-WebSocket-Accept: " + wanted in head, head

    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise EOFError
        self.data += got

    def take(self, n):
        while len(self.data) < n:
            self.more()
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def frame(self):
        first, second = self.take(2)
        assert not second & 0x80, "servers do not mask"
        n = second & 0x7f
        if n == 126:
            n = struct.unpack(">H", self.take(2))[0]
        elif n == 127:
            n = struct.unpack(">Q", self.take(8))[0]
        return first & 0x0f, self.take(n)

    def send_frame(self, opcode, data):
        mask = os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data)) \
            if len(data) < 65536 else b"\xff" + struct.pack(">Q", len(data))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(bytes([0x80 | opcode]) + size + mask + masked)

    def say(self, **message):
        self.send_frame(TEXT, json.dumps(message).encode())

    def next(self):
        while True:
            opcode, data = self.frame()
            if opcode == TEXT:
                return json.loads(data.decode())
            if opcode == CLOSE:
                raise EOFError

    def begin(self, op, path, **more):
        number, self.next_id = self.next_id, self.next_id + 1
        self.say(id=number, op=op, path=path, **more)
        return number

    def list(self):
        """Messages of one list, to its last."""
        parts = [self.next()]
        while parts[-1].get("part"):
            parts.append(self.next())
        return parts

    def quiet(self):
        """That nothing is on its way: what is asked now is answered next."""
        self.say(op="ping")
        message = self.next()
        assert message == {"t": "pong"}, message

    def close(self):
        self.socket.close()


class Stream(harness.WithDaemon):
    tls = False

    def tearDown(self):
        self.daemon.call("DELETE", MAPS)

    def tab(self, token=None, **how):
        tab = Tab(self.daemon.port, tls=self.daemon.tls_context() if self.tls else None,
                  **{"Authorization": f"Bearer {token or self.daemon.token}", **how})
        self.addCleanup(tab.close)
        return tab

    def make(self, name, **data):
        return self.daemon.call("POST", MAPS, {"metadata": {"name": name}, "data": data})

    def test_a_list_in_parts_then_changes(self):
        for i in range(450):
            self.make(f"m{i:03}")
        tab = self.tab()
        number = tab.begin("watch", MAPS)
        parts = tab.list()
        self.assertEqual([len(one["items"]) for one in parts], [200, 200, 50])
        self.assertEqual([one["id"] for one in parts], [number] * 3)
        self.assertEqual([one.get("first") for one in parts], [True, None, None])
        self.assertEqual(len({one["metadata"]["uid"] for part in parts for one in part["items"]}), 450)
        self.assertNotIn("cursor", parts[0])
        made = self.make("later")
        event = tab.next()
        self.assertEqual((event["t"], event["type"], event["id"]), ("event", "ADDED", number))
        self.assertEqual(event["object"]["metadata"]["uid"], made["metadata"]["uid"])
        self.assertEqual(event["cursor"], made["metadata"]["resourceVersion"])
        tab.say(id=number, op="stop")
        tab.quiet()
        self.make("unseen")
        tab.quiet()

    def test_goes_on_at_a_cursor(self):
        tab = self.tab()
        tab.begin("watch", MAPS, query="labelSelector=a%3Db")
        cursor = tab.list()[-1]["cursor"]
        tab.close()
        self.daemon.call("POST", MAPS, {"metadata": {"name": "with", "labels": {"a": "b"}}})
        self.make("without")
        tab = self.tab()
        tab.begin("watch", MAPS, query="labelSelector=a%3Db", **{"from": cursor})
        event = tab.next()
        self.assertEqual((event["t"], event["type"], event["object"]["metadata"]["name"]), ("event", "ADDED", "with"))
        tab.quiet()

    def test_what_is_no_cursor_is_not_used(self):
        self.make("one")
        tab = self.tab()
        tab.begin("watch", MAPS, **{"from": "5&watch=false"})
        self.assertIn("one", [one["metadata"]["name"] for one in tab.list()[0]["items"]])

    def test_what_is_wrong_is_said_and_nothing_breaks(self):
        tab = self.tab()
        for text in (b"", b"nonsense", b"[1]", b'"x"', b"{}", b'{"op":"watch"}', b'{"id":-1,"op":"watch","path":"/api/x"}',
                     b'{"id":"1","op":"watch","path":"/api/x"}'):
            tab.send_frame(TEXT, text)
            message = tab.next()
            self.assertEqual((message["t"], message["code"], message["id"]), ("error", 400, 0), text)
        for op, path in (("watch", "/metrics"), ("watch", "/api/v1/pods HTTP/1.1\r\nX: y"), ("fly", MAPS),
                         ("watch", "/console/v1/code"), ("watch", f"{MAPS}#x")):
            number = tab.begin(op, path)
            message = tab.next()
            self.assertEqual((message["t"], message["code"], message["id"]), ("error", 400, number), path)
        for path, code in (("/api/v1/namespaces/default/nothings", 404), ("/version", 400),
                           ("/api/v1/namespaces/default", 500), (f"{MAPS}?watch=true", 0)):
            number = tab.begin("watch", path)
            self.assertEqual(tab.next()["code"], code, path)
            tab.say(id=number, op="stop")  # or it would ask again, and be told again
        tab.say(id=99, op="stop")
        tab.say(id=99, op="credit", bytes=5)
        tab.quiet()
        tab.send_frame(TEXT, b"x" * 70000)
        with self.assertRaises((EOFError, ConnectionError)):
            tab.next()

    def test_so_many_subscriptions_and_no_more(self):
        tab = self.tab()
        numbers = [tab.begin("watch", MAPS, query="labelSelector=no%3Dbody") for _ in range(128)]
        seen = {tab.next()["id"] for _ in numbers}
        self.assertEqual(seen, set(numbers))
        over = tab.begin("watch", MAPS)
        message = tab.next()
        self.assertEqual((message["id"], message["code"]), (over, 429))
        tab.say(id=numbers[0], op="stop")
        tab.begin("watch", MAPS)
        self.assertEqual(tab.list()[-1]["t"], "list")
        tab.say(id=numbers[1], op="watch", path=MAPS)
        self.assertEqual(tab.next()["code"], 400, "an id that is in use")

    def test_so_many_tabs_and_no_more(self):
        with contextlib.ExitStack() as stack:
            for _ in range(128):
                stack.callback(Tab(self.daemon.port, Authorization=f"Bearer {self.daemon.token}").close)
            with self.assertRaisesRegex(Refused, "503"):
                self.tab()
        until = time.monotonic() + harness.PATIENCE
        while True:  # the server hears of the closed ones one by one
            with contextlib.suppress(Refused):
                self.tab().quiet()
                break
            self.assertLess(time.monotonic(), until)

    def test_one_account_does_not_take_all_tabs(self):
        self.daemon.call("POST", ACCOUNTS, {"metadata": {"name": "many"}})
        token = self.daemon.call("POST", f"{ACCOUNTS}/many/token", {"apiVersion": "authentication.k8s.io/v1",
                                                                   "kind": "TokenRequest"})["status"]["token"]
        for _ in range(16):
            self.tab(token)
        with self.assertRaisesRegex(Refused, "429"):
            self.tab(token)
        self.tab().quiet()

    def test_who_may_not(self):
        for headers, code in (({}, 401), ({"Authorization": "Bearer wrong"}, 401),
                              ({"Authorization": f"Bearer {self.daemon.token}", "Origin": "http://evil.example"}, 403),
                              ({"Authorization": f"Bearer {self.daemon.token}", "Origin": "null"}, 403),
                              ({"Authorization": f"Bearer {self.daemon.token}", "Host": "evil.example"}, 403),
                              ({"Authorization": f"Bearer {self.daemon.token}", "Sec-WebSocket-Version": "8"}, 400),
                              ({"Authorization": f"Bearer {self.daemon.token}", "Sec-WebSocket-Key": None}, 400),
                              ({"Authorization": f"Bearer {self.daemon.token}", "Upgrade": None}, 400)):
            with self.subTest(headers=headers), self.assertRaisesRegex(Refused, str(code)):
                Tab(self.daemon.port, **headers)
        self.tab(Origin=f"http://127.0.0.1:{self.daemon.port}").quiet()

    def test_a_service_account_sees_what_it_may(self):
        self.daemon.call("POST", ACCOUNTS, {"metadata": {"name": "guest"}})
        token = self.daemon.call("POST", f"{ACCOUNTS}/guest/token", {"apiVersion": "authentication.k8s.io/v1",
                                                                    "kind": "TokenRequest"})["status"]["token"]
        tab = self.tab(token)
        number = tab.begin("watch", MAPS)
        message = tab.next()
        self.assertEqual((message["t"], message["code"], message["reason"], message["id"]),
                         ("error", 403, "Forbidden", number))
        self.assertIn('User "system:serviceaccount:default:guest" cannot list resource "configmaps"', message["message"])
        for kind, body in (("roles", {"rules": [{"apiGroups": [""], "resources": ["configmaps"],
                                                 "verbs": ["list", "watch"]}]}),
                           ("rolebindings", {"subjects": [{"kind": "ServiceAccount", "name": "guest",
                                                           "namespace": "default"}],
                                             "roleRef": {"kind": "Role", "name": "guest"}})):
            self.daemon.call("POST", f"{RBAC}/{kind}", {"apiVersion": "rbac.authorization.k8s.io/v1",
                                                       "metadata": {"name": "guest"}, **body})
        message = tab.next()  # it asks again by itself
        while message["t"] == "error":
            message = tab.next()
        self.assertEqual((message["t"], message["id"]), ("list", number))
        other = tab.begin("watch", "/api/v1/namespaces/default/secrets")
        message = tab.next()
        self.assertEqual((message["id"], message["code"]), (other, 403))
        tab.say(id=other, op="stop")  # or it would be told so again
        self.make("seen")
        self.assertEqual(tab.next()["object"]["metadata"]["name"], "seen")
        self.daemon.call("DELETE", f"{ACCOUNTS}/guest")
        last = tab.begin("watch", MAPS)  # its role is still there, but nobody who could have it
        message = tab.next()
        self.assertEqual((message["id"], message["code"]), (last, 401))

    # --- logs

    def run_pod(self, name, script):
        self.daemon.call("POST", harness.PODS.format(ns="default"), {
            "metadata": {"name": name}, "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                                                 "containers": [{"name": "main", "image": "none",
                                                                 "command": ["/bin/sh", "-c", script]}]}})
        self.addCleanup(self.daemon.call, "DELETE", f"{harness.PODS.format(ns='default')}/{name}", expect=(200, 404))
        self.daemon.wait_for(harness.PODS.format(ns="default"),
                             lambda found: found.get(name, {}).get("status", {}).get("phase") in
                             ("Running", "Succeeded", "Failed"), "the pod to run")
        return f"{harness.PODS.format(ns='default')}/{name}/log?follow=true"

    def test_a_log_comes_by_credit(self):
        path = self.run_pod("talks", "for i in 1 2 3 4 5 6 7 8; do printf '%s' '日志行0123456789日志行0123456789'; done")
        text = "日志行0123456789" * 16
        tab = self.tab()
        number = tab.begin("logs", path, credit=100)
        got = ""
        while len(got.encode()) < 97:  # a character that does not fit waits
            message = tab.next()
            self.assertEqual((message["t"], message["id"], len(message["text"].encode())),
                             ("lines", number, message["bytes"]))
            got += message["text"]
        self.assertLessEqual(len(got.encode()), 100)
        tab.quiet()
        tab.say(id=number, op="credit", bytes=1000)
        message = tab.next()
        while message["t"] == "lines":
            got += message["text"]
            message = tab.next()
        self.assertEqual((message["t"], got), ("end", text + "\n"))
        tab.begin("logs", harness.PODS.format(ns="default") + "/none/log", credit=5)
        self.assertEqual(tab.next()["code"], 404)

    def rss(self):
        text = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def test_nothing_is_kept_for_those_who_do_not_read(self):
        path = self.run_pod("floods", "yes 0123456789012345678901234567890123456789012345678901234567890123 | "
                                      "head -c 200000000; exec sleep 1000")
        self.make("big", text="x" * 900_000)
        before = self.rss()
        slow = self.tab(receive_bytes=4096)
        for _ in range(4):
            slow.begin("logs", path + "&tailLines=3000000", credit=64 * MIB)
        slow.begin("watch", MAPS)
        waiting = self.tab()
        waiting.begin("logs", path, credit=1000)
        got = 0
        while got < 1000:  # what is there first may be less
            got += waiting.next()["bytes"]
        self.assertEqual(got, 1000)
        for i in range(40):  # 36 MB of changes that nobody reads
            self.daemon.call("PATCH", f"{MAPS}/big", {"data": {"text": str(i % 10) * 900_000}},
                             content_type="application/merge-patch+json")
            waiting.quiet()
        self.assertLess(self.rss() - before, (96 if "asan" not in harness.BIN else 512) * MIB)
        message, seen = None, 0
        while not message or message["t"] != "event" or message["object"]["data"]["text"][0] != "9":
            message = slow.next()  # and it catches up
            seen += message["t"] == "lines" and message["bytes"]
            if message["t"] == "list" and [one for one in message["items"] if one["metadata"]["name"] == "big" and
                                           one["data"]["text"][0] == "9"]:
                break
        self.assertLessEqual(seen, 256 * MIB)

    def test_tabs_end_with_the_daemon(self):
        daemon = harness.Daemon("--listen", "127.0.0.1:0")
        self.addCleanup(lambda: self.assertEqual(daemon.close(), []))
        tabs = [Tab(daemon.port, Authorization=f"Bearer {daemon.token}") for _ in range(5)]
        for tab in tabs[1:]:
            tab.begin("watch", "/api/v1/pods")
            tab.list()
        tabs[4].begin("watch", "/api/v1/nodes")  # perhaps still on its way
        self.assertEqual(daemon.terminate(), 0)
        for tab in tabs:
            with self.assertRaises((EOFError, ConnectionError)):
                while True:
                    tab.next()
            tab.close()
        daemon.start()
        tab = Tab(daemon.port, Authorization=f"Bearer {daemon.token}")
        self.addCleanup(tab.close)
        tab.begin("watch", "/api/v1/namespaces", **{"from": "1"})  # the history outlives the daemon
        self.assertEqual(tab.next()["t"], "event")


class StreamOverTls(Stream):
    """What an upgraded connection does: it changes, it waits, it makes others wait. The rest does not see TLS."""
    tls = True
    test_so_many_tabs_and_no_more = test_so_many_subscriptions_and_no_more = test_tabs_end_with_the_daemon = None
    test_who_may_not = test_what_is_no_cursor_is_not_used = test_a_service_account_sees_what_it_may = None


if __name__ == "__main__":
    harness.main()
