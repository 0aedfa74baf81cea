#!/usr/bin/python3
"""exec, attach, cp and port-forward with stock kubectl: 1.20 speaks SPDY, 1.32 WebSocket."""
import contextlib
import fcntl
import hashlib
import http.client
import os
import pathlib
import pty
import re
import select
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from harness import DaemonTest, PODS  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402

MEGABYTE = 1 << 20


class Terminal:
    """A program under a pseudo-terminal, and what it printed."""

    def __init__(self, arguments, environment, columns, rows):
        self.text = ""
        self.master, slave = pty.openpty()
        self.resize(columns, rows)

        def own_the_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave, env=environment,
                                        preexec_fn=own_the_terminal)
        os.close(slave)

    def resize(self, columns, rows):
        """The kernel tells the program in front with SIGWINCH."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern):
        """Reads until the pattern is there; answers the match and forgets what is before its end."""
        until = time.monotonic() + harness.PATIENCE
        while True:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            if not select.select([self.master], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError(f"no {pattern!r} in {self.text!r}")
            try:
                self.text += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"ended without {pattern!r}: {self.text!r}") from None

    def wait(self):
        with contextlib.suppress(OSError):
            while os.read(self.master, 65536):
                pass
        return self.process.wait(harness.PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


# A server on the loopback that sends back what it gets.
ECHO = """
import contextlib, socket, threading
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
print(listener.getsockname()[1], flush=True)
def serve(connection):
    with connection, contextlib.suppress(OSError):
        while piece := connection.recv(65536):
            connection.sendall(piece)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


