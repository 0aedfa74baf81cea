#!/usr/bin/python3
"""JupyterLab itself (build/jupyter, which tools/setup.sh makes) in a Notebook: its kernels count as use, outlive the daemon,
and large files go through the proxy both ways without growing it."""
import hashlib
import json
import os
import pathlib
import uuid

import app_client
import harness
from notebook_test import NOTEBOOKS, notebook

JUPYTER = harness.ROOT / "build/jupyter"
BASE = "/notebook/default/nb/"
LARGE_BYTES = 200 * 1024 * 1024


class Kernel:
    """A kernel and its channels, as JupyterLab's page has them."""

    def __init__(self, test, own):
        self.test, self.own, self.session = test, own, uuid.uuid4().hex
        self.id = test.api("POST", "api/kernels", {"name": "python3"}, own)["id"]
        self.connect()

    def connect(self):
        self.socket = self.test.socket(f"{BASE}api/kernels/{self.id}/channels?session_id={self.session}", self.own)
        self.test.assertEqual(self.socket.status, 101)

    def run(self, code):
        """Begins to run code; returns the number of the request."""
        number = uuid.uuid4().hex
        self.socket.send(json.dumps({
            "channel": "shell", "buffers": [], "metadata": {}, "parent_header": {},
            "header": {"msg_id": number, "msg_type": "execute_request", "username": "", "session": self.session,
                       "version": "5.3", "date": ""},
            "content": {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                        "allow_stdin": False, "stop_on_error": True}}))
        return number

    def until(self, kind, number=None):
        """The next message of that kind (that answers that request)."""
        while (text := self.socket.receive()) is not None:
            message = json.loads(text)
            if message["msg_type"] == kind and number in (None, message["parent_header"].get("msg_id")):
                return message["content"]
        raise AssertionError(f"the kernel's channels ended without {kind}")

    def value(self, expression):
        return self.until("execute_result", self.run(expression))["data"]["text/plain"]


