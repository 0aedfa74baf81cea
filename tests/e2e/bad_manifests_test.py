#!/usr/bin/python3
"""Bad manifests: one error each that names field and line and says what is allowed; nothing is created."""
import os
import subprocess

import harness
from harness import DaemonTest

GOOD = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: fine
spec:
  replicaSpecs:
  - type: worker
    replicas: 2
    restartPolicy: OnFailure
    template:
      spec:
        containers:
        - name: python
          image: none
          command: [sleep, "1000"]
"""
LONG = "x" * 70
NO_TEMPLATE = GOOD[:GOOD.index("    template:")]

# what, manifest, line, words `muster run` must say, words kubectl must say, the line shown
CASES = [
    ("unknown restartPolicy", GOOD.replace("OnFailure", "Sometimes"), 9,
     ["restartPolicy", "Sometimes", "Never", "OnFailure", "Always", "ExitCode"],
     ["restartPolicy", "Sometimes", "Never", "OnFailure", "Always", "ExitCode"], "restartPolicy: Sometimes"),
    ("replicas -1", GOOD.replace("replicas: 2", "replicas: -1"), 8,
     ["replicas", "-1", "between 0 and"], ["replicas", "-1", "between 0 and"], "replicas: -1"),
    ("name too long", GOOD.replace("name: fine", f"name: {LONG}"), 4,
     ["metadata.name", "63"], ["metadata.name", "63"], f"name: {LONG}"),
    ("missing template", NO_TEMPLATE, 7,
     ["spec.replicaSpecs[0].template", "Required"], ["spec.replicaSpecs[0]", "template", "Required"], "type: worker"),
    ("wrong type", GOOD.replace("replicas: 2", "replicas: many"), 8,
     ["replicas", "many", "integer"], ["replicas"], "replicas: many"),
    ("unknown kind", GOOD.replace("PyTorchTrainingJob", "PyTorchTrainigJob"), 2,
     ["PyTorchTrainigJob", "did you mean PyTorchTrainingJob"], ["PyTorchTrainigJob"], "kind: PyTorchTrainigJob"),
    ("foreign kind", GOOD.replace("PyTorchTrainingJob", "XGBoostTrainingJob"), 2,
     ["unknown kind \"XGBoostTrainingJob\" of \"batch.tensorstack.dev/v1beta1\""], ["XGBoostTrainingJob"],
     "kinds known here: PyTorchTrainingJob, MPIJob, TensorBoard"),
    ("broken YAML", GOOD.replace("command: [sleep, \"1000\"]", "command: [sleep, \"1000\""), 16, [], ["yaml"], None),
    ("broken indentation", GOOD.replace("    replicas: 2", "   replicas: 2"), 8, [], ["yaml"], "   replicas: 2"),
]


class BadManifests(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # What the daemon makes for itself is not counted.
        cls.daemon.wait_for(harness.NODES, lambda nodes: nodes, "the node to appear")

    def everything(self):
        kinds = [harness.JOBS, harness.PODS, harness.SERVICES, "/api/v1/namespaces/{ns}/configmaps"]
        return sorted(item["metadata"]["name"] for kind in kinds for item in self.daemon.list(kind.format(ns="default")))

    def check_nothing_created(self):
        self.assertEqual(self.everything(), [])

    def check_run(self, text, line, words, shown):
        path = self.write("bad.yaml", text)
        done = self.daemon.cli("run", path)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "")
        errors = [one for one in done.stderr.splitlines() if one.startswith("error: ")]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertTrue(errors[0].startswith(f"error: {path}:{line}:"), done.stderr)
        for word in words:
            self.assertIn(word, errors[0])
        if shown:
            self.assertIn(shown, done.stderr)
            self.assertIn("^", done.stderr)
        self.assertIn("nothing was created", done.stderr)
        self.check_nothing_created()

    def check_kubectl(self, version, text, words):
        path = self.write("bad.yaml", text)
        environment = dict(os.environ, HOME=self.daemon.folder, KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig"))
        done = subprocess.run([str(harness.ROOT / f"build/bin/kubectl-{version}"), "apply", "-f", path],
                              capture_output=True, text=True, env=environment, timeout=harness.PATIENCE)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for word in words:
            self.assertIn(word.lower(), done.stderr.lower())
        self.check_nothing_created()

    def test_muster_run(self):
        for what, text, line, words, _, shown in CASES:
            with self.subTest(what):
                self.check_run(text, line, words, shown)

    def test_kubectl_1_20(self):
        for what, text, _, _, words, _ in CASES:
            with self.subTest(what):
                self.check_kubectl("1.20", text, words)

    def test_kubectl_1_32(self):
        for what, text, _, _, words, _ in CASES:
            with self.subTest(what):
                self.check_kubectl("1.32", text, words)

    def test_one_bad_document_of_three(self):
        """The good ones around it are not created either."""
        config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: before\ndata: {a: b}\n"
        bad = GOOD.replace("OnFailure", "Sometimes")
        self.check_run(f"{config_map}---\n{bad}---\n{GOOD.replace('fine', 'after')}", 5 + 1 + 9, ["restartPolicy"],
                       "restartPolicy: Sometimes")

    def test_several_errors_are_all_said(self):
        path = self.write("bad.yaml", GOOD.replace("OnFailure", "Sometimes").replace("replicas: 2", "replicas: -1"))
        done = self.daemon.cli("run", path)
        self.assertEqual(done.stderr.count("error: "), 2, done.stderr)
        self.check_nothing_created()

    def test_a_type_error_hides_no_value_error(self):
        path = self.write("bad.yaml", GOOD.replace("OnFailure", "Sometimes").replace("replicas: 2", "replicas: many"))
        done = self.daemon.cli("run", path)
        self.assertEqual(done.stderr.count("error: "), 2, done.stderr)
        self.check_nothing_created()

    def test_a_type_error_in_a_patch_names_the_object(self):
        path = "/api/v1/namespaces/default/configmaps"
        self.daemon.call("POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "named"}})
        body = self.daemon.call("PATCH", f"{path}/named", {"data": {"a": 1}}, expect=(422,),
                                content_type="application/merge-patch+json")
        self.assertIn('ConfigMap "named" is invalid: data[a]: Invalid value: 1', body["message"])
        self.daemon.call("DELETE", "/api/v1/namespaces/default/configmaps/named")

    def test_empty_file(self):
        done = self.daemon.cli("run", self.write("empty.yaml", "# nothing\n"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds no objects", done.stderr)

    def test_no_file(self):
        done = self.daemon.cli("run", "no-such.yaml")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(done.stderr, "error: no such file: no-such.yaml\n")


if __name__ == "__main__":
    harness.main()
