#!/usr/bin/python3
"""Why did it fail, why does it wait: one sentence, the same in the status, in `muster ps` and in `kubectl describe`."""
import os
import pathlib

import harness
from harness import DaemonTest, job

PYTHON = "/usr/bin/python3"
TRACEBACK = """\
import sys, warnings
def load():
    raise RuntimeError("CUDA error: out of memory\\nCompile with TORCH_USE_CUDA_DSA")
print("epoch 1")
load()
"""


class Why(DaemonTest):
    def fails(self, name, command, **how):
        """Runs a job of one replica to its failure; answers the job, its status having said why in all places."""
        self.daemon.create(job(name, command, replicas=1, **how))
        failed = self.daemon.wait_phase(name, "Failed")
        status = failed["status"]
        conditions = {c["type"]: c for c in status["conditions"]}
        for kind in ("Completed", "Failed"):
            self.assertEqual(conditions[kind]["status"], "True")
            self.assertEqual(conditions[kind]["message"], status["message"])
        self.assertEqual(conditions["Completed"]["reason"], "Failed")
        self.assertTrue(status["message"].startswith(f"PyTorchTrainingJob {name} has failed: "), status["message"])
        self.assertIn(status["message"].partition(" has failed: ")[2], self.daemon.cli("ps").stdout)
        self.assertIn(status["message"], self.describe("pytorchtrainingjob", name))
        return status

    def pod_of(self, name):
        return next(iter(self.daemon.pods(name)))

    def test_a_traceback(self):
        script = self.write("t.py", TRACEBACK)
        status = self.fails("trace", [PYTHON, script])
        self.assertIn("-worker-0 failed with exit code 1: RuntimeError: CUDA error: out of memory", status["message"])
        self.assertIn("restartPolicy Never does not restart it", status["message"])
        self.assertIn("RuntimeError: CUDA error: out of memory", self.describe("pod", self.pod_of("trace")))

    def test_a_command_that_is_not_there(self):
        message = self.fails("missing", ["no-such-trainer", "--fast"])["message"]
        self.assertIn("failed with exit code 127 (command not found): ", message)
        self.assertIn('"no-such-trainer"', message)
        message = self.fails("in-shell", ["sh", "-c", "no-such-trainer"])["message"]
        self.assertIn("failed with exit code 127 (command not found): ", message)
        self.assertIn("no-such-trainer", message)

    def test_a_file_that_is_no_program(self):
        path = self.write("data.txt", "no program")
        message = self.fails("data", [path])["message"]
        self.assertIn("failed with exit code 126 (command found but not executable): ", message)

    def test_a_segmentation_fault(self):
        message = self.fails("segv", [PYTHON, "-c", "import ctypes; ctypes.string_at(0)"])["message"]
        self.assertIn("failed with exit code 139 (segmentation fault, SIGSEGV)", message)

    def test_an_abort(self):
        message = self.fails("abort", [PYTHON, "-c", "import os; os.write(2, b'what():  bad\\n'); os.abort()"])["message"]
        self.assertIn("failed with exit code 134 (aborted, SIGABRT); it last said: what():  bad", message)

    def test_a_kill(self):
        message = self.fails("killed", ["sh", "-c", "kill -9 $$$$"])["message"]
        self.assertIn("failed with exit code 137 (killed, SIGKILL", message)
        counts = pathlib.Path("/proc/vmstat").read_text() if os.path.exists("/proc/vmstat") else ""
        if "oom_kill " in counts:  # the kernel counts: a kill by hand is not taken for one of its own
            self.assertIn("not for lack of memory", message)
        else:
            self.assertIn("likely out of memory", message)

    def test_a_pod_that_cannot_start_fills_no_log(self):
        path = harness.PODS.format(ns="default")

        def pod(name, **container):
            self.daemon.call("POST", path, {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": "none", "command": ["sleep", "4"], **container}]}})
        pod("stuck", envFrom=[{"configMapRef": {"name": "nope"}}])
        self.daemon.wait_for(path, lambda pods: pods["stuck"]["status"].get("containerStatuses"), "stuck to say why")
        pod("clock")  # it is tried every second meanwhile
        self.daemon.wait_for(path, lambda pods: pods["clock"]["status"].get("phase") == "Succeeded" or None, "4 s")
        lines = [line for line in self.daemon.output().splitlines() if "pod default/stuck" in line]
        for name in ("stuck", "clock"):
            self.daemon.call("DELETE", f"{path}/{name}")
        self.assertEqual(len(lines), 1, lines)

    def test_the_budget(self):
        message = self.fails("budget", ["sh", "-c", "echo bad luck >&2; exit 3"], restart="OnFailure",
                             run_policy={"backoffLimit": 1})["message"]
        self.assertIn("failed with exit code 3: bad luck; the restart budget is spent (1 of 1)", message)

    def test_the_deadline(self):
        status = self.fails("slow", ["sleep", "1000"], run_policy={"activeDeadlineSeconds": 1})
        self.assertEqual(status["reason"], "DeadlineExceeded")
        self.assertIn("it ran longer than activeDeadlineSeconds (1 s)", status["message"])

    def test_a_workers_failure_in_a_running_job(self):
        script = 'if [ "$RANK" = 1 ]; then echo "no data" >&2; exit 4; fi; exec sleep 1000'
        self.daemon.create(job("partly", ["sh", "-c", script], replicas=2))

        def told(jobs):
            status = jobs["partly"].get("status", {})
            return status if status.get("reason") == "ReplicaFailed" and status.get("phase") == "Running" else None
        status = self.daemon.wait_for(harness.JOBS.format(ns="default"), told, "the failure to be told")
        self.assertIn("-worker-1 failed with exit code 4: no data", status["message"])
        self.assertIn(status["message"], self.daemon.cli("ps").stdout)

    def test_a_victim_gives_way_to_who_failed(self):
        """Rank 0 fails because it loses its connection; why is what rank 1 says, and rank 2 is stopped."""
        mark = pathlib.Path(self.daemon.folder, "rank-0-fails")
        script = (f'case $RANK in 0) touch {mark}; echo "RuntimeError: Connection closed by peer [::1]:1" >&2; exit 1 ;; '
                  f'1) until [ -e {mark} ]; do sleep 0.05; done; echo "ValueError: bad data" >&2; exit 7 ;; '
                  '2) exec sleep 1000 ;; esac')
        self.daemon.create(job("group", ["sh", "-c", script], replicas=3))
        message = self.daemon.wait_phase("group", "Failed")["status"]["message"]
        self.assertRegex(message, r"group has failed: group-\S+-worker-1 failed with exit code 7: ValueError: bad data, "
                         r"and with it group-\S+-worker-0; restartPolicy Never does not restart it")

    def test_a_name_that_is_taken(self):
        paused = job("clash", ["sleep", "1000"], replicas=1)
        paused["spec"]["runMode"] = {"pause": {"enabled": True}}
        self.daemon.create(paused)
        name = self.daemon.wait_phase("clash", "Paused")["status"]["tasks"][0]["replicas"][0]["name"]
        self.daemon.call("POST", harness.PODS.format(ns="default"), {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "x", "image": "none", "command": ["sleep", "1000"]}]}})
        self.daemon.call("PATCH", f"{harness.JOBS.format(ns='default')}/clash",
                         {"spec": {"runMode": {"pause": {"enabled": False}}}},
                         content_type="application/merge-patch+json")

        def told(jobs):
            status = jobs["clash"].get("status", {})
            return status if status.get("reason") == "NameClash" else None
        status = self.daemon.wait_for(harness.JOBS.format(ns="default"), told, "the clash to be told")
        self.assertIn(f'a pod "{name}" exists and does not belong to this job', status["message"])
        self.assertIn(status["message"], self.daemon.cli("ps").stdout)
        self.daemon.call("DELETE", f"{harness.PODS.format(ns='default')}/{name}", expect=(200, 202))
        self.daemon.wait_running("clash", 1)

    def test_pods_that_are_refused(self):
        """By a quota that a part of the gang fits in, and by a LimitRange."""
        self.daemon.call("POST", "/api/v1/namespaces", {"metadata": {"name": "tight"}})
        quota = {"metadata": {"name": "little"}, "spec": {"hard": {"requests.cpu": "25m"}}}
        self.daemon.call("POST", "/api/v1/namespaces/tight/resourcequotas", quota)
        self.daemon.call("POST", harness.JOBS.format(ns="tight"), job("gang", ["sleep", "1000"], ns="tight"))
        said = self.refused("gang")
        self.assertEqual(said, "2 of 4 pods are refused: exceeded quota: little, requested: requests.cpu=10m, "
                         "used: requests.cpu=20m, limited: requests.cpu=25m")
        silent = job("silent", ["true"], replicas=1, ns="tight")
        del silent["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["resources"]
        self.daemon.call("POST", harness.JOBS.format(ns="tight"), silent)
        self.assertEqual(self.refused("silent"), "1 of 1 pods are refused: failed quota: little: must specify requests.cpu "
                         "for: python")
        self.daemon.call("PATCH", "/api/v1/namespaces/tight/resourcequotas/little",
                         {"spec": {"hard": {"requests.cpu": "1"}}}, content_type="application/merge-patch+json")
        ranges = {"metadata": {"name": "small"}, "spec": {"limits": [{"type": "Container", "max": {"memory": "4Mi"}}]}}
        self.daemon.call("POST", "/api/v1/namespaces/tight/limitranges", ranges)
        large = job("large", ["true"], replicas=1, ns="tight")
        large["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"memory": "8Mi"}
        self.daemon.call("POST", harness.JOBS.format(ns="tight"), large)
        self.assertEqual(self.refused("large"), "1 of 1 pods are refused: maximum memory usage per Container is 4Mi, "
                         "but limit is 8Mi")
        self.daemon.call("DELETE", "/api/v1/namespaces/tight")
        self.daemon.wait_for("/api/v1/namespaces", lambda all: "tight" not in all or None, "the namespace to be gone")

    def refused(self, name):
        """The sentence, which the job, its event and the tools agree on."""
        def told(jobs):
            status = jobs[name].get("status", {})
            return status["message"] if status.get("reason") == "Refused" else None
        said = self.daemon.wait_for(harness.JOBS.format(ns="tight"), told, f"{name} to be explained")
        self.daemon.wait_for("/api/v1/namespaces/tight/events", lambda events: [
            e for e in events.values() if e["reason"] == "Refused" and e["message"] == said] or None, "the event")
        self.assertIn(said, self.daemon.cli("ps", "-n", "tight").stdout)
        described = self.describe("pytorchtrainingjob", name, "-n", "tight")
        self.assertEqual(described.count(said), 3, described)  # the status, its condition and the event
        return said

    def test_waiting_for_room(self):
        huge = job("huge", ["true"], replicas=2, cpu="900")
        huge["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "900Ti"
        ended = self.daemon.cli("run", self.write("huge.json", huge))
        self.assertEqual(ended.returncode, 7, ended.stderr)
        self.assertIn("error: job 'huge' cannot start: can never fit: asks 1800 CPU (up to 900 a pod), the node has ", ended.stderr)
        self.assertIn("--wait", ended.stderr)

        def told(jobs):
            status = jobs["huge"].get("status", {})
            return status if status.get("reason") == "NeverFits" else None
        status = self.daemon.wait_for(harness.JOBS.format(ns="default"), told, "the reason to be told")
        self.assertIn("can never fit: asks 1800 CPU (up to 900 a pod), the node has ", status["message"])
        self.assertIn("; asks 1800Ti memory (up to 900Ti a pod), the node has ", status["message"])
        self.assertIn("what helps: smaller requests, or muster up with --cpus, --memory or --overcommit", status["message"])
        self.assertIn(status["message"], self.daemon.cli("ps").stdout)
        self.assertIn(status["message"], self.describe("pytorchtrainingjob", "huge"))


if __name__ == "__main__":
    harness.main()
