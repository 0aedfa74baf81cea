#!/usr/bin/python3
"""examples/ddp/job.yaml, byte for byte, trained for real on `muster node` behind a real API server: our controller, our
scheduler in kube-scheduler's place, and kube-scheduler itself; and what kubectl sees of it through that server. On the same machine a Notebook."""
import contextlib
import os
import re
import subprocess
import unittest
import urllib.error
import urllib.request

from control_plane import ADMIN, KUBECTLS, MUSTER, PATIENCE_S, ROOT, Client, ControlPlane, Refused

JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
PODS = "/api/v1/namespaces/default/pods"
MANIFEST = ROOT / "examples/ddp/job.yaml"
NOTEBOOKS = "/apis/tensorstack.dev/v1beta1/namespaces/default/notebooks"
# In JupyterLab's place: answers who has its token with what `kubectl get pj` says in its pod.
JUPYTER = """#!/usr/bin/python3
import http.server, os, subprocess, sys
options = dict(a.lstrip("-").split("=", 1) for a in sys.argv[1:] if "=" in a)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.headers.get("Authorization") == "token " + os.environ["JUPYTER_TOKEN"]
        done = subprocess.run(["%s", "get", "pj,secrets"], capture_output=True, text=True) if known else None
        self.send_response(200 if known else 403)
        self.end_headers()
        if known:
            self.wfile.write((self.path + "\\n" + done.stdout + done.stderr).encode())
http.server.HTTPServer((options["ServerApp.ip"], int(options["ServerApp.port"])), Handler).serve_forever()
""" % KUBECTLS[-1]
SCRIPTS = ("train.py", "eventfile.py")


