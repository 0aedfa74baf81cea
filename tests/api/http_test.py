#!/usr/bin/python3
"""The API server as a process of its own (`muster up --only api`), over real HTTP: many clients at once, watchers that
must see every write once and in order, and a server that is killed in the middle."""
import http.client
import json
import os
import pathlib
import re
import socket
import ssl
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCHERS = 200


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


class Watch:
    """A watch read by a thread of its own until it has seen the object named end."""

    def __init__(self, daemon, query, end, connection=None):
        self.connection = connection or http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=harness.PATIENCE)
        self.connection.request("GET", f"{CONFIG_MAPS}?watch=true&{query}",
                                headers={"Authorization": f"Bearer {daemon.token}"})
        self.answer = self.connection.getresponse()
        self.end = end
        self.events = []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.answer:
            event = json.loads(line)
            self.events.append(event)
            if event["type"] == "ERROR" or event["object"]["metadata"].get("name") == self.end:
                break

    def result(self):
        self.thread.join(harness.PATIENCE)
        alive = self.thread.is_alive()
        self.connection.close()
        if alive:
            raise AssertionError(f"the watch did not end; it saw {len(self.events)} events")
        return self.events


class Http(unittest.TestCase):
    def setUp(self):
        self.daemon = harness.Daemon("--only", "api")
        self.addCleanup(self.daemon.close)

    def in_parallel(self, count, what):
        """what(i) on count threads at once; answers the results in order."""
        results = [None] * count
        barrier = threading.Barrier(count)

        def run(i):
            barrier.wait()
            results[i] = what(i)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(harness.PATIENCE)
        return results

    def test_metrics(self):
        """Requests by verb, resource and answer, under the names that dashboards for Kubernetes ask for; pods and jobs by phase."""
        for name in ("a", "b"):
            self.daemon.call("POST", CONFIG_MAPS, config_map(name))
        self.daemon.call("GET", f"{CONFIG_MAPS}/none", expect=(404,))
        self.daemon.call("GET", f"{CONFIG_MAPS}/a/no%22%0Asuch", expect=(404,))
        self.daemon.call("POST", harness.PODS.format(ns="default"), {
            "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "none"}]}})
        self.daemon.request("DELETE", CONFIG_MAPS, headers={"Authorization": "Bearer wrong"})
        text = self.daemon.request("GET", "/metrics")[1].decode()
        core = 'group="",version="v1",resource="configmaps"'
        self.assertIn(f'apiserver_request_total{{verb="POST",{core},code="201"}} 2\n', text)
        self.assertIn(f'apiserver_request_total{{verb="GET",{core},code="404"}} 2\n', text)
        self.assertIn('apiserver_request_total{verb="DELETE",group="",version="",resource="",code="401"} 1\n', text)
        for line in ('_bucket{verb="DELETE",le="+Inf"} 1', '_count{verb="DELETE"} 1'):
            self.assertIn(f"apiserver_request_duration_seconds{line}\n", text)
        for name in re.findall(r"\b(?:apiserver|muster|process)_\w+", (harness.ROOT / "docs/grafana.json").read_text()):
            self.assertRegex(text, rf"(?m)^{name}[ {{]")
        self.assertNotIn("such", text)
        self.assertNotIn('verb="WATCH"', text)
        self.assertIn('muster_objects{resource="pods",phase="Pending"} 1\n', text)

    def test_figures_for_prometheus(self):
        before = self.figures()
        self.daemon.call("POST", CONFIG_MAPS, {"metadata": {"name": "counted"}})
        after = self.figures()
        name = 'apiserver_storage_objects{resource="configmaps"}'
        self.assertEqual(after[name], before[name] + 1)
        self.assertGreater(after["muster_store_revision"], before["muster_store_revision"])
        self.assertGreater(after["process_resident_memory_bytes"], 1 << 20)
        self.assertEqual(self.daemon.request("GET", "/metrics", headers={"Authorization": "Bearer none"})[0], 401)

    def figures(self):
        status, body = self.daemon.request("GET", "/metrics")
        self.assertEqual(status, 200)
        lines = [line.rsplit(" ", 1) for line in body.decode().splitlines() if not line.startswith("#")]
        self.assertEqual(len({name for name, _ in lines}), len(lines), "a series is there twice")
        return {name: float(value) for name, value in lines}

    def test_of_ten_clients_with_one_name_one_succeeds(self):
        codes = self.in_parallel(10, lambda i: self.daemon.request("POST", CONFIG_MAPS, config_map("same"))[0])
        self.assertEqual(sorted(codes), [201] + [409] * 9)

    def test_of_ten_updates_of_one_version_one_succeeds(self):
        made = self.daemon.call("POST", CONFIG_MAPS, config_map("same"))

        def update(i):
            return self.daemon.request("PUT", f"{CONFIG_MAPS}/same", dict(made, data={"writer": str(i)}))[0]
        self.assertEqual(sorted(self.in_parallel(10, update)), [200] + [409] * 9)

    def test_watchers_see_every_write_once_and_in_order(self):
        start = self.daemon.call("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
        watches = [Watch(self.daemon, f"resourceVersion={start}", "end") for _ in range(4)]

        def write(i):
            told = []
            for n in range(40):
                path = f"{CONFIG_MAPS}/w{i}-{n % 5}"
                steps = [("POST", CONFIG_MAPS, config_map(f"w{i}-{n % 5}", n=str(n))),
                         ("PATCH", path, {"data": {"n": f"{n}+"}}), ("DELETE", path, None)]
                for method, where, body in steps:
                    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
                    answer = self.daemon.call(method, where, body, content_type=kind)
                    if method != "DELETE":
                        told.append(int(answer["metadata"]["resourceVersion"]))
            return told

        told = sorted(version for one in self.in_parallel(4, write) for version in one)
        self.daemon.call("POST", CONFIG_MAPS, config_map("end"))
        histories = [watch.result() for watch in watches]
        for events in histories:
            self.assertEqual(events, histories[0])
        versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in histories[0]]
        self.assertEqual(versions, list(range(int(start) + 1, int(start) + 1 + 4 * 40 * 3 + 1)))
        self.assertLessEqual(set(told), set(versions))
        alive = set()
        for event in histories[0]:
            name = event["object"]["metadata"]["name"]
            self.assertEqual(event["type"] == "ADDED", name not in alive, event)
            (alive.discard if event["type"] == "DELETED" else alive.add)(name)
        self.assertEqual(alive, {"end"})

    def test_many_watchers_share_one_event(self):
        watches = [Watch(self.daemon, "", "end") for _ in range(WATCHERS)]
        self.daemon.call("POST", CONFIG_MAPS, config_map("end"))
        for watch in watches:
            self.assertEqual([event["type"] for event in watch.result()], ["ADDED"])

    def test_what_was_acknowledged_survives_a_kill(self):
        told, enough = {}, threading.Lock()
        stop = threading.Event()

        def write(i):
            for n in range(10000):
                if stop.is_set():
                    return
                try:
                    answer = self.daemon.call("POST", CONFIG_MAPS, config_map(f"k{i}-{n}"))
                except (OSError, http.client.HTTPException):
                    return
                told[answer["metadata"]["name"]] = answer["metadata"]["resourceVersion"]
                if len(told) >= 200 and enough.acquire(blocking=False):
                    self.daemon.kill()

        threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(harness.PATIENCE)
        stop.set()
        self.daemon.start()
        listed = self.daemon.call("GET", CONFIG_MAPS)
        found = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed["items"]}
        self.assertGreaterEqual(len(told), 200)
        self.assertLessEqual(told.items(), found.items())
        after = self.daemon.call("POST", CONFIG_MAPS, config_map("after"))
        self.assertGreater(int(after["metadata"]["resourceVersion"]), max(map(int, found.values())))

    def test_a_watch_from_before_the_restart_goes_on(self):
        version = self.daemon.call("POST", CONFIG_MAPS, config_map("a"))["metadata"]["resourceVersion"]
        self.daemon.call("POST", CONFIG_MAPS, config_map("b"))
        self.daemon.terminate()
        self.daemon.start()
        self.daemon.call("POST", CONFIG_MAPS, config_map("c"))
        events = Watch(self.daemon, f"resourceVersion={version}", "c").result()
        self.assertEqual([(e["type"], e["object"]["metadata"]["name"]) for e in events], [("ADDED", "b"), ("ADDED", "c")])

    def test_pages_hold_everything_once(self):
        names = [f"p{i:03}" for i in range(120)]
        for name in names:
            self.daemon.call("POST", CONFIG_MAPS, config_map(name))
        seen, token = [], ""
        while True:
            page = self.daemon.call("GET", f"{CONFIG_MAPS}?limit=50&continue={token}")
            seen += [item["metadata"]["name"] for item in page["items"]]
            self.daemon.call("POST", CONFIG_MAPS, config_map(f"late-{len(seen)}"))
            token = page["metadata"].get("continue", "")
            if not token:
                break
        self.assertEqual(seen, names)

    def test_bodies_of_any_shape(self):
        big = config_map("big", text="x" * 1_000_000)
        self.assertEqual(self.daemon.request("POST", CONFIG_MAPS, big)[0], 201)
        self.assertEqual(len(self.daemon.call("GET", f"{CONFIG_MAPS}/big")["data"]["text"]), 1_000_000)
        status, text = self.daemon.request("POST", CONFIG_MAPS, config_map("huge", text="x" * 3_500_000))
        self.assertEqual((status, json.loads(text)["reason"]), (413, "RequestEntityTooLarge"))
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        chunks = (piece.encode() for piece in ("apiVersion: v1\nkind: ConfigMap\n", "metadata:\n  na", "me: cut\n"))
        connection.request("POST", CONFIG_MAPS, chunks, {"Authorization": f"Bearer {self.daemon.token}",
                                                         "Content-Type": "application/yaml"}, encode_chunked=True)
        answer = connection.getresponse()
        self.assertEqual((answer.status, json.loads(answer.read())["metadata"]["name"]), (201, "cut"))
        connection.request("GET", f"{CONFIG_MAPS}/cut", headers={"Authorization": f"Bearer {self.daemon.token}"})
        self.assertEqual(connection.getresponse().status, 200)  # the same connection
        connection.close()

    def test_a_vanished_watcher_costs_nothing(self):
        def descriptors():
            return len(list(pathlib.Path(f"/proc/{self.daemon.process.pid}/fd").iterdir()))
        before = descriptors()
        for _ in range(3):
            sockets = []
            for _ in range(50):
                one = socket.create_connection(("127.0.0.1", self.daemon.port))
                one.sendall(f"GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: localhost\r\n"
                            f"Authorization: Bearer {self.daemon.token}\r\n\r\n".encode())
                self.assertIn(b"200 OK", one.recv(4096))
                sockets.append(one)
            for one in sockets:
                one.close()
        # each new request sees what earlier ones left behind; the last close may still be on its way
        for _ in range(1000):
            self.daemon.call("GET", "/api/v1/namespaces/default")
            if descriptors() <= before + 2:
                return
        self.fail(f"{descriptors()} descriptors, {before} before")


class Tls(harness.WithDaemon):
    options = ("--only", "api")

    def raw(self):
        one = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=harness.PATIENCE)
        self.addCleanup(one.close)
        return one

    def connect(self, context=None, name="127.0.0.1"):
        one = (context or self.daemon.tls_context()).wrap_socket(self.raw(), server_hostname=name)
        self.addCleanup(one.close)
        return one

    def https(self):
        one = http.client.HTTPSConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE,
                                          context=self.daemon.tls_context())
        self.addCleanup(one.close)
        return one

    def ask(self, connection, method, path, body=None):
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {self.daemon.token}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def still_serves(self):
        self.assertEqual(self.daemon.request("GET", CONFIG_MAPS)[0], 200)
        self.assertEqual(self.ask(self.https(), "GET", CONFIG_MAPS)[0], 200)

    def test_the_certificate_has_the_servers_names_and_no_others(self):
        for name in ("127.0.0.1", "::1", "localhost", "kubernetes.default.svc", socket.gethostname()):
            with self.subTest(name=name):
                self.assertGreaterEqual(self.connect(name=name).version(), "TLSv1.2")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connect(name="evil.example")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connect(ssl.create_default_context())  # the machine's authorities do not know it

    def test_old_versions_are_refused(self):
        for version, taken in ((ssl.TLSVersion.TLSv1, False), (ssl.TLSVersion.TLSv1_1, False),
                               (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            context = self.daemon.tls_context()
            context.set_ciphers("ALL:@SECLEVEL=0")  # or this side would refuse them
            context.minimum_version = context.maximum_version = version
            with self.subTest(version=version):
                if taken:
                    self.connect(context)
                else:
                    with self.assertRaisesRegex(ssl.SSLError, "(?i)protocol.version"):
                        self.connect(context)

    def test_plain_and_tls_on_one_port(self):
        """Even while another client sends nothing."""
        self.raw()
        tls, plain = self.https(), http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        self.addCleanup(plain.close)
        for number in range(3):
            name = f"both-{number}"
            self.assertEqual(self.ask(tls, "POST", CONFIG_MAPS, config_map(name))[0], 201)
            self.assertEqual(self.ask(plain, "DELETE", f"{CONFIG_MAPS}/{name}")[0], 200)

    def test_a_handshake_in_pieces(self):
        hello = harness.client_hello()
        slow = self.raw()
        for piece in (hello[:1], hello[1:100], hello[100:]):
            self.still_serves()
            slow.sendall(piece)
        self.assertEqual(slow.recv(2), b"\x16\x03")

    def test_garbage_after_the_first_byte(self):
        for garbage in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x03\x01" + b"\xff" * 2000,
                        b"\x03\x01\x00\x05\x01\xff\xff\xff\xff", b"\0" * 100000):
            with self.subTest(garbage=garbage[:10]):
                one = self.raw()
                try:
                    one.sendall(b"\x16" + garbage)
                    one.shutdown(socket.SHUT_WR)
                    while one.recv(4096):  # at most an alert
                        pass
                except OSError:  # it may be closed already
                    pass
                self.still_serves()

    def test_what_is_garbled_later_ends_the_connection(self):
        one = self.connect()
        one.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIn(b"200 OK", one.recv(4096))
        below = socket.socket(fileno=os.dup(one.fileno()))
        self.addCleanup(below.close)
        below.settimeout(harness.PATIENCE)
        below.sendall(b"\x17\x03\x03\x00\x20" + b"\xee" * 32)
        try:
            while below.recv(4096):
                pass
        except ConnectionError:
            pass
        self.still_serves()

    def test_large_bodies_both_ways(self):
        connection = self.https()
        self.assertEqual(self.ask(connection, "POST", CONFIG_MAPS, config_map("large", text="x" * 1_000_000))[0], 201)
        status, found = self.ask(connection, "GET", f"{CONFIG_MAPS}/large")
        self.assertEqual((status, len(found["data"]["text"])), (200, 1_000_000))
        status, refused = self.ask(connection, "POST", CONFIG_MAPS, config_map("huge", text="x" * 3_500_000))
        self.assertEqual((status, refused["reason"]), (413, "RequestEntityTooLarge"))
        self.assertEqual(self.ask(self.https(), "DELETE", f"{CONFIG_MAPS}/large")[0], 200)

    def test_a_client_that_reads_slowly_gets_everything(self):
        for number in range(8):
            self.daemon.call("POST", CONFIG_MAPS, config_map(f"slow-{number}", text=str(number) * 900_000))
        one = self.connect()
        one.sendall((f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     f"Authorization: Bearer {self.daemon.token}\r\n\r\n").encode())
        self.still_serves()  # nothing of it was read yet
        answer = http.client.HTTPResponse(one)
        answer.begin()
        self.assertEqual(sum(len(item["data"].get("text", "")) for item in json.loads(answer.read())["items"]
                             if item["metadata"]["name"].startswith("slow-")), 8 * 900_000)
        self.daemon.call("DELETE", CONFIG_MAPS)

    def test_watches(self):
        watches = [Watch(self.daemon, "", "end", self.https()) for _ in range(20)]
        self.daemon.call("POST", CONFIG_MAPS, config_map("end"))
        for watch in watches:
            self.assertEqual([event["object"]["metadata"]["name"] for event in watch.result()][-1], "end")
        self.daemon.call("DELETE", f"{CONFIG_MAPS}/end")

    def test_vanished_clients_cost_nothing(self):
        def descriptors():
            return len(list(pathlib.Path(f"/proc/{self.daemon.process.pid}/fd").iterdir()))
        self.still_serves()
        before = descriptors()
        found = [self.connect() for _ in range(30)]
        for one in found:
            one.sendall((f"GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: localhost\r\n"
                         f"Authorization: Bearer {self.daemon.token}\r\n\r\n").encode())
            self.assertIn(b"200 OK", one.recv(4096))
        found += [self.raw() for _ in range(30)]
        for one in found[30:]:
            one.sendall(harness.client_hello()[:50])
        for one in found:
            one.close()
        for _ in range(1000):
            self.daemon.call("GET", "/api/v1/namespaces/default")
            if descriptors() <= before + 2:
                return
        self.fail(f"{descriptors()} descriptors, {before} before")

    def test_a_host_and_a_page(self):
        """Over TLS the certificate says who we are; an Origin must be ours all the same."""
        port = self.daemon.port
        for host, origin, code in (("machine.example", None, 200), (f"localhost:{port}", f"https://localhost:{port}", 200),
                                   (f"localhost:{port}", f"http://localhost:{port}", 403),
                                   (f"localhost:{port}", "https://evil.example", 403)):
            with self.subTest(host=host, origin=origin):
                connection = self.https()
                connection.request("GET", CONFIG_MAPS, headers={"Host": host, "Authorization": f"Bearer {self.daemon.token}",
                                                                **({"Origin": origin} if origin else {})})
                self.assertEqual(connection.getresponse().status, code)


class FarNode(harness.WithDaemon):
    """A pod of a node that tells nobody where it can be asked."""
    options = ("--only", "api")
    pods = "/api/v1/namespaces/default/pods"

    def make_pod(self, name, **status):
        self.daemon.call("POST", self.pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                                             "spec": {"nodeName": "far", "containers": [{"name": "c", "image": "none", "command": ["true"]}]}})
        self.daemon.call("PATCH", f"{self.pods}/{name}/status", {"status": status}, content_type="application/merge-patch+json")

    def test_what_cannot_be_asked_is_told(self):
        self.daemon.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "far"}})
        states = {"runs": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "failed": {"terminated": {"exitCode": 1, "reason": "Error"}}}
        for name, state in states.items():
            self.make_pod(name, phase="Running" if name == "runs" else "Failed", containerStatuses=[
                {"name": "c", "image": "none", "imageID": "", "ready": False, "restartCount": 0, "state": state}])
        run = "container=c&stdout=1"
        for method, path in (("GET", "runs/log"), ("GET", "failed/log"), ("POST", f"runs/exec?command=ls&{run}"),
                             ("POST", f"runs/attach?{run}"), ("POST", "runs/portforward")):
            message = self.daemon.call(method, f"{self.pods}/{path}", expect=(404,))["message"]
            self.assertIn('node "far" has no endpoint for it in status.addresses, status.daemonEndpoints', message)
        metrics = self.daemon.call("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/runs", expect=(404,))
        self.assertIn('node "far"', metrics["message"])
        self.assertIn('node "far"', self.daemon.cli("logs", "runs").stderr)