class Jupyter(app_client.AppClient, harness.WithDaemon):
    options = ("--idle-after", "2s", "--reclaim-after", "0")

    @classmethod
    def setUpClass(cls):
        cls.environment = {"PATH": f"{pathlib.Path(harness.BIN).parent}:{JUPYTER}/bin:{harness.ROOT}/build/bin:/usr/bin:/bin"}
        os.environ.pop("VIRTUAL_ENV", None)
        super().setUpClass()

    def setUp(self):
        self.daemon.call("POST", NOTEBOOKS, notebook("nb"))
        self.seen("Running")
        self.own = self.enter(BASE)

    def tearDown(self):
        self.daemon.call("DELETE", f"{NOTEBOOKS}/nb")
        for path in (NOTEBOOKS, harness.PODS.format(ns="default")):
            self.daemon.wait_for(path, lambda found: True if not found else None, f"{path} to be empty")

    def seen(self, phase):
        return self.daemon.wait_for(
            NOTEBOOKS, lambda found: found["nb"] if found.get("nb", {}).get("status", {}).get("phase") == phase else None,
            f"the Notebook to be {phase}")

    def api(self, method, path, body=None, own=None):
        own = own or self.own
        status, _, text = self.ask(method, BASE + path, body and json.dumps(body), {
            **own, "Origin": f"http://{own['Host']}", "Content-Type": "application/json"})
        self.assertLess(status, 300, text)
        return json.loads(text) if text else None

    def idle(self, found):
        return next((c["status"] for c in found["nb"]["status"]["conditions"] if c["type"] == "Idle"), None)

    def used(self, found):
        return found["nb"]["metadata"].get("annotations", {}).get("muster.dev/last-used", "")

    def test_a_kernel_that_computes_is_use_and_one_that_waits_is_not(self):
        kernel = Kernel(self, self.own)
        kernel.until("stream", kernel.run("print('on', flush=True)\nwhile True: pass"))
        kernel.socket.close()
        # No page is open any more: only the kernel's activity shows that it is used.
        times, idle = [], set()

        def watch(found):
            if self.used(found) not in times:
                times.append(self.used(found))
            idle.add(self.idle(found))
            return len(times) >= 6 or None
        self.daemon.wait_for(NOTEBOOKS, watch, "its use to be told again and again")
        self.assertNotIn("True", idle)
        self.api("POST", f"api/kernels/{kernel.id}/interrupt")
        self.daemon.wait_for(NOTEBOOKS, lambda found: self.idle(found) == "True" or None, "it to be idle")
        self.api("DELETE", f"api/kernels/{kernel.id}")

    def test_a_kernel_outlives_the_daemon_and_its_page_connects_again(self):
        kernel = Kernel(self, self.own)
        started = kernel.run("import time, os\nprint('on', flush=True)\nwhile not os.path.exists('/t9k/mnt/go'): "
                             "time.sleep(.05)\nanswer = 42")
        kernel.until("stream", started)
        self.daemon.kill()
        while kernel.socket.receive() is not None:  # what it had sent before
            pass
        kernel.socket.close()
        self.daemon.start()
        kernel.own = self.own = self.enter(BASE)
        kernel.connect()
        self.api("PUT", "api/contents/go", {"type": "file", "format": "text", "content": ""})
        self.assertEqual(kernel.value("answer"), "42")
        kernel.socket.close()
        self.api("DELETE", f"api/kernels/{kernel.id}")

    def test_a_cell_runs_as_a_job_and_shows_it(self):
        kernel = Kernel(self, self.own)
        kernel.until("execute_reply", kernel.run(
            f"import sys, os\nsys.path.insert(0, {str(harness.ROOT / 'python')!r})\nimport muster"))
        self.assertEqual(kernel.value("os.getcwd()"), "'/t9k/mnt'")
        self.assertIn("dist-packages/torch", kernel.value("__import__('importlib.util').util.find_spec('torch').origin"))
        kernel.until("execute_reply", kernel.run("%load_ext muster"))
        number = kernel.run("%%muster --workers 2 --cpus 10m --memory 64Mi --name celled -- --lr 0.1\n"
                            "import os, sys\nprint('rank', os.environ['RANK'], sys.argv[1:], flush=True)\n"
                            "open('out-' + os.environ['RANK'], 'w').write(os.environ['WORLD_SIZE'])\n")
        pages = []
        while True:
            message = json.loads(kernel.socket.receive())
            if message["parent_header"].get("msg_id") != number:
                continue
            if message["msg_type"] in ("display_data", "update_display_data"):
                pages.append(message["content"]["data"]["text/html"])
            if message["msg_type"] == "execute_reply":
                break
        self.assertEqual(message["content"]["status"], "ok", message["content"])
        self.assertIn("<b>celled</b> Succeeded", pages[-1])
        self.assertTrue(any("rank 1 [&#x27;--lr&#x27;, &#x27;0.1&#x27;]" in page for page in pages), pages)
        # The job's folder is the Notebook's.
        self.assertEqual(kernel.value("open('/t9k/mnt/out-0').read() + open('/t9k/mnt/out-1').read()"), "'22'")
        number = kernel.run(f"muster.run([sys.executable, '-c', 'raise SystemExit(3)'], workers=1, name='fails')")
        self.assertIn("exit code 3", kernel.until("error", number)["evalue"])
        kernel.socket.close()
        self.daemon.cli("rm", "celled", "fails")
        self.api("DELETE", f"api/kernels/{kernel.id}")

    def daemon_kib(self):
        """What of the daemon's memory is its own, in KiB."""
        for line in pathlib.Path(f"/proc/{self.daemon.process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1])
        raise AssertionError("no Anonymous: in smaps_rollup")

    def test_large_files_go_through_both_ways_and_cost_the_daemon_nothing(self):
        kernel = Kernel(self, self.own)
        kernel.value("exec(\"import hashlib, os\\nblock = os.urandom(1 << 20)\\nwith open('/t9k/mnt/large', 'wb') as f:\\n"
                     f"    for _ in range({LARGE_BYTES >> 20}): f.write(block)\") or 1")
        wanted = kernel.value("hashlib.sha256(open('/t9k/mnt/large', 'rb').read()).hexdigest()").strip("'")
        before = self.daemon_kib()
        connection = harness.http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.request("GET", f"{BASE}files/large", headers=self.own)
        answer, digest, most = connection.getresponse(), hashlib.sha256(), 0
        self.assertEqual(answer.status, 200)
        while block := answer.read(1 << 20):
            digest.update(block)
            most = max(most, self.daemon_kib())
        connection.close()
        self.assertEqual(digest.hexdigest(), wanted)
        # Up: as one body to a program of the pod that counts what comes (JupyterLab's own uploads are pieces of 1 MiB).
        up = kernel.until("stream", kernel.run(COUNTER))["text"].strip()
        path = f"/app/default/pods/nb-nb/{up}/"
        own = self.enter(path)
        block, digest = os.urandom(1 << 20), hashlib.sha256()
        connection = harness.http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.putrequest("PUT", path, skip_host=True)
        for name, value in {**own, "Origin": f"http://{own['Host']}", "Content-Length": str(LARGE_BYTES)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        for _ in range(LARGE_BYTES >> 20):
            connection.send(block)
            digest.update(block)
            most = max(most, self.daemon_kib())
        self.assertEqual(connection.getresponse().read().decode(), digest.hexdigest())
        connection.close()
        # of 200 MiB; the sanitizer keeps up to 256 MiB of what was freed, and what lies between
        self.assertLess(most - before, (400 if "asan" in harness.BIN else 8) * 1024)
        kernel.socket.close()
        self.api("DELETE", f"api/kernels/{kernel.id}")


COUNTER = """
import hashlib, http.server, threading
class Counter(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_PUT(self):
        left, digest = int(self.headers["Content-Length"]), hashlib.sha256()
        while left:
            block = self.rfile.read(min(left, 1 << 20))
            left -= len(block)
            digest.update(block)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(digest.hexdigest().encode())
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counter)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
"""

if __name__ == "__main__":
    harness.main()