class Ddp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls).start(nodes=True).prepare()
        plane.let_in_to_nodes()
        cls.start_node()
        _, cls.scheduler = plane.start_ours(["--shared-network"], ["--as-default"])

    @classmethod
    def start_node(cls):
        """What an image has in it a `muster node` has on its PATH: here a python that starts where train.py is."""
        plane = cls.plane
        programs, work = plane.folder / "bin", plane.folder / "work"
        programs.mkdir()
        work.mkdir()
        for name in SCRIPTS:
            (work / name).write_bytes((ROOT / "examples/ddp" / name).read_bytes())
        (programs / "python").write_text('#!/bin/sh\ncd "%s" && exec "%s" "$@"\n' % (work, ROOT / "build/venv/bin/python"))
        (programs / "python").chmod(0o755)
        (programs / "jupyter-lab").write_text(JUPYTER)
        (programs / "jupyter-lab").chmod(0o755)
        plane.kubectl("create", "clusterrolebinding", "progress", "--clusterrole=muster-node-progress", "--user=system:node:box")
        plane.start_node(env=dict(os.environ, PATH="%s:%s" % (programs, os.environ["PATH"])))

    def clean_up(self):
        self.api.delete(JOBS + "/ddp")
        self.api.wait(PODS, lambda pods: not pods, "pods to be gone")

    def test_it_trains(self):
        plane = self.plane
        plane.kubectl("apply", "-f", str(MANIFEST))
        self.addCleanup(self.clean_up)
        pods = self.api.wait(PODS, lambda pods: sorted(pods) if len(pods) == 4 and all(
            p.get("status", {}).get("phase") == "Running" for p in pods.values()) else None, "four workers")
        for program in KUBECTLS:
            done = plane.kubectl("exec", pods[1], "--", "sh", "-c", "echo $RANK of $WORLD_SIZE", program=program)
            self.assertEqual(done.stdout, "1 of 4\n")
        self.forward(pods[0])
        self.measure(pods)
        with subprocess.Popen([str(KUBECTLS[-1]), "logs", "-f", pods[0]], text=True, stdout=subprocess.PIPE,
                              env=dict(os.environ, HOME=str(plane.folder), KUBECONFIG=str(plane.config))) as follow:
            text = follow.stdout.read()
        self.assertIn("with 4 workers", text)
        self.check_accuracy(text)
        status = self.api.wait(JOBS, lambda jobs: jobs["ddp"]["status"] if jobs["ddp"]["status"].get("phase") in (
            "Succeeded", "Failed") else None, "the end")
        self.assertEqual(status["phase"], "Succeeded", status)
        done = self.api.wait(JOBS, lambda jobs: jobs["ddp"]["status"].get("progress", {}).get("fraction") == 1 and jobs["ddp"]["status"][
            "progress"], "the node to tell its progress")
        self.assertGreater(done["step"], 0)

    def test_it_trains_where_kube_scheduler_places_it(self):
        plane, ours = self.plane, ("create", "pods/binding", 201)
        self.scheduler.terminate()
        self.scheduler.wait()
        before = plane.requests("muster-scheduler")[ours]
        plane.start_scheduler()
        plane.kubectl("apply", "-f", str(MANIFEST))
        self.addCleanup(self.clean_up)
        pods = self.api.wait(PODS, lambda pods: sorted(pods) if len(pods) == 4 and all(
            p.get("status", {}).get("phase") == "Running" for p in pods.values()) else None, "four workers")
        self.check_accuracy(plane.kubectl("logs", "-f", pods[0]).stdout)
        status = self.api.wait(JOBS, lambda jobs: jobs["ddp"]["status"] if jobs["ddp"]["status"].get("phase") in (
            "Succeeded", "Failed") else None, "the end")
        self.assertEqual((status["phase"], plane.requests("muster-scheduler")[ours]), ("Succeeded", before))

    def test_the_same_file_on_one_machine(self):
        folder = self.plane.folder / "alone"
        work = folder / "work"
        work.mkdir(0o700, parents=True)
        for name in (*SCRIPTS, "job.yaml"):
            (work / name).write_bytes((ROOT / "examples/ddp" / name).read_bytes())
        environment = dict(os.environ, MUSTER_HOME=str(folder / "data"), PATH="%s:%s" % (ROOT / "build/venv/bin", os.environ["PATH"]))
        environment.pop("KUBECONFIG", None)

        def muster(*arguments):
            return subprocess.run([MUSTER, *arguments], env=environment, text=True, capture_output=True)
        up = muster("up", "--detach", "--listen", "127.0.0.1:0", "--overcommit")
        self.assertEqual(up.returncode, 0, up.stderr)
        try:
            done = muster("run", str(work / "job.yaml"))
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
            self.check_accuracy(done.stdout)
        finally:
            muster("rm", "ddp")
            muster("down")

    def test_a_notebook(self):
        """With a token of its own, rights to jobs of its namespace, and the way to it that the console tells."""
        self.api.create(NOTEBOOKS, {"apiVersion": "tensorstack.dev/v1beta1", "kind": "Notebook", "metadata": {"name": "book"}, "spec": {
            "template": {"spec": {"containers": [{"name": "notebook", "image": "none"}]}}}})
        self.addCleanup(self.remove_notebook)
        self.api.wait(NOTEBOOKS, lambda found: found["book"].get("status", {}).get("phase") == "Running", "it to run")
        token = subprocess.run([str(KUBECTLS[-1]), "exec", "book-nb", "--", "sh", "-c",
                                'for p in /proc/[0-9]*; do grep -qz "^MUSTER_POD_UID=$MUSTER_POD_UID" $p/environ && tr "\\0" "\\n" <$p/environ; done 2>/dev/null | '
                                'sed -n "s/^JUPYTER_TOKEN=//p" | head -n 1'],
                               env=dict(os.environ, HOME=str(self.plane.folder), KUBECONFIG=str(self.plane.config)),
                               capture_output=True, text=True, check=True).stdout.strip()
        self.assertTrue(token)
        forward = subprocess.Popen([str(KUBECTLS[-1]), "port-forward", "service/managed-notebook-http-book", ":http"],
                                   env=dict(os.environ, HOME=str(self.plane.folder), KUBECONFIG=str(self.plane.config)),
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(forward.stdout.close)
        self.addCleanup(forward.wait)
        self.addCleanup(forward.terminate)
        url = "http://127.0.0.1:%s/notebook/default/book/" % re.search(r":(\d+) ->", forward.stdout.readline()).group(1)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url, timeout=PATIENCE_S)
        self.assertEqual(refused.exception.code, 403)
        refused.exception.close()
        request = urllib.request.Request(url, headers={"Authorization": "token " + token})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            said = answer.read().decode()
        self.assertIn("/notebook/default/book/\n", said)
        self.assertIn('"system:serviceaccount:default:book-nb" cannot list resource "secrets"', said)
        self.assertNotIn('cannot list resource "pytorchtrainingjobs"', said)
        self.api.patch(NOTEBOOKS + "/book", {"spec": {"suspend": True}})
        self.api.wait(NOTEBOOKS, lambda found: found["book"]["status"]["phase"] == "Paused", "it to be paused")
        self.api.wait(PODS, lambda pods: "book-nb" not in pods, "its pod to be gone")
        self.remove_notebook()
        for path in ("/api/v1/namespaces/default/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"):
            self.api.wait(path, lambda found: "book-nb" not in found, "what was its own to be gone")

    def remove_notebook(self):
        with contextlib.suppress(Refused):
            self.api.delete(NOTEBOOKS + "/book")
        self.api.wait(PODS, lambda pods: "book-nb" not in pods, "its pod to be gone")

    def check_accuracy(self, text):
        found = re.findall(r"test accuracy: ([0-9.]+)", text)
        self.assertTrue(found, text[-2000:])
        self.assertGreater(float(found[0]), 0.80)

    def measure(self, pods):
        """As metrics-server does for kubectl top: with a token, of which the node asks the API server whose it is. Through
        that server itself it cannot be had here: it proxies to no node on the loopback."""
        port = self.api.get("/api/v1/nodes/box")["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        with contextlib.closing(Client(port, "wrong")) as nobody:
            self.assertRaises(Refused, nobody.get, "/metrics/resource")
        seen = set()
        with contextlib.closing(Client(port, ADMIN)) as admin:
            while seen != set(pods):  # measured every two seconds, and nobody tells
                seen = set(re.findall(r'(?m)^container_cpu_usage_seconds_total\{container="pytorch",namespace="default",pod="([^"]+)"',
                                      admin.get("/metrics/resource")))

    def forward(self, pod):
        """A port of a program beside the training."""
        environment = dict(os.environ, HOME=str(self.plane.folder), KUBECONFIG=str(self.plane.config))
        serve = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); " \
                "print(s.server_port, flush=True); s.serve_forever()"

        def kubectl(*arguments):
            return subprocess.Popen([str(KUBECTLS[-1]), *arguments], env=environment, text=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
        with kubectl("exec", pod, "--", "/usr/bin/python3", "-c", serve) as server:
            with kubectl("port-forward", pod, ":" + server.stdout.readline().strip()) as forward:
                port = re.search(r":(\d+) ->", forward.stdout.readline()).group(1)
                with urllib.request.urlopen("http://127.0.0.1:%s/" % port, timeout=PATIENCE_S) as answer:
                    self.assertEqual(answer.status, 200)
                forward.terminate()
            server.terminate()


if __name__ == "__main__":
    unittest.main(verbosity=2)
