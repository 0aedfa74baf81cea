#!/usr/bin/python3
"""What may use a queue: each refusal names the field and the rule, and nothing is made."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from harness import job  # noqa: E402

QUEUES = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues"
GROUPS = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/default/podgroups"
SHAPES = "/api/v1/namespaces/t9k-system/configmaps"
LABEL = "scheduler.tensorstack.dev/queue"
GROUP_LABEL = "scheduler.tensorstack.dev/group-name"
FIELD = "spec.scheduler.t9kScheduler.queue"


def queue(name, **spec):
    return {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def queued(name, where=None, replicas=1, requests=None, limits=None, **t9k):
    made = job(name, ["true"], replicas=replicas)
    made["metadata"].pop("namespace", None)
    container = made["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    if where:
        made["spec"]["scheduler"] = {"t9kScheduler": {"queue": where, **t9k}}
    return made


class Admission(harness.WithDaemon):
    options = ("--only", "api")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                                      "metadata": {"name": "team", "labels": {"team": "a"}}})
        everybody = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "Exists"}]}
        for one in (queue("small", quota={"requests": {"cpu": "4", "memory": "8Gi"}}, namespaceSelector=everybody),
                    queue("gpus", quota={"requests": {"nvidia.com/gpu": "2"}}, namespaceSelector=everybody),
                    queue("shut", closed=True, namespaceSelector=everybody),
                    queue("of-team", namespaceSelector={"matchLabels": {"team": "a"}}),
                    queue("nobodys"),
                    queue("shaped", resourceShapeProfile="modest", namespaceSelector=everybody),
                    queue("shaped-for-all", resourceShapeProfile="small", namespaceSelector=everybody),
                    queue("shapeless", resourceShapeProfile="missing", namespaceSelector=everybody)):
            cls.daemon.call("POST", QUEUES, one)
        cls.daemon.call("POST", SHAPES, {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "resource-shapes"},
            "data": {"small": "- resourceShape: {requests: {cpu: 2}}\n",
                     "modest": "- apiGroups: [batch.tensorstack.dev]\n  resources: ['*']\n"
                               "  resourceShape: {requests: {cpu: 2}, limits: {memory: 1Gi}}\n"}})

    def jobs(self, ns="default"):
        return {j["metadata"]["name"] for j in self.daemon.list(harness.JOBS.format(ns=ns))}

    def refused(self, made, *words, ns="default", code=403):
        answer = self.daemon.call("POST", self.path(made, ns), made, expect=(code,))
        for word in words:
            self.assertIn(word, answer["message"])
        self.assertNotIn(made["metadata"]["name"], self.jobs(ns))

    def accepted(self, made, ns="default"):
        self.daemon.call("POST", self.path(made, ns), made)

    @staticmethod
    def path(made, ns):
        return harness.JOBS.format(ns=ns).replace("pytorchtrainingjobs", made["kind"].lower() + "s")

    def test_a_queue_that_is_not_there(self):
        self.refused(queued("a", "smal"), FIELD, 'there is no queue "smal" in namespace t9k-system', "default", "small", "'muster queue create smal' makes it")

    def test_the_queue_default_stays(self):
        answer = self.daemon.call("DELETE", f"{QUEUES}/default", expect=(403,))
        self.assertIn("muster queue close default", answer["message"])
        self.daemon.call("POST", QUEUES, queue("sold"))
        for name in ("default", "sold"):
            self.daemon.call("PATCH", f"{QUEUES}/{name}", {"metadata": {"labels": {"of": "one"}}}, content_type="application/merge-patch+json")
        self.daemon.call("DELETE", f"{QUEUES}?labelSelector=of=one")
        left = {q["metadata"]["name"] for q in self.daemon.list(QUEUES)}
        self.assertEqual(left & {"default", "sold"}, {"default"})

    def test_quotas_that_make_no_sense(self):
        for amount, words in (({"cpu": "-1"}, "spec.quota.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"),
                              ({"nvidia.com/gpu": "1.5"}, "spec.quota.requests[nvidia.com/gpu]: Invalid value: \"1.5\": must be an integer")):
            answer = self.daemon.call("POST", QUEUES, queue("senseless", quota={"requests": amount}), expect=(422,))
            self.assertIn(words, answer["message"])
        twice = self.daemon.cli("queue", "create", "senseless", "--quota", "cpu=1,cpu=2")
        self.assertEqual(twice.returncode, 2)
        self.assertIn("--quota names cpu twice", twice.stderr)
        self.assertNotIn("senseless", {q["metadata"]["name"] for q in self.daemon.list(QUEUES)})
        odd = self.daemon.cli("queue", "create", "odd", "--quota", "foo=3")
        self.assertIn("warning: spec.quota.requests[foo]: not limited: only cpu, memory, nvidia.com/gpu and nvidia.com/gpu.shared are counted", odd.stderr)

    def test_words_that_mean_no_queue(self):
        for option, text, words in (("--namespaces", ",", '"" is none'), ("--namespaces", "a,UP_PER", '"UP_PER" is none'),
                                    ("--namespaces", "", "wants a value"), ("--quota", "cpu", "NAME=VALUE"), ("--quota", "cpu=1,", "NAME=VALUE"),
                                    ("--nodes", "disk", "NAME=VALUE"), ("--priority", "5x", "--priority")):
            wrong = self.daemon.cli("queue", "create", "senseless", option, text)
            self.assertEqual(wrong.returncode, 2, wrong.stderr)
            self.assertIn(option, wrong.stderr)
            self.assertIn(words, wrong.stderr)
        self.assertNotIn("senseless", {q["metadata"]["name"] for q in self.daemon.list(QUEUES)})
        group = {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"queue": ""}}
        answer = self.daemon.call("POST", GROUPS, group, expect=(403,))
        self.assertIn('spec.queue: names no queue: leave it out for the queue "default"', answer["message"])

    def test_who_is_refused_is_named(self):
        job = queued("many-shares", limits={"nvidia.com/gpu.shared": 2})
        answer = self.daemon.call("POST", harness.JOBS.format(ns="default"), job, expect=(422,))
        self.assertEqual(answer["details"]["name"], "many-shares")

    def test_a_closed_queue(self):
        self.refused(queued("a", "shut"), f'{FIELD}: queue "shut" is closed: muster queue open shut opens it')

    def test_default_is_open_to_all(self):
        self.accepted(queued("open-1"))
        self.accepted(queued("open-2", "default"))
        self.accepted(queued("open-3", "default"), ns="team")

    def test_namespaces(self):
        self.refused(queued("a", "of-team"), FIELD, 'namespace "default" may not use queue "of-team"', "(R001)",
                     "have the namespace labelled as it asks")
        self.refused(queued("a", "nobodys"), "(R001)", "admits none; name another queue, or have it given one")
        self.accepted(queued("ours", "of-team"), ns="team")

    def test_what_the_quota_alone_forbids(self):
        one = {"cpu": "2", "memory": "1Gi"}
        self.accepted(queued("fits", "small", replicas=2, requests=one))
        self.refused(queued("a", "small", replicas=3, requests=one), 'forbidden: spec.replicaSpecs: it asks for 6 cpu, and the quota of queue "small" is 4',
                     "could never start", "(R002)")
        self.refused(queued("a", "small", requests={"cpu": "1", "memory": "9Gi"}), "it asks for 9Gi memory", "(R002)")
        self.refused(queued("a", "gpus", limits={"nvidia.com/gpu": 3}), "it asks for 3 nvidia.com/gpu", "(R002)")
        self.refused(queued("a", "small", replicas=2, requests={**one, "cpu": "9E"}), "it asks for more than 9223372036854775 cpu",
                     "(R002)")
        elastic = queued("elastic", "small", replicas=4, requests=one)
        elastic["spec"].update(elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 8},
                               torchrunConfig={"enabled": True})
        self.accepted(elastic)

    def test_the_launcher_that_is_added_counts(self):
        container = {"name": "mpi-worker", "image": "i", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
        job = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "MPIJob", "metadata": {"name": "m"},
               "spec": {"scheduler": {"t9kScheduler": {"queue": "small"}}, "mpiConfig": {"script": ["true"]},
                        "replicaSpecs": [{"type": "worker", "replicas": 2, "template": {"spec": {"containers": [container]}}}]}}
        launcher = {"type": "launcher", "template": {"spec": {"containers": [{**container, "name": "beside", "args": ["true"]}]}}}
        self.refused(job, 'it asks for 4100m cpu, and the quota of queue "small" is 4', "(R002)")
        job["spec"]["replicaSpecs"] = [{**job["spec"]["replicaSpecs"][0], "replicas": 1}, launcher]
        self.refused(job, 'it asks for 4100m cpu, and the quota of queue "small" is 4', "(R002)")
        launcher["template"] = {}
        self.accepted(job)

    def test_requests_that_are_not_said(self):
        self.refused(queued("a", "small", requests={"cpu": "1"}), "spec.replicaSpecs[0].template.spec.containers[0].resources.requests[memory]: ",
                     "every container must ask for more than 0 in resources.requests.memory", "(R002)")
        self.accepted(queued("by-limits", "small", limits={"cpu": "1", "memory": "1Gi"}))
        first = queued("a", "small", requests={"cpu": "1", "memory": "1Gi"})
        first["spec"]["replicaSpecs"][0]["template"]["spec"]["initContainers"] = [{"name": "first", "image": "none", "command": ["true"]}]
        self.refused(first, "spec.replicaSpecs[0].template.spec.initContainers[0].resources.requests[cpu]: ", '"first" does not (R002)')

    def test_jobs_of_kubernetes(self):
        """A gang has to fit as a whole, other Jobs a pod at a time."""
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        made = {"metadata": {"name": "b"}, "spec": {"parallelism": 3, "completions": 3, "template": {
            "metadata": {"labels": {LABEL: "small"}}, "spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": "none", "command": ["true"], "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]}}}}
        self.daemon.call("POST", f"{jobs}?dryRun=All", made)
        made["metadata"]["annotations"] = {"muster.dev/gang": "true"}
        self.assertIn('jobs.batch "b" is forbidden: spec.template.spec: it asks for 6 cpu, and the quota of queue "small" is 4',
                      self.daemon.call("POST", jobs, made, expect=(403,))["message"])
        made["spec"]["completions"] = 2
        self.daemon.call("POST", f"{jobs}?dryRun=All", made)

    def test_shapes(self):
        self.accepted(queued("modest", "shaped", requests={"cpu": "2"}, limits={"memory": "1Gi"}))
        self.refused(queued("a", "shaped", requests={"cpu": "3"}),
                     "spec.replicaSpecs[0].template.spec.containers[0].resources.requests[cpu]: "
                     'container "python" has requests.cpu 3, and queue "shaped" allows 2',
                     "(R003)")
        self.refused(queued("a", "shaped", limits={"memory": "2Gi"}), "limits.memory 2Gi", "(R003)")
        # A limit is the request where there is none, and what comes first is held to it as well.
        self.refused(queued("a", "shaped", limits={"cpu": "3"}), "resources.limits[cpu]: ", "limits.cpu 3", "(R003)")
        first = queued("a", "shaped", requests={"cpu": "1"})
        first["spec"]["replicaSpecs"][0]["template"]["spec"]["initContainers"] = [
            {"name": "first", "image": "i", "resources": {"requests": {"cpu": 6}}}]
        self.refused(first, 'initContainers[0].resources.requests[cpu]: container "first" has requests.cpu 6', "(R003)")
        self.refused(queued("a", "shapeless"), "has no list of rules of that name", "(R003)")
        heavy = queued("a", "shaped", requests={"cpu": "1"})
        heavy["spec"]["replicaSpecs"][0]["template"]["spec"]["overhead"] = {"cpu": "1500m"}
        self.refused(heavy, 'container "python" has requests.cpu 1 and the pod\'s overhead 1500m, and queue "shaped" allows 2',
                     "(R003)")

    def test_shapes_of_pods_in_groups_of_ones_own(self):
        """Whichever of the two is made first."""
        pods = harness.PODS.format(ns="default")
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big", "labels": {GROUP_LABEL: "mine"}},
               "spec": {"containers": [{"name": "c", "image": "none", "command": ["true"], "resources": {"requests": {"cpu": "6"}}}]}}
        group = {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "PodGroup", "metadata": {"name": "mine"},
                 "spec": {"minMember": 1, "queue": "shaped-for-all"}}
        self.daemon.call("POST", GROUPS, group, expect=(201,))
        answer = self.daemon.call("POST", pods, pod, expect=(403,))
        self.assertIn('spec.containers[0].resources.requests[cpu]: container "c" has requests.cpu 6, '
                      'and queue "shaped-for-all" allows 2 (R003)', answer["message"])
        self.daemon.call("DELETE", GROUPS + "/mine", expect=(200,))
        self.daemon.call("POST", pods, pod, expect=(201,))
        answer = self.daemon.call("POST", GROUPS, group, expect=(403,))
        self.assertIn('spec.queue: pod "big", which is labelled with its name: container "c" has requests.cpu 6, '
                      'and queue "shaped-for-all" allows 2 (R003)', answer["message"])
        self.daemon.call("DELETE", pods + "/big", expect=(200,))

    def account(self, name, *roles):
        """Headers of an account of namespace team with these ClusterRoles."""
        accounts, rbac = "/api/v1/namespaces/team/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/namespaces/team"
        self.daemon.call("POST", accounts, {"metadata": {"name": name}})
        for role in roles:
            self.daemon.call("POST", f"{rbac}/rolebindings", {
                "metadata": {"name": f"{name}-{role}"}, "roleRef": {"kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "team"}]})
        return {"Authorization": "Bearer " + self.daemon.call("POST", f"{accounts}/{name}/token", {})["status"]["token"]}

    def test_who_may_bind_pods_may_name_a_node(self):
        pods = harness.PODS.format(ns="team")
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
            "nodeName": "n", "containers": [{"name": "c", "image": "none", "command": ["true"]}]}}
        self.daemon.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
            "metadata": {"name": "binder"}, "rules": [{"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]}]})
        self.assertIn('there is no node "n"', self.daemon.call(
            "POST", pods, pod, headers=self.account("places", "edit", "binder"), expect=(403,))["message"])
        status, text, headers = self.daemon.exchange("POST", pods, pod, headers=self.account("asks", "edit"))
        self.assertEqual(status, 201, text)
        self.assertIn("spec.nodeName: became a required node affinity", " ".join(headers.get_all("Warning")))
        spec = json.loads(text)["spec"]
        self.assertNotIn("nodeName", spec)
        self.assertEqual(spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"], {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]})
        self.daemon.call("DELETE", pods + "/p")
        applied = self.daemon.call("PATCH", f"{pods}/p?fieldManager=me", pod, headers=self.account("applies", "edit"),
                                   content_type="application/apply-patch+yaml")
        self.assertNotIn("nodeName", json.dumps(applied))
        self.daemon.call("DELETE", pods + "/p")

    def test_who_makes_jobs_sees_the_queues(self):
        eve = self.account("eve", "edit")
        status, text = self.daemon.request("GET", QUEUES, headers=eve)
        self.assertEqual(status, 200, text)
        self.assertIn("small", {one["metadata"]["name"] for one in json.loads(text)["items"]})
        self.assertEqual(self.daemon.request("POST", QUEUES, queue("mine"), headers=eve)[0], 403)
        self.assertEqual(self.daemon.request("GET", SHAPES, headers=eve)[0], 403)

    def test_a_quota_is_shown_as_it_was_written(self):
        self.daemon.call("POST", QUEUES, queue("numbers", quota={"requests": {"cpu": 5, "memory": "1Gi"}}))
        status, text = self.daemon.request("GET", f"{QUEUES}/numbers", headers={
            "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        table = json.loads(text)
        at = [column["name"] for column in table["columnDefinitions"]].index("Quota")
        self.assertEqual((status, table["rows"][0]["cells"][at]), (200, "cpu=5,memory=1Gi"))
        self.assertIn("cpu=5,memory=1Gi", self.daemon.cli("queue", "get", "numbers").stdout)

    def test_shares_of_gpus(self):
        self.refused(queued("a", limits={"nvidia.com/gpu.shared": 2}), "nvidia.com/gpu.shared", "(R026)", code=422)
        self.accepted(queued("shares", limits={"nvidia.com/gpu.shared": 1}))

    def test_other_schedulers(self):
        made = queued("a", "default")
        made["spec"]["replicaSpecs"][0]["template"]["spec"]["schedulerName"] = "volcano"
        self.refused(made, "spec.replicaSpecs[0].template.spec.schedulerName", "(R027)", code=422)

    def test_priorities(self):
        self.refused(queued("a", "default", priority=101), "spec.scheduler.t9kScheduler.priority", "between 0 and 100", code=422)

    def test_the_queue_of_a_job_stays(self):
        self.accepted(queued("stays", "default"))
        for change in ({"queue": "small"}, {"priority": 9}):
            answer = self.daemon.call("PATCH", f"{harness.JOBS.format(ns='default')}/stays", {"spec": {"scheduler": {"t9kScheduler": change}}},
                                      expect=(422,), content_type="application/merge-patch+json")
            self.assertIn("spec.scheduler: Invalid value", answer["message"])
            self.assertIn("change the priority of a waiting job in its PodGroup (spec.priority); for another queue, create the job again",
                          answer["message"])

    def test_queues_live_in_one_namespace(self):
        elsewhere = QUEUES.replace("t9k-system", "default")
        answer = self.daemon.call("POST", elsewhere, queue("stray"), expect=(422,))
        self.assertIn("metadata.namespace", answer["message"])
        self.assertIn("queues live in namespace t9k-system", answer["message"])
        self.assertEqual(self.daemon.list(elsewhere), [])

    def test_configuration_that_is_not_carried_out_is_told(self):
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scheduler-config"},
                "data": {"actions": "preempt,reclaim", "binpack.strategy": "Fullest", "affinity.weight": "3"}}
        warnings = " ".join(self.daemon.exchange("POST", SHAPES, made)[2].get_all("Warning") or [])
        for word in ("data[actions]: only the actions allocate and preempt are supported", "data[actions]: allocate cannot be left out",
                     "data[binpack.strategy]: must be MostAllocated or LeastAllocated", "data[affinity.weight]: has no effect"):
            self.assertIn(word, warnings)
        made["data"] = {"actions": "allocate, preempt", "binpack.strategy": "LeastAllocated"}
        status, _, headers = self.daemon.exchange("PUT", f"{SHAPES}/scheduler-config", made)
        self.assertEqual((status, headers.get_all("Warning")), (200, None))

    def test_lone_pods_and_groups(self):
        pods = harness.PODS.format(ns="default")
        lone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lone", "labels": {LABEL: "shut"}},
                "spec": {"containers": [{"name": "c", "image": "none", "command": ["true"]}]}}
        answer = self.daemon.call("POST", pods, lone, expect=(403,))
        self.assertIn(f'metadata.labels[{LABEL}]: queue "shut" is closed', answer["message"])
        lone["metadata"]["labels"][LABEL] = "default"
        lone["spec"]["schedulerName"] = "volcano"
        self.assertIn("(R027)", self.daemon.call("POST", pods, lone, expect=(422,))["message"])
        group = {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"},
                 "spec": {"minMember": 2, "queue": "nobodys"}}
        self.assertIn("(R001)", self.daemon.call("POST", GROUPS, group, expect=(403,))["message"])
        self.assertEqual((self.daemon.list(pods), self.daemon.list(GROUPS)), ([], []))


if __name__ == "__main__":
    harness.main()
