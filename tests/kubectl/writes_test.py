#!/usr/bin/python3
"""Stock kubectl, old and current, against `muster up`: every way to write, and what users see of it."""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from harness import DaemonTest  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels: {{app: demo}}
spec:
  schedulerName: nobody
  containers:
  - name: main
    image: demo:1
    env:
    - {{name: A, value: "1"}}
    - {{name: B, value: "2"}}
  - name: side
    image: side:1
"""

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {{name: {name}}}
spec:
  runPolicy: {{cleanUpPolicy: {clean}}}
  replicaSpecs:
  - type: worker
    replicas: 1
    template: {{spec: {{schedulerName: nobody, containers: [{{name: python, image: none, command: ["true"]}}]}}}}
"""

WIDGETS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
"""

LISTS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bags.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {plural: bags, singular: bag, kind: Bag}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              map:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, properties: {name: {type: string}, v: {type: integer}}, required: [name]}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              plain: {type: array, items: {type: string}}
"""

RULED = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ranges.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {plural: ranges, singular: range, kind: Range}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "self.from <= self.to", message: from must be at most to}
            - {rule: "self.to >= oldSelf.to", message: to may only grow}
            properties: {from: {type: integer}, to: {type: integer}}
"""

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: names.example.dev}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - expression: "object.metadata.name.startsWith('ours-')"
    messageExpression: "'not ours: ' + object.metadata.name"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: names}
spec:
  policyName: names.example.dev
  validationActions: [Deny]
"""


def config_map(name, **data):
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


