"""A TCP proxy in front of the API server that can tell when its client has had its n-th write done.

For a client that must die right behind a write: the server has answered, the client has not heard of it. Reads,
watches among them, pass through. One request at a time on a connection, as our client does.
"""
import contextlib
import re
import socket
import threading

WRITES = (b"POST ", b"PUT ", b"PATCH ", b"DELETE ")
PIECE = 65536


class WriteProxy:
    """on_write(n, line) is called with the answer to the n-th write at hand; True: it is never delivered. edit may change
    requests, not their length, or keep them for a while."""

    def __init__(self, server_port, on_write, edit=bytes):
        self.server_port, self.on_write, self.edit = server_port, on_write, edit
        self.writes = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self.server_port)) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answers = Answers(client, server)
            threading.Thread(target=answers.relay, daemon=True).start()
            data = b""
            while True:
                request, data = read_request(client, data)
                if not request:
                    break
                if request.startswith(WRITES):
                    answers.hold(self.count, request.split(b"\r\n", 1)[0].decode())
                server.sendall(self.edit(request))
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)

    def count(self, line):
        with self.lock:
            self.writes += 1
            return self.on_write(self.writes, line)


class Answers:
    """The way back of one connection."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.held = None

    def hold(self, count, line):
        self.held = (count, line)

    def relay(self):
        with contextlib.suppress(OSError):
            while True:
                piece = self.server.recv(PIECE)
                if not piece:
                    break
                held, self.held = self.held, None
                if held and held[0](held[1]):
                    break
                self.client.sendall(piece)
        with contextlib.suppress(OSError):
            self.client.shutdown(socket.SHUT_RDWR)


def read_request(client, data):
    """One whole request and what came behind it; b"" at the end."""
    while b"\r\n\r\n" not in data:
        piece = client.recv(PIECE)
        if not piece:
            return b"", b""
        data += piece
    head = data.index(b"\r\n\r\n") + 4
    found = re.search(rb"(?i)\r\ncontent-length: *(\d+)\r\n", data[:head])
    end = head + (int(found[1]) if found else 0)
    while len(data) < end:
        piece = client.recv(PIECE)
        if not piece:
            return b"", b""
        data += piece
    return data[:end], data[end:]