class Elsewhere(unittest.TestCase):
    def test_plain_http_is_for_the_loopback_only(self):
        """Reached by another address the server wants TLS."""
        address = harness.other_address()
        if not address:
            self.skipTest("this machine has no address but the loopback's")
        daemon = harness.Daemon("--only", "api", "--listen", "0.0.0.0:0")
        self.addCleanup(lambda: self.assertEqual(daemon.close(), []))
        plain = http.client.HTTPConnection(address, daemon.port, timeout=harness.PATIENCE)
        self.addCleanup(plain.close)
        plain.request("GET", "/readyz")
        answer = plain.getresponse()
        self.assertEqual((answer.status, json.loads(answer.read())["message"]), (400, "this server speaks TLS: use https://"))
        one = daemon.tls_context().wrap_socket(socket.create_connection((address, daemon.port), timeout=harness.PATIENCE),
                                               server_hostname="localhost")
        self.addCleanup(one.close)
        one.sendall(b"GET /readyz HTTP/1.1\r\nHost: " + address.encode() + b"\r\n\r\n")
        self.assertIn(b"200 OK", one.recv(4096))
        self.assertEqual(daemon.request("GET", CONFIG_MAPS)[0], 200)
        self.assertIn(f"server: https://127.0.0.1:{daemon.port}\n", daemon.cli("kubeconfig").stdout)


if __name__ == "__main__":
    harness.main()
