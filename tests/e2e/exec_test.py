#!/usr/bin/python3
"""`muster exec` and what a pod's service account gets it: terminals, refusals, TLS, and the token itself."""
import os
import pathlib
import subprocess
import sys
import time

import harness
from harness import DaemonTest

sys.path.insert(0, str(harness.ROOT / "tests/kubectl"))

from streams_test import Terminal  # noqa: E402

PODS = harness.PODS.format(ns="default")


def pod(name, command, account=None, **more):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                     **({"serviceAccountName": account} if account else {}),
                     "containers": [{"name": "main", "image": "none", "command": command, **more}]}}


class Exec(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.call("POST", PODS, pod("p", ["sleep", "1000"]))
        cls.daemon.wait_for(PODS, lambda pods: pods["p"]["status"].get("phase") == "Running", "the pod to run")

    @classmethod
    def tearDownClass(cls):
        cls.daemon.call("DELETE", PODS)
        cls.daemon.wait_for(PODS, lambda pods: not pods, "pods to be gone")
        super().tearDownClass()

    def tearDown(self):
        pass  # the pod is for all tests

    def test_a_terminal(self):
        terminal = Terminal([harness.BIN, "exec", "-it", "p", "--", "sh"], self.daemon.environment, 100, 40)
        terminal.type("stty size; exit 3\n")
        terminal.expect("40 100")
        self.assertEqual(terminal.process.wait(harness.PATIENCE), 3)
        os.close(terminal.master)

    def test_a_signal_ends_the_command(self):
        process = subprocess.Popen([harness.BIN, "exec", "p", "--", "sh", "-c", "echo up; exec sleep 997"],
                                   stdout=subprocess.PIPE, env=self.daemon.environment)
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.terminate()
        self.assertEqual(process.wait(harness.PATIENCE), 143)
        process.stdout.close()
        until = time.monotonic() + harness.PATIENCE
        while any("sleep 997" in line for line in self.daemon.pod_processes().values()):
            self.assertLess(time.monotonic(), until, "the command still runs")

    def test_refusals(self):
        for arguments, code, words in (
                (["nobody", "--", "true"], 5, "no job 'nobody' in namespace default"),
                (["p", "-c", "other", "--", "true"], 1, "container other is not valid for pod p"),
                (["p", "--", "/no/such/command"], 127, ""),
                (["p"], 2, "'muster exec' needs")):
            with self.subTest(arguments=arguments):
                done = self.daemon.cli("exec", *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stderr)

    def test_over_tls(self):
        self.assertIn("server: https://", pathlib.Path(self.daemon.folder, "kubeconfig").read_text())
        text = "over the wire " * 50000
        done = self.daemon.cli("exec", "-i", "p", "--", "sh", "-c", "cat; exit 5", stdin=text)
        self.assertEqual((done.returncode, len(done.stdout), done.stderr), (5, len(text), ""))
        self.assertEqual(done.stdout, text)

    def test_the_token_of_a_pod(self):
        """What its account may do it can do with it, and nothing else; others' programs do not have it."""
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "reader"}})
        self.daemon.call("POST", f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})
        self.daemon.call("POST", f"{rbac}/rolebindings", {
            "metadata": {"name": "reader"}, "roleRef": {"kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}]})
        asks = """
import os, ssl, urllib.request, urllib.error
trust = ssl.create_default_context(cadata=os.environ["MUSTER_CA"])
for path in ("pods/p", "secrets"):
    request = urllib.request.Request(os.environ["MUSTER_SERVER"] + "/api/v1/namespaces/default/" + path,
                                     headers={"Authorization": "Bearer " + os.environ["MUSTER_TOKEN"]})
    try:
        print(path, urllib.request.urlopen(request, context=trust).status)
    except urllib.error.HTTPError as error:
        print(path, error.code)
print(os.environ["MUSTER_EXE"], os.environ["MUSTER_NAMESPACE"])
with open("/var/run/secrets/kubernetes.io/serviceaccount/token") as file:
    print(file.read() == os.environ["MUSTER_TOKEN"])
with open("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt") as file:
    print(file.read() == os.environ["MUSTER_CA"])
"""
        self.daemon.call("POST", PODS, pod("asks", ["/usr/bin/python3", "-c", asks], "reader"))
        self.daemon.call("POST", PODS, pod("has-none", ["sh", "-c", "echo $(MUSTER_EXE); env | grep -c MUSTER_TOKEN"]))
        for name, wanted in (("asks", f"pods/p 200\nsecrets 403\n{harness.BIN} default\nTrue\nTrue\n"),
                             ("has-none", f"{harness.BIN}\n0\n")):
            self.daemon.wait_for(PODS, lambda pods, name=name: pods[name]["status"].get("phase") in
                                 ("Succeeded", "Failed"), f"{name} to end")
            self.assertEqual(self.daemon.log(name), wanted)

    def test_an_account_that_is_not_there(self):
        self.daemon.call("POST", PODS, pod("orphan", ["true"], "nobody"))
        def said(events):
            return any('No token for service account nobody: serviceaccounts "nobody" not found' in e["message"]
                       for e in events.values())
        self.daemon.wait_for("/api/v1/namespaces/default/events", said, "the reason to be said")
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "nobody"}})
        self.daemon.wait_for(PODS, lambda pods: pods["orphan"]["status"].get("phase") == "Succeeded", "the pod to run")


if __name__ == "__main__":
    harness.main()
