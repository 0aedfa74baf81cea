#!/usr/bin/python3
"""What our own server refuses, a real one refuses too, by the schemas and rules of the definitions, and names the same
field; what ours takes it takes. And jobs are scaled on both alike."""
import copy
import json
import os
import subprocess
import unittest

import control_plane
from control_plane import MUSTER, Client, ControlPlane, Refused, free_port
from install_test import job

BATCH, BOARDS, QUEUING = "batch.tensorstack.dev", "tensorstack.dev", "scheduler.tensorstack.dev"


def path_of(what):
    group = what["apiVersion"].split("/")[0]
    plural = what["kind"].lower() + "s"
    namespace = what["metadata"].get("namespace", "default")
    return "/apis/%s/v1beta1/namespaces/%s/%s" % (group, namespace, plural)


def with_(what, *path, value):
    """A copy with one member changed; None takes it away."""
    what = copy.deepcopy(what)
    at = what
    for part in path[:-1]:
        at = at[part] if isinstance(part, int) else at.setdefault(part, {})
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return what


def spec(what, *path, value):
    return with_(what, "spec", *path, value=value)


PYTORCH = job("x")
WORKER = PYTORCH["spec"]["replicaSpecs"][0]
ELASTIC = spec(spec(job("x", torchrunConfig={"enabled": True}), "replicaSpecs", 0, "template", "spec", "containers", 0, "args",
                    value=["train.py"]), "elastic", value={
    "enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2})
MPI = {"apiVersion": BATCH + "/v1beta1", "kind": "MPIJob", "metadata": {"name": "x"}, "spec": {
    "mpiConfig": {"script": ["true"]}, "replicaSpecs": [dict(copy.deepcopy(WORKER), type="worker"),
                                                        {"type": "launcher", "replicas": 1, "template": {}}]}}
BOARD = {"apiVersion": BOARDS + "/v1beta1", "kind": "TensorBoard", "metadata": {"name": "x"}, "spec": {
    "logDir": {"pvc": [{"name": "logs", "subPath": ["a/b", ".hidden/..c"]}]}, "trainingLogFilesets": ["t9k://pvc/logs"]}}
GROUP = {"apiVersion": QUEUING + "/v1beta1", "kind": "PodGroup", "metadata": {"name": "x"}, "spec": {
    "minMember": 3, "roles": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}]}}
QUEUE = {"apiVersion": QUEUING + "/v1beta1", "kind": "Queue", "metadata": {"name": "x", "namespace": "t9k-system"}, "spec": {
    "maxDuration": "1d12h", "quota": {"requests": {"cpu": 4, "memory": "1Gi"}}}}
GOOD = [PYTORCH, ELASTIC, MPI, BOARD, GROUP, QUEUE]

