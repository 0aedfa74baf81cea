"""Many jobs on a real API server, and a stand-in for the kubelet: pods that are bound run and end as the test wants."""
import collections
import contextlib
import http.client
import json
import threading
import time

from control_plane import Client
from install_test import JOBS, job

PODS = "/api/v1/namespaces/default/pods"


class Workload:
    """count jobs of two replicas for our scheduler, called NAME-0, NAME-1, ...; the first pod of replica 0 of every fifth
    fails once, and is to be made again."""

    def __init__(self, plane, name, count):
        self.plane, self.name = plane, name
        self.names = ["%s-%d" % (name, i) for i in range(count)]
        self.failing = set(self.names[::5])
        self.ended = collections.Counter()  # pods that were ended, by job
        self.met = collections.defaultdict(set)  # UIDs of pods that were ever there, by name
        self.stop_playing = threading.Event()
        self.api = Client(plane.port, plane.admin.token)
        self.failure = None
        self.player = threading.Thread(target=self.play, daemon=True)
        self.player.start()

    def create(self):
        replica = dict(job("x")["spec"]["replicaSpecs"][0], restartPolicy="OnFailure")
        for name in self.names:
            self.plane.admin.create(JOBS, job(name, scheduler={"t9kScheduler": {"queue": "default"}}, replicaSpecs=[replica]))

    def play(self):
        seen = set()
        while not self.stop_playing.is_set() and not self.failure:
            try:
                self.api.wait(PODS, lambda pods: self.stop_playing.is_set() or self.end_bound(pods, seen), "the end")
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)  # the server is being started again
            except Exception as error:  # the test tells it
                self.failure = error
        self.api.close()

    def end_bound(self, pods, seen):
        for name, pod in pods.items():
            if not name.startswith(self.name + "-"):
                continue
            uid = pod["metadata"]["uid"]
            self.met[name].add(uid)
            if uid in seen or not pod["spec"].get("nodeName"):
                continue
            owner = pod["metadata"]["ownerReferences"][0]["name"]
            fails = owner in self.failing and name.endswith("-0") and self.ended[owner, "failed"] == 0
            self.end(name, 7 if fails else 0)
            self.ended[owner, "failed" if fails else "succeeded"] += 1
            seen.add(uid)
        return None

    def end(self, name, code):
        client = Client(self.plane.port, self.plane.admin.token)
        with contextlib.closing(client):
            client.patch("%s/%s/status" % (PODS, name), {"status": {
                "phase": "Failed" if code else "Succeeded", "conditions": [{"type": "Ready", "status": "False"}],
                "containerStatuses": [{"name": "pytorch", "image": "none", "imageID": "", "ready": False, "restartCount": 0,
                                       "state": {"terminated": {"exitCode": code, "reason": "Ended"}}}]}})

    def wait_succeeded(self):
        def done(jobs):
            assert not self.failure, self.failure
            phases = collections.Counter(jobs.get(n, {}).get("status", {}).get("phase") for n in self.names)
            return jobs if phases == {"Succeeded": len(self.names)} else None

        jobs = self.plane.admin.wait(JOBS, done, "all jobs to succeed")
        self.stop_playing.set()
        return jobs

    def created_pods(self):
        """How many pods of each job were ever made, by the server's audit log; a server that is killed may have made one and
        not said so, but then it was met."""
        pods = collections.Counter()
        with open(self.plane.folder / "audit.log") as log:
            for line in log:
                event = json.loads(line)
                what = event.get("objectRef", {})
                if event["verb"] == "create" and what.get("resource") == "pods" and not what.get("subresource") and \
                        event["responseStatus"]["code"] == 201 and what.get("name", "").startswith(self.name + "-"):
                    pods[what["name"]] += 1
        for name, uids in list(self.met.items()):  # the player may still be at it
            pods[name] = max(pods[name], len(uids))
        counts = collections.Counter()
        for name, made in pods.items():
            counts["-".join(name.split("-")[:len(self.name.split("-")) + 1])] += made
        return counts

    def check(self, test):
        jobs = self.wait_succeeded()
        test.assertEqual({n: jobs[n]["status"].get("backoffCount", 0) for n in self.names},
                         {n: int(n in self.failing) for n in self.names})
        made = self.created_pods()
        test.assertEqual({n: made[n] for n in self.names}, {n: 2 + (n in self.failing) for n in self.names})
