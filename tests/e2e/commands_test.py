#!/usr/bin/python3
"""The commands beside up, run, logs and ps: what each prints to a terminal and to a pipe, and how it ends."""
import json
import os
import pathlib
import re
import shlex
import subprocess

import harness
from harness import DaemonTest, job

JOB = "pytorchtrainingjob.batch.tensorstack.dev"


def plain(text):
    """Without colours, and without a status line that was taken away again."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", re.sub(r"\x1b\[2m[^\x1b]*\x1b\[0m(?=\r\x1b\[K)|\r\x1b\[K", "", text))


class Commands(DaemonTest):
    def check(self, arguments, code, stdout, stderr, **how):
        done = self.daemon.cli(*arguments, **how)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, stdout, stderr))

    def phases(self, label):
        return {j["metadata"]["name"]: j["status"]["phase"] for j in json.loads(
            self.daemon.cli("ps", "-l", label, "-o", "json").stdout)["items"]}


class Sweep(Commands):
    def test_each_combination_once(self):
        done = self.daemon.cli("sweep", "--name", "grid", "--set", "lr=0.1,0.01", "--set", "bs=32,64", "--", "echo", "{lr}", "b={bs}")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        lines = done.stderr.splitlines()
        values = [(lr, bs) for lr in ("0.1", "0.01") for bs in ("32", "64")]
        self.assertEqual(lines[:4], [f"{JOB}/grid-{i + 1} created  lr={lr} bs={bs}" for i, (lr, bs) in enumerate(values)])
        self.assertEqual(lines[4], f"compare them at http://127.0.0.1:{self.daemon.port}/compare?label=muster.dev%2Fsweep=grid")
        for i, (lr, bs) in enumerate(values):
            made = self.daemon.get_job(f"grid-{i + 1}")
            self.assertEqual(made["metadata"]["labels"], {"muster.dev/sweep": "grid", "param.muster.dev/lr": lr, "param.muster.dev/bs": bs})
            self.assertEqual(self.daemon.cli("logs", f"grid-{i + 1}").stdout, f"worker-0 | {lr} b={bs}\n")
        again = self.daemon.cli("sweep", "--name", "grid", "--set", "lr=1", "--", "echo", "{lr}")
        self.assertEqual((again.returncode, again.stderr.splitlines()[0]), (6, "error: sweep 'grid' already exists: 4 jobs"))
        unnamed = self.daemon.cli("sweep", "-d", "--set", "lr=1", "--", "echo", "{lr}")
        self.assertEqual(unnamed.stdout, f"{JOB}/echo-sweep-1 created  lr=1\n")
        unnamed = self.daemon.cli("sweep", "-d", "--set", "lr=1", "--", "echo", "{lr}")
        self.assertEqual(unnamed.stdout, f"{JOB}/echo-sweep2-1 created  lr=1\n")

    def test_so_many_at_once_without_the_command(self):
        wait = f"until [ -e {self.daemon.folder}/go-{{n}} ]; do sleep 0.02; done"
        done = self.daemon.cli("sweep", "--detach", "--parallel", "1", "--name", "turns", "--set", "n=1,2,3", "--", "sh", "-c", wait)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("turns: 3 jobs, at most 1 at once; the daemon starts the others in turn\n", done.stderr)
        self.daemon.wait_phase("turns-1", "Running")
        self.daemon.wait_phase("turns-3", "Paused")
        self.assertIn('waits for its turn in sweep "turns", which runs at most 1 at once', self.daemon.cli("ps").stdout)
        self.daemon.kill()  # and the next one goes on with it
        self.daemon.start()
        self.write("go-1", "")
        self.daemon.wait_phase("turns-2", "Running")
        self.assertEqual(self.phases("muster.dev/sweep=turns"), {"turns-1": "Succeeded", "turns-2": "Running", "turns-3": "Paused"})
        self.remove("turns-2")
        self.daemon.wait_phase("turns-3", "Running")
        self.write("go-3", "")
        self.daemon.wait_phase("turns-3", "Succeeded")

    def test_on_a_terminal(self):
        code, shown = self.daemon.terminal("sweep", "--name", "seen", "--set", "n=1,2", "--", "sleep", "100{n}",
                                           until="seen-2: running 1/1", send=b"\x03")
        self.assertEqual(code, 130, shown)
        self.assertIn("seen: detached; its jobs keep running", shown)
        self.daemon.wait_phase("seen-2", "Running")

    def test_failures(self):
        failed = self.daemon.cli("sweep", "--name", "ends", "--set", "n=0,4", "--", "sh", "-c", "exit {n}")
        self.assertEqual(failed.returncode, 3)
        self.assertRegex(failed.stderr, "error: job 'ends-2' did not succeed: .*failed with exit code 4")
        self.assertRegex(failed.stderr, "ends-1: succeeded after ")
        text = self.daemon.cli("sweep", "--dry-run", "--name", "dry", "--parallel", "1", "--set", "n=1,2", "--", "echo", "{n}").stdout
        self.assertEqual(text.count("\n---\n"), 1)
        self.assertEqual(text.count("muster.dev/sweep-parallel: \"1\""), 1)
        for arguments, said in (([], "nothing to run"), (["--", "echo"], "nothing to vary: use --set"),
                                (["--set", "a=1", "--", "echo"], "--set a: the command has no {a}")):
            done = self.daemon.cli("sweep", *arguments)
            self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (2, f"error: {said}"))
            self.assertIn("hint:", done.stderr)


class Wait(Commands):
    def test_ends(self):
        self.daemon.create(job("well", ["true"], replicas=1))
        self.daemon.create(job("badly", ["false"], replicas=1))
        self.daemon.create(job("on", ["sleep", "1000"], replicas=1))
        done = self.daemon.cli("wait", "well")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertRegex(done.stderr, r"well: succeeded after \d+s\n$")
        self.check(["wait", "-q", "pytorchtrainingjob/well", "badly"], 3, "", "")
        self.check(["wait", "on", "--for=Running"], 0, "", "on: Running\n")
        self.check(["wait", "on", "--timeout", "100ms"], 124, "", "on: running 1/1\nerror: not yet after 100ms; 'muster ps' says why\n")
        self.check(["wait", "on", "--timeout", "soon"], 2, "", "error: --timeout takes a time like 30s or 2h, not 'soon'\n")
        self.assertEqual(self.daemon.cli("wait", "of").returncode, 5)
        code, shown = self.daemon.terminal("wait", "on", until="on Running 1/1 .*Ctrl-C ends waiting", send=b"\x03")
        self.assertEqual(code, 130, shown)
        waiting = self.daemon.spawn("wait", "on", "--for=deleted")
        self.remove("on")
        self.assertEqual(waiting.wait(harness.PATIENCE), 0)


BROKEN = """apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: Bad_Name}
spec:
  replicaSpecs:
  - type: worker
    replicas: four
    restartPolicy: Sometimes
    template: {spec: {containers: [{name: a}]}}
