#!/usr/bin/python3
"""Controller and scheduler on a real API server, with the rights that `muster manifests` gives them and no others."""
import collections
import signal
import unittest

from control_plane import ControlPlane
from install_test import JOBS, job

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
GROUPS = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/default/podgroups"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases"
CONTROLLER = ("controller", "--no-scheduler", "--namespace", "muster-system")


def ours(name, **spec):
    return job(name, scheduler={"t9kScheduler": {"queue": "default"}}, **spec)


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ControlPlane.of(cls).start().prepare_for_jobs()
        cls.plane.add_node("away", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
        cls.controller, cls.scheduler = cls.plane.start_ours()

    def pods_of(self, name, done, what):
        def of_it(pods):
            mine = {n: p for n, p in pods.items() if any(o["name"] == name for o in p["metadata"].get("ownerReferences", []))}
            return done(list(mine.values()))

        return self.api.wait(PODS, of_it, what)

    def set_phase(self, pods, phase, code=None):
        state = {"running": {}} if code is None else {"terminated": {"exitCode": code, "reason": "Completed"}}
        for pod in pods:
            self.api.patch("%s/%s/status" % (PODS, pod["metadata"]["name"]), {"status": {
                "phase": phase, "conditions": [{"type": "Ready", "status": "True" if code is None else "False"}],
                "containerStatuses": [{"name": "pytorch", "image": "none", "imageID": "", "ready": code is None,
                                       "restartCount": 0, "state": state}]}})

    def wait_phase(self, name, phase):
        return self.api.wait(JOBS, lambda jobs: jobs[name] if jobs[name].get("status", {}).get("phase") == phase else None,
                             "%s to be %s" % (name, phase))

    def test_a_job_from_start_to_end(self):
        self.api.create(JOBS, ours("whole"))
        pods = self.pods_of("whole", lambda p: p if len(p) == 2 and all(x["spec"].get("nodeName") for x in p) else None,
                            "two bound pods")
        self.assertEqual({p["spec"]["nodeName"] for p in pods}, {"n1"})
        self.assertEqual({p["spec"]["schedulerName"] for p in pods}, {"t9k-scheduler"})
        names = {p["metadata"]["name"] for p in pods}
        self.api.wait(SERVICES, lambda services: names <= set(services), "a Service of each, now that they have a node")
        self.assertEqual(len([g for g in self.api.get(GROUPS)["items"] if g["metadata"]["name"].startswith("whole-")]), 1)
        self.set_phase(pods, "Running")
        self.wait_phase("whole", "Running")
        self.set_phase(pods, "Succeeded", 0)
        self.wait_phase("whole", "Succeeded")

    def test_a_replica_that_fails_is_replaced(self):
        self.api.create(JOBS, ours("again", replicaSpecs=[dict(job("x")["spec"]["replicaSpecs"][0], replicas=1,
                                                               restartPolicy="OnFailure")]))
        first = self.pods_of("again", lambda p: p if p and p[0]["spec"].get("nodeName") else None, "a bound pod")
        self.set_phase(first, "Running")
        self.set_phase(first, "Failed", 7)
        uid = first[0]["metadata"]["uid"]
        # without a kubelet nobody else ends the old one
        second = self.pods_of("again", lambda p: p if p and p[0]["metadata"]["uid"] != uid else None, "its successor")
        self.assertEqual(len(second), 1)
        status = self.api.get(JOBS + "/again")["status"]
        self.assertEqual(status["backoffCount"], 1)

    def test_the_default_schedulers_pods_are_left_alone(self):
        self.api.create(JOBS, job("theirs"))
        self.pods_of("theirs", lambda p: p if len(p) == 2 else None, "two pods")
        self.api.create(JOBS, ours("after"))
        self.pods_of("after", lambda p: p if len(p) == 2 and all(x["spec"].get("nodeName") for x in p) else None,
                     "two bound pods")
        for pod in self.pods_of("theirs", lambda p: p, "them"):
            self.assertNotIn("nodeName", pod["spec"])
            self.assertEqual(pod["status"].get("conditions", []), [])
        self.assertFalse([g for g in self.api.get(GROUPS)["items"] if g["metadata"]["name"].startswith("theirs-")])

    def test_why_a_job_waits_is_said_once(self):
        replica = job("x")["spec"]["replicaSpecs"][0]
        replica["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1000"}}
        self.api.create(JOBS, ours("large", replicaSpecs=[replica]))
        waiting = self.api.wait(JOBS, lambda jobs: jobs["large"] if "CPU" in jobs["large"].get("status", {}).get(
            "message", "") else None, "the reason")
        self.assertIn("asks 2000 CPU", waiting["status"]["message"])
        pods = self.pods_of("large", lambda p: p if all("message" in str(x.get("status")) for x in p) else None, "messages")
        self.api.create(JOBS, ours("another"))  # every look at what is new looks at what waits, too
        self.pods_of("another", lambda p: p if len(p) == 2 and all(x["spec"].get("nodeName") for x in p) else None, "binding")
        now = self.pods_of("large", lambda p: p, "them")
        self.assertEqual({p["metadata"]["resourceVersion"] for p in pods}, {p["metadata"]["resourceVersion"] for p in now})

    def test_it_needs_no_more_rights_than_it_has(self):
        self.run_to_the_end("rights")
        for account in ("muster-controller", "muster-scheduler"):
            asked = self.plane.requests(account)
            self.assertEqual({k: n for k, n in asked.items() if k[2] in (401, 403)}, {}, account)

    def run_to_the_end(self, name):
        self.api.create(JOBS, ours(name))
        pods = self.pods_of(name, lambda p: p if len(p) == 2 and all(x["spec"].get("nodeName") for x in p) else None,
                            "two bound pods")
        self.set_phase(pods, "Succeeded", 0)
        self.wait_phase(name, "Succeeded")

    def test_another_leads_when_one_is_killed(self):
        second = self.plane.muster(*CONTROLLER, account="muster-controller", name="second")
        first = type(self).controller
        first.send_signal(signal.SIGKILL)
        first.wait()
        type(self).controller = second
        self.api.create(JOBS, ours("heir"))
        self.pods_of("heir", lambda p: p if len(p) == 2 else None, "pods by the second controller")

    def test_killed_in_the_middle_nothing_is_made_twice(self):
        names = ["many-%d" % i for i in range(40)]
        for name in names:
            self.api.create(JOBS, job(name))

        def of_them(pods):
            owners = [p["metadata"]["ownerReferences"][0]["name"] for p in pods.values()
                      if p["metadata"]["name"].startswith("many-")]
            return collections.Counter(owners)

        self.api.wait(PODS, lambda pods: sum(of_them(pods).values()) >= 20, "the first of 80 pods")
        first = type(self).controller
        first.send_signal(signal.SIGKILL)
        first.wait()
        type(self).controller = self.plane.muster(*CONTROLLER, account="muster-controller", name="next")
        found = self.api.wait(PODS, lambda pods: (lambda c: c if sum(c.values()) >= 80 else None)(of_them(pods)), "80 pods")
        self.assertEqual(found, {name: 2 for name in names})
        jobs = self.api.wait(JOBS, lambda jobs: jobs if all(jobs[n].get("status", {}).get("phase") for n in names) else None,
                             "their status")
        self.assertEqual({jobs[n]["status"].get("backoffCount", 0) for n in names}, {0})

    def test_what_the_cluster_refuses_is_said(self):
        limits = "/api/v1/namespaces/default/limitranges"
        self.api.create(limits, {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"},
                                 "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}})
        self.addCleanup(self.api.delete, limits + "/small")
        replica = job("x")["spec"]["replicaSpecs"][0]
        replica["template"]["spec"]["containers"][0]["resources"] = {"limits": {"memory": "2Gi"}}
        self.api.create(JOBS, ours("refused", replicaSpecs=[replica]))
        said = self.api.wait(JOBS, lambda jobs: jobs["refused"] if "refused: " in jobs["refused"].get("status", {}).get(
            "message", "") else None, "the cluster's words")
        self.assertIn("maximum memory usage per Container is 1Gi, but limit is 2Gi", said["status"]["message"])

    def test_at_rest_only_the_leases_are_renewed(self):
        self.api.create(JOBS, ours("calm"))
        pods = self.pods_of("calm", lambda p: p if len(p) == 2 and all(x["spec"].get("nodeName") for x in p) else None,
                            "two bound pods")
        self.set_phase(pods, "Running")
        self.wait_phase("calm", "Running")
        self.renewals(3)  # what is left to be said of it
        before = {a: self.plane.requests(a) for a in ("muster-controller", "muster-scheduler")}
        self.renewals(4)
        for account, asked in before.items():
            more = {k[:2] for k in (self.plane.requests(account) - asked) if k[0] != "watch"}
            self.assertEqual(more, {("patch", "leases")}, account)

    def renewals(self, count):
        seen = set()

        def done(leases):
            seen.add(leases["muster-scheduler"]["metadata"]["resourceVersion"])
            return len(seen) > count

        self.api.wait(LEASES, done, "%d renewals" % count)


if __name__ == "__main__":
    unittest.main(verbosity=2)
