#!/usr/bin/python3
"""Tokens that end: renewed in time nobody notices, renewed too late the work goes on where it stopped."""
import base64
import json
import mmap
import os
import struct
import subprocess
import time
import unittest

from control_plane import MUSTER, NODE, PATIENCE_S, Client, ControlPlane, Refused
from install_test import JOBS, job

PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
SHORT_S = 20
POD_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
STEPPED = """
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static const volatile long *ahead;
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("STEPPED_BY");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        ahead = at;
}
int clock_gettime(clockid_t id, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(id, t);
    if (id == CLOCK_REALTIME && ahead)
        t->tv_sec += *ahead;
    return rc;
}
"""


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def claims(token):
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ControlPlane.of(cls).start().prepare_for_jobs()

    def short_token(self, account):
        """Signed as the server does it, which itself gives none for less than ten minutes."""
        plane, now = self.plane, int(time.time())
        uid = self.api.get("/api/v1/namespaces/muster-system/serviceaccounts/" + account)["metadata"]["uid"]
        issuer = "https://127.0.0.1:%d/" % plane.port
        text = b".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT"}, {
            "iss": issuer, "aud": [issuer], "iat": now, "nbf": now, "exp": now + SHORT_S,
            "sub": "system:serviceaccount:muster-system:" + account,
            "kubernetes.io": {"namespace": "muster-system", "serviceaccount": {"name": account, "uid": uid}}}))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", plane.folder / "sa.key"], input=text, check=True,
                                   capture_output=True).stdout
        return (text + b"." + encoded(signature)).decode()

    def put(self, name, token):
        """As a kubelet changes it: another file under the same name."""
        path = self.plane.folder / (name + ".token")
        path.with_suffix(".new").write_text(token)
        path.with_suffix(".new").rename(path)
        return path

    def start(self, name, token):
        config = self.plane.kubeconfig(name, token_file=self.put(name, token))
        process = self.plane.spawn(name, MUSTER, "controller", "--no-scheduler", "--namespace", "muster-system", "--kubeconfig",
                                   str(config))
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def wait_pods(self, name):
        self.api.wait(PODS, lambda pods: sum(p.startswith(name + "-") for p in pods) == 2, "pods of " + name)

    def wait_refused(self, token):
        """Nobody tells when a token has ended, and the server remembers one that was good for some seconds."""
        client = Client(self.plane.port, token)
        self.addCleanup(client.close)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                client.create(REVIEWS, {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"})
            except Refused as refused:
                self.assertEqual(refused.status, 401)
                return
            time.sleep(0.5)
        self.fail("the token never ended")

    def test_1_renewed_in_time(self):
        first = self.short_token("muster-controller")
        process = self.start("in-time", first)
        self.api.create(JOBS, job("before"))
        self.wait_pods("before")
        self.put("in-time", self.plane.account_token("muster-system", "muster-controller"))
        self.wait_refused(first)
        self.api.create(JOBS, job("after"))
        self.wait_pods("after")
        self.assertNotIn("Unauthorized", process.log.read_text())

    def test_2_renewed_too_late(self):
        first = self.short_token("muster-controller")
        process = self.start("late", first)
        self.api.create(JOBS, job("early"))
        self.wait_pods("early")
        self.wait_refused(first)
        self.api.create(JOBS, job("late"))
        end = time.monotonic() + PATIENCE_S
        while "Unauthorized" not in process.log.read_text():
            self.assertIsNone(process.poll(), process.log.read_text()[-2000:])
            self.assertLess(time.monotonic(), end)
            time.sleep(0.5)  # nobody tells of this
        self.assertEqual([p for p in (p["metadata"]["name"] for p in self.api.get(PODS)["items"]) if p.startswith("late-")], [])
        self.put("late", self.plane.account_token("muster-system", "muster-controller"))
        self.wait_pods("late")
        self.assertIsNone(process.poll())


class PodTokens(unittest.TestCase):
    """The shortest that a cluster gives, on a node whose clock goes faster."""

    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls).start(nodes=True)
        plane.let_in_to_nodes()
        library, cls.clock = plane.folder / "clock.so", plane.folder / "clock"
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"], input=STEPPED, text=True,
                       check=True)
        cls.step(0)
        plane.start_node(env=dict(os.environ, LD_PRELOAD=str(library), STEPPED_BY=str(cls.clock)))

    @classmethod
    def step(cls, seconds):
        if not cls.clock.exists():
            cls.clock.write_bytes(struct.pack("l", seconds))
        with open(cls.clock, "r+b") as file, mmap.mmap(file.fileno(), 8) as at:
            at[:] = struct.pack("l", seconds)

    def token(self):
        done = self.plane.kubectl("exec", "long", "--", "cat", POD_TOKEN, check=False)
        return done.stdout if done.returncode == 0 else None

    def asked(self):
        return self.plane.requests("system:node:" + NODE)["create", "serviceaccounts/token", 201]

    def look(self, mark):
        """Something about the pod has changed, and the node looks at it."""
        self.plane.kubectl("annotate", "--overwrite", "pod", "long", "look=" + mark)

    def test_it_is_renewed_at_four_fifths(self):
        source = {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}}
        self.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "long"}, "spec": {
            "nodeName": NODE, "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "account", "projected": {"sources": [source]}}],
            "containers": [{"name": "main", "image": "none", "command": ["sleep", "3600"], "volumeMounts": [
                {"name": "account", "mountPath": os.path.dirname(POD_TOKEN)}]}]}})
        self.api.wait(PODS, lambda pods: pods["long"].get("status", {}).get("phase") == "Running", "the pod to run")
        end = time.monotonic() + PATIENCE_S
        while not (first := self.token()):
            self.assertLess(time.monotonic(), end)
        self.assertEqual(claims(first)["exp"] - claims(first)["iat"], 600)
        before = self.asked()
        self.step(470)
        self.look("early")
        self.assertEqual(self.token(), first)
        self.step(490)
        self.look("due")
        while (second := self.token()) in (None, first):
            self.assertLess(time.monotonic(), end)
        self.assertGreater(claims(second)["exp"], claims(first)["exp"])
        self.step(500)
        self.look("again")
        self.assertEqual(self.token(), second)
        self.assertEqual(self.asked() - before, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
