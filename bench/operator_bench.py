#!/usr/bin/python3
"""`make bench-cluster`: our controller and Kubeflow's training-operator, one after the other on one real kube-apiserver.

Jobs of four replicas are posted over four connections; a watch tells when all pods are there. Each operator is a fresh
process for each size, and what the one before made is deleted first. Training-operator runs with its limits lifted (as it
comes it asks 20 times a second) and without its webhook, which would cost it. Requests are those of the audit log.

On a machine without a network, with what `make bench-cluster` left in ~/.cache/muster/kube on another:
    MUSTER_KUBE=DIR MUSTER_BIN=muster MUSTER_KUBECTL=kubectl bench/operator_bench.py
DIR holds etcd, kube-apiserver, training-operator and training-operator-manifests; of Debian it needs python3 and openssl.
"""
import argparse
import base64
import collections
import contextlib
import json
import os
import pathlib
import shutil
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/cluster"))
from control_plane import KUBE, PATIENCE_S, Client, ControlPlane, free_port  # noqa: E402

REPLICAS = 4
POSTERS = 4
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"  # the least a watch can cost server and bench
PROCESSES = ("operator", "server", "etcd")
QUIET_S = 4  # nothing but leases asked for so long: what was to be said of the jobs is said
SERVING_CERTS = pathlib.Path("/tmp/k8s-webhook-server/serving-certs")  # where training-operator looks, and nowhere else


