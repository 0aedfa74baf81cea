#!/usr/bin/python3
"""Stock kubectl, old and current, against `muster up`: what users type, and what they see."""
import base64
import http.client
import json
import os
import pathlib
import select
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from harness import DaemonTest  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402

WAIT = f"--timeout={harness.PATIENCE:.0f}s"
MANIFEST = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: {name}
spec:
  runPolicy:
    cleanUpPolicy: None
  replicaSpecs:
  - type: worker
    replicas: 2
    restartPolicy: OnFailure
    template:
      spec:
        terminationGracePeriodSeconds: 1
        containers:
        - name: python
          image: none
          command: [sh, -c, "{script}"]
          resources:
            requests: {{cpu: 10m, memory: 8Mi}}
"""


class Kubectl(StockKubectl):
    """The tests, for one version; the classes at the end say which."""

    def apply(self, name, script="exec sleep 1000", replace=()):
        text = MANIFEST.format(name=name, script=script)
        for old, new in replace:
            self.assertIn(old, text)
            text = text.replace(old, new)
        return self.kubectl("apply", "-f", self.write(f"{name}.yaml", text))

    def test_apply_new_unchanged_changed(self):
        what = "pytorchtrainingjob.batch.tensorstack.dev/applied"
        self.assertEqual(self.apply("applied").stdout, f"{what} created\n")
        self.assertEqual(self.apply("applied").stdout, f"{what} unchanged\n")
        changed = self.apply("applied", replace=[("cleanUpPolicy: None", "cleanUpPolicy: All")])
        self.assertEqual(changed.stdout, f"{what} configured\n")
        found = self.kubectl("get", "pj", "applied", "-o", "jsonpath={.spec.runPolicy.cleanUpPolicy}").stdout
        self.assertEqual(found, "All")
        self.assertEqual(self.kubectl("delete", "pytorchtrainingjob", "applied").stdout,
                         'pytorchtrainingjob.batch.tensorstack.dev "applied" deleted\n')
        self.kubectl("get", "pj", "applied", code=1)

    def test_apply_an_mpi_job_again(self):
        """kubectl calls an older layout configured, since it finds other text; nothing is written all the same."""
        worker = "template: {spec: {containers: [{name: mpi-worker, image: i}]}}"
        layouts = {"newer": f"mpiConfig: {{script: [pi]}}\n  replicaSpecs: [{{type: worker, replicas: 2, {worker}}}]",
                   "older": f"mca: {{btl: ^openib}}\n  worker: {{replicas: 2, cmd: [pi], {worker}}}"}
        for name, layout in layouts.items():
            path = self.write(f"{name}.yaml", f"""apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {{name: {name}}}
spec:
  runMode: {{pause: {{enabled: true}}}}
  {layout}
