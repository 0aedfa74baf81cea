#!/usr/bin/python3
"""What `muster manifests` prints, on a real API server: it is taken without a word, and jobs are pruned, defaulted and
refused there as on our own server."""
import copy
import json
import ssl
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import control_plane
from control_plane import MUSTER, ControlPlane, Refused, free_port

JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"


def job(name, **spec):
    container = {"name": "pytorch", "image": "none", "command": ["true"]}
    what = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": name},
            "spec": {"replicaSpecs": [{"type": "worker", "replicas": 2,
                                       "template": {"spec": {"containers": [container]}}}]}}
    what["spec"].update(spec)
    return what


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ControlPlane.of(cls).start()
        cls.first = cls.plane.install()
        cls.plane.wait_established()

    def test_it_is_taken_without_a_word(self):
        self.assertEqual(self.first.stderr, "")
        lines = self.first.stdout.splitlines()
        self.assertTrue(all(line.endswith(" serverside-applied") for line in lines), self.first.stdout)
        self.assertEqual(sum(line.startswith("customresourcedefinition") for line in lines), 7)
        for crd in self.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]:
            wrong = [c for c in crd["status"]["conditions"] if (c["type"] == "NonStructuralSchema") == (c["status"] == "True")]
            self.assertEqual(wrong, [], crd["metadata"]["name"])

    def test_applied_again_it_changes_nothing(self):
        def versions():
            return {o["metadata"]["uid"]: o["metadata"]["resourceVersion"] for path in (
                "/apis/apps/v1/deployments", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions") for o in self.api.get(path)["items"]}

        before = versions()
        self.assertEqual(self.plane.install().stderr, "")
        self.assertEqual(versions(), before)

    def test_an_older_kubectl_takes_it_too(self):
        text = subprocess.run([MUSTER, "manifests"], check=True, capture_output=True, text=True).stdout
        for program in control_plane.KUBECTLS:
            done = self.plane.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", program=program, text=text)
            self.assertNotIn("error", done.stderr.lower())
            self.assertEqual(len(done.stdout.splitlines()), len(self.first.stdout.splitlines()))

    def test_a_client_side_apply_stands_in_nobodys_way(self):
        text = subprocess.run([MUSTER, "manifests", "--namespace", "elsewhere"], check=True, capture_output=True, text=True).stdout
        own = "---\n".join(d for d in text.split("---\n") if "\n  name: elsewhere\n" in d or "\n  namespace: elsewhere\n" in d)
        self.plane.kubectl("apply", "-f", "-", text=own)
        self.assertEqual(self.plane.kubectl("apply", "--server-side", "-f", "-", text=own).stderr, "")

    def test_a_service_monitor_is_what_the_prometheus_operator_defines(self):
        self.plane.kubectl("apply", "--server-side", "-f", str(control_plane.KUBE / "servicemonitors.yaml"))
        self.addCleanup(self.plane.kubectl, "delete", "crd", "servicemonitors.monitoring.coreos.com")
        self.plane.wait_established()
        text = subprocess.run([MUSTER, "manifests", "--service-monitor"], check=True, capture_output=True, text=True).stdout
        (said,) = [d for d in text.split("---\n") if "\nkind: ServiceMonitor\n" in d]

        def apply(text, check=True):
            return self.plane.kubectl("apply", "--server-side", "--validate=strict", "-o", "json", "-f", "-", text=text, check=check)

        taken = apply(said)
        self.assertEqual(taken.stderr, "")
        monitor = json.loads(taken.stdout)
        for right, wrong, sentence in (("scheme: https", "scheme: gopher", "Unsupported value"),
                                       ("port:", "ports:", "field not declared in schema"),
                                       ("insecureSkipVerify: true", "insecureSkipVerify: 1", "expected boolean")):
            self.assertIn(right, said)
            self.assertIn(sentence, apply(said.replace(right, wrong), check=False).stderr)
        # what it selects is there, and has the port
        labels = ",".join("%s=%s" % label for label in monitor["spec"]["selector"]["matchLabels"].items())
        services = self.api.get("/api/v1/namespaces/%s/services?labelSelector=%s" % (monitor["metadata"]["namespace"], labels))
        (service,) = services["items"]
        self.assertIn(monitor["spec"]["endpoints"][0]["port"], [port["name"] for port in service["spec"]["ports"]])

    def test_ports_are_leased_where_the_controller_is(self):
        self.plane.install("--namespace", "other")
        binding = "/apis/rbac.authorization.k8s.io/v1/namespaces/other/rolebindings/muster-ports"
        self.api.delete(binding)
        port = free_port()
        controller = self.plane.muster("controller", "--no-scheduler", "--namespace", "other", "--shared-network", "--health",
                                       "127.0.0.1:%d" % port, namespace="other")
        self.addCleanup(controller.wait)
        self.addCleanup(controller.terminate)
        self.api.create(JOBS, job("leased"))
        self.assertIn('cannot list resource "leases"', self.wait_readiness(port, 503))
        self.plane.install("--namespace", "other")
        self.api.wait("/api/v1/namespaces/default/pods", lambda pods: sum(n.startswith("leased-") for n in pods) == 2, "two pods")
        self.api.wait("/apis/coordination.k8s.io/v1/namespaces/other/leases",
                      lambda leases: any(n.startswith("master-port-") for n in leases), "a leased port")
        self.wait_readiness(port, 200)

    def wait_readiness(self, port, code):
        """What /readyz says once it answers so; not whose lease it has first to look for."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen("https://127.0.0.1:%d/readyz" % port, timeout=10,
                                            context=ssl._create_unverified_context()) as answer:
                    found, text = answer.status, answer.read().decode()
            except urllib.error.HTTPError as refused:
                found, text = refused.code, refused.read().decode()
            except OSError:
                found, text = 0, ""
            if found == code and "the server is not identified" not in text:
                return text
            time.sleep(0.1)
        self.fail("/readyz said %s: %s" % (found, text))

    def test_defaults_are_put_in(self):
        made = self.api.create(JOBS, job("defaults", runPolicy={"ttlSecondsAfterFinished": 5}))
        self.assertEqual(made["spec"]["replicaSpecs"][0]["restartPolicy"], "Never")
        self.assertEqual(made["spec"]["runPolicy"], {"backoffLimit": 3, "cleanUpPolicy": "Unfinished",
                                                     "restartScope": "Replica", "ttlSecondsAfterFinished": 5})

    def test_unknown_members_are_pruned_but_in_templates(self):
        what = job("pruned", surprise=1)
        made = self.api.create(JOBS, what)
        self.assertNotIn("surprise", made["spec"])
        done = self.plane.kubectl("create", "-f", "-", text=json.dumps(job("strict", surprise=1)), check=False)
        self.assertIn('unknown field "spec.surprise"', done.stderr)

    def test_what_is_wrong_is_refused(self):
        cases = {"cleanUpPolicy": job("x", runPolicy={"cleanUpPolicy": "Some"}),
                 "backoffLimit": job("x", runPolicy={"backoffLimit": -1}),
                 "replicaSpecs": job("x", replicaSpecs=[]),
                 "template": job("x", replicaSpecs=[{"type": "a"}]),
                 "type": job("x", replicaSpecs=[dict(job("x")["spec"]["replicaSpecs"][0], type="A_B")])}
        for field, what in cases.items():
            with self.subTest(field), self.assertRaises(Refused) as refused:
                self.api.create(JOBS, what)
            self.assertEqual(refused.exception.status, 422)
            self.assertIn(field, str(refused.exception))

    def refused_change(self, path, change, message):
        now = self.api.get(path)
        later = copy.deepcopy(now)
        change(later["spec"])
        with self.assertRaises(Refused) as refused:
            self.api.call("PUT", path, later)
        self.assertEqual(refused.exception.status, 422)
        self.assertIn(message, str(refused.exception))

    def test_what_may_not_change_is_refused(self):
        self.api.create(JOBS, job("still"))
        path = JOBS + "/still"
        worker = lambda spec: spec["replicaSpecs"][0]
        self.refused_change(path, lambda s: worker(s)["template"]["spec"]["containers"][0].update(image="other"),
                            "field is immutable")
        self.refused_change(path, lambda s: worker(s).update(restartPolicy="Always"), "field is immutable")
        self.refused_change(path, lambda s: worker(s).update(replicas=3), "replicas may not change unless")
        self.refused_change(path, lambda s: worker(s).update(type="other"), "types and their order may not change")
        self.refused_change(path, lambda s: s["replicaSpecs"].append(dict(worker(s), type="ps")),
                            "types and their order may not change")
        self.refused_change(path, lambda s: s.update(torchrunConfig={"enabled": True}), "field is immutable")
        self.api.patch(path, {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 7}}})

    def test_elastic_jobs_may_change_their_size(self):
        self.api.create(JOBS, job("elastic", torchrunConfig={"enabled": True}, elastic={
            "enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}))
        path = JOBS + "/elastic"
        now = self.api.get(path)
        now["spec"]["replicaSpecs"][0]["replicas"] = 3
        self.assertEqual(self.api.call("PUT", path, now)["spec"]["replicaSpecs"][0]["replicas"], 3)
        self.refused_change(path, lambda s: s["elastic"].update(maxReplicas=9), "field is immutable")

    def test_columns_and_short_names(self):
        self.api.create(JOBS, job("shown"))
        shown = self.plane.kubectl("get", "pj", "shown").stdout.splitlines()[0].split()
        self.assertEqual(shown[:2], ["NAME", "PHASE"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
