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
    ("a kind without a controller", GOOD.replace("batch.tensorstack.dev/v1beta1", "apps/v1").replace("PyTorchTrainingJob", "Deployment"), 2,
     ["muster has no controller for a Deployment", "create pods, or a PyTorchTrainingJob"], ["no controller for deployments.apps"],
     "kind: Deployment"),
    ("broken YAML", GOOD.replace("command: [sleep, \"1000\"]", "command: [sleep, \"1000\""), 16, [], ["yaml"], None),
    ("broken indentation", GOOD.replace("    replicas: 2", "   replicas: 2"), 8, [], ["yaml"], "   replicas: 2"),
]


WHOLE = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: fine
  labels: {team: nlp}
spec:
  runPolicy:
    backoffLimit: 3
    cleanUpPolicy: Unfinished
  scheduler:
    t9kScheduler:
      queue: default
      priority: 10
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
          workingDir: /tmp
          env:
          - name: A
            value: "1"
          resources:
            requests: {cpu: 250m}
            limits: {memory: 1Gi}
          volumeMounts:
          - name: data
            mountPath: /data
        volumes:
        - name: data
          emptyDir: {}
"""
# Mistakes, one at a time: what is replaced by what, the line, the field, and what would be right.
MISTAKES = [
    ("restartPolicy: OnFailure", "restartPolicy: Sometimes", 17, "spec.replicaSpecs[0].restartPolicy", '"Never", "OnFailure", "Always", "ExitCode"'),
    ("replicas: 2", "replicas: -1", 16, "spec.replicaSpecs[0].replicas", "between 0 and 1024"),
    ("replicas: 2", "replicas: many", 16, "spec.replicaSpecs[0].replicas", "must be an integer"),
    ("restartPolicy: OnFailure", "restartPolicy: yes", 17, "spec.replicaSpecs[0].restartPolicy", 'supported values: "Never", "OnFailure", "Always", "ExitCode"'),
    ("restartPolicy: OnFailure", "restartPolicy: 3", 17, "spec.replicaSpecs[0].restartPolicy", 'supported values: "Never", "OnFailure", "Always", "ExitCode"'),
    ("type: worker", "type: on", 15, "spec.replicaSpecs[0].type", "put it in quotes (YAML reads yes, no, on and off as true and false)"),
    ("replicas: 2", 'replicas: "2"', 16, "spec.replicaSpecs[0].replicas", "must be an integer, without quotes"),
    ("replicas: 2", "replicas: 1e3", 16, "spec.replicaSpecs[0].replicas", "must be an integer, without a decimal point or exponent"),
    ("replicas: 2", "replicas: 1.5", 16, "spec.replicaSpecs[0].replicas", "must be an integer"),
    ("name: fine", "name: Bad_Name", 4, "metadata.name", "lower case alphanumeric"),
    ("name: fine", "name: " + "x" * 70, 4, "metadata.name", "no more than 48 characters"),
    ("name: fine", "nane: fine", 4, "metadata.nane", "did you mean name?"),
    ("labels: {team: nlp}", "labels: {team: 5}", 5, "metadata.labels[team]", "put it in quotes"),
    ("labels: {team: nlp}", "labels: {'a b': c}", 5, "metadata.labels", "alphanumeric characters, '-', '_' or '.'"),
    ("backoffLimit: 3", "backoffLimit: -2", 8, "spec.runPolicy.backoffLimit", "greater than or equal to 0"),
    ("backoffLimit: 3", "backofLimit: 3", 8, "spec.runPolicy.backofLimit", "did you mean backoffLimit?"),
    ("cleanUpPolicy: Unfinished", "cleanUpPolicy: Some", 9, "spec.runPolicy.cleanUpPolicy", '"None", "All", "Unfinished"'),
    ("priority: 10", "priority: 1000", 13, "spec.scheduler.t9kScheduler.priority", "between 0 and 100"),
    ("type: worker", "type: Worker!", 15, "spec.replicaSpecs[0].type", "lower case alphanumeric"),
    ("type: worker", "typ: worker", 15, "spec.replicaSpecs[0].typ", "did you mean type?"),
    ("- name: python", "- nme: python", 21, "containers[0].nme", "did you mean name?"),
    ('command: [sleep, "1000"]', "command: sleep 1000", 23, "containers[0].command", "must be a list, like [a, b]"),
    ("env:\n          - name: A\n            value: \"1\"", "env: {A: 1}", 25, "containers[0].env", 'must be a list: each item begins with "- "'),
    ("    restartPolicy: OnFailure\n", "    containers: []\n", 17, "spec.replicaSpecs[0].containers", "did you mean template.spec.containers?"),
    ("  runPolicy:\n", "  ttlSecondsAfterFinished: 5\n  runPolicy:\n", 7, "spec.ttlSecondsAfterFinished", "did you mean runPolicy.ttlSecondsAfterFinished?"),
    ("limits: {memory: 1Gi}", "limits: {cpu: 0.2}", 29, "resources.requests[cpu]", "less than or equal to cpu limit of 0.2"),
    ("requests: {cpu: 250m}\n            limits: {memory: 1Gi}", "requests: {cpu: 2}\n            limits: {cpu: 1}", 29, "resources.requests[cpu]", "less than or equal to cpu limit of 1"),
    ("memory: 1Gi", "memory: 1GB", 30, "resources.limits[memory]", "a quantity like 500m, 2 or 4Gi"),
    ("labels: {team: nlp}", "labels: {team: my team}", 5, "metadata.labels[team]", "alphanumeric characters, '-', '_' or '.'"),
    ("backoffLimit: 3", "activeDeadlineSeconds: 1h", 8, "spec.runPolicy.activeDeadlineSeconds", "must be an integer"),
    ("        - name: python\n", "          name: python\n", 20, "template.spec.containers", 'must be a list: each item begins with "- "'),
    ("  - type: worker", "    type: worker", 14, "spec.replicaSpecs", 'must be a list: each item begins with "- "'),
    ("priority: 10", "priority: high", 13, "spec.scheduler.t9kScheduler.priority", "must be an integer"),
    ("queue: default", "queue: [default]", 12, "spec.scheduler.t9kScheduler.queue", "must be a string"),
    ("mountPath: /data", "mountpath: /data", 33, "volumeMounts[0].mountpath", "did you mean mountPath?"),
    ("name: fine", "name: 2024", 4, "metadata.name", "put it in quotes"),
    ('command: [sleep, "1000"]', "command: [sleep, 1000]", 23, "containers[0].command[1]", "put it in quotes"),
    ('value: "1"', "value: 1", 27, "containers[0].env[0].value", "put it in quotes"),
    ("cpu: 250m", "cpu: 250x", 29, "resources.requests[cpu]", "a quantity like 500m, 2 or 4Gi"),
    ("memory: 1Gi", "memory: -1Gi", 30, "resources.limits[memory]", "greater than or equal to 0"),
    ("requests: {cpu: 250m}", "requests: {memory: 2Gi}", 29, "resources.requests[memory]", "less than or equal to memory limit"),
    ("mountPath: /data", "mountPath: data", 33, "volumeMounts[0].mountPath", "must be an absolute path"),
    ("- name: data\n            mountPath", "- name: dta\n            mountPath", 32, "volumeMounts[0].name", "no volume of this name is in spec.volumes"),
    ("emptyDir: {}", "emptyDir: {medium: Disk}", 36, "volumes[0].emptyDir.medium", '"", "Memory"'),
    ("emptyDir: {}", "emptydir: {}", 36, "volumes[0].emptydir", "did you mean emptyDir?"),
    ("kind: PyTorchTrainingJob", "kind: PyTorchTrainigJob", 2, "kind", "did you mean PyTorchTrainingJob?"),
    ("dev/v1beta1", "dev/v1", 1, "apiVersion", "it must be batch.tensorstack.dev/v1beta1"),
    ("    template:\n", "    tmplate:\n", 18, "spec.replicaSpecs[0].tmplate", "did you mean template?"),
    ("cpu: 250m", "gpu: 1", 29, "resources.requests[gpu]", "a domain like nvidia.com/gpu"),
    ("limits: {memory: 1Gi}", "limits: {gpus: 1}", 30, "resources.limits[gpus]", "a domain like nvidia.com/gpu"),
    ("kind: PyTorchTrainingJob", "kind: PyTorchJob", 2, "kind", "Kubeflow's PyTorchJob is a PyTorchTrainingJob here"),
    ("apiVersion: batch.tensorstack.dev/v1beta1", "# apiVersion", 2, "apiVersion: Required value", "it is batch.tensorstack.dev/v1beta1"),
    ("workingDir: /tmp", "workingDir: [a]", 24, "containers[0].workingDir", "must be a string"),
]


class Offline(DaemonTest):
    def said(self, text):
        path = self.write("bad.yaml", text)
        done = self.daemon.cli("validate", path)
        return [line.partition(": ")[2].removeprefix(path + ":") for line in done.stderr.splitlines()
                if line.startswith(("error: ", "warning: "))]

    def test_each_names_line_field_and_what_would_be_right(self):
        self.assertGreaterEqual(len(MISTAKES), 30)
        self.assertEqual(self.said(WHOLE), [])
        for old, new, line, field, right in MISTAKES:
            with self.subTest(new):
                said = [one for one in self.said(WHOLE.replace(old, new)) if one.startswith(f"{line}: ") and field in one and right in one]
                self.assertEqual(len(said), 1, self.said(WHOLE.replace(old, new)))

    def test_what_is_not_yaml(self):
        for old, new, place, right in (("    replicas: 2", "\treplicas: 2", "16:1", "indented with spaces, not with a tab"),
                                       ("replicas: 2", "replicas: {{ .Values.n }}", "16:16", "templates like {{ .Values.x }} must be rendered first"),
                                       ("name: fine", "name: *x", "4:9", 'no value before this is marked &x; text that starts with * must be in quotes'),
                                       ("name: fine", "name: @fine", "4:9", "a value cannot start with this character: put it in quotes"),
                                       ("name: fine", "name: fine: x", "4:13", "a value that contains \": \" must be in quotes"),
                                       ("name: fine", 'name: "\\d"', "4:10", "\\\\ is a backslash in double quotes"),
                                       ('value: "1"', 'value: "1', "37:1", "the quoted text that began on line 27 is not closed"),
                                       ("    restartPolicy", "   restartPolicy", "17:4", "the keys of a mapping must start in the same column"),
                                       ("  - type: worker", "  - type: worker\n - type: x", "16:2", "must start in the same column"),
                                       ('[sleep, "1000"]', '[sleep, "1000"', "24:11", "expected ',' or ']'"),
                                       ("emptyDir: {}\n", "emptyDir: {}\n}}\n", "37:1", "expected key")):
            said = self.said(WHOLE.replace(old, new))
            self.assertEqual(len(said), 1, said)
            self.assertTrue(said[0].startswith(place + ": "), said)
            self.assertIn(right, said[0])

    def test_all_at_once(self):
        """Each mistake in a document of its own: one run reports all of them."""
        lines, text, wanted = 0, "", []
        for old, new, line, field, right in MISTAKES:
            wanted.append((lines + line, field, right))
            text += WHOLE.replace(old, new) + "---\n"
            lines = text.count("\n")
        said = self.said(text)
        for line, field, right in wanted:
            self.assertTrue([one for one in said if one.startswith(f"{line}: ") and field in one and right in one], (line, field))
        several = WHOLE.replace("replicas: 2", "replicas: many").replace("priority: 10", "priority: x").replace("cpu: 250m", "cpu: 250x")
        self.assertEqual([one.split(":")[0] for one in self.said(several)], ["13", "16", "29"])


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
        self.assertIn("contains no objects", done.stderr)

    def test_no_file(self):
        done = self.daemon.cli("run", "no-such.yaml")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(done.stderr, "error: no such file: no-such.yaml\n")


if __name__ == "__main__":
    harness.main()
