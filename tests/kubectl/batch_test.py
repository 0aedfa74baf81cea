#!/usr/bin/python3
"""Jobs and CronJobs of Kubernetes' own, with kubectl, old and current."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402

JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRONJOBS = "/apis/batch/v1/namespaces/default/cronjobs"
PODS = "/api/v1/namespaces/default/pods"


def manifest(name, command, annotations=None, restart="Never", cpu="10m", labels=None, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {**spec, "template": {"metadata": {"labels": labels or {}}, "spec": {
                "restartPolicy": restart, "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": "none", "command": command, "resources": {"requests": {"cpu": cpu}}}]}}}}


class Batch(StockKubectl):
    def make(self, *arguments, **how):
        self.kubectl("create", "-f", "-", stdin=json.dumps(manifest(*arguments, **how)))

    def wait(self, condition, name):
        self.kubectl("wait", f"--for=condition={condition}", f"job/{name}", f"--timeout={int(harness.PATIENCE)}s")

    def pods(self, job):
        return [pod for pod in self.daemon.list(PODS) if pod["metadata"].get("labels", {}).get("job-name") == job]

    def tearDown(self):
        self.kubectl("delete", "jobs,cronjobs", "--all")
        self.daemon.wait_for(PODS, lambda pods: not pods, "pods to be gone")
        super().tearDown()

    def test_a_job_is_made_waited_for_and_read(self):
        self.kubectl("create", "job", "hello", "--image=none", "--", "echo", "hello")
        self.wait("complete", "hello")
        self.assertEqual(self.kubectl("logs", "job/hello").stdout, "hello\n")
        self.assertRegex(self.kubectl("get", "jobs").stdout, r"hello +Complete +1/1")
        self.assertIn("1 Succeeded / 0 Failed", self.kubectl("describe", "job", "hello").stdout)

    def test_each_index_knows_its_number(self):
        self.make("indexed", ["sh", "-c", 'echo "index $JOB_COMPLETION_INDEX"'], completions=3, parallelism=2, completionMode="Indexed")
        self.wait("complete", "indexed")
        said = sorted(self.daemon.log(pod["metadata"]["name"]) for pod in self.pods("indexed"))
        self.assertEqual(said, ["index 0\n", "index 1\n", "index 2\n"])
        self.assertEqual(self.daemon.call("GET", f"{JOBS}/indexed")["status"]["completedIndexes"], "0-2")

    def test_failures_end_it_as_its_fields_say(self):
        self.make("budget", ["sh", "-c", "exit 3"], backoffLimit=0)
        self.make("policy", ["sh", "-c", "exit 42"],
                  podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]})
        self.make("late", ["sleep", "1000"], activeDeadlineSeconds=1)
        self.make("inside", ["sh", "-c", "exit 3"], restart="OnFailure", backoffLimit=1)
        for name, reason in (("budget", "BackoffLimitExceeded"), ("policy", "PodFailurePolicy"), ("late", "DeadlineExceeded"),
                             ("inside", "BackoffLimitExceeded")):
            self.wait("failed", name)
            conditions = {c["type"]: c["reason"] for c in self.daemon.call("GET", f"{JOBS}/{name}")["status"]["conditions"]}
            self.assertEqual(conditions["Failed"], reason)

    def test_suspended_it_has_no_pods_and_deleted_it_leaves_none(self):
        self.make("paused", ["sleep", "1000"], completions=2, parallelism=2)
        self.daemon.wait_for(PODS, lambda pods: sum(pod["status"].get("phase") == "Running" for pod in pods.values()) == 2)
        self.kubectl("patch", "job", "paused", "-p", '{"spec":{"suspend":true}}')
        self.wait("suspended", "paused")
        self.daemon.wait_for(PODS, lambda pods: not pods, "pods to be gone")
        self.kubectl("patch", "job", "paused", "-p", '{"spec":{"suspend":false}}')
        self.daemon.wait_for(PODS, lambda pods: sum(pod["status"].get("phase") == "Running" for pod in pods.values()) == 2)
        self.assertNotIn("failed", self.daemon.call("GET", f"{JOBS}/paused")["status"])
        self.kubectl("delete", "job", "paused")
        self.daemon.wait_for(PODS, lambda pods: not pods, "pods to be gone")

    def test_a_gang_starts_together_or_not_at_all(self):
        gang = {"muster.dev/gang": "true"}
        cores = self.daemon.list(harness.NODES)[0]["status"]["allocatable"]["cpu"]
        self.make("wide", ["sleep", "1000"], gang, cpu=cores, completions=2, parallelism=2)
        self.daemon.wait_for("/apis/scheduler.tensorstack.dev/v1beta1/namespaces/default/podgroups",
                             lambda groups: any(group.get("status", {}).get("reason") == "NeverFits" for group in groups.values()))
        self.assertEqual([pod["spec"].get("nodeName") for pod in self.pods("wide")], [None, None])
        self.kubectl("delete", "job", "wide")
        self.make("narrow", ["true"], gang, completions=2, parallelism=2)
        self.wait("complete", "narrow")

    def test_queues_are_checked_when_it_is_made(self):
        refused = self.kubectl("create", "-f", "-", code=1, stdin=json.dumps(
            manifest("queued", ["true"], labels={"scheduler.tensorstack.dev/queue": "nowhere"})))
        self.assertIn("nowhere", refused.stderr)

    def test_what_is_wrong_is_said_as_kubernetes_does(self):
        for changed, words in (({"restart": "Always"}, 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'),
                               ({"completionMode": "Indexed"}, "spec.completions: Required value: when completion mode is Indexed"),
                               ({"backoffLimitPerIndex": 1}, "requires indexed completion mode")):
            how = dict(parallelism=1, **changed)
            self.assertIn(words, self.kubectl("create", "-f", "-", code=1, stdin=json.dumps(manifest("wrong", ["true"], **how))).stderr)
        self.make("fixed", ["true"])
        self.assertIn("field is immutable", self.kubectl("patch", "job", "fixed", "-p", '{"spec":{"completions":5}}', code=1).stderr)

    def test_a_cron_job_is_made_and_shown(self):
        self.kubectl("create", "cronjob", "tick", "--image=none", "--schedule=0 0 29 2 *", "--", "echo", "tick")
        self.assertRegex(self.kubectl("get", "cronjobs").stdout, r"tick +0 0 29 2 \*")
        self.assertIn("spec.schedule", self.kubectl("create", "cronjob", "never", "--image=none", "--schedule=61 * * * *", code=1).stderr)
        self.kubectl("delete", "cronjob", "tick")


class Old(Batch, harness.DaemonTest):
    version = "1.20"


class Current(Batch, harness.DaemonTest):
    version = "1.32"

    # kubectl 1.20 knows no CronJob of batch/v1.
    def test_a_job_is_made_of_a_cron_job(self):
        self.kubectl("create", "cronjob", "tock", "--image=none", "--schedule=0 0 29 2 *", "--", "echo", "tock")
        self.kubectl("create", "job", "now", "--from=cronjob/tock")
        self.wait("complete", "now")
        self.daemon.wait_for(CRONJOBS, lambda found: any("lastSuccessfulTime" in cron.get("status", {}) for cron in found.values()))
        self.kubectl("delete", "cronjob", "tock")
        self.daemon.wait_for(JOBS, lambda jobs: not jobs, "its jobs to be gone")


if __name__ == "__main__":
    unittest.main(verbosity=2)