---
kind: Nothing
apiVersion: v1
"""


class Offline(Commands):
    """Commands that need no daemon."""

    def test_validate(self):
        broken = self.write("broken.yaml", BROKEN)
        done = self.daemon.cli("validate", broken)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for line, field in ((3, "metadata.name"), (7, "spec.replicaSpecs[0].replicas"), (8, "spec.replicaSpecs[0].restartPolicy"), (11, "kind")):
            self.assertIn(f"error: {broken}:{line}: {field}: ", done.stderr)
        self.assertIn("    7 |     replicas: four\n      |               ^^^^\n", done.stderr)
        self.assertTrue(done.stderr.endswith("4 problems; 'muster explain KIND.FIELD' says what a field takes\n"))
        code, shown = self.daemon.terminal("validate", broken)
        self.assertEqual((code, plain(shown)), (1, done.stderr))
        self.assertIn("\x1b[1;31merror: \x1b[0m", shown)
        good = self.daemon.cli("run", "--dry-run", "--", "true").stdout
        self.check(["validate", "-"], 0, "standard input: valid, 1 object\n", "", stdin=good)
        self.check(["validate", "-q", self.write("good.yaml", good)], 0, "", "")
        self.assertEqual(self.daemon.cli("validate", "/nonexistent.yaml", "-", stdin=good).returncode, 1)
        # the server says the same of the same field
        status, answer = self.daemon.request("POST", harness.JOBS.format(ns="default"), {
            "apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": "x"},
            "spec": {"replicaSpecs": [{"type": "worker", "restartPolicy": "Sometimes", "template": {"spec": {"containers": [{"name": "a"}]}}}]}})
        said = json.loads(answer)["message"].split("restartPolicy: ")[1]
        self.assertEqual(status, 422)
        self.assertIn(f"restartPolicy: {said}\n", done.stderr)

    def test_explain(self):
        done = self.daemon.cli("explain", "job.spec.torchrunConfig")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("PyTorchTrainingJob (batch.tensorstack.dev/v1beta1)\nspec.torchrunConfig <object>\n"))
        self.assertIn("\n  rdzvBackend <string>\n      How the processes find each other.\n      One of: c10d, etcd, etcd-v2; default: \"c10d\"\n", done.stdout)
        code, shown = self.daemon.terminal("explain", "pytorchtrainingjobs.spec")
        self.assertEqual(code, 0)
        self.assertLessEqual(max(map(len, shown.splitlines())), 80)
        self.assertEqual(shown, self.daemon.cli("explain", "PyTorchTrainingJob.spec").stdout)
        self.assertIn("\n    nodeName <string>", self.daemon.cli("explain", "--recursive", "pod").stdout)
        self.check(["explain", "job.spec.elastik"], 5, "", "error: there is no field 'spec.elastik'\n  hint: did you mean elastic?\n")
        self.check(["explain", "quue"], 5, "", "error: unknown kind 'quue'\n  hint: did you mean queue?\n")
        self.assertIn("\nMPIJob ", self.daemon.cli("explain").stdout)


class Acting(Commands):
    def sleeper(self, name="on"):
        self.daemon.create(job(name, ["sleep", "1000"], replicas=1))
        self.daemon.wait_phase(name, "Running")

    def test_stop_and_resume(self):
        self.sleeper()
        self.check(["stop", "on"], 0, f"{JOB}/on stopped\n", "  hint: resume with: muster resume on\n")
        self.daemon.wait_phase("on", "Paused")
        self.check(["resume", "pytorchtrainingjob/on"], 0, f"{JOB}/on resumed\n", "")
        self.daemon.wait_phase("on", "Running")
        self.daemon.create(job("over", ["true"], replicas=1))
        self.daemon.wait_phase("over", "Succeeded")
        self.check(["stop", "over"], 6, "", "error: job 'over' has ended already (Succeeded)\n  hint: run it again with: muster rerun over\n")

    def test_pause_is_stop(self):
        self.sleeper()
        self.check(["pause", "job/on"], 0, f"{JOB}/on paused\n", "  hint: resume with: muster resume job/on\n")
        self.daemon.wait_phase("on", "Paused")
        self.check(["pause", "--all"], 0, "", "no jobs in namespace default to pause\n")
        self.check(["resume", "--all"], 2, "", "error: would resume 1 job; add --yes to do so\n")

    def test_all_passes_over_what_has_ended(self):
        self.sleeper()
        self.daemon.create(job("over", ["true"], replicas=1))
        self.daemon.wait_phase("over", "Succeeded")
        self.check(["stop", "--all", "--yes"], 0, f"{JOB}/on stopped\n", "")
        self.daemon.wait_phase("on", "Paused")
        self.check(["resume", "--all", "--yes"], 0, f"{JOB}/on resumed\n", "")
        self.daemon.wait_phase("on", "Running")
        self.check(["resume", "--all", "--yes"], 0, "", "no jobs in namespace default to resume\n")

    def test_describe(self):
        self.daemon.create(job("torn", ["sh", "-c", "exit $((RANK + 3))"], replicas=2))
        self.daemon.wait_phase("torn", "Failed")
        done = self.daemon.cli("describe", "torn")
        self.assertEqual((done.returncode, done.stderr), (0, "  hint: its output: muster logs torn   run it again: muster rerun torn\n"))
        facts = dict(re.findall(r"^(\w[\w ]*):  +(.*)$", done.stdout, re.M))
        self.assertEqual((facts["Name"], facts["Kind"], facts["Phase"], facts["Restarts"]), ("torn", "PyTorchTrainingJob", "Failed", "0 of 3"))
        self.assertEqual("PyTorchTrainingJob torn has failed: " + facts["Why"], self.daemon.get_job("torn")["status"]["message"])
        self.assertRegex(done.stdout, r"\nworker +2 +Never +cpu=10m,memory=8Mi +sh -c 'exit \$\(\(RANK \+ 3\)\)'\n")
        self.assertRegex(done.stdout, r"\nworker-\d +Failed +0 +\S+ +torn-\w+-worker-\d +exit code [34]\n")
        self.assertRegex(done.stdout, r"\n\S+ +1 +Warning +ReplicaFailed +torn ")
        self.assertNotIn("CONDITION", done.stdout)
        self.assertRegex(self.daemon.cli("describe", "torn", "-o", "wide").stdout, r"\nFailed +True +\S+ +Failed +PyTorchTrainingJob torn has failed: ")
        self.daemon.create(job("quoted", ["sh", "-c", "echo 'it is' \"$0\"", "a b", ""], replicas=1))
        line = re.search(r" (sh -c .*)\n", self.daemon.cli("describe", "quoted").stdout)[1]
        self.assertEqual(shlex.split(line), ["sh", "-c", "echo 'it is' \"$0\"", "a b", ""])
        pod = re.search(r"torn-\w+-worker-0", done.stdout)[0]
        for name in (pod, f"pod/{pod}", f"po/{pod}"):
            shown = self.daemon.cli("describe", name)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
            self.assertIn("\nOwner:       PyTorchTrainingJob/torn\n", shown.stdout)
        both = json.loads(self.daemon.cli("describe", "torn", "queue/default", "-o", "json").stdout)["items"]
        self.assertEqual([o["kind"] for o in both], ["PyTorchTrainingJob", "Queue"])
        status, _ = self.daemon.request("POST", "/api/v1/namespaces/default/secrets",
                                        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hush"}, "data": {"key": "aHVudGVyMg=="}})
        self.assertEqual(status, 201)
        hush = self.daemon.cli("describe", "secret/hush").stdout
        self.assertIn("\n  key: (hidden)\n", hush)
        self.assertNotIn("aHVudGVyMg", hush)
        for line in self.daemon.terminal("describe", "torn", columns=80)[1].splitlines():
            self.assertLessEqual(len(plain(line)), 80, line)

    def test_every_name_may_have_its_kind(self):
        sleeper = job("on", ["sleep", "1000"], replicas=1)
        sleeper["metadata"]["annotations"] = {"muster.dev/log-dir": self.daemon.folder}
        self.daemon.create(sleeper)
        self.daemon.wait_phase("on", "Running")
        elastic = job("grows", ["sleep", "1000"], replicas=1)
        elastic["spec"]["torchrunConfig"] = {"enabled": True}
        elastic["spec"]["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 3, "expectedReplicas": 1}
        elastic["spec"]["runMode"] = {"pause": {"enabled": True}}
        self.daemon.create(elastic)
        forms = {"logs": [["logs", "?"]], "wait": [["wait", "?", "--for=Running"]], "board": [["board", "?"]], "exec": [["exec", "?", "--", "true"]],
                 "describe": [["describe", "?"]], "events": [["events", "?"]], "export": [["export", "?", "--file", "-"]], "scale": [["scale", "?", "1"]], "top": [["top", "?"]],
                 "rerun": [["rerun", "?", "--dry-run"]], **{verb: [[verb, "?", "--dry-run"]] for verb in ("stop", "pause", "resume", "rm")},
                 "queue": [["queue", verb, "?"] for verb in ("get", "close", "open", "delete")]}
        # a command that takes a name is in the table, so that a new one is not forgotten
        listed = re.findall(r"^  ([a-z-]+)  ", self.daemon.cli("help").stdout.partition("Commands:")[2], re.M)
        listed.remove("image")  # whose names are of images
        taking = [c for c in listed if re.search(r"JOB|POD|NAME", self.daemon.cli("help", c).stdout.splitlines()[0])]
        self.assertEqual(sorted(taking), sorted(forms))
        pod = next(iter(self.daemon.pods("on")))
        jobs = ["on", "job/on", "pytorchtrainingjob/on", "PyTorchTrainingJob/on", "pj/on", "pytorchtrainingjobs.batch.tensorstack.dev/on"]
        for command, lines in forms.items():
            names = ["queue/idle", "queues.scheduler.tensorstack.dev/idle", "idle"] if command == "queue" else jobs
            if command == "scale":
                names = [name.removesuffix("on") + "grows" for name in names]
            if command in ("logs", "exec", "describe", "events"):
                names = names + [f"pod/{pod}", f"po/{pod}", pod]
            for name in names:
                if command == "queue":
                    self.assertEqual(self.daemon.cli("queue", "create", name.rpartition("/")[2]).returncode, 0)
                for line in lines:
                    done = self.daemon.cli(*[name if word == "?" else word for word in line])
                    self.assertEqual(done.returncode, 0, f"{line} {name}\n{done.stdout}{done.stderr}")
            for line in lines if command != "queue" else []:
                done = self.daemon.cli(*["nothing/on" if word == "?" else word for word in line])
                self.assertIn(done.returncode, (1, 2, 5), line)
                self.assertRegex(done.stderr, "^error: (unknown kind 'nothing'|'nothing' is not a kind of job)\n  hint: ")

    def test_every_listing_has_every_format(self):
        self.sleeper()
        lists = [["ps"], ["events"], ["queue"], ["queue", "get", "default"], ["top"], ["describe", "on"]]
        # those with -o, but for what --dry-run prints
        listed = re.findall(r"^  ([a-z-]+)  ", self.daemon.cli("help").stdout.partition("Commands:")[2], re.M)
        self.assertEqual({c for c in listed if "table|wide|json|yaml|name|jsonpath" in self.daemon.cli("help", c).stdout}, {line[0] for line in lists})
        for line in lists:
            harness.wait_until(lambda: self.daemon.cli(*line, "-o", "name").stdout, f"{line}: nothing listed")
            shown = {form: self.daemon.cli(*line, "-o", form) for form in ("table", "wide", "json", "yaml", "name", "jsonpath=.metadata.name")}
            self.assertEqual({form: done.returncode for form, done in shown.items()}, dict.fromkeys(shown, 0), line)
            names = [item["metadata"]["name"] for item in json.loads(shown["json"].stdout)["items"]]
            self.assertTrue(names, line)
            self.assertEqual(shown["jsonpath=.metadata.name"].stdout.splitlines(), names)
            self.assertEqual([name.partition("/")[2] for name in shown["name"].stdout.splitlines()], names)
            self.assertRegex(shown["yaml"].stdout, r"(?m)^kind: \w*List$")
            self.assertIn(names[0].partition(".")[0], shown["table"].stdout)

    def test_scale(self):
        elastic = job("grows", ["sleep", "1000"], replicas=1)
        elastic["spec"]["torchrunConfig"] = {"enabled": True}
        elastic["spec"]["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 3, "expectedReplicas": 1}
        self.daemon.create(elastic)
        self.check(["scale", "grows", "2"], 0, f"{JOB}/grows scaled to 2\n", "")
        self.assertEqual(self.daemon.get_job("grows")["spec"]["elastic"]["expectedReplicas"], 2)
        self.assertEqual(self.daemon.cli("scale", "grows", "9").returncode, 1)
        self.check(["scale", "grows", "--replicas", "3"], 0, f"{JOB}/grows scaled to 3\n", "")
        self.check(["scale", "grows"], 2, "", "error: how many replicas?\n  hint: muster scale grows 4\n")
        self.check(["scale", "grows", "many"], 2, "", "error: 'many' is not a number of replicas\n  hint: muster scale grows 4\n")
        self.sleeper("fixed")
        self.assertIn("job 'fixed' is not elastic", self.daemon.cli("scale", "fixed", "2").stderr)

    def test_a_failed_replica_of_a_job_that_succeeds_is_reported(self):
        self.daemon.cli("run", "-d", "--name", "half", "--workers", "2", "--", "sh", "-c", "until [ $RANK = 1 -o -e gone ]; do sleep 0.01; done; exit $RANK", cwd=self.daemon.folder)
        self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: jobs["half"].get("status", {}).get("aggregate", {}).get("failed"), "a failed replica")
        self.write("gone", "")
        done = self.daemon.cli("wait", "half")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: 1 of 2 replicas failed without failing the job: muster describe half\n", done.stderr)

    def test_logs_of_a_job_that_never_started_say_why(self):
        self.daemon.cli("run", "--name", "lost", "--", "no-such-program")
        done = self.daemon.cli("logs", "lost")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertRegex(done.stderr, "^'lost' printed nothing: lost-.* not found in PATH")
        self.check(["logs", "lost", "--grep", "x"], 0, "", "")

    def test_top_of_one_job(self):
        self.sleeper("one")
        self.sleeper("two")
        harness.wait_until(lambda: {"one", "two"} <= set(self.daemon.cli("top").stdout.split()), "samples of both")
        lines = self.daemon.cli("top", f"{JOB}/one").stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in lines], [["JOB", "REPLICA"], ["one", "worker-0"]])
        self.assertEqual(self.daemon.cli("top", "three").returncode, 5)

    def test_logs_of_a_deleted_job(self):
        for word in ("old", "new"):
            self.daemon.cli("run", "--name", "gone", "--workers", "2", "--", "sh", "-c", f"echo {word} $RANK")
            self.check(["rm", "gone"], 0, f"{JOB}/gone removed\n", "")
        self.daemon.cli("run", "--name", "gone-3fa85", "--", "echo", "another")
        said = "job 'gone' was deleted; these logs are kept until room is needed\n"
        self.check(["logs", "gone"], 0, "worker-0 | new 0\nworker-1 | new 1\n", said)
        self.check(["logs", "gone", "--replica", "worker-1"], 0, "new 1\n", said)
        self.check(["logs", "-f", "gone", "--tail", "1"], 0, "worker-0 | new 0\nworker-1 | new 1\n", said)
        self.assertEqual(self.daemon.cli("logs", "gon").returncode, 5)

    def test_rerun(self):
        first = self.daemon.cli("run", "--name", "once", "--label", "a=b", "--", "sh", "-c", "echo $PWD")
        again = self.daemon.cli("rerun", "once")
        self.assertEqual((again.returncode, again.stdout), (0, first.stdout), again.stderr)
        self.assertIn(f"{JOB}/once-2 created\n", again.stderr)
        made = self.daemon.get_job("once-2")["metadata"]
        self.assertEqual(made["labels"], {"a": "b", "muster.dev/rerun-of": self.daemon.get_job("once")["metadata"]["uid"]})
        self.assertEqual(made["annotations"]["muster.dev/rerun-of"], "once")
        self.check(["rerun", "once-2", "-d"], 0, f"{JOB}/once-3 created\n", "")
        self.assertIn("\n  name: once-4\n", self.daemon.cli("rerun", "once", "--dry-run").stdout)
        self.assertEqual(self.daemon.cli("rerun", "once", "--name", "once-2").returncode, 6)

    def test_events(self):
        self.sleeper()
        self.daemon.create(job("elsewhere", ["true"], replicas=1))
        done = self.daemon.cli("events", "on")
        self.assertRegex(done.stdout, r"^LAST +COUNT +TYPE +REASON +OBJECT +MESSAGE\n")
        self.assertRegex(done.stdout, r"\n\S+ +1 +Normal +Created +on +A PyTorchTrainingJob has been created: on\n")
        self.assertRegex(done.stdout, r" Started +on-\w+-worker-0 ")
        self.assertNotIn("elsewhere", done.stdout)
        code, shown = self.daemon.terminal("events")
        self.assertEqual(code, 0)
        self.assertLessEqual(max(map(len, shown.splitlines())), 80)
        self.assertIn("elsewhere", shown)
        self.assertIn("Created", self.daemon.cli("events", "on", "-o", "jsonpath=.reason").stdout.splitlines())
        # the first job may have come before its node
        self.check(["events", "--warnings", "elsewhere"], 0, "", "no events that warn; they are kept for a while only\n")

    def test_rm_all(self):
        for name in ("a", "b", "c"):
            self.daemon.create(job(name, ["true"], replicas=1) | {"metadata": {"name": name, "labels": {"keep": str(name == "c")}}})
        self.check(["rm"], 2, "", "error: which job?\n  hint: name jobs, or use --all or --selector LABELS; 'muster ps' lists them\n")
        self.check(["rm", "--all"], 2, "", "error: would remove 3 jobs; add --yes to do so\n")
        code, shown = self.daemon.terminal("rm", "-l", "keep=False", until=r"remove 2 jobs\? \[y/N\] ", send=b"n\n")
        self.assertEqual((code, shown.splitlines()[-1]), (1, "nothing was removed"))
        code, shown = self.daemon.terminal("rm", "-l", "keep=False", until=r"remove 2 jobs\? \[y/N\] ", send=b"y\n")
        self.assertEqual((code, shown.splitlines()[-2:]), (0, [f"{JOB}/b removed", f"{JOB}/a removed"]))
        self.check(["rm", "--all", "--dry-run"], 0, f"{JOB}/c would be removed\n", "")
        self.check(["rm", "--all", "-y"], 0, f"{JOB}/c removed\n", "")
        self.check(["rm", "--all"], 0, "", "no jobs in namespace default to remove\n")

    def test_ps(self):
        self.sleeper("first")
        self.daemon.create(job("second", ["true"], replicas=1))
        self.daemon.wait_phase("second", "Succeeded")
        for path in (".metadata.name", "{.items[*].metadata.name}"):
            self.check(["ps", "-o", f"jsonpath={path}"], 0, "second\nfirst\n", "")
        self.check(["ps", "--phase", "running,failed", "-o", "name"], 0, f"{JOB}/first\n", "")
        self.check(["ps", "--queue", "night"], 0, "", "no jobs of these in namespace default; start one with: muster run FILE\n")
        self.check(["ps", "-o", "jsonpath=x"], 1, "", "error: 'x' is not a supported JSONPath\n"
                   "  hint: like -o jsonpath=.status.phase, which is printed for each\n")
        code, shown = self.daemon.terminal("ps", "--watch", until="second .*Succeeded", send=b"\x03")
        self.assertEqual(code, 130, shown)
        self.assertIn("\x1b[H\x1b[J", shown)


class Machine(Commands):
    def test_doctor(self):
        done = self.daemon.cli("doctor")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        names = [line[6:16].strip() for line in done.stdout.splitlines() if line[:4] in ("ok  ", "warn")]
        self.assertEqual(names, ["kernel", "cgroups", "namespaces", "GPUs", "daemon", "port", "disk", "open files", "clock", "python", "torch", "mpirun", "storage"])
        self.assertIn(f"ok    daemon      up, process {self.daemon.process.pid}\n", done.stdout)
        for line, after in zip(done.stdout.splitlines(), [*done.stdout.splitlines()[1:], ""]):
            self.assertEqual(line.startswith("warn"), after.strip().startswith("fix: "), line)
        without = self.daemon.cli("doctor", environment={"PATH": "/nonexistent"}).stdout
        self.assertIn("warn  mpirun      mpirun is not installed\n                  fix: for MPI jobs: apt install openmpi-bin\n", without)
        code, shown = self.daemon.terminal("doctor")
        self.assertIn("\x1b[32mok  \x1b[0m  kernel", shown)

    def test_completion(self):
        self.daemon.cli("run", "--name", "shown", "--", "true")
        def complete(*words):
            script = f"source <({harness.BIN} completion bash); COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _muster; echo ${{COMPREPLY[*]}}"
            path = os.path.dirname(harness.BIN) + ":" + os.environ["PATH"]
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=harness.PATIENCE,
                                  env={**self.daemon.environment, "PATH": path}).stdout.split()
        self.assertEqual(complete("muster", "sw"), ["sweep"])
        self.assertEqual(complete("muster", "sweep", "--par"), ["--parallel"])
        self.assertEqual(complete("muster", "logs", "sh"), ["shown"])
        self.assertNotIn("mpi-launch", complete("muster", ""))
        fish = self.daemon.cli("completion", "fish").stdout
        self.assertIn("complete -c muster -n '__fish_seen_subcommand_from sweep' -l parallel -r -d ", fish)
        self.assertIn("'sweep:Run a command once for each combination of parameters'", self.daemon.cli("completion", "zsh").stdout)
        self.check(["completion", "csh"], 2, "", "error: no completion for 'csh'\n  hint: bash, zsh and fish have one\n")

    def test_what_the_document_shows(self):
        text = pathlib.Path(harness.ROOT, "docs/cli.md").read_text()
        lines = re.findall(r"^\$ (.*)$", text, re.M)
        self.assertGreater(len(lines), 20)
        os.symlink(harness.BIN, os.path.join(self.daemon.folder, "muster"))
        for line in lines:
            done = subprocess.run(["bash", "-c", line], cwd=self.daemon.folder, capture_output=True, text=True, timeout=harness.PATIENCE,
                                  env={**self.daemon.environment, "PATH": f"{self.daemon.folder}:{os.environ['PATH']}"})
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        shown = {words.split()[1] for words in lines}
        named = set(re.findall(r"muster ([a-z]+)", text))
        self.assertLessEqual({"sweep", "wait", "validate", "explain", "describe", "events", "rerun", "stop", "pause", "resume", "rm", "doctor"}, shown)
        self.assertLessEqual({"scale", "completion"}, named)


if __name__ == "__main__":
    harness.main()