def usage(pid):
    """CPU seconds, memory now and at the highest in MB."""
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    status = dict(line.split(":", 1) for line in open("/proc/%d/status" % pid))
    return ((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
            int(status["VmRSS"].split()[0]) / 1024, int(status["VmHWM"].split()[0]) / 1024)


def template():
    return {"spec": {"containers": [{"name": "pytorch", "image": "none", "command": ["sh", "-c", "sleep 1"],
                                     "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]}}


class Ours:
    name, account = "muster controller", "muster-controller"
    jobs = "/apis/batch.tensorstack.dev/v1beta1/namespaces/%s/pytorchtrainingjobs"

    @staticmethod
    def install(plane):
        plane.install()
        plane.wait_established()

    @staticmethod
    def start(plane):
        return plane.muster("controller", "--no-scheduler", "--namespace", "muster-system")

    @staticmethod
    def job(name):
        return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": name},
                "spec": {"replicaSpecs": [{"type": "worker", "replicas": REPLICAS, "restartPolicy": "OnFailure",
                                           "template": template()}]}}


class TrainingOperator:
    name, account = "training-operator", "training-operator"
    jobs = "/apis/kubeflow.org/v1/namespaces/%s/pytorchjobs"

    @staticmethod
    def install(plane):
        plane.kubectl("apply", "--server-side", "-k", str(KUBE / "training-operator-manifests/base/crds"))
        plane.wait_established()
        plane.admin.create("/api/v1/namespaces", {"metadata": {"name": "kubeflow"}})
        plane.admin.create("/api/v1/namespaces/kubeflow/serviceaccounts", {"metadata": {"name": "training-operator"}})
        plane.admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": "training-operator"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "training-operator", "namespace": "kubeflow"}]})
        plane.admin.create("/api/v1/namespaces/kubeflow/secrets", {"metadata": {"name": "training-operator-webhook-cert"}})
        plane.admin.create("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
            "metadata": {"name": "validator.training-operator.kubeflow.org"}})

    @staticmethod
    def start(plane):
        config = plane.kubeconfig("training-operator", plane.account_token("kubeflow", "training-operator"))
        process = plane.spawn(
            "training-operator", KUBE / "training-operator", "--kubeconfig=%s" % config, "--enable-scheme=pytorchjob",
            "--kube-api-qps=100000", "--kube-api-burst=100000", "--controller-threads=16", "--zap-log-level=error",
            "--metrics-bind-address=0", "--health-probe-bind-address=0", "--webhook-server-port=%d" % free_port())
        secret = plane.admin.wait("/api/v1/namespaces/kubeflow/secrets", lambda s: s[
            "training-operator-webhook-cert"] if s["training-operator-webhook-cert"].get("data") else None, "its certificate")
        SERVING_CERTS.mkdir(parents=True, exist_ok=True)
        for name, text in secret["data"].items():
            (SERVING_CERTS / name).write_bytes(base64.b64decode(text))
        return process

    @staticmethod
    def job(name):
        replica = {"restartPolicy": "OnFailure", "template": template()}
        return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
                "spec": {"pytorchReplicaSpecs": {"Master": dict(replica, replicas=1),
                                                 "Worker": dict(replica, replicas=REPLICAS - 1)}}}


class Pods:
    """Follows a namespace's pods from now on, and tells when so many were made."""

    def __init__(self, plane, namespace, wanted, on_all=lambda: None):
        self.plane, self.wanted, self.on_all = plane, wanted, on_all
        self.path = "/api/v1/namespaces/%s/pods" % namespace
        self.seen, self.ended, self.last = set(), threading.Event(), None
        self.revision = plane.admin.get(self.path + "?limit=1")["metadata"]["resourceVersion"]
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        while len(self.seen) < self.wanted:  # the server ends the watch of who reads too slowly
            client = Client(self.plane.port, self.plane.admin.token)
            answer = client.send("GET", "%s?watch=1&resourceVersion=%s" % (self.path, self.revision), accept=METADATA)
            with contextlib.closing(client), contextlib.closing(answer):
                self.read(answer)
        self.last = time.monotonic()
        self.on_all()
        self.ended.set()

    def read(self, lines):
        for line in lines:
            pod = json.loads(line)["object"]
            self.revision = pod["metadata"]["resourceVersion"]
            self.seen.add(pod["metadata"]["name"])
            if len(self.seen) == self.wanted:
                return

    def wait(self):
        if not self.ended.wait(PATIENCE_S):
            sys.exit("bench: %d of %d pods were made" % (len(self.seen), self.wanted))
        return self.last


def post(plane, operator, namespace, count):
    numbers, lock, failures = iter(range(count)), threading.Lock(), []

    def run():
        with contextlib.closing(Client(plane.port, plane.admin.token)) as client:
            while not failures:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                try:
                    client.create(operator.jobs % namespace, operator.job("b-%d" % number))
                except Exception as error:  # the main thread tells it
                    failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(POSTERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def asked(plane, operator):
    """What it asked so far, by verb and resource; renewed leases and watches apart."""
    counts, apart = collections.Counter(), 0
    for (verb, resource, _), n in plane.requests(operator.account).items():
        if resource == "leases" or verb == "watch":
            apart += n
        else:
            counts[verb, resource] += n
    return counts, apart


def wait_quiet(plane, operator):
    end = time.monotonic() + PATIENCE_S
    last, since = None, time.monotonic()
    while time.monotonic() < end:
        now, _ = asked(plane, operator)
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since >= QUIET_S:
            return now
        time.sleep(0.5)
    sys.exit("bench: %s does not come to rest" % operator.name)


def empty(plane, operator, namespace):
    for path in (operator.jobs, "/api/v1/namespaces/%s/pods", "/api/v1/namespaces/%s/services",
                 "/api/v1/namespaces/%s/events"):
        plane.admin.call("DELETE", path % namespace, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})


def stop(process):
    process.terminate()
    process.wait()


def measure(plane, operator, count, number, rest_s):
    namespace, warm = "bench-%d" % number, "warm-%d" % number
    plane.admin.close()  # idle for longer than the server keeps it, perhaps
    for name in (namespace, warm):
        plane.admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
    process = operator.start(plane)
    pods = Pods(plane, warm, REPLICAS)
    post(plane, operator, warm, 1)
    pods.wait()
    before = wait_quiet(plane, operator)
    pids = (process.pid, plane.server.pid, plane.etcd.pid)
    idle_mb = usage(process.pid)[1]
    cpu = [[usage(pid)[0] for pid in pids]]
    pods = Pods(plane, namespace, count * REPLICAS, lambda: cpu.append([usage(pid)[0] for pid in pids]))
    begun = time.monotonic()
    post(plane, operator, namespace, count)
    accepted = time.monotonic() - begun
    took = pods.wait() - begun
    after = wait_quiet(plane, operator)
    cpu.append([usage(pid)[0] for pid in pids])
    to_pods, in_all = ({name: round(now - then, 2) for name, then, now in zip(PROCESSES, cpu[0], at)} for at in cpu[1:])
    _, now_mb, peak_mb = usage(process.pid)
    time.sleep(rest_s)
    at_rest = asked(plane, operator)[0] - after
    stop(process)
    plane.admin.close()
    for name in (namespace, warm):
        empty(plane, operator, name)
    requests = after - before
    return {"operator": operator.name, "jobs": count, "all_accepted_s": round(accepted, 2), "all_pods_s": round(took, 2),
            "pods_per_s": round(count * REPLICAS / took, 1), "cpu_s_to_pods": to_pods, "cpu_s": in_all,
            "idle_mb": round(idle_mb, 1), "after_mb": round(now_mb, 1), "peak_mb": round(peak_mb, 1),
            "requests_per_job": round(sum(requests.values()) / count, 2),
            "requests": {"%s %s" % k: n for k, n in sorted(requests.items())},
            "rest_s": rest_s, "requests_at_rest": {"%s %s" % k: n for k, n in sorted(at_rest.items())},
            "load": float(open("/proc/loadavg").read().split()[0])}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--jobs", default="100,1000", help="how many, several runs with commas between them")
    arguments.add_argument("--only", choices=("ours", "training-operator"))
    arguments.add_argument("--rest", type=float, default=60, help="seconds at rest in which requests are counted")
    arguments.add_argument("--json", action="store_true")
    arguments = arguments.parse_args()
    operators = [o for o in (TrainingOperator, Ours) if arguments.only in (None, "ours" if o is Ours else o.name)]
    plane = ControlPlane()
    number = 0
    try:
        plane.start(alone=True)
        for operator in operators:
            operator.install(plane)
        for count in map(int, arguments.jobs.split(",")):
            for operator in operators:
                number += 1
                result = measure(plane, operator, count, number, arguments.rest)
                if arguments.json:
                    print(json.dumps(result), flush=True)
                    continue
                print("%(operator)s, %(jobs)d jobs of 4: all pods after %(all_pods_s)s s, %(pods_per_s)s/s; "
                      "%(idle_mb)s MB idle, %(after_mb)s after, %(peak_mb)s at the highest; %(requests_per_job)s requests a job; "
                      "%(requests_at_rest)s in %(rest_s)d s at rest; load %(load)s" % result)
                print("  CPU s to the last pod %(cpu_s_to_pods)s, in all %(cpu_s)s; %(requests)s" % result, flush=True)
    finally:
        plane.stop()
        shutil.rmtree(SERVING_CERTS.parent, True)


if __name__ == "__main__":
    main()
