#!/usr/bin/python3
"""Containers restarted inside their pod, probes, and what `kubectl logs --previous` is served from."""
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
from harness import PODS, DaemonTest  # noqa: E402

PATH = PODS.format(ns="default")
EVENTS = "/api/v1/namespaces/default/events"


class Restarts(DaemonTest):
    def create(self, name, command, policy="Never", **container):
        self.daemon.call("POST", PATH, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": policy, "terminationGracePeriodSeconds": 1, "containers": [
                {"name": "main", "image": "none", "command": ["sh", "-c", command], **container}]}})

    def tearDown(self):
        for name in self.daemon.pods():
            self.daemon.call("DELETE", f"{PATH}/{name}?gracePeriodSeconds=0", expect=(200, 404))
        super().tearDown()

    def wait(self, name, wanted):
        return self.daemon.wait_for(PATH, lambda pods: pods.get(name) if name in pods and wanted(
            pods[name]["status"], (pods[name]["status"].get("containerStatuses") or [{}])[0]) else None, name)

    def wait_event(self, name, reason, text=""):
        self.daemon.wait_for(EVENTS, lambda events: any(
            e["reason"] == reason and e["involvedObject"]["name"] == name and text in e["message"]
            for e in events.values()), f"event {reason} of {name}")

    def test_a_failure_is_restarted_then_backed_off(self):
        self.create("crash", "echo run; echo why >&2; exit 3", "OnFailure")
        pod = self.wait("crash", lambda s, c: c.get("state", {}).get("waiting", {}).get("reason") == "CrashLoopBackOff")
        status = pod["status"]["containerStatuses"][0]
        self.assertEqual(pod["status"]["phase"], "Running")
        self.assertEqual(status["restartCount"], 1)
        self.assertEqual(status["lastState"]["terminated"]["exitCode"], 3)
        self.assertEqual(status["lastState"]["terminated"]["message"], "why")
        self.assertEqual(self.daemon.log("crash", query="?previous=true"), "run\nwhy\n")
        self.wait_event("crash", "BackOff")

    def test_success_ends_on_failure_and_not_always(self):
        self.create("done", "exit 0", "OnFailure")
        self.wait("done", lambda s, c: s["phase"] == "Succeeded")
        self.create("again", "exit 0", "Always")
        self.wait("again", lambda s, c: s["phase"] == "Running" and c.get("restartCount", 0) == 1)

    def test_liveness_restarts(self):
        trap = os.path.join(self.daemon.folder, "trap")  # asked before it is set, the program would just be killed
        self.create("ill", f"trap 'exit 5' TERM; touch {trap}; while :; do sleep 0.1; done", "Always",
                    livenessProbe={"exec": {"command": ["sh", "-c", f"[ -e {trap} ] || exit 0; rm {trap}; echo too bad; exit 1"]},
                                   "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": int(harness.PATIENCE)})
        pod = self.wait("ill", lambda s, c: c.get("restartCount", 0) >= 1)
        self.assertEqual(pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"], 5)
        self.wait_event("ill", "Unhealthy", "Liveness probe failed: too bad")
        self.wait_event("ill", "Killing", "liveness")

    def test_startup_ends_a_pod_that_is_never_restarted(self):
        self.create("slow", "sleep 1000", startupProbe={"tcpSocket": {"port": 1}, "periodSeconds": 1,
                                                        "failureThreshold": 1})
        self.wait("slow", lambda s, c: s["phase"] == "Failed")
        self.wait_event("slow", "Unhealthy", "Startup probe failed")

    def test_readiness_follows_its_probe(self):
        flag = os.path.join(self.daemon.folder, "flag")
        self.create("ready", "sleep 1000", readinessProbe={"exec": {"command": ["test", "-e", flag]},
                                                           "periodSeconds": 1, "failureThreshold": 1})
        self.wait("ready", lambda s, c: s["phase"] == "Running" and not c["ready"])
        pathlib.Path(flag).touch()
        self.wait("ready", lambda s, c: c["ready"] and any(
            k["type"] == "Ready" and k["status"] == "True" for k in s["conditions"]))
        os.unlink(flag)
        self.wait("ready", lambda s, c: not c["ready"])

    def test_readiness_by_http_and_a_named_port(self):
        program = ("import http.server as h\n"
                   "class H(h.BaseHTTPRequestHandler):\n"
                   "  def do_GET(self):\n"
                   "    self.send_response(204 if self.headers['X-Ask'] == 'yes' else 500); self.end_headers()\n"
                   "s = h.HTTPServer(('127.0.0.1', 0), H); print(s.server_port, flush=True); s.serve_forever()\n")
        self.create("server", f"exec /usr/bin/python3 -c \"{program}\"")
        self.wait("server", lambda s, c: s["phase"] == "Running")
        port = None
        while not port:
            port = self.daemon.log("server").strip()
        probe = {"httpGet": {"host": "127.0.0.1", "port": "web", "path": "/healthz", "httpHeaders": [{"name": "X-Ask", "value": "yes"}]},
                 "periodSeconds": 1}
        self.create("asked", "sleep 1000", ports=[{"name": "web", "containerPort": int(port)}], readinessProbe=probe)
        self.wait("asked", lambda s, c: c.get("ready"))
        probe["httpGet"]["httpHeaders"] = []
        self.create("refused", "sleep 1000", ports=[{"name": "web", "containerPort": int(port)}], readinessProbe=probe)
        self.wait_event("refused", "Unhealthy", "500")
        # Without a host it is the pod's own port that is meant, and that another's program answers there does not count.
        del probe["httpGet"]["host"]
        probe["httpGet"]["httpHeaders"] = [{"name": "X-Ask", "value": "yes"}]
        self.create("mistaken", "sleep 1000", ports=[{"name": "web", "containerPort": int(port)}], readinessProbe=probe)
        self.wait_event("mistaken", "Unhealthy", "a program outside the pod listens on it")
        self.daemon.call("DELETE", f"{PATH}/server")  # with grace: it is gone when its port is free
        self.daemon.wait_for(PATH, lambda pods: "server" not in pods)
        program = program.replace("('127.0.0.1', 0)", f"('127.0.0.1', {port})")
        self.create("own", f"/usr/bin/python3 -c \"{program}\"; exit", ports=[{"name": "web", "containerPort": int(port)}],
                    readinessProbe=probe)
        self.wait("own", lambda s, c: c.get("ready"))

    def test_restarts_survive_a_killed_worker(self):
        self.create("kept", "echo run; exit 2", "OnFailure")
        pod = self.wait("kept", lambda s, c: c.get("state", {}).get("waiting", {}).get("reason") == "CrashLoopBackOff")
        record = pathlib.Path(self.daemon.folder, "pods", pod["metadata"]["uid"], "state.json")
        old = json.loads(record.read_text())["pid"]
        os.kill(old, signal.SIGKILL)
        while json.loads(record.read_text())["pid"] == old:
            pass
        status = json.loads(record.read_text())["containers"][0]
        self.assertEqual((status["restarts"], status["reason"]), (1, "CrashLoopBackOff"))
        self.assertEqual(self.daemon.log("kept", query="?previous=true"), "run\n")


if __name__ == "__main__":
    harness.main()
