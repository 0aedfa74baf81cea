#!/usr/bin/python3
"""Queues on real processes: quota, priority, preemption, time limits, and the sentences of waiting jobs."""
import os
import re
import threading

import harness
from harness import DaemonTest, WithDaemon, job
from mpi_test import MPI_JOBS, mpi_job
from write_proxy import WriteProxy

QUEUES = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues"
GROUPS = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/{ns}/podgroups"
MERGE = "application/merge-patch+json"


class Queues(DaemonTest):
    options = ("--cpus", "2")

    def setUp(self):
        self.daemon.wait_for(harness.NODES, lambda nodes: any(n.get("status", {}).get("allocatable") for n in nodes.values()) or None, "the node")
        self.daemon.call("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": {"team": "x"}}}, content_type=MERGE)

    def make_queue(self, name, **spec):
        self.daemon.call("POST", QUEUES, {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "Queue", "metadata": {"name": name},
                                          "spec": {"namespaceSelector": {"matchLabels": {"team": "x"}}, **spec}})

    def submit(self, name, queue, cpu, replicas=1, command=("sleep", "1000")):
        made = job(name, list(command), replicas=replicas, cpu=cpu)
        made["spec"]["scheduler"] = {"t9kScheduler": {"queue": queue, "priority": 0}}
        self.daemon.create(made)

    def wait_job(self, name, wanted, what):
        def reached(jobs):
            status = jobs.get(name, {}).get("status", {})
            return status if wanted(status) else None
        return self.daemon.wait_for(harness.JOBS.format(ns="default"), reached, f"{name}: {what}")

    def wait_says(self, name, *words):
        return self.wait_job(name, lambda s: s.get("phase") == "Pending" and all(w in s.get("message", "") for w in words), f"to say {words}")

    def wait_group(self, name, wanted):
        """Of a job, or made by hand."""
        def reached(groups):
            for group in groups.values():
                owner = group["metadata"].get("labels", {}).get("tensorstack.dev/owner-name", group["metadata"]["name"])
                if owner == name and group.get("status") and wanted(group["status"]):
                    return group
            return None
        return self.daemon.wait_for(GROUPS.format(ns="default"), reached, f"group {name}")

    def wait_event(self, about, words, ns="default"):
        self.daemon.wait_for(f"/api/v1/namespaces/{ns}/events", lambda events: any(
            e["involvedObject"]["name"] == about and words in e["message"] for e in events.values()) or None, f"an event of {about}: {words}")

    def wait_queue(self, name, wanted):
        def reached(queues):
            status = queues.get(name, {}).get("status")  # counts are written once a second
            return (status and wanted(status)) or None
        return self.daemon.wait_for(QUEUES, reached, f"queue {name}")

    def editor(self):
        """Headers of an account with the ClusterRole edit."""
        accounts, rbac = "/api/v1/namespaces/default/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        self.daemon.call("POST", accounts, {"metadata": {"name": "eve"}}, expect=(201, 409))
        self.daemon.call("POST", f"{rbac}/rolebindings", {
            "metadata": {"name": "eve"}, "roleRef": {"kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "ServiceAccount", "name": "eve", "namespace": "default"}]}, expect=(201, 409))
        return {"Authorization": "Bearer " + self.daemon.call("POST", f"{accounts}/eve/token", {})["status"]["token"]}

    def test_who_names_a_node_waits_in_line(self):
        """Only who may bind pods assigns a node; a template's nodeName is a wish, whoever wrote it."""
        pods, jobs = harness.PODS.format(ns="default"), "/apis/batch/v1/namespaces/default/jobs"
        node = next(iter(self.daemon.list(harness.NODES)))["metadata"]["name"]
        spec = {"restartPolicy": "Never", "nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [
            {"name": "c", "image": "none", "command": ["sleep", "1000"], "resources": {"requests": {"cpu": "1"}}}]}
        self.submit("first", "default", "1500m")
        self.daemon.wait_running("first", 1)
        self.submit("head", "default", "2")
        self.wait_says("head", "waiting for resources")
        status, text, headers = self.daemon.exchange("POST", pods, {"metadata": {"name": "jump"}, "spec": spec}, headers=self.editor())
        self.assertEqual(status, 201, text)
        self.assertIn("only who may create pods/binding assigns nodes", " ".join(headers.get_all("Warning")))
        self.remove("first")
        self.daemon.wait_running("head", 1)
        self.daemon.wait_for(pods, lambda found: any(
            'job "head" (queue default) holds 2 CPU' in c.get("message", "")
            for c in found["jump"].get("status", {}).get("conditions", [])) or None, "what jump waits for")
        self.remove("head")
        self.daemon.wait_for(pods, lambda found: found["jump"]["spec"].get("nodeName") == node or None, "jump to be placed")
        self.daemon.call("PATCH", f"{QUEUES}/default", {"spec": {"closed": True}}, content_type=MERGE)
        try:
            self.daemon.call("POST", pods, {"metadata": {"name": "late"}, "spec": spec}, headers=self.editor())
            self.daemon.call("POST", jobs, {"metadata": {"name": "batch"}, "spec": {"template": {"spec": spec}}}, headers=self.editor())
            self.daemon.wait_for(pods, lambda found: sum(any('queue "default" is closed' in c.get("message", "") for c in p["status"].get("conditions", []))
                                                         for p in found.values()) == 2 or None, "both to wait")
            self.daemon.call("POST", pods, {"metadata": {"name": "owners"}, "spec": spec})  # as in Kubernetes
            self.daemon.wait_for(pods, lambda found: found["owners"]["status"].get("phase") == "Running" or None, "the owner's to run")
        finally:
            self.daemon.call("PATCH", f"{QUEUES}/default", {"spec": {"closed": False}}, content_type=MERGE)
            self.daemon.request("DELETE", f"{jobs}/batch?propagationPolicy=Background")
            for name in ("jump", "late", "owners"):
                self.daemon.request("DELETE", f"{pods}/{name}?gracePeriodSeconds=0")

    def test_a_quota_keeps_jobs_waiting_and_is_changed(self):
        self.make_queue("small", quota={"requests": {"cpu": "1"}})
        self.submit("one", "small", "600m")
        self.daemon.wait_running("one", 1)
        self.submit("two", "small", "600m")
        self.wait_says("two", 'waiting for the quota of queue "small": needs 600m CPU, 600m of 1 CPU is in use; job "one" holds 600m CPU')
        self.submit("three", "small", "600m")
        self.wait_says("three", '600m of 1 CPU is in use; job "one" holds 600m CPU; number 2 in line')
        self.remove("three")
        self.submit("free", "default", "600m")  # another queue's quota is no matter of its
        self.daemon.wait_running("free", 1)
        self.wait_queue("small", lambda s: s.get("allocated") == {"cpu": "600m", "memory": "8Mi"} and s["podGroups"] == {"total": 2, "running": 1, "waiting": 1})
        self.daemon.call("PATCH", f"{QUEUES}/small", {"spec": {"quota": {"requests": {"cpu": "2"}}}}, content_type=MERGE)
        self.daemon.wait_running("two", 1)
        self.remove("one", "two", "free")

    def test_a_higher_queue_takes_the_room_of_a_lower_one(self):
        self.make_queue("low", priority=1)
        self.make_queue("high", priority=9)
        self.submit("cheap", "low", "900m", replicas=2)
        self.daemon.wait_running("cheap", 2)
        self.submit("urgent", "high", "1500m")
        self.daemon.wait_running("urgent", 1)
        status = self.wait_says("cheap", "waiting for resources", 'its room was taken by job "urgent" of queue "high" (priority 9)')
        self.assertEqual(status.get("backoffCount", 0), 0)
        self.remove("urgent")
        self.daemon.wait_running("cheap", 2)
        self.remove("cheap")

    def test_a_preempted_job_keeps_its_place(self):
        """Half of it is still stopping, and the job that took its room has gone: a younger one would fit, and waits."""
        self.make_queue("lowest", priority=1)
        self.make_queue("highest", priority=9)
        may_stop = os.path.join(self.daemon.folder, "may-stop-")
        program = f'trap stopping=1 TERM; while [ -z "$stopping" ] || [ ! -e {may_stop}$RANK ]; do sleep 0.1; done; exit 143'
        old = job("old", ["sh", "-c", program], replicas=2, cpu="900m", grace=600)
        old["spec"]["scheduler"] = {"t9kScheduler": {"queue": "lowest", "priority": 0}}
        self.daemon.create(old)
        self.daemon.wait_running("old", 2)
        self.submit("urgent", "highest", "1")
        self.wait_group("old", lambda s: s["reason"] == "Preempted" and s.get("place") == 2
                        and "waiting again: number 2 in line; 2 of its own pods are still stopping" in s["message"])
        open(may_stop + "0", "w").close()
        self.daemon.wait_running("urgent", 1)
        self.remove("urgent")
        self.wait_says("old", "waiting again: number 1 in line; 1 of its own pods is still stopping",
                       'its room was taken by job "urgent" of queue "highest" (priority 9)')
        self.submit("young", "lowest", "1")
        self.wait_says("young", 'number 2 in line behind job "old"')
        open(may_stop + "1", "w").close()
        self.daemon.wait_running("old", 2)
        self.assertEqual(self.placed("young"), [])
        self.assertEqual(self.wait_job("old", lambda s: s["phase"] == "Running", "to run").get("backoffCount", 0), 0)
        self.remove("young", "old")

    def test_a_gang_starts_whole(self):
        self.submit("blocker", "default", "500m")
        self.daemon.wait_running("blocker", 1)
        self.submit("gang", "default", "400m", replicas=4)
        self.wait_says("gang", "needs 1600m CPU", '"blocker" (queue default) holds 500m CPU')
        self.assertEqual([p for p in self.daemon.pods("gang").values() if p["spec"].get("nodeName")], [])
        groups = {g["metadata"]["labels"]["tensorstack.dev/owner-name"]: g for g in self.daemon.list(GROUPS.format(ns="default"))}
        self.assertEqual(groups["gang"]["status"]["reason"], "InsufficientResources")
        self.remove("blocker")
        self.daemon.wait_running("gang", 4)
        self.remove("gang")

    def placed(self, name):
        return [p for p in self.daemon.pods(name).values() if p["spec"].get("nodeName")]

    def test_two_gangs_that_fit_alone_but_not_together(self):
        """The second is an MPIJob: its launcher is one of the gang."""
        self.submit("blocker", "default", "2")
        self.daemon.wait_running("blocker", 1)
        self.submit("gang", "default", "500m", replicas=3)
        self.wait_says("gang", "needs 1500m CPU")
        mpi = mpi_job("mpi", ["sleep", "1000"], container={"resources": {"requests": {"cpu": "500m", "memory": "1Mi"}}},
                      launcher={"resources": {"requests": {"cpu": "200m", "memory": "1Mi"}}})
        self.daemon.call("POST", MPI_JOBS, mpi)
        self.wait_group("mpi", lambda s: s.get("pending") == 3 and s["reason"] == "WaitingForTurn")
        self.remove("blocker")
        self.daemon.wait_running("gang", 3)
        group = self.wait_group("mpi", lambda s: "needs 1200m CPU, 500m of 2 CPU is free" in s["message"])
        self.assertEqual((group["spec"]["minMember"], self.placed("mpi")), (3, []))
        self.remove("gang")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: len(self.placed("mpi")) == 3 or None, "the launcher and its workers")
        self.remove("mpijob/mpi")

    def test_a_quota_set_below_what_runs_stops_nothing(self):
        self.make_queue("shrinks", quota={"requests": {"cpu": "2"}})
        self.submit("stays", "shrinks", "600m", replicas=2)
        before = harness.uids(self.daemon.wait_running("stays", 2))
        self.daemon.call("PATCH", f"{QUEUES}/shrinks", {"spec": {"quota": {"requests": {"cpu": "1"}}}}, content_type=MERGE)
        self.submit("waits", "shrinks", "100m")
        self.wait_says("waits", 'waiting for the quota of queue "shrinks": needs 100m CPU, 1200m CPU is in use, more than its 1; job "stays" holds 1200m CPU')
        self.assertEqual(harness.uids(self.daemon.wait_running("stays", 2)), before)
        self.remove("stays")
        self.daemon.wait_running("waits", 1)
        self.remove("waits")

    def test_a_deleted_queue_loses_nothing(self):
        self.make_queue("gone")
        self.submit("runs", "gone", "1500m")
        before = harness.uids(self.daemon.wait_running("runs", 1))
        self.submit("waits", "gone", "1")
        self.wait_says("waits", "waiting for resources")
        self.daemon.call("DELETE", f"{QUEUES}/gone")
        self.wait_says("waits", 'there is no queue "gone" in namespace t9k-system: make it (muster queue create gone)')
        late = job("late", ["true"], replicas=1)
        late["spec"]["scheduler"] = {"t9kScheduler": {"queue": "gone"}}
        self.assertIn('there is no queue "gone"', self.daemon.call("POST", harness.JOBS.format(ns="default"), late, expect=(403,))["message"])
        self.assertEqual(harness.uids(self.daemon.wait_running("runs", 1)), before)
        self.make_queue("gone")
        self.wait_says("waits", "waiting for resources")
        self.remove("runs")
        self.daemon.wait_running("waits", 1)
        self.remove("waits")

    def test_jobs_that_name_no_queue_have_a_place(self):
        self.daemon.create(job("holds", ["sleep", "1000"], replicas=1, cpu="2"))
        self.daemon.wait_running("holds", 1)
        for name in ("first", "second"):
            self.daemon.create(job(name, ["sleep", "1000"], replicas=1, cpu="2"))
            self.wait_says(name, "waiting for")
        self.wait_job("second", lambda s: s.get("place") == 2, "to be second")
        self.assertRegex(self.daemon.cli("ps").stdout, r"(?m)^second .*\bdefault #2\b")
        self.assertRegex(self.daemon.cli("ps").stdout, r"(?m)^holds .*\bdefault\b")
        self.remove("holds", "first", "second")

    def test_who_runs_too_long_is_paused(self):
        self.make_queue("brief", maxDuration="1s")
        self.submit("long", "brief", "100m")
        why = 'it ran longer than maxDuration (1s) of queue "brief"'
        status = self.wait_job("long", lambda s: s.get("phase") == "Paused" and s["reason"] == "MaxDurationExceeded", "to be paused")
        self.assertEqual(status["message"], f"the job is paused: {why}; runMode.pause.enabled: false resumes it")
        self.assertTrue(self.daemon.get_job("long")["spec"]["runMode"]["pause"]["enabled"])
        group = self.wait_group("long", lambda s: s["phase"] == "Paused" and s["reason"] == "MaxDurationExceeded")
        self.assertEqual((group["status"]["message"], group["status"]["allocated"]), (why, {}))
        self.assertIn(status["message"], self.daemon.cli("ps").stdout)
        told = self.describe("pytorchtrainingjob", "long")
        self.assertIn(status["message"], told)
        self.assertIn(f"Paused: {why}", told)
        self.wait_queue("brief", lambda s: s["podGroups"] == {"total": 1, "running": 0, "waiting": 0})
        self.assertRegex(self.daemon.cli("queue", "get", "brief").stdout, rf"(?m)^paused +default/long .*{re.escape(why)}$")
        self.daemon.call("PATCH", f"{QUEUES}/brief", {"spec": {"maxDuration": "1d"}}, content_type=MERGE)
        self.daemon.call("PATCH", f"{harness.JOBS.format(ns='default')}/long", {"spec": {"runMode": {"pause": {"enabled": False}}}}, content_type=MERGE)
        self.daemon.wait_running("long", 1)
        self.wait_group("long", lambda s: [c["type"] for c in s["conditions"]] == ["SufficientGroupMember", "GroupScheduled"])
        self.remove("long")

    def test_a_gang_job_that_runs_too_long_is_suspended(self):
        self.make_queue("short", maxDuration="2s")
        jobs, why = "/apis/batch/v1/namespaces/default/jobs", 'it ran longer than maxDuration (2s) of queue "short"'
        self.daemon.call("POST", jobs, {"metadata": {"name": "gang", "annotations": {"muster.dev/gang": "true"}}, "spec": {
            "parallelism": 2, "completions": 2, "template": {"metadata": {"labels": {"scheduler.tensorstack.dev/queue": "short"}}, "spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "none", "command": ["sleep", "1000"]}]}}}})
        try:
            done = self.daemon.wait_for(jobs, lambda found: found["gang"].get("status", {}).get("terminating") == 0 and not found["gang"]["status"].get("active") and any(
                c["reason"] == "MaxDurationExceeded" for c in found["gang"]["status"].get("conditions", [])) and found["gang"] or None, "its suspension")
            self.assertTrue(done["spec"]["suspend"])
            self.assertEqual([(c["type"], c["status"], c["message"]) for c in done["status"]["conditions"]], [("Suspended", "True", f"Job suspended: {why}")])
            self.assertNotIn("failed", done["status"])
            self.wait_event("gang", f"Paused: {why}; spec.suspend: false lets it go on")
            self.wait_group("gang", lambda s: s["phase"] == "Paused" and s["message"] == why)
            self.daemon.call("PATCH", f"{QUEUES}/short", {"spec": {"maxDuration": "1d"}}, content_type=MERGE)
            self.daemon.call("PATCH", f"{jobs}/gang", {"spec": {"suspend": False}}, content_type=MERGE)
            self.daemon.wait_for(jobs, lambda found: found["gang"]["status"].get("ready") == 2 or None, "it to go on")
        finally:
            self.daemon.call("DELETE", f"{jobs}/gang?propagationPolicy=Background")

    def by_hand(self, name, members=1, pods=1, command=("true",)):
        if members:
            self.daemon.call("POST", GROUPS.format(ns="default"), {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "PodGroup",
                                                                   "metadata": {"name": name}, "spec": {"minMember": members, "queue": "default"}})
        for i in range(pods):
            self.daemon.call("POST", harness.PODS.format(ns="default"), {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{i}", "labels": {"scheduler.tensorstack.dev/group-name": name}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none", "command": list(command)}]}})

    def test_groups_made_by_hand(self):
        """One that has ended, one without pods, one that lacks some, and a pod whose group is not there."""
        self.by_hand("done")
        self.by_hand("empty", pods=0)
        self.by_hand("lacking", members=3, pods=2)
        self.by_hand("lost", members=0)
        self.wait_group("done", lambda s: (s["phase"], s["message"]) == ("Finished", "its pods have ended"))
        self.wait_group("empty", lambda s: s["phase"] == "Empty" and s["message"].startswith("no pod has joined it: "))
        told = {"lacking-1": "waiting for pods: 2 of 3 are there",
                "lost-0": 'waiting for its PodGroup: there is none named "lost" in namespace default'}
        for pod, words in told.items():
            self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: [
                c for c in pods[pod].get("status", {}).get("conditions", []) if (c["type"], c.get("message")) == ("PodScheduled", words)], words)
            # one event per reason: the first may count fewer groups
            self.wait_event(pod, words.split(" 2 of 3")[0])
            self.assertIn(words, self.describe("pod", pod))
        self.wait_queue("default", lambda s: s["podGroups"]["waiting"] == 1)
        # group statuses and queue counts are written one after the other
        lines = (r"- +default/lacking .* waiting for pods: 2 of 3 are there", r"ended +default/done ", r"empty +default/empty ")
        harness.wait_until(lambda: all(re.search(f"(?m)^{line}", self.daemon.cli("queue", "get", "default").stdout) for line in lines),
                           "the queue's table")
        shown = self.daemon.cli("queue", "get", "default").stdout
        self.assertRegex(shown, r"(?m)^default +0 +open +- +- +0 +1 ")
        for name in ("done", "empty", "lacking"):
            self.daemon.call("DELETE", f"{GROUPS.format(ns='default')}/{name}")
        for name in ("done-0", "lacking-0", "lacking-1", "lost-0"):
            self.daemon.call("DELETE", f"{harness.PODS.format(ns='default')}/{name}", {"gracePeriodSeconds": 0})

    def test_the_priority_of_who_waits_is_changed_in_its_group(self):
        self.submit("runs", "default", "2")
        self.daemon.wait_running("runs", 1)
        self.submit("first", "default", "2")
        self.wait_says("first", "needs 2 CPU")
        self.submit("second", "default", "2")
        self.wait_says("second", 'number 2 in line behind job "first"')
        name = self.wait_group("second", lambda s: s["reason"] == "WaitingForTurn")["metadata"]["name"]
        self.daemon.call("PATCH", f"{GROUPS.format(ns='default')}/{name}", {"spec": {"priority": 7}}, content_type=MERGE)
        self.wait_says("first", 'number 2 in line behind job "second"')
        self.remove("runs")
        self.daemon.wait_running("second", 1)
        self.wait_says("first", '"second" (queue default) holds 2 CPU')
        self.remove("first", "second")

    def test_configuration_that_is_not_carried_out_is_told(self):
        maps = "/api/v1/namespaces/t9k-system/configmaps"
        self.daemon.call("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scheduler-config"},
                                        "data": {"binpack.weight": "3"}})
        words = "data[binpack.weight]: has no effect"
        self.wait_event("scheduler-config", words, ns="t9k-system")
        self.assertIn(f"t9k-system/scheduler-config: {words}", self.daemon.output())
        self.daemon.call("DELETE", f"{maps}/scheduler-config")


