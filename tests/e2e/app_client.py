"""A browser, as far as programs behind the console need one: a session, the way to a program's own origin, requests and
WebSockets there."""
import base64
import http.client
import json
import os
import re
import socket
import struct

import harness


class WebSocket:
    """A client's end; messages are texts."""

    def __init__(self, port, path, headers):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "Connection: Upgrade",
                 "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.stream = self.socket.makefile("rb")
        self.status = int(self.stream.readline().split()[1])
        while self.stream.readline().strip():
            pass

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        head = struct.pack("!BB", 0x81, 0x80 | len(data)) if len(data) < 126 else \
            struct.pack("!BBH", 0x81, 0x80 | 126, len(data))
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        """The next message; None at the end. Pings go unanswered."""
        head = self.stream.read(2)
        if len(head) < 2 or head[0] & 15 == 8:
            return None
        if head[0] & 15 == 9:
            self.stream.read(head[1] & 127)
            return self.receive()
        length = head[1] & 127
        if length == 126:
            length = struct.unpack("!H", self.stream.read(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self.stream.read(8))[0]
        return self.stream.read(length).decode()

    def close(self):
        self.stream.close()
        self.socket.close()


class AppClient:
    """For tests with a daemon."""

    def ask(self, method, path, body=None, headers=None):
        """(status, headers, body) of a request to the daemon's port, as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.msg, answer.read()
        finally:
            connection.close()

    def sign_in(self, token=None):
        """What shows a new session to the API."""
        status, _, body = self.ask("POST", "/console/v1/login", json.dumps({"token": token or self.daemon.token}))
        self.assertEqual(status, 201, body)
        return {"Authorization": f"Bearer {json.loads(body)['key']}"}

    def open(self, path, session):
        """As the console does it: the address that is good once."""
        status, _, body = self.ask("POST", "/console/v1/open", json.dumps({"path": path}), session)
        self.assertEqual(status, 201, body)
        url = re.fullmatch(r"http://(app-[0-9a-f]{32}\.localhost:(\d+))(/\.muster/.*)", json.loads(body)["url"])
        self.assertEqual(int(url[2]), self.daemon.port)
        return url[1], url[3]

    def enter(self, path, session=None):
        """Host and cookie of the program's own origin."""
        host, way = self.open(path, session or self.sign_in())
        status, headers, body = self.ask("GET", way, headers={"Host": host})
        self.assertEqual((status, headers["Refresh"]), (200, f"0;url={path}"), body)
        self.assertRegex(headers["Set-Cookie"], "^muster_app=[^;]+; Path=/; HttpOnly; SameSite=Strict$")
        return {"Host": host, "Cookie": headers["Set-Cookie"].split(";")[0]}

    def socket(self, path, own, **headers):
        return WebSocket(self.daemon.port, path, {**own, "Origin": f"http://{own['Host']}", **headers})
