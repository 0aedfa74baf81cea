#!/usr/bin/python3
"""kube-scheduler and ours side by side over a `muster node`: each places its own pods and leaves the other's alone; and what
Kubernetes refuses, and why, stands in the job's sentence."""
import contextlib
import time
import unittest

from control_plane import PATIENCE_S, ControlPlane, Refused
from install_test import JOBS, job

PODS = "/api/v1/namespaces/default/pods"
NOT_READY = "node.kubernetes.io/not-ready"


def asking(name, cpu=None, **spec):
    """A job of one replica that asks for so much."""
    what = job(name, **spec)
    replica = what["spec"]["replicaSpecs"][0]
    replica["replicas"] = 1
    if cpu:
        replica["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return what


def ours(what):
    what["spec"]["scheduler"] = {"t9kScheduler": {"queue": "default"}}
    return what


class Scheduling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls).start("resourcequota-controller", nodes=True).prepare()
        plane.add_node("away", taints=[{"key": NOT_READY, "effect": "NoSchedule"}], ready="False")
        plane.start_node("--cpus", "8")
        plane.start_scheduler()
        plane.start_ours(["--shared-network"])

    def wait_job(self, name, done, what):
        return self.api.wait(JOBS, lambda jobs: jobs[name] if done(jobs[name].get("status", {})) else None, what)

    def wait_said(self, name, text):
        return self.wait_job(name, lambda s: text in s.get("message", ""), "%s to say %r" % (name, text))["status"]["message"]

    def bound_by(self, user):
        return self.plane.requests(user)["create", "pods/binding", 201]

    def test_each_places_its_own_on_our_node(self):
        before = self.bound_by("muster-scheduler")
        self.api.create(JOBS, job("theirs"))
        self.api.create(JOBS, ours(job("mine")))
        for name in ("theirs", "mine"):
            self.wait_job(name, lambda s: s.get("phase") == "Succeeded", name + " to succeed")
        self.assertEqual(self.bound_by("muster-scheduler") - before, 2)

    def test_pods_of_others_are_left_alone(self):
        for name, scheduler in (("plain", "default-scheduler"), ("nobodys", "nobody")):
            self.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
                "schedulerName": scheduler, "restartPolicy": "Never", "automountServiceAccountToken": False,
                "containers": [{"name": "c", "image": "none", "command": ["true"]}]}})
            self.addCleanup(self.api.delete, PODS + "/" + name)
        plain = self.api.wait(PODS, lambda pods: pods["plain"] if pods["plain"]["status"]["phase"] == "Succeeded" else None,
                              "the pod to run")
        self.assertEqual(plain["spec"]["nodeName"], "box")
        self.api.create(JOBS, ours(job("after")))
        self.wait_job("after", lambda s: s.get("phase") == "Succeeded", "a job of ours to succeed")
        pod = self.api.get(PODS + "/nobodys")
        self.assertNotIn("nodeName", pod["spec"])
        self.assertEqual(pod["status"].get("conditions", []), [])

    def test_labels_and_taints_of_a_node(self):
        """Those it registers with lead pods to it, and keep others away."""
        node = self.plane.start_node("--cpus", "8", "--label", "pool=boxes", "--taint", "muster.dev/processes=yes:NoSchedule",
                                     "--taint", "cold:PreferNoSchedule", name="east")
        self.addCleanup(self.api.delete, "/api/v1/nodes/east")
        self.addCleanup(node.wait)
        self.addCleanup(node.terminate)
        found = self.api.get("/api/v1/nodes/east")
        self.assertEqual(found["metadata"]["labels"]["pool"], "boxes")
        self.assertEqual([{k: t.get(k) for k in ("key", "value", "effect")} for t in found["spec"]["taints"]],
                         [{"key": "muster.dev/processes", "value": "yes", "effect": "NoSchedule"},
                          {"key": "cold", "value": None, "effect": "PreferNoSchedule"}])

        def led_there(name, **pod):
            what = asking(name)
            what["spec"]["replicaSpecs"][0]["template"]["spec"].update(nodeSelector={"pool": "boxes"}, **pod)
            return what

        tolerations = [{"key": "muster.dev/processes", "operator": "Exists"}]
        for name, of in (("by-kube", lambda what: what), ("by-ours", ours)):
            self.api.create(JOBS, of(led_there(name, tolerations=tolerations)))
            self.addCleanup(self.api.delete, JOBS + "/" + name)
            self.wait_job(name, lambda s: s.get("phase") == "Succeeded", name + " to succeed")
            (pod,) = [p for p in self.api.get(PODS)["items"] if p["metadata"]["name"].startswith(name + "-")]
            self.assertEqual(pod["spec"]["nodeName"], "east")
        for name, of, words in (("kept-by-kube", lambda what: what, "untolerated taint"),
                                ("kept-by-ours", ours, "has the taint muster.dev/processes=yes:NoSchedule")):
            self.api.create(JOBS, of(led_there(name)))
            self.addCleanup(self.api.delete, JOBS + "/" + name)
            self.wait_said(name, words)

    def test_what_the_other_placed_takes_room(self):
        self.api.create(JOBS, self.sleeper("first", "6"))
        self.wait_job("first", lambda s: s.get("phase") == "Running", "it to run")
        self.api.create(JOBS, ours(asking("second", "4")))
        said = self.wait_said("second", "CPU")
        self.assertIn("4", said)
        self.api.delete(JOBS + "/first")
        self.wait_job("second", lambda s: s.get("phase") == "Succeeded", "room to be found")

    def sleeper(self, name, cpu):
        what = asking(name, cpu)
        what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["command"] = ["sleep", "1000"]
        return what

    def test_a_node_that_is_not_ready_gets_nothing(self):
        self.api.create(JOBS, ours(asking("tainted", "20")))
        self.wait_said("tainted", "waiting for node away, which is not ready")
        self.assertEqual([p["metadata"]["name"] for p in self.api.get(PODS)["items"] if p["spec"].get("nodeName") == "away"], [])

    def test_what_kube_scheduler_says_stands_in_the_job(self):
        self.api.create(JOBS, asking("large", "20"))
        said = self.wait_said("large", "nodes are available")
        self.assertIn("Insufficient cpu", said)

    def test_a_quota_stands_in_the_job(self):
        quotas = "/api/v1/namespaces/narrow/resourcequotas"
        jobs = JOBS.replace("/default/", "/narrow/")
        self.plane.make_namespace("narrow")
        self.api.create(quotas, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "one"},
                                 "spec": {"hard": {"pods": "1"}}})
        self.api.wait(quotas, lambda q: q["one"].get("status", {}).get("hard"), "the quota to hold")
        self.api.create(jobs, job("limited"))
        said = self.api.wait(jobs, lambda jobs: jobs["limited"] if "quota" in jobs["limited"].get("status", {}).get(
            "message", "") else None, "the quota's words")["status"]["message"]
        self.assertIn("exceeded quota: one, requested: pods=1, used: pods=1, limited: pods=1", said)

    def test_an_admission_policy_stands_in_the_job(self):
        group = "/apis/admissionregistration.k8s.io/v1/"
        version = {"apiVersion": "admissionregistration.k8s.io/v1"}
        where = {"matchLabels": {"kubernetes.io/metadata.name": "strict"}}
        self.plane.make_namespace("strict")
        self.api.create(group + "validatingadmissionpolicies", {
            **version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "limits"},
            "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                                                             "operations": ["CREATE"]}]},
                     "validations": [{"expression": "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))",
                                      "message": "every container needs limits"}]}})
        self.api.create(group + "validatingadmissionpolicybindings", {
            **version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "limits"},
            "spec": {"policyName": "limits", "validationActions": ["Deny"], "matchResources": {"namespaceSelector": where}}})
        self.wait_policy("strict")
        jobs = JOBS.replace("/default/", "/strict/")
        self.api.create(jobs, job("loose"))
        said = self.api.wait(jobs, lambda jobs: jobs["loose"] if "limits" in jobs["loose"].get("status", {}).get(
            "message", "") else None, "the policy's words")["status"]["message"]
        self.assertIn("ValidatingAdmissionPolicy 'limits' with binding 'limits' denied request: every container needs limits",
                      said)

    def test_a_webhook_that_cannot_be_reached_stands_in_the_job(self):
        hooks, jobs = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", JOBS.replace("/default/", "/hooked/")
        self.plane.make_namespace("hooked")
        self.api.create(hooks, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "away"},
            "webhooks": [{"name": "away.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "sideEffects": "None",
                          "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                          "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hooked"}},
                          "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]}]})
        self.addCleanup(self.plane.kubectl, "delete", "validatingwebhookconfiguration", "away", "--ignore-not-found")
        self.wait_policy("hooked")
        self.api.create(jobs, ours(job("hooked")))
        self.api.wait(jobs, lambda jobs: 'failed calling webhook "away.example.com"' in jobs["hooked"].get("status", {}).get(
            "message", ""), "the server's words")
        self.api.delete(hooks + "/away")
        self.api.wait(jobs, lambda jobs: jobs["hooked"]["status"]["phase"] == "Succeeded", "it to go on")

    def wait_policy(self, namespace):
        """Nobody tells when a policy holds."""
        end = time.monotonic() + PATIENCE_S
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try"}, "spec": {"containers": [
            {"name": "c", "image": "none"}]}}
        while time.monotonic() < end:
            try:
                self.api.create("/api/v1/namespaces/%s/pods?dryRun=All" % namespace, pod)
            except Refused:
                return
            time.sleep(0.2)
        self.fail("the policy never held")


