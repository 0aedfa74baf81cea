#!/usr/bin/python3
"""Operators as they come, built of their Go modules, against `muster up`: their own manifests are applied, and the pod of their
Deployment runs the program in place of its image.

    operators_test.py [TEST...]     needs the programs (tests/cluster/build-kube DIR training-operator mpi-operator jobset kueue)"""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import harness  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("MUSTER_KUBE", os.path.expanduser("~/.cache/muster/kube")))
NOBODY = 65532  # whom their images run as
PATIENCE = harness.PATIENCE


def container(*command):
    return {"image": "none", "command": list(command), "resources": {"requests": {"cpu": "10m", "memory": "8Mi"}}}


def template(name, *command):
    return {"spec": {"restartPolicy": "Never", "containers": [dict(container(*command), name=name)]}}


def condition(item, kind):
    return next((c for c in item.get("status", {}).get("conditions", []) if c["type"] == kind and c["status"] == "True"), None)


class Operator(unittest.TestCase):
    """Each has a daemon of its own: they listen at the same ports."""

    def setUp(self):
        self.daemon = harness.Daemon()
        self.addCleanup(self.close)
        os.chmod(self.daemon.folder, 0o755)

    def close(self):
        for pod in [] if self._outcome.success else self.daemon.list("/api/v1/pods"):
            name = pod["metadata"]["name"]
            print(f"--- {name}: {pod['status'].get('phase')}\n{self.daemon.log(name, pod['metadata']['namespace'])[-3000:]}", flush=True)
        self.kubectl("delete", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "--all")
        self.kubectl("delete", "pods", "--all", "-A", "--now")
        self.assertFalse(self.daemon.close())

    def kubectl(self, *arguments, **how):
        environment = dict(os.environ, KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig"), HOME=self.daemon.folder)
        done = subprocess.run([harness.KUBECTL, *arguments], env=environment, capture_output=True, text=True, check=False, **how)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def install(self, program, overlay, *options, without=()):
        """Its manifests but the kinds not offered here, then its pod; waits until it is ready."""
        items = list(yaml.safe_load_all(self.kubectl("kustomize", PROGRAMS / f"{program}-manifests" / overlay)))
        deployment = next(item for item in items if item["kind"] == "Deployment")
        rest = [item for item in items if item["kind"] not in ("Deployment", *without)]
        for kinds in (("Namespace", "CustomResourceDefinition"), None):
            part = [item for item in rest if kinds is None or item["kind"] in kinds]
            self.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(part))
        path = shutil.copy(PROGRAMS / program, self.daemon.folder)  # where every user may run it
        pod = dict(deployment["spec"]["template"], apiVersion="v1", kind="Pod")
        namespace, name = deployment["metadata"]["namespace"], deployment["metadata"]["name"]
        pod["metadata"] = dict(pod["metadata"], name=name, namespace=namespace)
        main = pod["spec"]["containers"][0]
        main.update(command=[path], args=[*main.get("args", ()), *options])
        pod["spec"].setdefault("securityContext", {})["runAsUser"] = NOBODY
        self.daemon.call("POST", harness.PODS.format(ns=namespace), pod)
        self.wait(harness.PODS.format(ns=namespace), name, "Ready")

    def wait(self, path, name, kind):
        """Until the named object has this condition; the object."""
        return self.daemon.wait_for(path, lambda items: items.get(name) if name in items and condition(items[name], kind) else None,
                                    f"{name} to be {kind}", patience=PATIENCE)

    def test_training_operator(self):
        waits = pathlib.Path(self.daemon.folder, "init.yaml")  # theirs asks a name server; our names are in /etc/hosts
        waits.write_text("- {name: init-pytorch, image: none, command: [sh, -c, 'until getent hosts {{.MasterAddr}}; do sleep 1; done']}")
        self.install("training-operator", "overlays/standalone", f"--pytorch-init-container-template-file={waits}")
        jobs = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
        command = ("sh", "-c", "echo $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT")
        job = {"metadata": {"name": "torch"}, "spec": {"pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "template": template("pytorch", *command)},
            "Worker": {"replicas": 2, "template": template("pytorch", *command)}}}}
        wrong = {"metadata": {"name": "torch"}, "spec": {"pytorchReplicaSpecs": {
            "Master": {"replicas": 2, "template": template("pytorch", *command)}}}}
        denied = self.daemon.call("POST", jobs, wrong, expect=(403,))["message"]
        self.assertIn('admission webhook "validator.pytorchjob.training-operator.kubeflow.org" denied the request', denied)
        self.daemon.call("POST", jobs, job)
        done = self.wait(jobs, "torch", "Succeeded")  # with its master; the workers may still be at it
        self.assertEqual(done["status"]["replicaStatuses"]["Master"]["succeeded"], 1)
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: len(pods) == 3 and all(
            pod["status"]["phase"] == "Succeeded" for pod in pods.values()) or None)
        self.assertIn("2 of 3 at torch-master-0:23456", self.daemon.log("torch-worker-1"))

    def test_mpi_operator(self):
        """As far as our pods go: they share the machine's ports, so each worker has no ssh server of its own."""
        self.install("mpi-operator", "overlays/standalone")
        jobs = "/apis/kubeflow.org/v2beta1/namespaces/default/mpijobs"
        self.daemon.call("POST", jobs, {"metadata": {"name": "mpi"}, "spec": {
            "sshAuthMountPath": "/tmp/muster-mpi-ssh", "runPolicy": {"cleanPodPolicy": "Running"}, "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": template(
                    "launcher", "sh", "-ec", "cat /etc/mpi/hostfile; ls /tmp/muster-mpi-ssh; getent hosts mpi-worker-1.mpi.default.svc")},
                "Worker": {"replicas": 2, "template": template("worker", "sleep", "inf")}}}})
        self.wait(jobs, "mpi", "Succeeded")
        [launcher] = [name for name in self.daemon.pods() if name.startswith("mpi-launcher-")]
        self.assertRegex(self.daemon.log(launcher), r"mpi-worker-0\.mpi\.default\.svc slots=1\n"
                         r"mpi-worker-1\.mpi\.default\.svc slots=1\nauthorized_keys\nid_rsa\nid_rsa.pub\n127\.0\.0\.1 +mpi-worker-1")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: list(pods) == [launcher] or None,
                             "the workers to be gone")

    def test_jobset(self):
        self.install("jobset", "default")
        sets = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
        self.daemon.call("POST", sets, {"metadata": {"name": "set"}, "spec": {"replicatedJobs": [
            {"name": name, "replicas": count, "template": {"spec": {
                "parallelism": 2, "completions": 2, "template": template("c", "sh", "-c", "hostname; echo $JOB_COMPLETION_INDEX")}}}
            for name, count in (("leader", 1), ("workers", 2))]}})
        done = self.wait(sets, "set", "Completed")
        self.assertEqual(done["status"]["terminalState"], "Completed")
        pods = self.daemon.pods()
        self.assertEqual(sorted(name.rpartition("-")[0] for name in pods), sorted(
            f"set-{job}-{index}" for job in ("leader-0", "workers-0", "workers-1") for index in (0, 1)))
        [name] = [name for name in pods if name.startswith("set-workers-1-1-")]
        self.assertEqual(self.daemon.log(name), "set-workers-1-1\n1\n")

    def test_kueue(self):
        """Without its visibility server, which an aggregated API would lead to."""
        self.install("kueue", "default", "--feature-gates=VisibilityOnDemand=false", without=("APIService",))
        group = "/apis/kueue.x-k8s.io/v1beta1"
        self.daemon.call("POST", f"{group}/resourceflavors", {"metadata": {"name": "any"}})
        self.daemon.call("POST", f"{group}/clusterqueues", {"metadata": {"name": "all"}, "spec": {
            "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [
                {"name": "any", "resources": [{"name": "cpu", "nominalQuota": "15m"}, {"name": "memory", "nominalQuota": "1Gi"}]}]}]}})
        self.daemon.call("POST", f"{group}/namespaces/default/localqueues", {
            "metadata": {"name": "mine"}, "spec": {"clusterQueue": "all"}})
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        for name in ("a", "b"):  # the quota is for one at a time
            self.daemon.call("POST", jobs, {"metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "mine"}}, "spec": {
                "template": template("c", "true")}})
        for name in ("a", "b"):
            self.wait(jobs, name, "Complete")
        workloads = self.daemon.list(f"{group}/namespaces/default/workloads")
        self.assertEqual([bool(condition(w, "Admitted") or condition(w, "Finished")) for w in workloads], [True, True])


if __name__ == "__main__":
    harness.main()