""")
            self.assertEqual(self.kubectl("apply", "-f", path).stdout, f"mpijob.batch.tensorstack.dev/{name} created\n")
            self.daemon.wait_for(harness.JOBS.format(ns="default").replace("pytorchtraining", "mpi"),
                                 lambda jobs: jobs[name].get("status", {}).get("phase") == "Paused")
            before = self.kubectl("get", "mj", name, "-o", "json").stdout
            word = {"newer": "unchanged", "older": "configured"}[name]
            self.assertEqual(self.kubectl("apply", "-f", path).stdout, f"mpijob.batch.tensorstack.dev/{name} {word}\n")
            self.assertEqual(self.kubectl("get", "mj", name, "-o", "json").stdout, before)
            self.assertIn("last-applied-configuration", before)
            self.assertNotIn('"worker": {', before)
            self.kubectl("delete", "mj", name)

    def test_get_columns(self):
        self.apply("columns")
        self.daemon.wait_running("columns", 2)
        self.daemon.wait_phase("columns", "Running")
        self.daemon.wait_for(harness.JOBS.format(ns="default"),
                             lambda jobs: jobs["columns"]["status"].get("aggregate", {}).get("running") == 2 or None)
        header, row = self.kubectl("get", "pytorchtrainingjobs").stdout.splitlines()
        self.assertEqual(header.split()[:2], ["NAME", "PHASE"])
        self.assertIn("AGE", header.split())
        self.assertEqual(row.split()[:2], ["columns", "Running"])
        self.assertIn("2/2", row.split())
        lines = self.kubectl("get", "pods").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"])
        self.assertEqual(len(lines), 3)
        for line in lines[1:]:
            self.assertRegex(line, r"^columns-[0-9a-f]{5}-worker-\d +1/1 +Running +0 +\d+s$")
        wide = self.kubectl("get", "pods", "-o", "wide").stdout.splitlines()[0].split()
        self.assertIn("NODE", wide)
        everywhere = self.kubectl("get", "pj", "-A").stdout.splitlines()
        self.assertEqual(everywhere[0].split()[0], "NAMESPACE")
        self.assertEqual(everywhere[1].split()[:2], ["default", "columns"])
        self.assertIn("columns", self.kubectl("get", "all").stdout)
        self.assertEqual(len(self.kubectl("get", "services", "-o", "name").stdout.splitlines()), 2)
        selected = self.kubectl("get", "pods", "-l", "replica-index=1", "-o", "name").stdout
        self.assertRegex(selected, r"^pod/columns-[0-9a-f]{5}-worker-1\n$")
        self.assertIn("Ready", self.kubectl("get", "nodes").stdout)
        self.kubectl("delete", "pj", "columns")

    def test_formats(self):
        self.apply("formats", "true")
        self.daemon.wait_phase("formats", "Succeeded")
        as_json = json.loads(self.kubectl("get", "pj", "formats", "-o", "json").stdout)
        self.assertEqual(as_json["status"]["phase"], "Succeeded")
        as_yaml = self.kubectl("get", "pj", "formats", "-o", "yaml").stdout
        self.assertIn("\n  phase: Succeeded\n", as_yaml)
        self.assertEqual(self.kubectl("get", "pj", "formats", "-o", "name").stdout,
                         "pytorchtrainingjob.batch.tensorstack.dev/formats\n")
        name = self.kubectl("get", "pj", "formats", "-o", "jsonpath={.status.tasks[0].replicas[0].name}").stdout
        self.assertRegex(name, r"^formats-[0-9a-f]{5}-worker-0$")
        columns = self.kubectl("get", "pj", "-o", "custom-columns=N:.metadata.name,P:.status.phase").stdout
        self.assertEqual(columns.split(), ["N", "P", "formats", "Succeeded"])
        sorted_pods = self.kubectl("get", "pods", "--sort-by=.metadata.name", "-o", "name").stdout.splitlines()
        self.assertEqual(sorted_pods, sorted(sorted_pods))
        self.kubectl("delete", "pj", "formats")

    def test_watch_pods(self):
        # A pod nobody schedules: once kubectl has printed it, its watch shows whatever comes after.
        self.kubectl("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "before"},
             "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "none"}]}}))
        with self.background("get", "pods", "-w") as watcher:
            seen, names = [], {"Running": set(), "Completed": set()}
            for line in watcher.stdout:
                if line.startswith("before "):
                    break
            go = pathlib.Path(self.home, "go")  # otherwise they may end before they are seen running
            self.apply("watched", f"until [ -e {go} ]; do sleep 0.05; done")
            for line in watcher.stdout:
                seen.append(line)
                name, _, status = line.split()[:3]
                names.get(status, set()).add(name)
                if len(names["Running"]) == 2:
                    go.touch()
                if len(names["Completed"]) == 2:
                    break
        text = "".join(seen)
        for word in ("worker-0", "worker-1", "Pending", "Running", "Completed"):
            self.assertIn(word, text)
        self.daemon.wait_phase("watched", "Succeeded")
        self.kubectl("delete", "pj/watched", "pod/before")

    def test_watch_only_what_changes(self):
        self.kubectl("create", "cm", "before")
        with self.background("get", "cm", "--watch-only", "--output-watch-events") as watcher:
            # Whether it watches yet nobody says: it is told something until it has said something.
            for number in range(100):
                self.kubectl("label", "cm", "before", f"n=a{number}", "--overwrite")
                if select.select([watcher.stdout], [], [], 0.2)[0]:
                    break
            self.kubectl("create", "cm", "after")
            self.kubectl("delete", "cm", "after")
            seen = []
            for line in watcher.stdout:
                seen.append(line.split()[:2])
                if seen[-1] == ["DELETED", "after"]:
                    break
        self.assertEqual(seen[0], ["EVENT", "NAME"])
        self.assertNotIn(["ADDED", "before"], seen)
        self.assertEqual(seen[-2:], [["ADDED", "after"], ["DELETED", "after"]])
        self.kubectl("delete", "cm", "before")

    def test_watch_endpoints(self):
        self.kubectl("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "behind"},
             "spec": {"selector": {"app": "behind"}, "ports": [{"port": 80, "targetPort": 8080}]}}))
        with self.background("get", "endpoints", "-w") as watcher:
            def await_line(address):
                for line in watcher.stdout:
                    if line.split()[:2] == ["behind", address]:
                        return
                self.fail(f"{address} does not come: {watcher.stderr.read()}")

            await_line("<none>")
            self.kubectl("create", "-f", "-", stdin=json.dumps(
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "behind", "labels": {"app": "behind"}},
                 "spec": {"terminationGracePeriodSeconds": 0, "containers": [
                     {"name": "c", "image": "none", "command": ["sleep", "1000"]}]}}))
            await_line("127.0.0.1:8080")
            self.kubectl("delete", "pod", "behind")
            await_line("<none>")
        self.kubectl("delete", "service", "behind")

    def test_watch_one_until_timeout(self):
        self.apply("timed", "true")
        self.daemon.wait_phase("timed", "Succeeded")
        self.kubectl("get", "pj", "timed")  # what it asks for first must not take long either
        done = subprocess.run([self.binary, "get", "pj", "timed", "-w", "--request-timeout=5s"], capture_output=True,
                              text=True, env=self.environment, timeout=harness.PATIENCE)
        self.assertIn("timed", done.stdout)
        self.kubectl("delete", "pj", "timed")

    def test_describe(self):
        self.apply("described")
        pods = self.daemon.wait_running("described", 2)
        self.daemon.wait_phase("described", "Running")
        text = self.kubectl("describe", "pytorchtrainingjob", "described").stdout
        for word in ("Name:         described", "Kind:         PyTorchTrainingJob", "Phase:", "Events:", "Created"):
            self.assertIn(word, text)
        pod = sorted(pods)[0]
        text = self.kubectl("describe", "pod", pod).stdout
        for word in (pod, "Controlled By:  PyTorchTrainingJob/described", "MASTER_PORT", "State:          Running",
                     "Events:", "Started"):
            self.assertIn(word, text)
        self.assertIn("Capacity:", self.kubectl("describe", "node").stdout)
        events = self.kubectl("get", "events").stdout
        self.assertIn("pytorchtrainingjob/described", events)
        self.kubectl("delete", "pj", "described")

    def test_logs(self):
        self.apply("logged", "echo one; echo two; sleep 0.2; echo three >&2")
        pods = sorted(self.daemon.wait_for(
            harness.PODS.format(ns="default"),
            lambda found: {n: p for n, p in found.items() if p.get("status", {}).get("phase") in ("Running", "Succeeded")}
            if len([p for p in found.values() if p.get("status", {}).get("phase") in ("Running", "Succeeded")]) == 2 else None))
        self.assertEqual(self.kubectl("logs", "-f", pods[0]).stdout, "one\ntwo\nthree\n")
        self.daemon.wait_phase("logged", "Succeeded")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda found: all(  # the job's end is its master's
            p["status"]["phase"] == "Succeeded" for p in found.values()), "both replicas to end")
        self.assertEqual(self.kubectl("logs", pods[0], "--tail=1").stdout, "three\n")
        self.assertRegex(self.kubectl("logs", pods[0], "--timestamps").stdout, r"^\d{4}-.*Z one\n")
        both = self.kubectl("logs", "-l", "tensorstack.dev/owner-name=logged", "--tail=-1").stdout
        self.assertEqual(sorted(both.split()), ["one", "one", "three", "three", "two", "two"])
        missing = self.kubectl("logs", "no-such-pod", code=1)
        self.assertIn('(NotFound): pods "no-such-pod" not found', missing.stderr)
        self.kubectl("delete", "pj", "logged")

    def test_delete(self):
        self.apply("deleted")
        self.daemon.wait_running("deleted", 2)
        self.kubectl("delete", "-f", os.path.join(self.daemon.folder, "deleted.yaml"))
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: True if not pods else None, "pods to be gone")
        self.assertEqual(self.daemon.pod_processes(container=True), {})
        gone = self.kubectl("delete", "pj", "deleted", code=1)
        self.assertEqual(gone.stderr,
                         'Error from server (NotFound): pytorchtrainingjobs.batch.tensorstack.dev "deleted" not found\n')
        self.kubectl("delete", "pj", "deleted", "--ignore-not-found")

    def test_delete_one_pod(self):
        """Deleted by hand: replaced under its name, without cost."""
        self.apply("bereft")
        pods = self.daemon.wait_running("bereft", 2)
        victim = sorted(pods)[1]
        self.kubectl("delete", "pod", victim)
        self.daemon.wait_for(harness.PODS.format(ns="default"),
                             lambda found: found.get(victim, {}).get("metadata", {}).get("uid") not in
                             (None, pods[victim]["metadata"]["uid"]) or None, "the replacement")
        self.daemon.wait_running("bereft", 2)
        self.assertEqual(self.daemon.get_job("bereft")["status"].get("backoffCount", 0), 0)
        self.kubectl("delete", "pj", "bereft")

    def test_version_and_resources(self):
        self.assertIn("v1.32", self.kubectl("version").stdout)
        rows = [line.split() for line in self.kubectl("api-resources").stdout.splitlines()]
        named = {row[0]: row for row in rows}
        self.assertEqual(named["pytorchtrainingjobs"][1:],
                         ["pj", "batch.tensorstack.dev/v1beta1", "true", "PyTorchTrainingJob"])
        for name in ("pods", "services", "nodes", "namespaces", "events", "configmaps", "secrets",
                     "persistentvolumeclaims", "leases"):
            self.assertIn(name, named)
        self.assertIn("batch.tensorstack.dev/v1beta1", self.kubectl("api-versions").stdout.split())

    def test_wait(self):
        self.apply("waited", "sleep 0.2")
        done = self.kubectl("wait", "--for=condition=Completed", "pj/waited", WAIT)
        self.assertEqual(done.stdout, "pytorchtrainingjob.batch.tensorstack.dev/waited condition met\n")
        with self.background("wait", "--for=delete", "pj/waited", WAIT) as waiter:
            self.kubectl("delete", "pj", "waited", "--wait=false")
            waiter.communicate(timeout=harness.PATIENCE)

    def test_label_and_annotate(self):
        self.apply("marked")
        self.kubectl("label", "pj", "marked", "team=vision")
        self.assertIn("marked", self.kubectl("get", "pj", "-l", "team=vision").stdout)
        self.kubectl("annotate", "pj", "marked", "note=hello")
        found = self.kubectl("get", "pj", "marked", "-o", "jsonpath={.metadata.annotations.note}").stdout
        self.assertEqual(found, "hello")
        self.kubectl("label", "pj", "marked", "team-")
        self.assertNotIn("marked", self.kubectl("get", "pj", "-l", "team=vision").stdout)
        self.kubectl("patch", "pj", "marked", "--type=merge", "-p", '{"spec":{"runPolicy":{"cleanUpPolicy":"All"}}}')
        self.kubectl("delete", "pj", "marked")

    def test_errors(self):
        self.assertEqual(self.kubectl("get", "pj", "absent", code=1).stderr,
                         'Error from server (NotFound): pytorchtrainingjobs.batch.tensorstack.dev "absent" not found\n')
        self.assertEqual(self.kubectl("get", "pods", "-n", "nowhere").stderr, "No resources found in nowhere namespace.\n")
        self.kubectl("get", "nonsense", code=1)
        text = MANIFEST.format(name="errors", script="true").replace("OnFailure", "Sometimes")
        done = self.kubectl("create", "-f", self.write("errors.yaml", text), code=1)
        self.assertIn('The PyTorchTrainingJob "errors" is invalid', done.stderr)
        self.assertIn("restartPolicy", done.stderr)
        other = self.kubectl("apply", "-n", "nowhere", "-f", "-", stdin=MANIFEST.format(name="lost", script="true"), code=1)
        self.assertIn('namespaces "nowhere" not found', other.stderr)

    def test_create_twice(self):
        path = self.write("twice.yaml", MANIFEST.format(name="twice", script="true"))
        self.kubectl("create", "-f", path)
        again = self.kubectl("create", "-f", path, code=1)
        self.assertIn('pytorchtrainingjobs.batch.tensorstack.dev "twice" already exists', again.stderr)
        self.kubectl("delete", "pj", "twice")

    def test_without_credentials(self):
        self.environment["KUBECONFIG"] = self.daemon.kubeconfig("wrong")
        done = self.kubectl("get", "pods", code=1)
        self.assertRegex(done.stderr, "(?i)unauthorized|logged in")

    def test_no_secret_is_printed(self):
        """Not in errors, not in what -v says; every part of the address is public."""
        for arguments, code in ((("get", "pods", "-v=6"), 0), (("get", "nothing", "-v=6"), (1, 255)), (("cluster-info",), 0),
                                (("get", "--raw", "/api/v1/nothing"), 1), (("config", "view"), 0),
                                (("-s", "https://127.0.0.1:1", "get", "pods", "-v=6"), (1, 255))):
            with self.subTest(arguments=arguments):
                done = self.kubectl(*arguments, code=code)
                self.assertNotIn(self.daemon.token, done.stdout + done.stderr)
        server = self.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}").stdout
        self.assertEqual(server, f"https://127.0.0.1:{self.daemon.port}")

    def test_raw(self):
        found = json.loads(self.kubectl("get", "--raw", harness.PODS.format(ns="default")).stdout)
        self.assertEqual(found["kind"], "PodList")
        self.assertEqual(self.kubectl("get", "--raw", "/readyz").stdout, "ok")

    def test_proxy(self):
        with self.background("proxy", "--port=0") as proxy:
            port = int(proxy.stdout.readline().rsplit(":", 1)[1])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.PATIENCE)
            connection.request("GET", harness.PODS.format(ns="default"))
            self.assertEqual(json.loads(connection.getresponse().read())["kind"], "PodList")
            connection.request("GET", harness.PODS.format(ns="default"), headers={"Origin": "http://evil.example"})
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 403)
            connection.close()

    def test_create_by_words(self):
        """kubectl 1.32 sends these as protobuf."""
        binary = self.write("binary", "")
        pathlib.Path(binary).write_bytes(bytes(range(256)))
        self.assertEqual(self.kubectl("create", "ns", "words").stdout, "namespace/words created\n")
        self.kubectl("create", "cm", "settings", "-n", "words", "--from-literal=a=1", f"--from-file=b={binary}")
        found = json.loads(self.kubectl("get", "cm", "settings", "-n", "words", "-o", "json").stdout)
        self.assertEqual(found["data"], {"a": "1"})
        self.assertEqual(base64.b64decode(found["binaryData"]["b"]), bytes(range(256)))
        self.kubectl("create", "secret", "generic", "login", "-n", "words", "--from-literal=password=hunter2")
        found = json.loads(self.kubectl("get", "secret", "login", "-n", "words", "-o", "json").stdout)
        self.assertEqual((found["type"], base64.b64decode(found["data"]["password"])), ("Opaque", b"hunter2"))
        for what in (("priorityclass", "words", "--value=7", "--description=small"),
                     ("clusterrole", "words", "--verb=get", "--resource=pods"),
                     ("clusterrolebinding", "words", "--clusterrole=words", "--user=nobody"),
                     ("role", "words", "-n", "words", "--verb=get", "--resource=pods"),
                     ("rolebinding", "words", "-n", "words", "--role=words", "--user=nobody"),
                     ("sa", "words", "-n", "words"), ("quota", "words", "-n", "words", "--hard=pods=3"),
                     ("service", "clusterip", "words", "-n", "words", "--tcp=80"),
                     ("pdb", "words", "-n", "words", "--min-available=1", "--selector=a=b")):
            self.assertIn("created", self.kubectl("create", *what).stdout, what)
        self.assertEqual(self.kubectl("get", "priorityclass", "words", "-o", "jsonpath={.value} {.description}").stdout,
                         "7 small")
        self.kubectl("delete", "priorityclass,clusterrole,clusterrolebinding", "words")
        again = self.kubectl("create", "cm", "settings", "-n", "words", code=1)
        self.assertIn('configmaps "settings" already exists', again.stderr)
        self.kubectl("delete", "ns", "words")

    def test_auth_can_i(self):
        self.assertEqual(self.kubectl("auth", "can-i", "delete", "pods").stdout, "yes\n")
        self.assertEqual(self.kubectl("auth", "can-i", "get", "/healthz").stdout, "yes\n")
        self.assertRegex(self.kubectl("auth", "can-i", "--list").stdout, r"(?m)^\*\.\*\s+\[\]\s+\[\]\s+\[\*\]")

    def test_other_kinds(self):
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1'}\n"
        self.assertEqual(self.kubectl("apply", "-f", "-", stdin=text).stdout, "configmap/settings created\n")
        self.assertEqual(self.kubectl("get", "cm", "settings", "-o", "jsonpath={.data.a}").stdout, "1")
        self.kubectl("delete", "cm", "settings")
        self.kubectl("apply", "-f", "-", stdin="apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n")
        self.assertIn("Active", self.kubectl("get", "ns", "team").stdout)
        self.kubectl("apply", "-n", "team", "-f", "-", stdin=MANIFEST.format(name="there", script="true"))
        self.daemon.wait_phase("there", "Succeeded", ns="team")
        self.kubectl("delete", "pj", "there", "-n", "team")


class Kubectl120(Kubectl, DaemonTest):
    version = "1.20"


class Kubectl132(Kubectl, DaemonTest):
    version = "1.32"

    def test_events_as_they_come(self):
        with self.background("events", "-w", "--for", "pytorchtrainingjob/eventful") as watcher:
            self.apply("eventful", "true")
            for line in watcher.stdout:
                if "Created" in line:
                    break
            else:
                self.fail("no event was told")
        self.daemon.wait_phase("eventful", "Succeeded")
        self.kubectl("delete", "pj", "eventful")

    def test_wait_for_jsonpath(self):
        self.apply("pathed", "sleep 0.2")
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pj/pathed", WAIT)
        self.kubectl("delete", "pj", "pathed")


if __name__ == "__main__":
    harness.main()
