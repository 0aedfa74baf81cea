#!/usr/bin/python3
"""`make deploy`: the kustomization and the Helm chart are what `muster manifests` prints; the chart is installed, upgraded and
removed on a real API server."""
import os
import subprocess
import tempfile
import unittest

import yaml

from control_plane import KUBE, KUBECTLS, MUSTER, ROOT, ControlPlane


def run(*command, **how):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **how).stdout


def objects(text):
    found = [d for d in yaml.load_all(text, yaml.CSafeLoader) if d]
    return {(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]): d for d in found}


class Deploy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="muster-deploy-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.out = cls.folder.name + "/out"
        run(ROOT / "tools/deploy.sh", MUSTER, cls.out)
        cls.chart = cls.out + "/helm/muster"

    def template(self, *options):
        return objects(run(KUBE / "helm", "template", "muster", self.chart, "--kube-version", "1.35.0", "-n", "muster-system",
                           *options))

    def without_namespace(self, *options):
        wanted = objects(run(MUSTER, "manifests", *options))
        del wanted["Namespace", None, "muster-system"]  # helm's own business
        return wanted

    def test_the_kustomization_is_what_is_printed(self):
        self.assertEqual(objects(run(KUBECTLS[-1], "kustomize", self.out + "/kustomize")), objects(run(MUSTER, "manifests")))

    def test_the_chart_is_what_is_printed(self):
        self.assertEqual(self.template(), self.without_namespace())

    def test_what_the_charts_values_say(self):
        changed = self.template("--set", "image=registry.example/m:2,serviceMonitor=true,replicas=3")
        wanted = self.without_namespace("--image", "registry.example/m:2", "--service-monitor")
        for program in ("controller", "scheduler"):
            wanted["Deployment", "muster-system", "muster-" + program]["spec"]["replicas"] = 3
        self.assertEqual(changed, wanted)

    def test_what_is_around_the_programs_fits_them(self):
        """Budgets, Services, the network policy and the monitor mean pods and ports that are there."""
        printed = objects(run(MUSTER, "manifests", "--service-monitor"))

        def of(kind):
            return {name: o for (k, _, name), o in printed.items() if k == kind}

        def meant(selector, labels):
            return all(labels.get(k) == v for k, v in selector.items())

        pods = {name: d["spec"]["template"] for name, d in of("Deployment").items()}
        ports = {name: {p["name"] for c in t["spec"]["containers"] for p in c["ports"]} for name, t in pods.items()}

        def chosen(selector):
            return {name for name, t in pods.items() if meant(selector, t["metadata"]["labels"])}

        for name, budget in of("PodDisruptionBudget").items():
            self.assertEqual(chosen(budget["spec"]["selector"]["matchLabels"]), {name})
            self.assertGreater(of("Deployment")[name]["spec"]["replicas"], budget["spec"]["maxUnavailable"])
        self.assertEqual(set(of("PodDisruptionBudget")), {"muster-controller", "muster-scheduler"})
        for service in of("Service").values():
            of_it = chosen(service["spec"]["selector"])
            self.assertTrue(of_it)
            self.assertTrue(any(p["targetPort"] in ports[name] for name in of_it for p in service["spec"]["ports"]), of_it)
        (policy,) = of("NetworkPolicy").values()
        self.assertEqual(chosen(policy["spec"]["podSelector"]["matchLabels"]), set(pods))
        self.assertEqual({p["port"] for rule in policy["spec"]["ingress"] for p in rule["ports"]}, set().union(*ports.values()))
        (monitor,) = of("ServiceMonitor").values()
        (watched,) = (s for s in of("Service").values() if meant(monitor["spec"]["selector"]["matchLabels"], s["metadata"]["labels"]))
        self.assertEqual({e["port"] for e in monitor["spec"]["endpoints"]}, {p["name"] for p in watched["spec"]["ports"]})

    def test_it_is_installed_upgraded_and_removed(self):
        plane = ControlPlane()
        self.addCleanup(plane.stop)
        plane.start()
        environment = dict(os.environ, KUBECONFIG=str(plane.config), HOME=str(plane.folder))

        def helm(*arguments):
            return run(KUBE / "helm", *arguments, "-n", "ours", env=environment)

        def image():
            deployment = plane.admin.get("/apis/apps/v1/namespaces/ours/deployments/muster-controller")
            return deployment["spec"]["template"]["spec"]["containers"][0]["image"]

        helm("install", "muster", self.chart, "--create-namespace", "--set", "image=one:1")
        self.assertEqual(image(), "one:1")
        helm("upgrade", "muster", self.chart, "--set", "image=two:2")
        self.assertEqual(image(), "two:2")
        plane.kubectl("get", "pj,mj,tb,podgroups,queues")  # a kind that is not served yet is deleted only minutes later
        helm("uninstall", "muster")
        for path in ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                     "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "/apis/apps/v1/deployments"):
            plane.admin.wait(path, lambda found: not any("muster" in n or "tensorstack" in n for n in found),
                             "nothing of it at " + path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