CONTAINERS = ("replicaSpecs", 0, "template", "spec", "containers")
# (what is wrong, the field both name)
BAD = [
    (with_(PYTORCH, "metadata", "name", value="1st"), "metadata"),
    (with_(PYTORCH, "metadata", "name", value="a.b"), "metadata"),
    (with_(PYTORCH, "metadata", "name", value="n" * 49), "metadata"),
    (spec(PYTORCH, "replicaSpecs", value=None), "replicaSpecs"),
    (spec(PYTORCH, "replicaSpecs", value=[]), "replicaSpecs"),
    (spec(PYTORCH, "replicaSpecs", value=[WORKER, WORKER]), "replicaSpecs[1]"),
    (spec(PYTORCH, "replicaSpecs", 0, "replicas", value=0), "replicaSpecs"),
    (spec(PYTORCH, "replicaSpecs", 0, "replicas", value=-1), "replicaSpecs[0].replicas"),
    (spec(PYTORCH, "replicaSpecs", value=[dict(WORKER, replicas=1000), dict(WORKER, type="ps", replicas=25)]), "replicaSpecs"),
    (spec(PYTORCH, "replicaSpecs", 0, "type", value="A_B"), "replicaSpecs[0].type"),
    (spec(PYTORCH, "replicaSpecs", 0, "template", value=None), "replicaSpecs[0].template"),
    (spec(PYTORCH, *CONTAINERS, value=[]), "containers"),
    (spec(PYTORCH, "replicaSpecs", 0, "restartPolicy", value="Sometimes"), "replicaSpecs[0].restartPolicy"),
    (spec(PYTORCH, "runPolicy", "cleanUpPolicy", value="Some"), "runPolicy.cleanUpPolicy"),
    (spec(PYTORCH, "runPolicy", "restartableExitCodes", value=[0]), "runPolicy.restartableExitCodes[0]"),
    (spec(PYTORCH, "torchrunConfig", value={"enabled": True, "procPerNode": "many"}), "torchrunConfig.procPerNode"),
    (spec(PYTORCH, "torchrunConfig", value={"enabled": True, "procPerNode": "0"}), "torchrunConfig.procPerNode"),
    (spec(PYTORCH, "torchrunConfig", value={"enabled": True, "minNodes": 3}), "torchrunConfig.minNodes"),
    (spec(ELASTIC, "elastic", "minReplicas", value=None), "elastic.minReplicas"),
    (spec(ELASTIC, "elastic", "maxReplicas", value=None), "elastic.maxReplicas"),
    (spec(ELASTIC, "elastic", value={"enable": True, "minReplicas": 5, "maxReplicas": 4}), "elastic.maxReplicas"),
    (spec(ELASTIC, "elastic", "expectedReplicas", value=5), "elastic.expectedReplicas"),
    (with_(ELASTIC, "metadata", "name", value="n" * 48) | {"spec": spec(ELASTIC, "elastic", "maxReplicas", value=11)["spec"]},
     "metadata"),
    (spec(PYTORCH, "tensorboardSpec", value={"logDir": {"s3": {"uri": ["s3://a"]}}}), "tensorboardSpec.logDir.s3"),
    (spec(PYTORCH, "scheduler", value={"t9kScheduler": {"priority": 101}}), "scheduler.t9kScheduler.priority"),
    (with_(MPI, "metadata", "name", value="n" * 49), "metadata"),
    (spec(MPI, "mpiConfig", value=None), "mpiConfig"),
    (spec(MPI, "replicaSpecs", value=[{"type": "launcher", "template": {}}]), "replicaSpecs"),
    (spec(MPI, "replicaSpecs", 1, "replicas", value=2), "replicaSpecs[1].replicas"),
    (spec(MPI, "replicaSpecs", 0, "template", value={}), "replicaSpecs[0].template"),
    (spec(MPI, "replicaSpecs", 0, "type", value="master"), "replicaSpecs[0].type"),
    (spec(MPI, *CONTAINERS, value=[{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]), "containers"),
    (spec(BOARD, "logDir", value={"http": {"url": ["http://a"]}}), "logDir.http"),
    (spec(with_(BOARD, "spec", "trainingLogFilesets", value=None), "logDir", value=None), "logDir"),
    (spec(BOARD, "trainingLogFilesets", value=["/logs"]), "trainingLogFilesets[0]"),
    (spec(BOARD, "trainingLogFilesets", value=["t9k://pvc/logs/../x"]), "trainingLogFilesets[0]"),
    (spec(BOARD, "trainingLogFilesets", value=["t9k://minio/logs"]), "trainingLogFilesets[0]"),
    (spec(BOARD, "logDir", "pvc", value=[{"name": "logs", "subPath": ["a/.."]}]), "logDir.pvc[0].subPath[0]"),
    (spec(BOARD, "logDir", "pvc", value=[{"name": "LOGS"}]), "logDir.pvc[0].name"),
    (spec(BOARD, "logDir", "pvc", value=[{"name": "logs", "subPath": ["f%d" % i for i in range(64)]}]), "spec"),
    (spec(GROUP, "minMember", value=2), "minMember"),
    (spec(QUEUE, "maxDuration", value="12 hours"), "maxDuration"),
    (spec(QUEUE, "maxDuration", value=""), "maxDuration"),
    (spec(QUEUE, "quota", "requests", "cpu", value=-1), "quota.requests"),
    (spec(QUEUE, "quota", "requests", "memory", value="-1Gi"), "quota.requests"),
    (spec(QUEUE, "priority", value=101), "priority"),
]
# (of what, the change, the field both name)
CHANGES = [
    (PYTORCH, lambda s: s["replicaSpecs"][0].update(replicas=3), "replicaSpecs"),
    (PYTORCH, lambda s: s["replicaSpecs"][0].update(type="node"), "replicaSpecs"),
    (PYTORCH, lambda s: s["replicaSpecs"].append(dict(WORKER, type="ps")), "replicaSpecs"),
    (PYTORCH, lambda s: s.update(elastic={"enabled": False, "expectedReplicas": 3}), "elastic"),
    (PYTORCH, lambda s: s.update(scheduler={"t9kScheduler": {"queue": "q"}}), "scheduler"),
    (ELASTIC, lambda s: s["elastic"].update(maxReplicas=5), "elastic.maxReplicas"),
    (ELASTIC, lambda s: s["elastic"].update(expectedReplicas=5), "elastic.expectedReplicas"),
    (MPI, lambda s: s["mpiConfig"].update(script=["false"]), "mpiConfig"),
    (MPI, lambda s: s["replicaSpecs"].pop(), "replicaSpecs"),
    (MPI, lambda s: s["replicaSpecs"][0].update(replicas=3), "replicaSpecs[0].replicas"),
    (BOARD, lambda s: s.update(trainingLogFilesets=["none"]), "trainingLogFilesets[0]"),
    (GROUP, lambda s: s.update(queue="other"), "queue"),
]
# Layouts that ours rewrites, and a cluster must not take and leave undone.
OLDER = [(spec(MPI, "mca", value={"btl": "tcp"}), "worker"), (spec(BOARD, "runMode", value="paused"), "runMode")]


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ControlPlane.of(cls).start()
        cls.plane.install()
        cls.plane.wait_established()
        home, port = str(cls.plane.folder / "ours"), free_port()
        # nothing is run here
        subprocess.run([MUSTER, "up", "--detach", "--dir", home, "--listen", "127.0.0.1:%d" % port], check=True,
                       capture_output=True)
        cls.addClassCleanup(subprocess.run, [MUSTER, "down", "--dir", home], check=True, capture_output=True)
        cls.our_config = os.path.join(home, "kubeconfig")
        with open(os.path.join(home, "token")) as token:
            cls.servers = {"real": cls.plane.admin, "ours": Client(port, token.read().strip())}

    def refusal(self, api, verb, path, what):
        try:
            content_type = "application/merge-patch+json" if verb == "PATCH" else "application/json"
            return "taken: %s" % json.dumps(api.call(verb, path + "?dryRun=All", what, content_type)["spec"])[:2000], []
        except Refused as refused:
            causes = refused.body.get("details", {}).get("causes") or [] if isinstance(refused.body, dict) else []
            return refused.status, [c.get("field", "") for c in causes] or [str(refused)]

    def assert_refused(self, verb, path, what, field, servers=None):
        for name in servers or self.servers:
            code, fields = self.refusal(self.servers[name], verb, path, what)
            self.assertEqual(code, 422, (name, fields))
            self.assertTrue(any(field in f for f in fields), (name, field, fields))

    def test_what_is_good_is_taken_by_both(self):
        for what in GOOD + [with_(PYTORCH, "metadata", "name", value="n" * 48), spec(QUEUE, "maxDuration", value="0"),
                            spec(PYTORCH, "torchrunConfig", value={"enabled": True, "procPerNode": "gpu"}),
                            spec(PYTORCH, "torchrunConfig", value={"enabled": True, "procPerNode": "0016", "minNodes": 2}),
                            spec(BOARD, "trainingLogFilesets", value=["t9k://pvc/logs/./a//b/...c/.d"])]:
            for name, api in self.servers.items():
                with self.subTest(server=name, what=json.dumps(what)):
                    api.create(path_of(what) + "?dryRun=All", what)

    def test_what_is_wrong_is_refused_by_both(self):
        for what, field in BAD:
            with self.subTest(field=field, what=json.dumps(what)):
                self.assert_refused("POST", path_of(what), what, field)

    def test_what_may_not_change_is_refused_by_both(self):
        for i, (what, change, field) in enumerate(CHANGES):
            what = with_(what, "metadata", "name", value="change-%d" % i)
            path = path_of(what) + "/" + what["metadata"]["name"]
            for api in self.servers.values():
                api.create(path_of(what), what)
            later = copy.deepcopy(what["spec"])
            change(later)
            with self.subTest(field=field, change=i):
                self.assert_refused("PATCH", path, {"spec": later}, field)
            for api in self.servers.values():
                api.delete(path)

    def test_older_layouts_are_refused_where_nobody_rewrites_them(self):
        for what, field in OLDER:
            with self.subTest(field=field):
                self.assert_refused("POST", path_of(what), what, field, ["real"])
                self.servers["ours"].create(path_of(what) + "?dryRun=All", what)

    def kubectl_at(self, name, *arguments):
        config = ["--kubeconfig", self.our_config] if name == "ours" else []
        return self.plane.kubectl(*config, *arguments, check=False)

    def test_an_elastic_job_is_scaled_on_both(self):
        for name, api in self.servers.items():
            paused = {"pause": {"enabled": True}}
            api.create(path_of(ELASTIC), spec(with_(ELASTIC, "metadata", "name", value="scaled"), "runMode", value=paused))
            api.create(path_of(PYTORCH), spec(with_(PYTORCH, "metadata", "name", value="fixed"), "runMode", value=paused))
            with self.subTest(name):
                done = self.kubectl_at(name, "scale", "pj/scaled", "--replicas=3")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(api.get(path_of(ELASTIC) + "/scaled")["spec"]["elastic"]["expectedReplicas"], 3)
                self.assertEqual(api.get(path_of(ELASTIC) + "/scaled/scale")["spec"]["replicas"], 3)
                done = self.kubectl_at(name, "scale", "pj/scaled", "--replicas=9")
                self.assertIn("must be between minReplicas and maxReplicas", done.stderr)
                done = self.kubectl_at(name, "scale", "pj/fixed", "--replicas=3")
                self.assertIn("may not change unless spec.elastic.enabled is true", done.stderr)
                self.assertNotIn("elastic", api.get(path_of(PYTORCH) + "/fixed")["spec"])

    def test_all_kinds_are_in_one_category(self):
        for name in self.servers:
            done = self.kubectl_at(name, "api-resources", "--categories=muster", "-o", "name")
            self.assertEqual(set(done.stdout.split()), {
                "pytorchtrainingjobs." + BATCH, "mpijobs." + BATCH, "tensorboards." + BOARDS, "queues." + QUEUING,
                "podgroups." + QUEUING, "notifications.muster.dev", "notebooks." + BOARDS}, (name, done.stderr))


if __name__ == "__main__":
    unittest.main(verbosity=2)
