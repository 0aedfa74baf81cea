#!/usr/bin/python3
"""Our commands and the console against a real cluster, by the user's own kubeconfig and context, with the rights of a user
of one namespace. A `muster node` runs the pods."""
import json
import os
import pathlib
import re
import subprocess
import unittest
import urllib.error
import urllib.request

from control_plane import MUSTER, ControlPlane, free_port
from install_test import job

SCRIPT = "echo rank $RANK of $WORLD_SIZE; for i in 1 2 3; do echo step $i; done"
PODS = [{"apiGroups": [""], "resources": ["pods", "pods/log", "pods/exec", "events"],
         "verbs": ["get", "list", "watch", "create"]},  # part of `edit`, which another controller would fill
        {"apiGroups": ["metrics.k8s.io"], "resources": ["pods"], "verbs": ["get", "list"]}]


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls).start(nodes=True).prepare()
        plane.let_in_to_nodes()
        plane.start_node()
        plane.start_metrics_server()
        plane.start_ours()
        plane.make_namespace("team")
        cls.users = {"ann": cls.user("ann", PODS), "bob": cls.user("bob", None)}
        cls.write_kubeconfig()

    @classmethod
    def user(cls, name, rules):
        """Who may use jobs in the namespace team, and with the rules their pods too."""
        plane, rbac = cls.plane, "/apis/rbac.authorization.k8s.io/v1/namespaces/team/"
        plane.kubectl("-n", "team", "create", "serviceaccount", name)
        roles = ["muster-edit", "muster-view"]
        if rules:
            plane.admin.create(rbac + "roles", {"kind": "Role", "metadata": {"name": name}, "rules": rules})
            plane.kubectl("-n", "team", "create", "rolebinding", name, "--role=" + name, "--serviceaccount=team:" + name)
        for role in roles:
            plane.kubectl("-n", "team", "create", "rolebinding", name + "-" + role, "--clusterrole=" + role,
                          "--serviceaccount=team:" + name)
        return plane.account_token("team", name)

    @classmethod
    def write_kubeconfig(cls):
        config = json.loads(cls.plane.config.read_text())
        config["users"] += [{"name": name, "user": {"token": token}} for name, token in cls.users.items()]
        config["contexts"] += [{"name": name, "context": {"cluster": "c", "user": name, "namespace": "team"}}
                               for name in cls.users]
        (cls.plane.folder / ".kube").mkdir(exist_ok=True)
        (cls.plane.folder / ".kube/config").write_text(json.dumps(config))
        cls.environment = dict(os.environ, HOME=str(cls.plane.folder))
        cls.environment.pop("KUBECONFIG", None)

    def muster(self, user, *arguments, code=0):
        where = list(arguments)
        where.insert(1, "--context=" + user)
        done = subprocess.run([MUSTER, *where], env=self.environment, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done

    def file(self, name, *command):
        what = job(name, scheduler={"t9kScheduler": {"queue": "default"}})
        pod = what["spec"]["replicaSpecs"][0]["template"]["spec"]
        pod["automountServiceAccountToken"] = False
        pod["containers"][0].update(command=["sh", "-c", *command])
        path = self.plane.folder / (name + ".json")
        path.write_text(json.dumps(what))
        return str(path)

    def test_a_job_from_run_to_rm(self):
        done = self.muster("ann", "run", self.file("whole", SCRIPT))
        for line in ("worker-0 | rank 0 of 2", "worker-1 | rank 1 of 2", "worker-0 | step 3"):
            self.assertIn(line, done.stdout)
        self.assertRegex(self.muster("ann", "ps").stdout, r"whole +PyTorchTrainingJob +Succeeded +2/2 done")
        self.assertIn("worker-1 | step 2\n", self.muster("ann", "logs", "whole").stdout)
        self.assertIn("this API server has no curves", self.muster("c", "board", "-n", "team", "whole", code=5).stderr)
        self.muster("ann", "rm", "whole")
        self.assertNotIn("whole", self.muster("ann", "ps").stdout)

    def test_a_job_that_runs(self):
        self.muster("ann", "run", "--detach", self.file("long", "echo here; sleep 100000"))
        path = "/apis/batch.tensorstack.dev/v1beta1/namespaces/team/pytorchtrainingjobs"
        self.plane.admin.wait(path, lambda jobs: jobs["long"].get("status", {}).get("aggregate", {}).get("running") == 2,
                              "both replicas to run")
        done = self.muster("ann", "exec", "long", "--replica", "worker-1", "--", "sh", "-c", "echo in $RANK; exit 3", code=3)
        self.assertEqual(done.stdout, "in 1\n")
        self.assertRegex(self.muster("c", "queue").stdout, r"\ndefault +0 +open +- +")
        # those of others are counted by the scheduler, in the Queue's status
        queues = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues"
        self.plane.admin.wait(queues, lambda found: (counts := found["default"].get("status", {}).get("podGroups", {})).get(
            "running") == 1 and counts["waiting"] == 0, "the scheduler's count")
        lines = self.muster("ann", "queue", "get", "default")
        self.assertRegex(lines.stdout, r"\ndefault +0 +open +- +\S+ +1 +0 +-\s(.*\s)*runs +team/long +0 +2 ")
        self.assertIn("you may only see jobs of namespace 'team'", lines.stderr)
        self.muster("ann", "rm", "long")

    def test_every_command_as_admin_and_as_a_user_of_one_namespace(self):
        """Where test_a_job_* do not: each command with the options that ask the server for something else."""
        path = self.file("every", "echo first; exec sleep 100000")
        for user, queue in (("c", 0), ("ann", 4)):
            where = ("-n", "team")
            self.muster(user, "run", *where, "--detach", "--name", "renamed", path)
            self.muster(user, "run", *where, "--detach", "--replace", "--name", "renamed", path)
            jobs = "/apis/batch.tensorstack.dev/v1beta1/namespaces/team/pytorchtrainingjobs"
            self.plane.admin.wait(jobs, lambda found: found["renamed"].get("status", {}).get("aggregate", {}).get("running") == 2,
                                  "both replicas to run")
            (pod, _) = sorted(p["metadata"]["name"] for p in self.plane.admin.get("/api/v1/namespaces/team/pods")["items"]
                              if p["metadata"]["name"].startswith("renamed-"))
            for output in ("table", "wide", "name", "json", "yaml"):
                self.assertIn("renamed", self.muster(user, "ps", *where, "-o", output).stdout)
            self.muster(user, "ps", "-A", code=0 if user == "c" else 4)
            for options in ((), ("--timestamps",), ("--tail", "1"), ("--replica", "worker-0"), ("--attempt", "0"),
                            ("--grep", "^fir")):
                self.assertIn("first", self.muster(user, "logs", "renamed", *where, *options).stdout, options)
            self.assertIn("first", self.muster(user, "logs", pod, *where).stdout)
            self.assertEqual(self.muster(user, "exec", pod, *where, "--", "echo", "in").stdout, "in\n")
            for options in ((), ("--open",), ("--csv",)):  # it has no page of them either
                self.assertIn("this API server has no curves",
                              self.muster(user, "board", "renamed", *where, *options, code=5).stderr)
            self.muster(user, "board", "tensorboard/none", *where, code=5)
            for word, *options in (("create", "--quota", "cpu=1", "--priority", "1"), ("close",), ("open",) if user == "c" else ("delete",)):
                self.muster(user, "queue", word, "c-q", *options, code=queue)
            self.assertIn("c-q", self.muster(user, "queue", "get", "c-q").stdout)
            self.assertIn("c-q", self.muster(user, "queue").stdout)
            self.assertIn("renamed", self.muster(user, "rm", "--dry-run", "renamed", *where).stdout)
            self.muster(user, "rm", "--no-wait", "renamed", *where)
            self.plane.admin.wait(jobs, lambda found: "renamed" not in found, "the job to be gone")
            self.plane.admin.wait("/api/v1/namespaces/team/pods", lambda found: not any(n.startswith("renamed-") for n in found),
                                  "its pods to be gone")
        self.muster("c", "queue", "delete", "c-q")

    def test_a_sweep_goes_on_without_who_began_it(self):
        self.muster("ann", "sweep", "--detach", "--parallel", "1", "--name", "sw", "--image", "none", "--queue", "default",
                    "--set", "i=1,2,3", "--", "sh", "-c", "exit 0 # {i}")
        path = "/apis/batch.tensorstack.dev/v1beta1/namespaces/team/pytorchtrainingjobs"
        self.plane.admin.wait(path, lambda jobs: all(jobs["sw-%d" % i].get("status", {}).get("phase") == "Succeeded" for i in (1, 2, 3)),
                              "one after the other to be resumed")
        self.muster("ann", "rm", "sw-1", "sw-2", "sw-3")

    def test_what_a_user_may_not_is_said_at_once(self):
        self.assertIn('cannot create resource "queues"', self.muster("ann", "queue", "create", "hers", code=4).stderr)
        self.assertIn('in the namespace "default"', self.muster("ann", "ps", "-n", "default", code=4).stderr)
        done = self.muster("bob", "run", self.file("unseen", SCRIPT), code=4)
        self.assertIn('cannot list resource "pods"', done.stderr)
        done = self.muster("bob", "rm", "unseen", code=4)
        self.assertIn("the job is being removed", done.stderr)

    def console(self, user):
        """The process, and the address that signs in."""
        process = subprocess.Popen([MUSTER, "console", "--context=" + user, "--print", "--listen", "127.0.0.1:%d" % free_port()],
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().strip()

    def test_the_consoles_tour_in_a_browser(self):
        """By an administrator, and by a user with the rights of one namespace."""
        self.muster("ann", "run", self.file("fails", "echo no data left >&2; exit 3"), code=3)
        tour = pathlib.Path(__file__).with_name("console_tour.mjs")
        done = subprocess.run(["node", str(tour), self.console("c")[1], self.console("ann")[1], str(self.plane.folder / "gate")],
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), [])

    def test_the_console_has_the_users_rights(self):
        """The pages, and what they ask, as the context's user: nothing of another namespace."""
        console, address = self.console("ann")
        port, code = re.fullmatch(r"http://127.0.0.1:(\d+)/login\?code=(\S+)", address).groups()

        def ask(path, key=None, body=None):
            request = urllib.request.Request("http://127.0.0.1:%s%s" % (port, path), method="POST" if body else "GET",
                                             data=json.dumps(body).encode() if body else None)
            if key:
                request.add_header("Authorization", "Bearer " + key)
            else:
                request.add_header("Accept", "text/html")
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    return answer.status, answer.read()
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, refused.read()

        key = json.loads(ask("/console/v1/login", body={"code": code})[1])["key"]
        session = json.loads(ask("/console/v1/session", key)[1])
        self.assertEqual((session["user"], session["namespace"]), ("system:serviceaccount:team:ann", "team"))
        jobs = "/apis/batch.tensorstack.dev/v1beta1/namespaces/%s/pytorchtrainingjobs"
        self.assertEqual(ask(jobs % "team", key)[0], 200)
        self.assertEqual(ask(jobs % "default", key)[0], 403)
        self.assertIn(b"<html", ask("/")[1])
        console.terminate()
        self.assertEqual(console.wait(60), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