class Streams(StockKubectl):
    """The tests, for one version; the classes at the end say which."""

    def pod(self, script="exec sleep 1000", name="streams"):
        """A job's only replica, running; its name and UID."""
        self.daemon.create(harness.job(name, ["sh", "-c", script], replicas=1))
        found = self.daemon.wait_running(name, 1)
        return next((n, p["metadata"]["uid"]) for n, p in found.items())

    def echoing_pod(self):
        """One whose program is ECHO; its name, its UID, the port."""
        self.daemon.create(harness.job("streams", ["/usr/bin/python3", "-c", ECHO], replicas=1))
        pod, found = next(iter(self.daemon.wait_running("streams", 1).items()))
        port = self.daemon.log(pod, query="?follow=true&limitBytes=6").strip()  # returns when it is said
        return pod, found["metadata"]["uid"], int(port)

    def marked(self, uid, text):
        """Processes of the pod whose command line holds the text."""
        return [pid for pid, line in self.daemon.pod_processes(uid).items() if text in line]

    # --- exec

    def test_exec(self):
        pod, uid = self.pod()
        self.assertEqual(self.kubectl("exec", pod, "--", "echo", "hello world").stdout, "hello world\n")
        done = self.kubectl("exec", pod, "--", "sh", "-c", "echo out; echo err >&2; exit 7", code=7)
        self.assertEqual(done.stdout, "out\n")
        self.assertEqual(done.stderr, "err\ncommand terminated with exit code 7\n")
        done = self.kubectl("exec", pod, "--", "sh", "-c", "kill -9 $$", code=137)
        self.assertEqual(done.stdout, "")
        done = self.kubectl("exec", pod, "--", "no-such-program", code=127)
        self.assertIn('command "no-such-program" not found in PATH', done.stderr)
        # The container's own names, environment and working directory.
        self.assertEqual(self.kubectl("exec", pod, "--", "hostname").stdout, f"{pod}\n")
        environment = dict(line.split("=", 1) for line in self.kubectl("exec", pod, "--", "env").stdout.splitlines())
        self.assertEqual(environment["RANK"], "0")
        self.assertEqual(environment["MUSTER_POD_UID"], uid)
        program = next(iter(self.daemon.main_processes(uid)))
        self.assertEqual(self.kubectl("exec", pod, "--", "pwd").stdout.strip(), os.readlink(f"/proc/{program}/cwd"))
        self.assertEqual(self.kubectl("exec", pod, "--", "cat", "/etc/hosts").stdout,
                         pathlib.Path(f"/proc/{program}/root/etc/hosts").read_text())

    def test_exec_stdin(self):
        pod, _ = self.pod()
        self.assertEqual(self.kubectl("exec", "-i", pod, "--", "cat", stdin="one\ntwo").stdout, "one\ntwo")
        self.assertEqual(self.kubectl("exec", "-i", pod, "--", "sh", "-c", "read a; echo got $a; exit 3", code=3,
                                      stdin="first\nsecond\n").stdout, "got first\n")
        # Without -i there is no input, and it is at its end.
        self.assertEqual(self.kubectl("exec", pod, "--", "cat", stdin="nobody reads this").stdout, "")
        bytes_ = os.urandom(3 * MEGABYTE)
        done = self.kubectl("exec", "-i", pod, "--", "sha256sum", stdin=bytes_, text=False)
        self.assertEqual(done.stdout.split()[0].decode(), hashlib.sha256(bytes_).hexdigest())
        self.assertEqual(self.kubectl("exec", "-i", pod, "--", "cat", stdin=bytes_, text=False).stdout, bytes_)
        # A command that does not read, and one that stops reading, hold nobody up.
        self.kubectl("exec", "-i", pod, "--", "true", stdin=bytes_, text=False)
        done = self.kubectl("exec", "-i", pod, "--", "head", "-c", "5", stdin=bytes_, text=False)
        self.assertEqual(done.stdout, bytes_[:5])

    def test_slow_readers_lose_nothing(self):
        """Both sides wait for the slower one; what is on its way stays bounded."""
        pod, uid = self.pod()
        size = 64 * MEGABYTE
        with self.background("exec", pod, "--", "head", "-c", str(size), "/dev/zero") as command:
            harness.wait_until(lambda: self.marked(uid, "head -c"), "the command")
            before = self.memory()
            # Nobody reads kubectl's output: the command must come to a halt, and the daemon not grow.
            harness.wait_until(self.stalled(self.marked(uid, "head -c")[0]), "the command to wait")
            # a sanitized one keeps what it freed for a while
            self.assertLess(self.memory() - before, (48 if "asan" in harness.BIN else 16) * MEGABYTE)
            read = 0
            while piece := os.read(command.stdout.fileno(), MEGABYTE):
                read += len(piece)
            self.assertEqual(read, size)
            self.assertEqual(command.wait(harness.PATIENCE), 0)

    def memory(self):
        status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) * 1024

    @staticmethod
    def stalled(pid, looks=20):
        """A condition for wait_until: the process has written, and at that many looks no more."""
        seen = []

        def is_stalled():
            seen.append(re.search(r"wchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text()).group(1))
            return int(seen[-1]) > 0 and len(seen) >= looks and len(set(seen[-looks:])) == 1
        return is_stalled

    def test_exec_terminal(self):
        pod, _ = self.pod()
        terminal = Terminal([self.binary, "exec", "-it", pod, "--", "sh"], self.environment, 100, 40)
        self.addCleanup(terminal.close)
        terminal.type("PS1=; tty; echo term=$TERM.\n")
        terminal.expect(r"/dev/pts/\d+\r\n")
        terminal.expect(r"term=\w+\.\r\n")
        # The size comes on a stream of its own, the first one too: asked for until it is there.
        terminal.type("until stty size | grep -x '40 100'; do :; done\n")
        terminal.expect(r"\n40 100\r\n")
        terminal.resize(77, 33)
        terminal.type("until stty size | grep -x '33 77'; do :; done\n")
        terminal.expect(r"\n33 77\r\n")
        terminal.type("cat\n")
        terminal.type("typed\n")
        terminal.expect("typed\r\ntyped\r\n")
        terminal.type("\x03")  # interrupts cat, not the shell; and drops what was typed before
        terminal.expect(r"\^C\r\n")  # the new line is the shell's: it is back in front
        terminal.type("echo after=$?.\n")
        terminal.expect(r"after=130\.")
        terminal.type("exit 5\n")
        self.assertEqual(terminal.wait(), 5)

    def test_exec_ends_with_its_client(self):
        pod, uid = self.pod()
        with self.background("exec", pod, "--", "sh", "-c", "sleep 4321; true") as command:
            harness.wait_until(lambda: self.marked(uid, "sleep 4321"), "the command")
            command.kill()
            harness.wait_until(lambda: not self.marked(uid, "sleep 4321"), "its end")
        self.assertEqual(self.daemon.wait_running("streams", 1).keys(), {pod})

    def test_what_it_leaves_ends_with_the_pod(self):
        pod, uid = self.pod()
        done = self.kubectl("exec", pod, "--", "sh", "-c", "setsid sleep 4322 >/dev/null 2>&1 & echo started")
        self.assertEqual(done.stdout, "started\n")
        # ... and one that holds on to the output does not hold up the client.
        done = self.kubectl("exec", pod, "--", "sh", "-c", "sleep 4322 & echo started")
        self.assertEqual(done.stdout, "started\n")
        harness.wait_until(lambda: len(self.marked(uid, "sleep 4322")) == 2, "both to be there")
        self.remove("streams")
        self.assertEqual(self.marked(uid, "sleep 4322"), [])

    def test_exec_ends_with_the_pod(self):
        pod, uid = self.pod()
        with self.background("exec", pod, "--", "sh", "-c", "trap '' TERM HUP; sleep 4323; sleep 4323") as command:
            harness.wait_until(lambda: self.marked(uid, "sleep 4323"), "the command")
            self.remove("streams")
            self.assertEqual(command.wait(harness.PATIENCE), 137)
        self.assertEqual(self.daemon.pod_processes(uid, container=True), {})
        harness.wait_until(lambda: not self.daemon.pod_processes(uid), "the end of the pod's supervisors")

    def test_server_killed_during_exec(self):
        pod, uid = self.pod()
        program = self.daemon.main_processes(uid).keys()
        with self.background("exec", pod, "--", "sleep", "4324") as command:
            harness.wait_until(lambda: self.marked(uid, "sleep 4324"), "the command")
            self.daemon.kill()
            command.wait(harness.PATIENCE)  # kubectl 1.20 takes a lost connection for success
        harness.wait_until(lambda: not self.marked(uid, "sleep 4324"), "its end")
        self.daemon.start()
        self.assertEqual(self.daemon.wait_running("streams", 1).keys(), {pod})
        self.assertEqual(self.daemon.main_processes(uid).keys(), program)
        self.assertEqual(self.kubectl("exec", pod, "--", "echo", "again").stdout, "again\n")

    def test_server_stopped_with_everything_open(self):
        pod, uid, echo = self.echoing_pod()
        with self.background("exec", pod, "--", "sleep", "4326") as command, self.background("attach", pod), \
                self.forwarded(pod, echo) as (port, _), \
                socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE) as connection:
            harness.wait_until(lambda: self.marked(uid, "sleep 4326"), "the command")
            connection.sendall(b"x")
            self.assertEqual(connection.recv(1), b"x")
            self.assertEqual(self.daemon.terminate(), 0)
            command.wait(harness.PATIENCE)
        harness.wait_until(lambda: not self.marked(uid, "sleep 4326"), "its end")
        self.daemon.start()

    def test_exec_errors(self):
        done = self.kubectl("exec", "absent", "--", "true", code=1)
        self.assertEqual(done.stderr, 'Error from server (NotFound): pods "absent" not found\n')
        pod, _ = self.pod()
        done = self.kubectl("exec", pod, "-c", "nobody", "--", "true", code=1)
        self.assertIn(f"container nobody is not valid for pod {pod}", done.stderr)
        self.remove("streams")
        self.daemon.create(harness.job("short", ["true"], replicas=1, run_policy={"cleanUpPolicy": "None"}))
        self.daemon.wait_phase("short", "Succeeded")
        pod = next(iter(self.daemon.pods("short")))
        done = self.kubectl("exec", pod, "--", "true", code=1)
        self.assertIn("cannot exec into a container in a completed pod; current phase is Succeeded", done.stderr)

    def test_several_containers(self):
        containers = [{"name": name, "image": "none", "command": ["sleep", "1000"],
                       "env": [{"name": "WHICH", "value": name}]} for name in ("one", "two")]
        self.daemon.call("POST", PODS.format(ns="default"), {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "both"},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": containers}})
        try:
            self.daemon.wait_for(PODS.format(ns="default"),
                                 lambda pods: pods["both"].get("status", {}).get("phase") == "Running", "the pod")
            for name in ("one", "two"):
                done = self.kubectl("exec", "both", "-c", name, "--", "sh", "-c", "echo $WHICH")
                self.assertEqual(done.stdout, f"{name}\n")
            status, text = self.upgrade("exec?command=true&stdout=true", pod="both")
            self.assertEqual(status, 400)
            self.assertIn("a container name must be specified for pod both, choose one of: [one two]", text)
        finally:
            self.kubectl("delete", "pod", "both")

    def test_debug_then_exec(self):
        """A job in debug mode only sleeps; its user looks around with exec."""
        job = harness.job("debugged", ["sh", "-c", "echo this is not run; exit 1"], replicas=2)
        job["spec"]["runMode"] = {"debug": {"enabled": True}}
        self.daemon.create(job)
        pods = self.daemon.wait_running("debugged", 2)
        pod = sorted(pods)[1]
        done = self.kubectl("exec", pod, "--", "sh", "-c", "echo $RANK of $WORLD_SIZE at $MASTER_ADDR")
        self.assertRegex(done.stdout, r"^1 of 2 at \S+\n$")
        sleeping = self.daemon.main_processes(pods[pod]["metadata"]["uid"])
        self.assertEqual(list(sleeping.values()), ["sleep inf"])

    # --- who may

    def upgrade(self, what, pod, headers=None, method="GET"):
        """The status and body of a WebSocket handshake that should be refused."""
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        try:
            connection.request(method, f"{PODS.format(ns='default')}/{pod}/{what}", headers={
                "Authorization": f"Bearer {self.daemon.token}", "Connection": "Upgrade", "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Protocol": "v5.channel.k8s.io", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read().decode() if answer.status != 101 else ""
        finally:
            connection.close()

    def test_a_web_page_gets_no_shell(self):
        pod, uid = self.pod()
        what = "exec?command=sleep&command=4325&stdout=true"
        for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Host": "evil.example"}, 403),
                                ({"Authorization": "Bearer wrong"}, 401), ({"Authorization": ""}, 401),
                                ({"Upgrade": "h2c"}, 400), ({"Connection": "close"}, 400),
                                ({"Sec-WebSocket-Protocol": "channel.k8s.io"}, 400),
                                ({"Sec-WebSocket-Version": "8"}, 400)):
            self.assertEqual(self.upgrade(what, pod, headers)[0], status, headers)
        self.assertEqual(self.upgrade("exec?stdout=true", pod)[0], 400)
        self.assertEqual(self.upgrade("exec?command=true", pod)[0], 400)
        self.assertEqual(self.upgrade("exec?command=true&tty=true&stderr=true", pod)[0], 400)
        self.assertEqual(self.marked(uid, "sleep 4325"), [])
        self.assertEqual(self.upgrade(what, pod)[0], 101)

    # --- cp

    def test_cp(self):
        pod, _ = self.pod()
        here, there = os.path.join(self.home, "here"), os.path.join(self.home, "there")
        os.makedirs(os.path.join(here, "deep/er"))
        os.makedirs(there)
        pathlib.Path(here, "text").write_text("text\n")
        pathlib.Path(here, "deep/er/binary").write_bytes(bytes(range(256)) * 1000)
        pathlib.Path(here, "empty").write_bytes(b"")
        self.kubectl("cp", here, f"{pod}:{there}/folder")
        self.assert_same(here, f"{there}/folder")
        self.kubectl("cp", f"{pod}:{there}/folder", f"{self.home}/back")
        self.assert_same(here, f"{self.home}/back")
        big = os.urandom(20 * MEGABYTE)
        pathlib.Path(self.home, "big").write_bytes(big)
        self.kubectl("cp", f"{self.home}/big", f"{pod}:{there}/big")
        self.assertEqual(pathlib.Path(there, "big").read_bytes(), big)
        self.kubectl("cp", f"{pod}:{there}/big", f"{self.home}/big-again")
        self.assertEqual(pathlib.Path(self.home, "big-again").read_bytes(), big)
        # What kubectl makes of tar's exit code differs by version, and it may leave before tar has said all.
        subprocess.run([self.binary, "cp", f"{pod}:{there}/absent", f"{self.home}/nothing"], capture_output=True,
                       env=self.environment, timeout=harness.PATIENCE, check=False)
        self.assertFalse(os.path.exists(f"{self.home}/nothing"))

    def assert_same(self, left, right):
        def content(folder):
            return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
                    for path in pathlib.Path(folder).rglob("*")}
        self.assertEqual(content(left), content(right))

    # --- attach

    def test_attach(self):
        fifo = os.path.join(self.home, "fifo")
        os.mkfifo(fifo)
        pod, _ = self.pod(f"exec 3<>{fifo}; echo before; while read line <&3; do echo $line; [ $line = end ] && exit 0; done")
        with self.background("attach", pod) as attached:
            first = None
            until = time.monotonic() + harness.PATIENCE
            # When the client listens is its own affair; it hears whatever is said from then on.
            while not first and time.monotonic() < until:
                pathlib.Path(fifo).write_text("tick\n")
                if select.select([attached.stdout], [], [], 0.05)[0]:
                    first = attached.stdout.readline()
            self.assertEqual(first, "tick\n")
            pathlib.Path(fifo).write_text("end\n")
            rest = attached.stdout.read()
            self.assertEqual(set(rest.split()) - {"tick"}, {"end"})
            self.assertEqual(attached.wait(harness.PATIENCE), 0)
        self.daemon.wait_phase("streams", "Succeeded")

    def test_attach_errors(self):
        pod, _ = self.pod()
        done = self.kubectl("attach", "-i", pod, code=1, stdin="x")
        self.assertIn("has no standard input to attach to", done.stderr)
        self.assertIn('pods "absent" not found', self.kubectl("attach", "absent", code=1).stderr)

    # --- port-forward

    @contextlib.contextmanager
    def forwarded(self, pod, port):
        with self.background("port-forward", pod, f":{port}") as process:
            line = process.stdout.readline()
            self.assertRegex(line, rf"^Forwarding from 127.0.0.1:\d+ -> {port}\n$",
                             process.stderr.read() if not line else "")
            yield int(re.search(r":(\d+)", line).group(1)), process

    @staticmethod
    def send_all(connection, data):
        with contextlib.suppress(OSError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)

    def exchange(self, port, data):
        """Sends and receives at the same time; what came back."""
        with socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE) as connection:
            sender = threading.Thread(target=self.send_all, args=(connection, data))
            sender.start()
            got = bytearray()
            while piece := connection.recv(MEGABYTE):
                got += piece
            sender.join()
            return bytes(got)

    def test_port_forward(self):
        pod, _, echo = self.echoing_pod()
        with self.forwarded(pod, echo) as (port, process):
            self.assertEqual(self.exchange(port, b"hello"), b"hello")
            data = os.urandom(MEGABYTE) * 50
            self.assertEqual(self.exchange(port, data), data)
            # Several at a time do not get mixed up.
            results = [None] * 8
            pieces = [os.urandom(MEGABYTE) for _ in results]

            def one(number):
                results[number] = self.exchange(port, pieces[number])
            threads = [threading.Thread(target=one, args=(number,)) for number in range(len(results))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(harness.PATIENCE)
            self.assertEqual(results, pieces)
            self.assertIsNone(process.poll())

    def test_port_forward_many_in_turn(self):
        """More connections, one after the other, than may be open at a time."""
        pod, _, echo = self.echoing_pod()
        with self.forwarded(pod, echo) as (port, _):
            for number in range(300):
                self.assertEqual(self.exchange(port, b"%d" % number), b"%d" % number)

    def test_port_forward_errors(self):
        self.assertIn('pods "absent" not found', self.kubectl("port-forward", "absent", ":1", code=1).stderr)
        pod, _ = self.pod()
        closed = socket.socket()  # nobody else is given its port, and nobody listens on it
        self.addCleanup(closed.close)
        closed.bind(("127.0.0.1", 0))
        with self.forwarded(pod, closed.getsockname()[1]) as (port, process):
            with contextlib.suppress(ConnectionResetError):  # as kubectl likes
                self.assertEqual(self.exchange(port, b"x"), b"")
            self.assertTrue(any("Connection refused: no process of the pod listens on it" in line
                                for line in iter(process.stderr.readline, "")))

    def test_port_forward_reaches_the_pods_own_ports_only(self):
        """Not every port of the machine; but what a command beside the program listens on."""
        pod, _ = self.pod()
        with socket.create_server(("127.0.0.1", 0)) as another:
            another.setblocking(False)
            for number in (another.getsockname()[1], self.daemon.port):
                with self.forwarded(pod, number) as (port, process):
                    with contextlib.suppress(ConnectionResetError):
                        self.assertEqual(self.exchange(port, b"x"), b"")
                    self.assertTrue(any("a program outside the pod listens on it" in line
                                        for line in iter(process.stderr.readline, "")))
            with self.assertRaises(BlockingIOError):
                another.accept()
        with self.background("exec", pod, "--", "/usr/bin/python3", "-c", ECHO) as command:
            with self.forwarded(pod, int(command.stdout.readline())) as (port, _):
                self.assertEqual(self.exchange(port, b"hello"), b"hello")


class Streams120(Streams, DaemonTest):
    version = "1.20"


class Streams132(Streams, DaemonTest):
    version = "1.32"

    def test_it_was_a_websocket(self):
        """Not the SPDY that it would have fallen back to."""
        pod, _ = self.pod()
        done = self.kubectl("exec", pod, "-v=7", "--", "true")
        self.assertRegex(done.stderr, r"GET \S+/exec\?[^\n]*(?s:.*)101 Switching Protocols")
        self.assertNotIn("POST", done.stderr)

    def test_spdy_still(self):
        """What a client does that WebSockets are closed to."""
        pod, _ = self.pod()
        self.environment["KUBECTL_REMOTE_COMMAND_WEBSOCKETS"] = "false"
        self.assertEqual(self.kubectl("exec", "-i", pod, "--", "cat", stdin="x").stdout, "x")


if __name__ == "__main__":
    harness.main()
