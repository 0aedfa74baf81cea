#!/usr/bin/python3
"""cleanUpPolicy by how the job ended: three policies, four endings, and exactly the pods that must remain."""
import pathlib

import harness
from harness import DaemonTest, job

# Rank 1 has ended when the job ends, rank 2 has not; rank 0 is the master.
PROGRAM = """
echo "I am $RANK"
case $RANK in
0) until [ -e "$GO" ]; do sleep 0.05; done; exit $CODE ;;
1) exit 0 ;;
2) exec sleep 1000 ;;
esac
"""
# how it ends: exit code of the master, its policy, runPolicy, phase, reason, has the master ended by itself?
# (One that has not is ended by a deadline that is set, and over, when the others are where they should be.)
ENDINGS = {
    "success": ("0", "Never", {}, "Succeeded", "Succeeded", True),
    "failure": ("9", "Never", {}, "Failed", "MasterFailed", True),
    "budget": ("9", "OnFailure", {"backoffLimit": 1}, "Failed", "BackoffLimitExceeded", True),
    "deadline": ("0", "Never", {}, "Failed", "DeadlineExceeded", False),
}
POLICIES = ("None", "All", "Unfinished")


class CleanUp(DaemonTest):
    options = ("--overcommit",)

    def make(self, policy, ending):
        code, restart, run_policy, *_ = ENDINGS[ending]
        name = f"{ending}-{policy.lower()}"
        what = job(name, ["sh", "-c", PROGRAM], replicas=3, restart=restart,
                   run_policy={"cleanUpPolicy": policy, **run_policy})
        what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["env"] = [
            {"name": "GO", "value": str(self.go(name))}, {"name": "CODE", "value": code}]
        self.daemon.create(what)
        return name

    def go(self, name):
        return pathlib.Path(self.daemon.folder, f"go-{name}")

    def ranks(self, pods, name):
        """{rank: phase} of the job's pods; one that is being deleted is not there any more."""
        return {int(pod["metadata"]["labels"]["replica-index"]): pod["status"]["phase"] for pod in pods.values()
                if pod["metadata"]["labels"]["tensorstack.dev/owner-name"] == name
                and not pod["metadata"].get("deletionTimestamp")}

    def wait_ranks(self, name, wanted):
        self.daemon.wait_for(harness.PODS.format(ns="default"),
                             lambda pods: True if self.ranks(pods, name) == wanted else None, f"{name} to have {wanted}")

    def end(self, name, ending):
        """When all have said their word: what is stopped has no time left for it."""
        self.wait_ranks(name, {0: "Running", 1: "Succeeded", 2: "Running"})
        for pod in self.daemon.pods(name).values():
            while f"I am {pod['metadata']['labels']['replica-index']}\n" not in self.daemon.log(pod["metadata"]["name"]):
                pass
        if ENDINGS[ending][-1]:
            self.go(name).touch()
        else:
            self.daemon.call("PATCH", f"{harness.JOBS.format(ns='default')}/{name}",
                             {"spec": {"runPolicy": {"activeDeadlineSeconds": 1}}},
                             content_type="application/merge-patch+json")

    def wanted(self, policy, ending):
        code, *_, phase, _, master_ended = ENDINGS[ending]
        everyone = {0: phase if master_ended else "Running", 1: "Succeeded", 2: "Running"}
        if policy == "None":
            return everyone
        return {} if policy == "All" else {r: p for r, p in everyone.items() if p not in ("Running", "Pending")}

    def check_ending(self, ending, names):
        for policy, name in names.items():
            *_, phase, reason, _ = ENDINGS[ending]
            with self.subTest(policy=policy, ending=ending):
                status = self.daemon.wait_phase(name, phase)["status"]
                self.assertEqual(status["reason"], reason)
                self.wait_ranks(name, self.wanted(policy, ending))
        # Controllers that are done with another job have had their time for these.
        self.daemon.create(job(f"after-{ending}", ["true"], replicas=1))
        self.daemon.wait_phase(f"after-{ending}", "Succeeded")
        pods = self.daemon.pods()
        for policy, name in names.items():
            with self.subTest(policy=policy, ending=ending, when="later"):
                self.assertEqual(self.ranks(pods, name), self.wanted(policy, ending))
            if policy == "None":
                self.check_logs_and_processes(pods, name)
            lines = self.daemon.cli("logs", name).stdout
            for rank in range(3):
                self.assertIn(f"I am {rank}", lines)  # logs outlive pods

    def check_logs_and_processes(self, pods, name):
        for pod in pods.values():
            labels = pod["metadata"]["labels"]
            if labels["tensorstack.dev/owner-name"] != name:
                continue
            self.assertIn(f"I am {labels['replica-index']}\n", self.daemon.log(pod["metadata"]["name"]))
            alive = self.daemon.main_processes(pod["metadata"]["uid"])
            self.assertEqual(len(alive), int(pod["status"]["phase"] == "Running"), alive)

    def check_endings(self, *endings):
        made = {ending: {policy: self.make(policy, ending) for policy in POLICIES} for ending in endings}
        for ending, names in made.items():
            for name in names.values():
                self.end(name, ending)
        for ending, names in made.items():
            self.check_ending(ending, names)

    def test_deadline(self):
        self.check_endings("deadline")

    def test_success_failure_and_budget(self):
        self.check_endings("success", "failure", "budget")


if __name__ == "__main__":
    harness.main()