class Schedulers(DaemonTest):
    """Several by mistake or for safety: one acts, another when that is gone."""
    options = ("--only", "api")

    def holder(self, lease):
        leases = self.daemon.wait_for("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                                      lambda found: found if found.get(lease, {}).get("spec", {}).get("holderIdentity") else None, f"a holder of {lease}")
        return int(leases[lease]["spec"]["holderIdentity"].split("_")[2])

    def test_another_takes_over(self):
        config = os.path.join(self.daemon.folder, "kubeconfig")
        schedulers = [self.daemon.spawn("scheduler", "--kubeconfig", config) for _ in range(2)]
        first = self.holder("muster-scheduler")
        self.assertIn(first, [s.pid for s in schedulers])
        self.daemon.spawn("controller", "--kubeconfig", config)
        self.daemon.spawn("node", "--kubeconfig", config, "--dir", self.daemon.data)
        self.daemon.create(job("one", ["sleep", "1000"], replicas=2))
        self.daemon.wait_running("one", 2)
        leader = next(s for s in schedulers if s.pid == first)
        leader.kill()
        leader.wait()
        self.daemon.create(job("two", ["sleep", "1000"], replicas=2))
        self.daemon.wait_running("two", 2)
        self.assertNotEqual(self.holder("muster-scheduler"), first)
        self.remove("one", "two")


class Rivals(WithDaemon):
    """Two schedulers that both act, each on what it has seen: the server gives nothing twice, and gangs start whole."""
    options = ("--only", "api")
    CPUS, QUOTA, NAMES = 4, 6, ("n1", "n2", "n3")

    def setUp(self):
        for name in self.NAMES:
            self.daemon.call("POST", harness.NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"is": name}}})
            self.daemon.call("PATCH", f"{harness.NODES}/{name}/status",
                             {"status": {"allocatable": {"cpu": str(self.CPUS), "memory": "8Gi", "pods": "50"},
                                         "conditions": [{"type": "Ready", "status": "True"}]}}, content_type=MERGE)
        self.daemon.call("POST", QUEUES, {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "Queue", "metadata": {"name": "tight"}, "spec": {
            "priority": 5, "preemptible": False, "quota": {"requests": {"cpu": str(self.QUOTA)}}, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}})
        self.tried, self.gangs = [], {}
        self.held, self.asked, self.go_on, self.answered = b"nothing", *(threading.Event() for _ in range(3))
        self.proxy = WriteProxy(self.daemon.port, self.note, edit=self.pass_on)
        self.addCleanup(self.proxy.close)
        self.addCleanup(self.go_on.set)

    def tearDown(self):
        for path in (QUEUES + "/tight", *(f"{harness.NODES}/{name}" for name in self.NAMES)):
            self.daemon.call("DELETE", path)
        for process in self.daemon.others:
            process.terminate()
            process.wait()

    def note(self, _, line):
        self.tried.append(line)
        if line.encode().startswith(self.held):
            self.answered.set()

    def pass_on(self, request):
        """Of the second scheduler: it has a lease of its own, of a name as long, and so never hears of the other."""
        if request.startswith(self.held):
            self.asked.set()
            self.go_on.wait(harness.PATIENCE)
        return request.replace(b"muster-scheduler", b"second-scheduler")

    def start_first(self):
        self.daemon.spawn("scheduler", "--kubeconfig", os.path.join(self.daemon.folder, "kubeconfig"))

    def start_second(self):
        self.daemon.spawn("scheduler", "--kubeconfig", self.daemon.kubeconfig(self.daemon.token, server=f"http://127.0.0.1:{self.proxy.port}"))

    def make_gang(self, name, members, queue):
        self.gangs[name] = (members, queue)
        self.daemon.call("POST", GROUPS.format(ns="default"), {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "PodGroup", "metadata": {
            "name": name}, "spec": {"minMember": members, "members": members, "queue": queue}})
        for i in range(members):
            self.daemon.call("POST", harness.PODS.format(ns="default"), {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{i}", "labels": {"scheduler.tensorstack.dev/group-name": name}},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}]}})

    def whole_gangs(self, pods):
        """Those of which all pods have nodes; nothing may ever be over what there is."""
        bound, used = {}, {}
        for pod in pods.values():
            node, gang = pod["spec"].get("nodeName"), pod["metadata"]["labels"]["scheduler.tensorstack.dev/group-name"]
            if node:
                bound[gang] = bound.get(gang, 0) + 1
                used[node] = used.get(node, 0) + 1
        self.assertFalse([node for node, cpus in used.items() if cpus > self.CPUS], used)
        self.assertLessEqual(sum(n for gang, n in bound.items() if self.gangs[gang][1] == "tight"), self.QUOTA, bound)
        return [gang for gang, n in bound.items() if n == self.gangs[gang][0]]

    def end_gang(self, name):
        self.daemon.call("DELETE", f"{GROUPS.format(ns='default')}/{name}")
        for i in range(self.gangs[name][0]):
            self.daemon.call("DELETE", f"{harness.PODS.format(ns='default')}/{name}-{i}?gracePeriodSeconds=0")

    def make_pod(self, name, cpus, queue):
        self.daemon.call("POST", harness.PODS.format(ns="default"), {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"scheduler.tensorstack.dev/queue": queue}},
            "spec": {"nodeSelector": {"is": "n1"}, "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpus), "memory": "1Mi"}}}]}})

    def wait_bound(self, name):
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: pods[name]["spec"].get("nodeName"), f"{name} to be bound")

    def test_who_decided_long_ago_looks_again(self):
        """The second chooses a node; before it can say so the first gives the room there to another."""
        pods = harness.PODS.format(ns="default")
        self.held = f"POST {pods}/slow/binding".encode()
        self.start_second()
        self.make_pod("slow", 3, "default")
        self.assertTrue(self.asked.wait(harness.PATIENCE))
        self.make_pod("quick", 3, "tight")
        self.start_first()
        self.wait_bound("quick")
        self.go_on.set()
        self.assertTrue(self.answered.wait(harness.PATIENCE))
        self.assertNotIn("nodeName", self.daemon.call("GET", f"{pods}/slow")["spec"])
        self.daemon.call("DELETE", f"{pods}/quick?gracePeriodSeconds=0")
        self.wait_bound("slow")
        self.daemon.call("DELETE", f"{pods}/slow?gracePeriodSeconds=0")

    def both_have_written(self):
        return any("/binding" in line or "/podgroups/" in line for line in self.tried)

    def test_nothing_is_given_twice(self):
        self.start_first()
        self.start_second()
        self.daemon.wait_for("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                             lambda found: {"muster-scheduler", "second-scheduler"} <= set(found) or None, "two leaders")
        made, left = 0, set()
        while left or made < 40 or not self.both_have_written():
            while len(left) < 12 and (made < 40 or not self.both_have_written()):
                self.make_gang(f"g{made}", 2 + made % 3, ("default", "tight")[made % 2])
                left.add(f"g{made}")
                made += 1
            for gang in self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: self.whole_gangs(pods) or None, "a gang that is whole"):
                self.end_gang(gang)
                left.remove(gang)


if __name__ == "__main__":
    harness.main()