class Writes(StockKubectl):
    """The tests, for one version; the classes at the end say which."""

    def tearDown(self):
        """What a failed test leaves would fail the next ones too."""
        self.daemon.call("DELETE", harness.PODS.format(ns="default") + "?gracePeriodSeconds=0")
        super().tearDown()

    def get(self, *what):
        return json.loads(self.kubectl("get", *what, "-o", "json").stdout)

    def data(self, name):
        return self.get("cm", name).get("data", {})

    def delete(self, *what):
        self.kubectl("delete", *what, "--grace-period=0", "--force")

    # --- create, replace, delete

    def test_create_namespace_config_map_secret(self):
        self.assertEqual(self.kubectl("create", "ns", "made").stdout, "namespace/made created\n")
        self.assertEqual(self.get("ns", "made")["status"]["phase"], "Active")
        path = self.write("file.txt", "from a file\n")
        made = self.kubectl("create", "cm", "made", "--from-literal=a=1", f"--from-file=b={path}", "-n", "made")
        self.assertEqual(made.stdout, "configmap/made created\n")
        self.assertEqual(self.get("cm", "made", "-n", "made")["data"], {"a": "1", "b": "from a file\n"})
        self.kubectl("create", "secret", "generic", "hidden", "--from-literal=password=x\xe9", "-n", "made")
        secret = self.get("secret", "hidden", "-n", "made")
        self.assertEqual((secret["data"], secret["type"]), ({"password": "eMOp"}, "Opaque"))
        again = self.kubectl("create", "cm", "made", "-n", "made", code=1)
        self.assertIn('configmaps "made" already exists', again.stderr)
        bad = self.kubectl("create", "ns", "Not_A_Name", code=1)
        self.assertIn('The Namespace "Not_A_Name" is invalid', bad.stderr)
        self.assertIn("metadata.name: Invalid value", bad.stderr)
        self.kubectl("create", "service", "clusterip", "front", "--tcp=80:8080", "-n", "made")
        self.assertEqual(self.get("svc", "front", "-n", "made")["spec"]["ports"][0]["targetPort"], 8080)
        dry = self.kubectl("create", "cm", "ghost", "--dry-run=server", "-n", "made")
        self.assertIn("configmap/ghost created (server dry run)", dry.stdout)
        self.kubectl("get", "cm", "ghost", "-n", "made", code=1)
        self.kubectl("delete", "ns", "made")

    def test_cascades_of_an_installed_kind(self):
        self.kubectl("apply", "-f", self.write("crd.yaml", WIDGETS))
        self.kubectl("wait", "--for=condition=Established", "crd/widgets.example.dev")
        for cascade, stays in ("background", False), ("foreground", False), ("orphan", True):
            self.kubectl("create", "-f", "-", stdin=json.dumps(
                {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "owner"}}))
            owner = {"apiVersion": "example.dev/v1", "kind": "Widget", "name": "owner", "blockOwnerDeletion": True,
                     "uid": self.get("widget", "owner")["metadata"]["uid"]}
            for kind, version in ("ConfigMap", "v1"), ("Widget", "example.dev/v1"):
                self.kubectl("create", "-f", "-", stdin=json.dumps(
                    {"apiVersion": version, "kind": kind, "metadata": {"name": "owned", "ownerReferences": [owner]}}))
            self.kubectl("delete", "widget", "owner", f"--cascade={cascade}")
            if cascade == "background":
                for path in "/api/v1/namespaces/default/configmaps", "/apis/example.dev/v1/namespaces/default/widgets":
                    self.daemon.wait_for(path, lambda there: "owned" not in there, "owned is gone")
            self.assertEqual(self.owned(), ["configmap/owned", "widget.example.dev/owned"] if stays else [], cascade)
        self.assertNotIn("ownerReferences", self.get("cm", "owned")["metadata"])
        self.delete("cm", "owned")
        self.kubectl("delete", "crd", "widgets.example.dev")
        self.kubectl("get", "widgets", code=1)

    def owned(self):
        return self.kubectl("get", "cm/owned", "widget/owned", "--ignore-not-found", "-o", "name").stdout.split()

    def test_replace(self):
        path = self.write("r.json", config_map("replaced", a="1"))
        self.kubectl("create", "-f", path)
        uid = self.get("cm", "replaced")["metadata"]["uid"]
        self.write("r.json", config_map("replaced", b="2"))
        self.assertEqual(self.kubectl("replace", "-f", path).stdout, "configmap/replaced replaced\n")
        self.assertEqual(self.data("replaced"), {"b": "2"})
        self.assertEqual(self.get("cm", "replaced")["metadata"]["uid"], uid)
        self.kubectl("replace", "--force", "-f", path)
        self.assertNotEqual(self.get("cm", "replaced")["metadata"]["uid"], uid)
        self.delete("cm", "replaced")
        self.assertIn("not found", self.kubectl("replace", "-f", path, code=1).stderr)
        job = self.write("rj.yaml", JOB.format(name="replaced", clean="None"))
        self.kubectl("create", "-f", job)
        self.write("rj.yaml", JOB.format(name="replaced", clean="All"))
        self.kubectl("replace", "-f", job)
        self.assertEqual(self.get("pj", "replaced")["spec"]["runPolicy"]["cleanUpPolicy"], "All")
        self.kubectl("delete", "pj", "replaced")

    # --- patch

    def test_patch_json(self):
        self.kubectl("create", "-f", self.write("pj.json", config_map("patched", a="1", b="2")))
        self.kubectl("patch", "cm", "patched", "--type=json", "-p", json.dumps([
            {"op": "test", "path": "/data/a", "value": "1"}, {"op": "replace", "path": "/data/a", "value": "9"},
            {"op": "remove", "path": "/data/b"},
            {"op": "add", "path": "/metadata/labels", "value": {}},
            {"op": "add", "path": "/metadata/labels/example.com~1x", "value": "y"}]))
        self.assertEqual(self.data("patched"), {"a": "9"})
        self.assertEqual(self.get("cm", "patched")["metadata"]["labels"], {"example.com/x": "y"})
        bad = self.kubectl("patch", "cm", "patched", "--type=json", "-p",
                           '[{"op": "test", "path": "/data/a", "value": "1"}]', code=1)
        self.assertIn('JSON patch operation 0 (test "/data/a"): the test failed', bad.stderr)
        self.assertIn("is invalid", bad.stderr)
        gone = self.kubectl("patch", "cm", "patched", "--type=json", "-p", '[{"op": "remove", "path": "/data/zz"}]', code=1)
        self.assertIn("the path does not exist", gone.stderr)
        self.delete("cm", "patched")

    def test_patch_merge_and_strategic(self):
        self.kubectl("create", "-f", self.write("p.yaml", POD.format(name="patched")))
        self.kubectl("patch", "pod", "patched", "-p", json.dumps(
            {"spec": {"containers": [{"name": "side", "image": "side:2"}]}}))
        self.assertEqual([c["image"] for c in self.get("pod", "patched")["spec"]["containers"]], ["demo:1", "side:2"])
        version = self.get("pod", "patched")["metadata"]["resourceVersion"]
        same = self.kubectl("patch", "pod", "patched", "-p", '{"metadata": {"labels": {"app": "demo"}}}')
        self.assertEqual(same.stdout, "pod/patched patched (no change)\n")
        self.assertEqual(self.get("pod", "patched")["metadata"]["resourceVersion"], version)
        self.kubectl("patch", "pod", "patched", "--type=merge", "-p", '{"metadata": {"labels": {"app": null, "x": "y"}}}')
        self.assertEqual(self.get("pod", "patched")["metadata"]["labels"], {"x": "y"})
        self.kubectl("patch", "pod", "patched", "-p", '{"metadata": {"labels": {"$patch": "replace", "z": "1"}}}')
        self.assertEqual(self.get("pod", "patched")["metadata"]["labels"], {"z": "1"})
        self.delete("pod", "patched")

    def test_strategic_patch_of_a_custom_kind(self):
        self.kubectl("create", "-f", self.write("c.yaml", JOB.format(name="custom", clean="None")))
        refused = self.kubectl("patch", "pj", "custom", "-p", '{"metadata": {"labels": {"a": "b"}}}', code=1)
        self.assertIn("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
                      refused.stderr)
        self.kubectl("patch", "pj", "custom", "--type=merge", "-p", '{"metadata": {"labels": {"a": "b"}}}')
        self.kubectl("patch", "pj", "custom", "--type=json", "-p",
                     '[{"op": "replace", "path": "/spec/runPolicy/cleanUpPolicy", "value": "All"}]')
        job = self.get("pj", "custom")
        self.assertEqual((job["metadata"]["labels"]["a"], job["spec"]["runPolicy"]["cleanUpPolicy"]), ("b", "All"))
        self.kubectl("delete", "pj", "custom")

    def test_set_image_label_annotate(self):
        self.kubectl("create", "-f", self.write("s.yaml", POD.format(name="set")))
        self.assertEqual(self.kubectl("set", "image", "pod/set", "main=demo:7").stdout, "pod/set image updated\n")
        self.assertEqual([c["image"] for c in self.get("pod", "set")["spec"]["containers"]], ["demo:7", "side:1"])
        self.kubectl("label", "pod", "set", "team=vision")
        self.assertIn("already has a value", self.kubectl("label", "pod", "set", "team=other", code=1).stderr)
        self.kubectl("label", "pod", "set", "team=other", "--overwrite")
        self.kubectl("label", "pod", "set", "team-", "app-")
        self.kubectl("annotate", "pod", "set", "note=hello")
        self.kubectl("annotate", "pod", "set", "note-")
        meta = self.get("pod", "set")["metadata"]
        self.assertEqual((meta.get("labels", {}), meta.get("annotations", {})), ({}, {}))
        self.delete("pod", "set")

    def test_edit(self):
        editor = self.write("editor.sh", "#!/bin/sh\nsed -i 's/demo:1/demo:edited/; s/app: demo/app: edited/' \"$1\"\n")
        os.chmod(editor, 0o755)
        self.environment["EDITOR"] = editor
        self.kubectl("create", "-f", self.write("e.yaml", POD.format(name="edited")))
        self.assertEqual(self.kubectl("edit", "pod", "edited").stdout, "pod/edited edited\n")
        pod = self.get("pod", "edited")
        self.assertEqual((pod["spec"]["containers"][0]["image"], pod["metadata"]["labels"]["app"]),
                         ("demo:edited", "edited"))
        self.assertIn("no changes made", self.kubectl("edit", "pod", "edited").stderr)
        self.delete("pod", "edited")
        pathlib.Path(editor).write_text("#!/bin/sh\nsed -i 's/cleanUpPolicy: None/cleanUpPolicy: All/' \"$1\"\n")
        self.kubectl("create", "-f", self.write("ej.yaml", JOB.format(name="edited", clean="None")))
        self.kubectl("edit", "pj", "edited")
        self.assertEqual(self.get("pj", "edited")["spec"]["runPolicy"]["cleanUpPolicy"], "All")
        self.kubectl("delete", "pj", "edited")

    # --- apply

    def test_apply_of_built_in_kinds(self):
        path = self.write("a.yaml", POD.format(name="applied"))
        self.assertEqual(self.kubectl("apply", "-f", path).stdout, "pod/applied created\n")
        self.assertEqual(self.kubectl("apply", "-f", path).stdout, "pod/applied unchanged\n")
        # Of a pod that is there only images may change.
        self.write("a.yaml", POD.format(name="applied").replace("side:1", "side:2"))
        done = self.kubectl("apply", "-f", path)
        self.assertEqual((done.stdout, done.stderr), ("pod/applied configured\n", ""))
        self.assertEqual([c["image"] for c in self.get("pod", "applied")["spec"]["containers"]], ["demo:1", "side:2"])
        self.delete("pod", "applied")
        service = ("apiVersion: v1\nkind: Service\nmetadata: {name: applied}\nspec:\n  selector: {app: x}\n  ports:\n"
                   "  - {name: a, port: 80}\n  - {name: b, port: 81}\n")
        path = self.write("svc.yaml", service)
        self.kubectl("apply", "-f", path)
        self.write("svc.yaml", service.replace("  - {name: a, port: 80}\n", "  - {name: a, port: 80, targetPort: 8080}\n")
                   .replace("  - {name: b, port: 81}\n", "  - {name: c, port: 82}\n"))
        done = self.kubectl("apply", "-f", path)
        self.assertEqual((done.stdout, done.stderr), ("service/applied configured\n", ""))
        ports = {p["name"]: (p["port"], p["targetPort"]) for p in self.get("svc", "applied")["spec"]["ports"]}
        self.assertEqual(ports, {"a": (80, 8080), "c": (82, 82)})
        self.kubectl("delete", "svc", "applied")

    def test_apply_removes_what_is_no_longer_there(self):
        path = self.write("cm.json", config_map("pruned", a="1", b="2"))
        self.kubectl("apply", "-f", path)
        self.kubectl("patch", "cm", "pruned", "--type=merge", "-p", '{"data": {"other": "kept"}}')
        self.write("cm.json", config_map("pruned", a="3"))
        self.kubectl("apply", "-f", path)
        self.assertEqual(self.data("pruned"), {"a": "3", "other": "kept"})
        self.delete("cm", "pruned")

    def test_apply_server_side(self):
        path = self.write("ss.json", config_map("sided", a="1", b="2"))
        apply = ("apply", "--server-side", "-f", path)
        self.assertEqual(self.kubectl(*apply).stdout, "configmap/sided serverside-applied\n")
        version = self.get("cm", "sided")["metadata"]["resourceVersion"]
        self.kubectl(*apply)
        self.assertEqual(self.get("cm", "sided")["metadata"]["resourceVersion"], version, "a repetition is no change")
        self.kubectl("patch", "cm", "sided", "--type=merge", "-p", '{"data": {"other": "kept"}}')
        self.write("ss.json", config_map("sided", a="3"))
        self.kubectl(*apply)
        self.assertEqual(self.data("sided"), {"a": "3", "other": "kept"})
        conflict = self.kubectl("apply", "--server-side", "--field-manager=somebody", "-f",
                                self.write("other.json", config_map("sided", a="4")), code=1)
        self.assertIn('conflict with "kubectl": .data.a', conflict.stderr)
        self.assertEqual(self.data("sided")["a"], "3")
        self.kubectl("apply", "--server-side", "--field-manager=somebody", "--force-conflicts", "-f",
                     self.write("other.json", config_map("sided", a="4")))
        self.assertEqual(self.data("sided")["a"], "4")
        dry = self.kubectl("apply", "--server-side", "--dry-run=server", "-f",
                           self.write("dry.json", config_map("dry", a="4")))
        self.assertIn("configmap/dry serverside-applied (server dry run)", dry.stdout)
        self.kubectl("get", "cm", "dry", code=1)
        self.delete("cm", "sided")

    def test_apply_server_side_of_lists_and_jobs(self):
        path = self.write("ssp.yaml", POD.format(name="sided"))
        self.kubectl("apply", "--server-side", "-f", path)
        self.write("ssp.yaml", POD.format(name="sided").replace("side:1", "side:2").replace("app: demo", "b: c"))
        self.kubectl("apply", "--server-side", "-f", path)
        pod = self.get("pod", "sided")
        self.assertEqual([c["image"] for c in pod["spec"]["containers"]], ["demo:1", "side:2"])
        self.assertEqual(pod["metadata"]["labels"], {"b": "c"})
        self.delete("pod", "sided")
        path = self.write("ssj.yaml", JOB.format(name="sided", clean="None"))
        self.kubectl("apply", "--server-side", "-f", path)
        self.kubectl("apply", "--server-side", "-f", path)
        generation = self.get("pj", "sided")["metadata"]["generation"]
        self.assertEqual(generation, 1)
        self.write("ssj.yaml", JOB.format(name="sided", clean="All"))
        self.kubectl("apply", "--server-side", "-f", path)
        job = self.get("pj", "sided")
        self.assertEqual((job["spec"]["runPolicy"]["cleanUpPolicy"], job["metadata"]["generation"]), ("All", 2))
        self.kubectl("delete", "pj", "sided")

    def test_apply_both_ways(self):
        """First as clients do, then as servers do."""
        path = self.write("both.json", config_map("both", a="1", b="2"))
        self.kubectl("apply", "-f", path)
        self.write("both.json", config_map("both", a="3"))
        self.kubectl("apply", "--server-side", "-f", path)
        self.kubectl("apply", "--server-side", "-f", path)
        self.assertEqual(self.data("both")["a"], "3")
        self.delete("cm", "both")

    def managers(self, *what):
        managed = self.get(*what, "--show-managed-fields")["metadata"]["managedFields"] if self.version != "1.20" \
            else self.get(*what)["metadata"]["managedFields"]
        return sorted((m["manager"], m["operation"]) for m in managed)

    def test_who_set_what_is_known_from_the_first_write(self):
        path = self.write("f.json", config_map("owned", a="1", b="2"))
        self.kubectl("create", "-f", path)
        self.assertEqual(self.managers("cm", "owned"), [("kubectl-create", "Update")])
        self.kubectl("label", "cm", "owned", "team=x")
        self.assertEqual(self.managers("cm", "owned"), [("kubectl-create", "Update"), ("kubectl-label", "Update")])
        self.write("f.json", config_map("owned", a="changed", b="2"))
        conflict = self.kubectl("apply", "--server-side", "-f", path, code=1)
        self.assertIn('conflict with "kubectl-create" using v1: .data.a', conflict.stderr)
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", path)
        self.assertEqual(self.data("owned"), {"a": "changed", "b": "2"})
        self.assertIn(("kubectl", "Apply"), self.managers("cm", "owned"))
        self.delete("cm", "owned")

    def test_from_client_side_apply_to_server_side_and_back(self):
        path = self.write("f.json", config_map("moved", a="1", b="2"))
        self.kubectl("apply", "-f", path)
        self.assertEqual(self.managers("cm", "moved"), [("kubectl-client-side-apply", "Update")])
        self.kubectl("apply", "--server-side", "-f", path)
        self.write("f.json", config_map("moved", a="1"))
        self.kubectl("apply", "--server-side", "-f", path)
        if self.version != "1.20":  # which leaves the old owner where it is, as on a cluster
            self.assertEqual(self.data("moved"), {"a": "1"})
            self.assertEqual(self.managers("cm", "moved"), [("kubectl", "Apply"), ("kubectl-last-applied", "Apply")])
        self.write("f.json", config_map("moved", a="3", c="4"))
        self.kubectl("apply", "-f", path)
        self.assertEqual((self.data("moved")["a"], self.data("moved")["c"]), ("3", "4"))
        self.assertEqual(self.kubectl("apply", "-f", path).stdout, "configmap/moved unchanged\n")
        self.write("f.json", config_map("moved", a="3"))
        self.kubectl("apply", "-f", path)
        self.assertNotIn("c", self.data("moved"))
        self.delete("cm", "moved")

    def test_lists_of_an_installed_kind_are_merged_as_it_says(self):
        self.kubectl("apply", "-f", self.write("crd.yaml", LISTS))
        self.kubectl("wait", "--for=condition=Established", "crd/bags.example.dev")
        one, two = ({"apiVersion": "example.dev/v1", "kind": "Bag", "metadata": {"name": "l"}, "spec": {
            "map": [{"name": who, "v": 1}], "set": [who], "plain": ["x"]}} for who in ("one", "two"))
        for who, what in ("one", one), ("two", two):
            self.kubectl("apply", "--server-side", "--field-manager=" + who, "-f", "-", stdin=json.dumps(what))
        found = self.get("bags", "l")["spec"]
        self.assertEqual(([i["name"] for i in found["map"]], found["set"]), (["one", "two"], ["one", "two"]))
        two["spec"]["plain"] = ["y"]
        conflict = self.kubectl("apply", "--server-side", "--field-manager=two", "-f", "-", stdin=json.dumps(two), code=1)
        self.assertIn('conflict with "one": .spec.plain', conflict.stderr)
        self.kubectl("delete", "crd", "bags.example.dev")

    def test_rules_and_policies_in_cel(self):
        self.kubectl("apply", "-f", self.write("crd.yaml", RULED))
        self.kubectl("wait", "--for=condition=Established", "crd/ranges.example.dev")
        bad = self.kubectl("create", "-f", "-", code=1, stdin=json.dumps(
            {"apiVersion": "example.dev/v1", "kind": "Range", "metadata": {"name": "r"}, "spec": {"from": 3, "to": 1}}))
        self.assertIn("from must be at most to", bad.stderr)
        self.kubectl("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "example.dev/v1", "kind": "Range", "metadata": {"name": "r"}, "spec": {"from": 1, "to": 3}}))
        moved = self.kubectl("patch", "range", "r", "--type=merge", "-p", '{"spec": {"to": 2}}', code=1)
        self.assertIn("to may only grow", moved.stderr)
        self.kubectl("delete", "crd", "ranges.example.dev")
        wrong = self.kubectl("create", "-f", "-", code=1, stdin=RULED.replace("self.from <=", "self.form <="))
        self.assertIn("undefined field 'form'", wrong.stderr)

        self.kubectl("apply", "-f", self.write("policy.yaml", POLICY))
        refused = self.kubectl("create", "cm", "other", code=1)
        self.assertIn("ValidatingAdmissionPolicy 'names.example.dev' with binding 'names' denied request: not ours: other",
                      refused.stderr)
        self.kubectl("create", "cm", "ours-1")
        self.assertIn("names.example.dev", self.kubectl("get", "validatingadmissionpolicies").stdout)
        self.kubectl("delete", "-f", self.write("policy.yaml", POLICY))
        self.kubectl("create", "cm", "other")
        self.delete("cm", "other", "ours-1")

    def test_a_conversion_webhook_needs_two_versions(self):
        """With one version nothing is converted: definitions that name a webhook all the same are installed."""
        conversion = ("  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], "
                      "clientConfig: {service: {name: a, namespace: default}}}}\n")
        second = WIDGETS[WIDGETS.index("  - name: v1"):].replace("name: v1", "name: v2").replace("storage: true", "storage: false")
        self.kubectl("apply", "-f", self.write("crd.yaml", WIDGETS + conversion))
        wrong = self.kubectl("apply", "-f", "-", code=1, stdin=WIDGETS + second + conversion)
        self.assertIn("conversion by webhooks is not supported: use None, or one version", wrong.stderr)
        self.kubectl("delete", "-f", self.write("crd.yaml", WIDGETS))

    def test_diff_and_dry_run(self):
        path = self.write("d.json", config_map("differing", a="1"))
        self.kubectl("apply", "-f", path)
        self.kubectl("diff", "-f", path)
        self.write("d.json", config_map("differing", a="2"))
        found = self.kubectl("diff", "-f", path, code=1)
        self.assertIn("-  a: \"1\"\n+  a: \"2\"", found.stdout)
        version = self.get("cm", "differing")["metadata"]["resourceVersion"]
        dry = self.kubectl("apply", "--dry-run=server", "-f", path)
        self.assertEqual(dry.stdout, "configmap/differing configured (server dry run)\n")
        self.assertEqual(self.get("cm", "differing")["metadata"]["resourceVersion"], version)
        self.kubectl("diff", "-f", self.write("new.json", config_map("differing-new", a="1")), code=1)
        self.kubectl("get", "cm", "differing-new", code=1)
        self.kubectl("diff", "--server-side", "-f", path, code=1)
        self.delete("cm", "differing")

    # --- who may do what

    def test_auth(self):
        self.assertEqual(self.kubectl("auth", "can-i", "create", "pods").stdout, "yes\n")
        self.assertEqual(self.kubectl("auth", "can-i", "get", "/healthz").stdout, "yes\n")
        self.assertEqual(self.kubectl("auth", "can-i", "*", "*", "--all-namespaces").stdout, "yes\n")
        rules = self.kubectl("auth", "can-i", "--list").stdout
        self.assertRegex(rules, r"\*\.\*\s+\[\]\s+\[\]\s+\[\*\]")
        self.assertIn("selfsubjectaccessreviews", self.kubectl("api-resources", "--verbs=create").stdout)
        self.assertNotIn("selfsubjectaccessreviews", self.kubectl("api-resources", "--verbs=list").stdout)


class Writes120(Writes, DaemonTest):
    version = "1.20"


class Writes132(Writes, DaemonTest):
    version = "1.32"

    def test_whoami(self):
        self.assertIn("muster:admin", self.kubectl("auth", "whoami").stdout)

    def test_patch_status(self):
        self.kubectl("create", "-f", self.write("st.yaml", POD.format(name="status")))
        self.kubectl("patch", "pod", "status", "--subresource=status", "-p", json.dumps(
            {"spec": {"hostname": "ignored"}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}))
        pod = self.get("pod", "status")
        self.assertEqual([c["status"] for c in pod["status"]["conditions"] if c["type"] == "Ready"], ["False"])
        self.assertNotIn("hostname", pod["spec"])
        self.kubectl("patch", "pod", "status", "--subresource=status", "-p", json.dumps(
            {"status": {"conditions": [{"type": "Other", "status": "True"}]}}))
        types = [c["type"] for c in self.get("pod", "status")["status"]["conditions"]]
        self.assertEqual(sorted(t for t in types if t in ("Ready", "Other")), ["Other", "Ready"])
        self.delete("pod", "status")

    def test_strict_fields(self):
        """The client leaves unknown fields to the server."""
        self.kubectl("create", "-f", self.write("f.json", config_map("strict", a="1")))
        bad = self.kubectl("apply", "--server-side", "-f", "-", code=1, stdin=json.dumps(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "strict"}, "bogus": 1}))
        self.assertIn('unknown field "bogus"', bad.stderr)
        self.delete("cm", "strict")


if __name__ == "__main__":
    harness.main()
