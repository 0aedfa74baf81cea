#!/usr/bin/python3
"""Notifications: a real receiver on this machine gets every event, whatever happens to the daemon or to itself."""
import base64
import http.server
import json
import pathlib
import queue
import subprocess
import threading

import harness
from harness import DaemonTest, job

PATH = "/apis/muster.dev/v1beta1/namespaces/{ns}/notifications"
SECRETS = "/api/v1/namespaces/default/secrets"


class Receiver:
    """Answers what is said in `answers`, by path; a number, or an event to wait for before the number 200."""

    def __init__(self, port=0):
        self.got, self.answers = queue.Queue(), {}
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = receiver.answers.get(self.path, 200)
                receiver.got.put((self.path, dict(self.headers), json.loads(body)))
                if isinstance(answer, threading.Event):
                    answer.wait(harness.PATIENCE)
                    answer = 200
                self.send_response(answer)
                self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.end_headers()
                self.wfile.write(b"a secret of the receiver")

            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass  # who asked is gone

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def next(self):
        return self.got.get(timeout=harness.PATIENCE)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class WithReceiver(DaemonTest):
    def setUp(self):
        self.receiver = Receiver()
        self.addCleanup(lambda: self.receiver.close())

    def notification(self, name, path="/", ns="default", **spec):
        if "urlFrom" not in spec:
            spec.setdefault("url", self.receiver.url(path))
        made = self.daemon.call("POST", PATH.format(ns=ns), {
            "apiVersion": "muster.dev/v1beta1", "kind": "Notification", "metadata": {"name": name}, "spec": spec})
        self.addCleanup(self.daemon.request, "DELETE", f"{PATH.format(ns=ns)}/{name}")
        self.wait_status(name, lambda s: s.get("observedGeneration"), ns)
        return made

    def wait_status(self, name, wanted, ns="default"):
        def reached(found):
            status = found.get(name, {}).get("status", {})
            return status if wanted(status) else None
        return self.daemon.wait_for(PATH.format(ns=ns), reached, f"{name}'s status")

    def run_job(self, name, command="true", **how):
        made = self.daemon.create(dict(job(name, ["sh", "-c", command], replicas=1), **how))
        self.addCleanup(self.daemon.request, "DELETE", f"{harness.JOBS.format(ns='default')}/{name}")
        return made


