"""An HTTPS proxy between our programs and an API server that does, on purpose and by a seed, what networks and servers do at
times: refuses, is busy, answers late, slowly, half or not at all, and ends watches in every way. It counts what is asked."""
import asyncio
import collections
import contextlib
import json
import random
import ssl
import threading
import time

REFUSALS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
EXPIRED = json.dumps({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                                                  "message": "too old resource version", "reason": "Expired", "code": 410}})


class Gone(Exception):
    """A peer has hung up."""


class Message:
    """The head of a request or an answer and how long its body is."""

    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.head, self.first = head, lines[0]
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        self.chunked = "chunked" in fields.get("transfer-encoding", "")
        self.length = int(fields.get("content-length", 0))
        self.who = fields.get("authorization")


async def read_head(reader):
    try:
        return Message(await reader.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, OSError) as error:
        raise Gone() from error


async def body_pieces(reader, message):
    """The body as it stands on the wire, in pieces; those of a watch are events."""
    try:
        if not message.chunked:
            if message.length:
                yield await reader.readexactly(message.length)
            return
        size = -1
        while size:
            line = await reader.readuntil(b"\r\n")
            size = int(line, 16)
            yield line + await reader.readexactly(size + 2)
    except (asyncio.IncompleteReadError, OSError) as error:
        raise Gone() from error


class FaultProxy:
    """faults: name -> how many of a thousand requests (of a thousand events, for those of watches) get it:
    409, 410, 429, 500, 503 refuse; lost: done, but the connection is cut before the answer; cut: before the request is
    passed on; slow: the answer comes in small pieces; stuck: no answer for stuck_s; end, half, expired: a watch ends well,
    in the middle of an event, with an ERROR."""

    def __init__(self, plane, faults, seed=1, stuck_s=70):
        self.plane, self.faults, self.stuck_s = plane, faults, stuck_s
        self.random = random.Random(seed)
        self.counts = collections.Counter()  # (method, path without a query) of what was asked
        self.done = collections.Counter()  # faults
        self.busy_until = {}  # (who, method and path, body) that was told to wait -> when it may be asked again
        self.too_early = []
        self.paused = threading.Event()  # no faults while it is set
        started = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.serve(started)), daemon=True)
        self.thread.start()
        started.wait()

    async def serve(self, started):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certs = self.plane.folder / "certs"
        context.load_cert_chain(certs / "apiserver.crt", certs / "apiserver.key")
        server = await asyncio.start_server(self.on_client, "127.0.0.1", 0, ssl=context, limit=1 << 26)
        self.port = server.sockets[0].getsockname()[1]
        self.loop, self.stopped = asyncio.get_running_loop(), asyncio.Event()
        started.set()
        await self.stopped.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def stop(self):
        self.loop.call_soon_threadsafe(self.stopped.set)
        self.thread.join()

    def strikes(self, *names):
        """The fault, if any, that this request or event gets."""
        if self.paused.is_set():
            return None
        at = self.random.randrange(1000)
        for name in names:
            at -= self.faults.get(name, 0)
            if at < 0:
                self.done[name] += 1
                return name
        return None

    async def on_client(self, reader, writer):
        upstream = None
        try:
            while True:
                request = await read_head(reader)
                body = b"".join([piece async for piece in body_pieces(reader, request)])
                method, path = request.first.split()[:2]
                self.counts[method, path.split("?")[0]] += 1
                if upstream is None:
                    upstream = await asyncio.open_connection("127.0.0.1", self.plane.port, limit=1 << 26,
                                                             ssl=ssl._create_unverified_context())
                await self.exchange(request, body, path, writer, upstream)
        except (Gone, OSError, ssl.SSLError, asyncio.CancelledError):
            pass
        finally:
            for side in (writer, upstream and upstream[1]):
                if side:
                    side.transport.abort()

    async def exchange(self, request, body, path, writer, upstream):
        key = (request.who, request.first, body)
        if self.busy_until.pop(key, 0) > time.monotonic():
            self.too_early.append(request.first)
        fault = self.strikes(*REFUSALS, "cut", "stuck", "lost", "slow")
        if fault in REFUSALS:
            await self.refuse(fault, key, writer)
            return
        if fault == "cut":
            raise Gone()
        if fault == "stuck":
            await asyncio.sleep(self.stuck_s)
            raise Gone()
        upstream[1].write(request.head + body)
        answer = await read_head(upstream[0])
        if fault == "lost":
            raise Gone()
        writer.write(answer.head)
        watch = "watch=true" in path
        async with contextlib.aclosing(body_pieces(upstream[0], answer)) as pieces:
            async for piece in pieces:
                await self.pass_on(piece, writer, watch and len(piece) > 5, fault == "slow")
        await writer.drain()

    async def refuse(self, code, key, writer):
        text = json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
                           "reason": REFUSALS[code], "message": "the proxy says %d" % code})
        after = "Retry-After: 1\r\n" if code == 429 else ""
        if code == 429:
            self.busy_until[key] = time.monotonic() + 0.95
        writer.write(("HTTP/1.1 %d No\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s" % (
            code, after, len(text), text)).encode())
        await writer.drain()

    async def pass_on(self, piece, writer, event, slowly):
        fault = self.strikes("end", "half", "expired") if event else None
        if fault == "half":
            writer.write(piece[:len(piece) // 2])
        elif fault == "expired":
            writer.write(b"%x\r\n%s\n\r\n0\r\n\r\n" % (len(EXPIRED) + 1, EXPIRED.encode()))
        elif fault == "end":
            writer.write(b"0\r\n\r\n")
        if fault:
            await writer.drain()
            raise Gone()
        for at in range(0, len(piece), 512 if slowly else len(piece)):
            writer.write(piece[at:at + 512] if slowly else piece)
            if slowly:
                await writer.drain()
                await asyncio.sleep(0.02)
        await writer.drain()