class Devices(unittest.TestCase):
    """What device plugins do to a node is seen in its status alone: both schedulers count it, whichever placed the pods."""

    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls).start().prepare_for_jobs()
        plane.start_scheduler()
        plane.start_ours()

    def advertise(self, **devices):
        """As a kubelet does when plugins register, and when they go."""
        amounts = {{"gpus": "nvidia.com/gpu", "rdma": "rdma/hca"}[k]: v and str(v) for k, v in devices.items()}
        self.api.patch("/api/v1/nodes/n1/status", {"status": {"capacity": amounts, "allocatable": amounts}})

    def submit(self, name, limits, by_us, **template):
        what = asking(name)
        spec = what["spec"]["replicaSpecs"][0]["template"]["spec"]
        spec["containers"][0]["resources"] = {"limits": limits}
        spec.update(template)
        self.api.create(JOBS, ours(what) if by_us else what)
        self.addCleanup(self.remove, name)

    def remove(self, name):
        if self.api.get("%s?fieldSelector=metadata.name=%s" % (JOBS, name))["items"]:
            self.api.delete(JOBS + "/" + name)
        for pod in self.api.get(PODS)["items"]:  # there is no kubelet, which would end them
            if pod["metadata"]["name"].startswith(name + "-"):
                with contextlib.suppress(Refused):  # one that was nowhere is gone already
                    self.api.delete("%s/%s?gracePeriodSeconds=0" % (PODS, pod["metadata"]["name"]))
        self.api.wait(PODS, lambda pods: not any(p.startswith(name + "-") for p in pods), "its pods to be gone")

    def bound(self, name):
        """Nobody runs anything on this node: the place is all there is to see."""
        return self.api.wait(PODS, lambda pods: next((p for n, p in pods.items() if n.startswith(
            name + "-") and p["spec"].get("nodeName") == "n1"), None), name + " to be placed")

    def waits(self, name, words):
        self.api.wait(JOBS, lambda jobs: words in jobs[name].get("status", {}).get("message", ""), "%s to say %r" % (name, words))

    def test_gpus(self):
        one = {"nvidia.com/gpu": "1"}
        self.submit("none", one, True)
        self.waits("none", "can never fit: asks 1 GPU")
        self.advertise(gpus=2)
        self.bound("none")
        self.submit("theirs", one, False)
        self.bound("theirs")
        self.submit("third", one, True)
        self.waits("third", "needs 1 GPU, 0 of 2 GPU is free")
        self.submit("fourth", one, False)
        self.waits("fourth", "Insufficient nvidia.com/gpu")
        self.remove("fourth")
        self.remove("theirs")
        self.bound("third")

    def test_rdma(self):
        one = {"rdma/hca": "1"}
        self.submit("ahead", one, True)
        self.waits("ahead", "can never fit: no node offers enough rdma/hca")
        self.advertise(rdma=2)
        self.bound("ahead")
        self.submit("beside", one, False)
        self.bound("beside")
        self.submit("behind", one, True)
        self.waits("behind", "other pods hold the rdma/hca it asks for")
        self.submit("late", one, False)
        self.waits("late", "Insufficient rdma/hca")
        self.remove("late")
        self.remove("ahead")
        self.bound("behind")

    def test_runtime_classes(self):
        """Carried into the pod, where the cluster's own admission adds what the class costs; that is counted, too."""
        classes = "/apis/node.k8s.io/v1/runtimeclasses"
        self.api.create(classes, {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "boxed"},
                                  "handler": "boxed", "overhead": {"podFixed": {"cpu": "60"}}})
        self.addCleanup(self.api.delete, classes + "/boxed")
        self.submit("boxed", {"cpu": "3"}, True, runtimeClassName="boxed")
        pod = self.bound("boxed")
        self.assertEqual((pod["spec"]["runtimeClassName"], pod["spec"]["overhead"]), ("boxed", {"cpu": "60"}))
        self.submit("plain", {"cpu": "3"}, True)
        self.waits("plain", "needs 3 CPU, 1 of 64 CPU is free")
        self.submit("unknown", {"cpu": "1"}, True, runtimeClassName="absent")
        self.waits("unknown", 'RuntimeClass "absent" not found')


if __name__ == "__main__":
    unittest.main(verbosity=2)