class Notifications(WithReceiver):
    options = ("--notify-local",)

    def test_the_end_of_a_job_is_told_once(self):
        self.notification("ends", "/ends")
        made = self.run_job("good")
        path, headers, body = self.receiver.next()
        self.assertEqual(path, "/ends")
        self.assertEqual((body["type"], body["phase"]), ("job.phase", "Succeeded"))
        self.assertEqual(body["job"], {"namespace": "default", "apiVersion": "batch.tensorstack.dev/v1beta1",
                                       "kind": "PyTorchTrainingJob", "name": "good", "uid": made["metadata"]["uid"]})
        self.assertEqual(body["notification"], {"namespace": "default", "name": "ends"})
        self.assertEqual(headers["Muster-Delivery"], body["id"])
        self.assertEqual(body["time"], self.daemon.get_job("good")["status"]["completionTime"])
        status = self.wait_status("ends", lambda s: s.get("delivered") == 1)
        self.assertEqual((status["lastDelivery"]["code"], status["lastDelivery"]["job"]), (200, "PyTorchTrainingJob/good"))
        self.assertNotIn("pending", status)
        self.run_job("bad", "echo no such luck >&2; exit 3")
        _, _, body = self.receiver.next()
        self.assertEqual((body["phase"], body["job"]["name"]), ("Failed", "bad"))
        self.assertIn("no such luck", body["message"])
        self.assertTrue(self.receiver.got.empty())

    def test_only_what_is_asked_for(self):
        self.run_job("before")
        self.daemon.wait_phase("before", "Succeeded")
        self.notification("team", "/team", selector={"matchLabels": {"team": "nlp"}}, phases=["Running", "Succeeded"])
        self.notification("mpi", "/mpi", kinds=["MPIJob"])
        self.notification("resting", "/resting", suspend=True)
        self.run_job("others")
        self.daemon.wait_phase("others", "Succeeded")
        go = pathlib.Path(self.daemon.folder, "go")  # or it might end before it is seen running
        one = job("ours", ["sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done"], replicas=1)
        one["metadata"]["labels"] = {"team": "nlp"}
        self.daemon.create(one)
        for phase in ("Running", "Succeeded"):
            path, _, body = self.receiver.next()
            self.assertEqual((path, body["job"]["name"], body["phase"]), ("/team", "ours", phase))
            go.touch()
        self.assertTrue(self.receiver.got.empty())
        # Resumed, it gets new events but none from while it was suspended.
        self.daemon.call("PATCH", f"{PATH.format(ns='default')}/resting", {"spec": {"suspend": False}},
                         content_type="application/merge-patch+json")
        self.wait_status("resting", lambda s: s.get("observedGeneration") == 2)
        self.run_job("later")
        path, _, body = self.receiver.next()
        self.assertEqual((path, body["job"]["name"]), ("/resting", "later"))
        self.assertTrue(self.receiver.got.empty())

    def test_slack(self):
        address = base64.b64encode((self.receiver.url("/services/T/B/x") + "\n").encode()).decode()
        self.daemon.call("POST", SECRETS, {"metadata": {"name": "slack"}, "data": {"url": address}})
        self.addCleanup(self.daemon.request, "DELETE", f"{SECRETS}/slack")
        self.notification("slack", format="slack", urlFrom={"secretKeyRef": {"name": "slack", "key": "url"}})
        self.run_job("bad", "echo '<!channel> a & b' >&2; exit 1")
        path, _, body = self.receiver.next()
        self.assertEqual(path, "/services/T/B/x")
        self.assertEqual(list(body), ["text"])
        self.assertIn("*bad* in default: Failed", body["text"])
        self.assertIn("&lt;!channel&gt; a &amp; b", body["text"])
        # The address is a secret: its status does not tell it, also when it cannot be reached.
        status = self.wait_status("slack", lambda s: s.get("delivered"))
        self.receiver.close()
        self.run_job("bad-2", "exit 1")
        status = self.wait_status("slack", lambda s: s.get("lastError"))
        self.assertNotIn("services", json.dumps(status))
        self.assertNotIn(str(self.receiver.port), json.dumps(status["lastError"]))
        self.assertTrue(status["retryTime"])
        self.receiver = Receiver(self.receiver.port)
        self.assertIn("*bad-2*", self.receiver.next()[2]["text"])

    def test_a_secret_that_is_not_there(self):
        self.notification("lost", urlFrom={"secretKeyRef": {"name": "nowhere", "key": "url"}})
        self.run_job("good")
        self.assertIn("Secret does not exist",
                      self.wait_status("lost", lambda s: s.get("lastError"))["lastError"]["message"])
        for value, words in (("ftp://a/b", "not an address"), (None, "no such key")):
            data = {"url": base64.b64encode(value.encode()).decode()} if value else {}
            self.daemon.request("DELETE", f"{SECRETS}/nowhere")
            self.daemon.call("POST", SECRETS, {"metadata": {"name": "nowhere"}, "data": data})
            self.ask_for_test("lost", words.replace(" ", "-"))
            self.wait_status("lost", lambda s: words in s["lastError"]["message"])
        self.daemon.request("DELETE", f"{SECRETS}/nowhere")

    def ask_for_test(self, name, value):
        self.daemon.call("PATCH", f"{PATH.format(ns='default')}/{name}",
                         {"metadata": {"annotations": {"muster.dev/send-test": value}}},
                         content_type="application/merge-patch+json")

    def test_a_test(self):
        self.notification("tested", "/tested")
        self.ask_for_test("tested", "1")
        _, _, body = self.receiver.next()
        self.assertEqual((body["type"], body["phase"]), ("test", "Test"))
        self.assertNotIn("job", body)
        status = self.wait_status("tested", lambda s: s.get("delivered") == 1)
        self.assertEqual((status["lastTest"], status["lastDelivery"]["phase"]), ("1", "Test"))
        self.ask_for_test("tested", "1")
        self.ask_for_test("tested", "2")
        self.assertNotEqual(self.receiver.next()[2]["id"], body["id"])
        self.wait_status("tested", lambda s: s.get("delivered") == 2)

    def test_a_receiver_in_trouble_is_asked_again(self):
        self.receiver.answers["/"] = 503
        self.notification("patient")
        self.run_job("good")
        first = self.receiver.next()[2]
        status = self.wait_status("patient", lambda s: s.get("retryTime"))
        self.assertEqual((status["lastError"]["message"], len(status["pending"])), ("the receiver answered 503", 1))
        self.assertNotIn("a secret of the receiver", json.dumps(status))
        self.receiver.answers["/"] = 200
        self.assertEqual(self.receiver.next()[2], first)
        status = self.wait_status("patient", lambda s: s.get("delivered") == 1)
        self.assertNotIn("retryTime", status)

    def test_refusals_and_redirects_are_final(self):
        for code, words in ((404, "the receiver answered 404"),
                            (302, "the receiver answered 302: redirects are not followed")):
            self.receiver.answers[f"/{code}"] = code
            self.notification(f"code-{code}", f"/{code}")
        self.run_job("good")
        self.assertEqual({self.receiver.next()[0], self.receiver.next()[0]}, {"/404", "/302"})
        for code, words in ((404, "the receiver answered 404"),
                            (302, "the receiver answered 302: redirects are not followed")):
            status = self.wait_status(f"code-{code}", lambda s: s.get("failed") == 1)
            self.assertEqual((status["lastError"]["message"], "pending" in status), (words, False))
        self.assertTrue(self.receiver.got.empty())

    def test_a_slow_receiver_delays_no_other(self):
        go = self.receiver.answers["/slow"] = threading.Event()
        self.addCleanup(go.set)
        for i in range(6):
            self.notification(f"slow-{i}", "/slow")
        other = "elsewhere"
        self.daemon.call("POST", "/api/v1/namespaces", {"metadata": {"name": other}})
        self.run_job("good")
        self.assertEqual([self.receiver.next()[0] for _ in range(4)], ["/slow"] * 4)
        # The namespace has its share of posts; another one's go out.
        self.notification("quick", "/quick", ns=other)
        self.daemon.create(job("quick", ["true"], replicas=1, ns=other), ns=other)
        self.assertEqual(self.receiver.next()[0], "/quick")
        go.set()
        self.assertEqual([self.receiver.next()[0] for _ in range(2)], ["/slow"] * 2)
        self.daemon.request("DELETE", f"{harness.JOBS.format(ns=other)}/quick")

    def test_killed_daemons(self):
        """Killed during a post, the daemon repeats it with its id. A job that ends while the daemon is down is
        reported afterwards, exactly once."""
        go = self.receiver.answers["/"] = threading.Event()
        self.addCleanup(go.set)
        self.notification("durable")
        self.run_job("first")
        first = self.receiver.next()[2]
        self.run_job("second", "sleep 1")
        self.daemon.wait_phase("second", "Running")
        # Deleted meanwhile: what is to be told of it was written down.
        self.daemon.call("DELETE", f"{harness.JOBS.format(ns='default')}/first")
        self.daemon.kill()
        go.set()
        self.daemon.start()
        self.assertEqual(self.receiver.next()[2], first)
        second = self.receiver.next()[2]
        self.assertEqual((second["job"]["name"], second["phase"]), ("second", "Succeeded"))
        self.wait_status("durable", lambda s: s.get("delivered") == 2)
        self.daemon.kill()
        self.daemon.start()
        self.run_job("third")
        self.assertEqual(self.receiver.next()[2]["job"]["name"], "third")
        self.wait_status("durable", lambda s: s.get("delivered") == 3)
        self.assertTrue(self.receiver.got.empty())

    def test_many_at_once(self):
        """More than a status holds: all are delivered, each once."""
        count = 150
        go = self.receiver.answers["/"] = threading.Event()
        self.addCleanup(go.set)
        self.notification("flood", phases=["Paused"])
        for i in range(count):
            one = job(f"many-{i}", ["true"], replicas=1)
            one["spec"]["runMode"] = {"pause": {"enabled": True}}
            self.daemon.create(one)
        self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: sum(
            one.get("status", {}).get("phase") == "Paused" for one in jobs.values()) == count or None)
        go.set()
        # The first is repeated when the receiver took longer than is waited for.
        told = {self.receiver.next()[2]["job"]["name"] for _ in range(count)}
        while len(told) < count:
            told.add(self.receiver.next()[2]["job"]["name"])
        status = self.wait_status("flood", lambda s: s.get("delivered") == count)
        self.assertNotIn("failed", status)

    def test_deleted_while_under_way(self):
        go = self.receiver.answers["/slow"] = threading.Event()
        self.addCleanup(go.set)
        self.notification("short", "/slow")
        self.run_job("good")
        self.receiver.next()
        self.daemon.call("DELETE", f"{PATH.format(ns='default')}/short")
        self.remove("good")  # times have no fractions: it might have ended after the next was made
        # One of the same name is another one.
        self.notification("short", "/new")
        self.run_job("next")
        path, _, body = self.receiver.next()
        self.assertEqual((path, body["job"]["name"]), ("/new", "next"))

    def test_what_is_wrong_is_said(self):
        for spec, words in (({}, "spec.url: Invalid value"),
                            ({"url": "http://a", "urlFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}, "either url"),
                            ({"url": "file:///etc/passwd"}, "http:// or https://"),
                            ({"url": "http://a", "phases": ["Done"]}, "spec.phases[0]: Unsupported value"),
                            ({"url": "http://a", "kinds": ["Job"]}, "spec.kinds[0]: Unsupported value"),
                            ({"url": "http://a", "format": "xml"}, "spec.format: Unsupported value"),
                            ({"urlFrom": {}}, "spec.urlFrom.secretKeyRef: Required value")):
            status, answer = self.daemon.request("POST", PATH.format(ns="default"), {
                "apiVersion": "muster.dev/v1beta1", "kind": "Notification", "metadata": {"name": "x"}, "spec": spec})
            self.assertEqual(status, 422, answer)
            self.assertIn(words, answer.decode())
            self.assertNotIn("passwd", answer.decode())

    def test_kubectl(self):
        self.notification("shown", "/shown")
        self.run_job("good")
        self.receiver.next()
        self.wait_status("shown", lambda s: s.get("delivered") == 1)

        def kubectl(*arguments):
            return subprocess.run([harness.KUBECTL, "--kubeconfig", f"{self.daemon.folder}/kubeconfig", *arguments],
                                  capture_output=True, text=True, timeout=harness.PATIENCE, check=True).stdout
        self.assertRegex(kubectl("get", "notifications"), r"shown\s+json\s+false\s+1\s+")
        self.assertIn("urlFrom", kubectl("explain", "notifications.spec"))
        self.assertIn("notification.muster.dev/shown", kubectl("get", "muster", "-o", "name"))


class Addresses(WithReceiver):
    """Without --notify-local."""

    def test_this_machine_is_not_reached(self):
        self.assertEqual(self.receiver.port > 0, True)
        for i, host in enumerate(("127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1")):
            self.notification(f"host-{i}", url=f"http://{host}:{self.receiver.port}/")
        self.notification("metadata", url="http://169.254.169.254/latest/meta-data")
        self.run_job("good")
        for name in ("metadata", *(f"host-{i}" for i in range(6))):
            status = self.wait_status(name, lambda s: s.get("failed") == 1)
            self.assertIn("not allowed", status["lastError"]["message"], name)
        self.assertTrue(self.receiver.got.empty())


if __name__ == "__main__":
    harness.main()
