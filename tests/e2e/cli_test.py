#!/usr/bin/python3
"""The command line: what it prints where, and how it ends."""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess

import harness
from harness import Daemon, DaemonTest, job

import unittest


class WithoutDaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)

    def tearDown(self):
        self.assertEqual(self.daemon.close(), [])

    def check(self, arguments, code, stderr, stdout=""):
        done = self.daemon.cli(*arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, stdout, stderr))

    def test_usage(self):
        self.check(["rnu"], 2, "error: unknown command 'rnu'\n  hint: did you mean 'muster run'?\n")
        self.check(["delete", "x"], 2, "error: unknown command 'delete'\n  hint: did you mean 'muster rm'?\n")
        self.check(["up", "--detatch"], 2, "error: unknown option '--detatch'\n  hint: did you mean --detach?\n")
        self.check(["rm"], 2, "error: which job?\n  hint: name jobs, or use --all or --selector LABELS; 'muster ps' lists them\n")
        self.check(["ps", "x"], 2,
                   "error: 'muster ps': unexpected argument 'x'\n  hint: 'muster ps -h' lists what it takes\n")
        self.check(["ps", "-o", "jsno"], 2,
                   "error: --output cannot be 'jsno'\n  hint: did you mean json? Allowed: table|wide|json|yaml|name|jsonpath=PATH\n")
        self.check(["controller"], 2, "error: --kubeconfig is required: it names the API server\n")

    def test_not_up(self):
        wanted = (f"error: muster is not up (data folder {self.daemon.data})\n  hint: start it with: muster up --detach; "
                  "or --context NAME for a cluster of your kubeconfig\n")
        for arguments in (["ps"], ["logs", "x"], ["rm", "x"]):
            self.check(arguments, 1, wanted)
        self.check(["down"], 5, f"error: muster is not up (data folder {self.daemon.data})\n")

    def test_help(self):
        for arguments in (["help"], ["-h"], [], ["--help"]):
            done = self.daemon.cli(*arguments)
            self.assertEqual(done.returncode, 0)
            for word in ("up", "down", "run", "ps", "logs", "rm", "kubeconfig", "controller", "node", "version"):
                self.assertIn(f"\n  {word} ", done.stdout)
            self.assertNotIn("supervise", done.stdout)
        self.assertEqual(self.daemon.cli("help", "run").stdout, self.daemon.cli("run", "-h").stdout)
        codes = self.daemon.cli("help", "exit-codes").stdout
        self.assertEqual([line.split()[0] for line in codes.splitlines()], "0 1 2 3 4 5 6 7 124 130".split())

    def test_manifests(self):
        done = self.daemon.cli("manifests", "--namespace", "training", "--image", "registry.example/muster:1.0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        documents = done.stdout.split("---\n")[1:]
        made = [(d.split("\nkind: ")[1].split("\n")[0], d.split("\n  name: ")[1].split("\n")[0],
                 d.split("\n  namespace: ")[-1].split("\n")[0]) for d in documents]
        self.assertEqual(len(set(made)), len(made))
        for wanted in (("CustomResourceDefinition", "pytorchtrainingjobs.batch.tensorstack.dev"),
                       ("CustomResourceDefinition", "podgroups.scheduler.tensorstack.dev"), ("Namespace", "training"),
                       ("CustomResourceDefinition", "notifications.muster.dev"),
                       ("ClusterRole", "muster-notification-secrets"),
                       ("ServiceAccount", "muster-scheduler"), ("ClusterRole", "muster-controller"),
                       ("Deployment", "muster-controller"), ("Deployment", "muster-scheduler")):
            self.assertIn(wanted, [m[:2] for m in made])
        self.assertNotIn("@", done.stdout)
        self.assertNotIn("muster-system", done.stdout)
        self.assertNotIn("ServiceMonitor", done.stdout)
        self.assertIn("kind: ServiceMonitor\n", self.daemon.cli("manifests", "--service-monitor").stdout)
        for namespace in ("kube-system", "default", "t9k-system"):  # which are there, and others' to label
            text = self.daemon.cli("manifests", "--namespace", namespace).stdout
            self.assertEqual(re.findall(r"kind: Namespace\nmetadata:\n  name: (.*)\n", text), ["t9k-system"])
            self.assertNotIn("pod-security", text)
        wrong = self.daemon.cli("manifests", "--namespace", "a b")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertRegex(wrong.stderr, "^error: --namespace a b: a lowercase RFC 1123 label must consist of ")
        self.check(["manifests", "--image", "a b"], 1,
                   "error: --image a b: not the name of an image, such as registry.example/muster:1.0\n")

    def test_version(self):
        self.assertRegex(self.daemon.cli("version").stdout, r"^muster \d+\.\d+\.\d+\n$")

    def test_bad_listen(self):
        done = self.daemon.cli("up", "--detach", "--listen", "nonsense")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        self.assertIn("hint:", done.stderr)

    def test_colour_is_asked_for(self):
        plain = self.daemon.cli("rnu")
        self.assertNotIn("\033", plain.stderr)
        self.assertIn("\033[", self.daemon.cli("--color=always", "rnu").stderr)
        self.assertIn("\033[", self.daemon.cli("rnu", environment={"CLICOLOR_FORCE": "1"}).stderr)
        self.assertNotIn("\033", self.daemon.cli("rnu", environment={"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}).stderr)


class Up(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)

    def tearDown(self):
        self.daemon.cli("down")
        self.assertEqual(self.daemon.close(), [])

    def up(self, *options):
        return self.daemon.cli("up", "--detach", "--listen", "127.0.0.1:0", *options)

    def test_detach(self):
        done = self.up()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        folder = pathlib.Path(self.daemon.data)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^muster \S+ is up at https://127\.0\.0\.1:\d+$")
        self.assertIn(f"export KUBECONFIG={folder}/kubeconfig", lines[1])
        self.assertIn(f"{folder}/muster.log", lines[2])
        for name, mode in (("", 0o700), ("token", 0o600), ("kubeconfig", 0o600), ("ca.pem", 0o600), ("muster.db", 0o600), ("muster.log", 0o600)):
            self.assertEqual((folder / name).stat().st_mode & 0o777, mode, name)
        address = lines[0].split("https://")[1]
        self.assertIn(f"server: https://{address}\n", self.daemon.cli("kubeconfig").stdout)
        self.assertEqual(self.daemon.cli("kubeconfig", "--path").stdout, f"{folder}/kubeconfig\n")
        # a second one says who holds the folder
        pid = (folder / "muster.pid").read_text().split()[0]
        again = self.up()
        self.assertEqual(again.returncode, 6, again.stderr)
        self.assertIn(f"process {pid} at {address}", again.stderr)
        # and a second folder that the port is taken
        other = Daemon(start=False)
        taken = other.cli("up", "--detach", "--listen", address)
        other.close()
        self.assertEqual(taken.returncode, 1)
        self.assertTrue(taken.stderr.startswith(f"error: cannot listen on {address}: Address already in use\n"), taken.stderr)
        self.assertIn("--listen", taken.stderr.splitlines()[1])
        self.assertEqual(self.daemon.cli("down").stdout, "stopped\n")
        self.assertFalse(harness.is_alive(pid))

    def test_token_stays_and_kubeconfig_follows_the_address(self):
        self.up()
        folder = pathlib.Path(self.daemon.data)
        token, first = (folder / "token").read_text(), (folder / "kubeconfig").read_text()
        port = int((folder / "muster.pid").read_text().rsplit(":", 1)[1])
        self.daemon.cli("down")
        with contextlib.ExitStack() as held:  # chance shall not give it the same again
            with contextlib.suppress(OSError):  # in use already
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            self.up()
        self.assertEqual((folder / "token").read_text(), token)
        second = (folder / "kubeconfig").read_text()
        self.assertNotEqual(first, second)
        self.assertEqual(self.daemon.cli("ps").returncode, 0)


class Secrets(unittest.TestCase):
    GROUP = 54321  # a group of its own: files in /proc of a process that may not be dumped are root's all the same

    def started(self):
        """A daemon that could write a core where it is, and a program beside it that any user may inspect."""
        daemon = Daemon(start=False)
        self.addCleanup(daemon.close)
        here, groups, limits = os.getcwd(), os.getresgid(), resource.getrlimit(resource.RLIMIT_CORE)
        os.chdir(daemon.folder)
        resource.setrlimit(resource.RLIMIT_CORE, (limits[1], limits[1]))
        if os.geteuid() == 0:
            os.setresgid(self.GROUP, self.GROUP, 0)
        try:
            daemon.start()
            other = subprocess.Popen(["sh", "-c", "echo begun; read forever"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        finally:
            os.setresgid(*groups)
            resource.setrlimit(resource.RLIMIT_CORE, limits)
            os.chdir(here)
        self.addCleanup(other.communicate)
        other.stdout.readline()  # while it is being executed, no other process may read it
        return daemon, other

    def test_no_core_is_written_of_a_process_that_knows_the_token(self):
        """A pod of root's may set its limits and end it with a signal that dumps. An ordinary user's pods are that user,
        and need what is his in the daemon's /proc."""
        daemon, other = self.started()
        owner = os.stat(f"/proc/{other.pid}/environ")
        found = os.stat(f"/proc/{daemon.process.pid}/environ")
        if os.geteuid() != 0:
            self.assertEqual((found.st_uid, found.st_gid), (owner.st_uid, owner.st_gid))
            return
        self.assertEqual(owner.st_gid, self.GROUP)
        self.assertEqual(found.st_gid, 0)
        daemon.process.send_signal(signal.SIGSEGV)
        ended = os.waitid(os.P_PID, daemon.process.pid, os.WEXITED | os.WNOWAIT)
        self.assertNotEqual(ended.si_code, os.CLD_DUMPED)
        self.assertNotEqual(ended.si_status, 0)
        self.assertEqual([name for name in os.listdir(daemon.folder) if name.startswith("core")], [])


class SizedUp(unittest.TestCase):
    def test_cpus_and_memory_are_what_the_node_has(self):
        with contextlib.closing(Daemon("--cpus", "3500m", "--memory", "5Gi")) as daemon:
            def reported(nodes):
                return [n["status"] for n in nodes.values() if "capacity" in n.get("status", {})] or None
            status, = daemon.wait_for(harness.NODES, reported, "the node's size")
            for what in ("capacity", "allocatable"):
                self.assertEqual((status[what]["cpu"], status[what]["memory"]), ("3500m", f"{5 << 20}Ki"))

    def test_what_is_no_amount_is_refused(self):
        with contextlib.closing(Daemon(start=False)) as daemon:
            for option, value in (("--cpus", "many"), ("--cpus", "0"), ("--memory", "-1Gi"), ("--memory", "lots"),
                                  ("--gpus", "0;1"), ("--gpus", "3-1"), ("--gpu-shares", "0"), ("--gpu-shares", "101"),
                                  ("--gpu-shares", "4:"), ("--gpu-shares", "4:x"), ("--gpu-shares", "-1"), ("--gpu-shares", "4,1")):
                done = daemon.cli("up", option, value)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(option, done.stderr)
            done = daemon.cli("up", "--gpus", "63")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("--gpus names a GPU that does not exist", done.stderr)
            done = daemon.cli("up", "--gpu-shares", "4:63")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("--gpu-shares is for GPUs that pods may not use or that are not there", done.stderr)


class Commands(DaemonTest):
    def test_a_program_beside_the_file_and_a_cluster(self):
        """Only with this machine's own muster a container starts where the file is; else that is said at once."""
        folder = pathlib.Path(self.daemon.folder, "beside")
        folder.mkdir()
        (folder / "train.py").write_text("print('found')")
        config = f"{self.daemon.data}/kubeconfig"
        warning = "warning: {}: train.py is in this file's folder, where containers do not start on a cluster; "

        def run(name, *options, **container):
            made = job(name, ["/usr/bin/python3", "train.py"], replicas=1)
            made["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0].update(container)
            (folder / "job.json").write_text(json.dumps(made))
            return self.daemon.cli("run", str(folder / "job.json"), *options)
        done = run("away", "--kubeconfig", config)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(warning.format("away"), done.stderr)
        for name, options, container in (("told", ("--kubeconfig", config), {"workingDir": str(folder)}), ("here", (), {})):
            done = run(name, *options, **container)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(warning.format(name), done.stderr)

    def test_run_follows_and_succeeds(self):
        path = self.write("hello.json", job("hello", ["sh", "-c", "echo hello from $RANK"], run_policy={"cleanUpPolicy": "None"}))
        done = self.daemon.cli("run", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"worker-{i} | hello from {i}" for i in range(4)])
        self.assertRegex(done.stderr, r"(?m)^hello: succeeded after \d+s$")
        again = self.daemon.cli("run", path)
        self.assertEqual(again.returncode, 6)
        self.assertIn("job 'hello' already exists and has ended (Succeeded)", again.stderr)
        self.assertIn("--replace", again.stderr)
        replaced = self.daemon.cli("run", "--replace", path)
        self.assertEqual(replaced.returncode, 0, replaced.stderr)
        self.assertEqual(len(replaced.stdout.splitlines()), 4)
        self.remove("hello")

    def test_run_waits_for_replicas_that_begin_after_the_end(self):
        """The master's end is the job's; a replica still in its initContainer then has its say all the same."""
        flag = os.path.join(self.daemon.folder, "begin")
        late = job("late", ["sh", "-c", "echo hello from $RANK"], replicas=2, run_policy={"cleanUpPolicy": "None"})
        late["spec"]["replicaSpecs"][0]["template"]["spec"]["initContainers"] = [{
            "name": "wait", "image": "none",
            "command": ["sh", "-c", f"case $(uname -n) in *-1) until [ -e {flag} ]; do sleep 0.01; done ;; esac"]}]
        runner = subprocess.Popen([harness.BIN, "run", self.write("late.json", late)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=self.daemon.environment)
        self.daemon.wait_phase("late", "Succeeded")
        pathlib.Path(flag).touch()
        stdout, stderr = runner.communicate(timeout=harness.PATIENCE)
        self.assertEqual(runner.returncode, 0, stderr)
        self.assertEqual(sorted(stdout.splitlines()), ["worker-0 | hello from 0", "worker-1 | hello from 1"])
        self.remove("late")

    def test_run_tells_failure(self):
        path = self.write("bad.json", job("bad", ["sh", "-c", "echo oh no; exit 3"], replicas=1))
        done = self.daemon.cli("run", path)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, "worker-0 | oh no\n")
        self.assertRegex(done.stderr, r"(?m)^error: job 'bad' did not succeed: .*3")
        self.remove("bad")

    def test_run_shows_every_attempt(self):
        """Three attempts of one replica: the lines of each, none lost, none doubled."""
        flag = os.path.join(self.daemon.folder, "attempts")
        script = f"echo x >> {flag}; n=$(wc -l < {flag}); echo attempt $n one; echo attempt $n two; [ $n -ge 3 ]"
        path = self.write("again.json", job("again", ["sh", "-c", script], replicas=1, restart="OnFailure"))
        done = self.daemon.cli("run", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [f"worker-0 | attempt {n} {word}" for n in (1, 2, 3) for word in ("one", "two")])
        self.assertIn("again: restart 1 of 3", done.stderr)
        self.remove("again")

    def test_run_shows_attempts_it_did_not_see(self):
        """While it is held up, one attempt comes and goes and another begins."""
        count, begin, end = (os.path.join(self.daemon.folder, f"unseen-{what}") for what in ("count", "begin", "end"))
        script = (f"echo x >> {count}; n=$(wc -l < {count}); echo attempt $n; "
                  f"case $n in 1) until [ -e {begin} ]; do sleep 0.02; done; exit 1 ;; 2) exit 1 ;; esac; "
                  f"until [ -e {end} ]; do sleep 0.02; done")
        path = self.write("unseen.json", job("unseen", ["sh", "-c", script], replicas=1, restart="OnFailure"))
        runner = subprocess.Popen([harness.BIN, "run", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=self.daemon.environment)
        self.assertEqual(runner.stdout.readline(), "worker-0 | attempt 1\n")
        runner.send_signal(signal.SIGSTOP)
        pathlib.Path(begin).touch()
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: any(
            pod["metadata"]["annotations"]["batch.tensorstack.dev/attempt"] == "2" and pod["status"].get("phase") == "Running"
            for pod in pods.values()), "the third attempt")
        runner.send_signal(signal.SIGCONT)
        pathlib.Path(end).touch()
        stdout, stderr = runner.communicate(timeout=harness.PATIENCE)
        self.assertEqual((runner.returncode, stdout), (0, "worker-0 | attempt 2\nworker-0 | attempt 3\n"), stderr)
        self.remove("unseen")

    def test_interrupt_detaches(self):
        path = self.write("long.json", job("long", ["sh", "-c", "echo started; exec sleep 1000"], replicas=1))
        output = open(os.path.join(self.daemon.folder, "long.txt"), "w+b")
        runner = subprocess.Popen([harness.BIN, "run", path], stdout=output, stderr=subprocess.PIPE,
                                  env=self.daemon.environment)
        self.daemon.wait_running("long", 1)
        # the line has come through once it is in the runner's output
        while b"started" not in pathlib.Path(output.name).read_bytes():
            self.assertIsNone(runner.poll())
        runner.send_signal(signal.SIGINT)
        _, stderr = runner.communicate(timeout=harness.PATIENCE)
        output.close()
        self.assertEqual(runner.returncode, 130)
        self.assertIn(b"the job keeps running", stderr)
        self.assertIn(b"muster logs -f long", stderr)
        self.daemon.wait_phase("long", "Running")
        self.remove("long")

    def test_detach_ps_logs_rm(self):
        path = self.write("some.json", job("some", ["sh", "-c", "for i in 1 2 3; do echo $RANK says $i; done; exec sleep 1000"],
                                           replicas=2))
        done = self.daemon.cli("run", "--detach", path)
        self.assertEqual((done.returncode, done.stdout),
                         (0, "pytorchtrainingjob.batch.tensorstack.dev/some created\n"), done.stderr)
        pods = self.daemon.wait_running("some", 2)
        self.daemon.wait_phase("some", "Running")
        for name in pods:
            while self.daemon.log(name).count("\n") < 3:
                pass
        table = self.daemon.wait_for(
            harness.JOBS.format(ns="default"),
            lambda jobs: self.daemon.cli("ps").stdout if jobs["some"]["status"]["aggregate"].get("running") == 2 else None)
        header, row = table.splitlines()
        self.assertEqual(header.split(), "NAME KIND PHASE READY RESTARTS AGE WHY".split())
        self.assertEqual(row.split()[:5], ["some", "PyTorchTrainingJob", "Running", "2/2", "0"])
        self.assertEqual(self.daemon.cli("ps", "-A").stdout.splitlines()[1].split()[0], "default")
        self.assertEqual(self.daemon.cli("ps", "-o", "name").stdout, "pytorchtrainingjob.batch.tensorstack.dev/some\n")
        listed = json.loads(self.daemon.cli("ps", "-o", "json").stdout)
        self.assertEqual((listed["kind"], listed["items"][0]["metadata"]["name"]), ("List", "some"))
        self.assertIn("name: some", self.daemon.cli("ps", "-o", "yaml").stdout)
        self.assertNotIn("managedFields", self.daemon.cli("ps", "-o", "yaml").stdout + self.daemon.cli("ps", "-o", "json").stdout)
        self.assertEqual(self.daemon.cli("ps", "-n", "elsewhere").stdout, "")
        logs = self.daemon.cli("logs", "some")
        self.assertEqual(logs.stdout.splitlines(), [f"worker-{r} | {r} says {i}" for r in range(2) for i in (1, 2, 3)])
        self.assertEqual(self.daemon.cli("logs", "some", "--replica", "worker-1", "--tail", "1").stdout, "1 says 3\n")
        stamped = self.daemon.cli("logs", "some", "--replica", "worker-0", "--timestamps").stdout
        self.assertRegex(stamped.splitlines()[0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z 0 says 1$")
        self.assertEqual(self.daemon.cli("logs", sorted(pods)[0]).stdout.splitlines()[0], "0 says 1")
        near = self.daemon.cli("logs", "somme")
        self.assertEqual((near.returncode, near.stderr),
                         (5, "error: no job 'somme' in namespace default\n  hint: did you mean 'some'?\n"))
        self.assertEqual(self.daemon.cli("logs", "some", "--replica", "worker-9").returncode, 5)
        same = self.daemon.cli("run", "--detach", path)
        self.assertEqual((same.returncode, same.stdout),
                         (0, "pytorchtrainingjob.batch.tensorstack.dev/some unchanged\n"), same.stderr)
        other = job("some", ["sleep", "1"], replicas=2)
        running = self.daemon.cli("run", self.write("other.json", other))
        self.assertEqual(running.returncode, 6)
        self.assertIn("muster logs -f some", running.stderr)
        dry = self.daemon.cli("rm", "--dry-run", "some")
        self.assertEqual(dry.stdout, "pytorchtrainingjob.batch.tensorstack.dev/some would be removed\n")
        gone = self.daemon.cli("rm", "some", "none")
        self.assertEqual((gone.returncode, gone.stdout), (5, "pytorchtrainingjob.batch.tensorstack.dev/some removed\n"))
        self.assertEqual(self.daemon.pods(), {})

    def test_ps_counts_what_is_done(self):
        self.assertEqual(self.daemon.cli("run", self.write("done.json", job("done", ["true"], replicas=1))).returncode, 0)
        self.assertRegex(self.daemon.cli("ps").stdout, r"\bdone +PyTorchTrainingJob +Succeeded +1/1 done +0 ")
        self.remove("done")

    def test_ps_finds_tags(self):
        one = job("tagged", ["sleep", "60"], replicas=1)
        one["metadata"].update(labels={"tag.muster.dev/baseline": "", "tag.muster.dev/v1.2": ""},
                               annotations={"muster.dev/note": "学习率 0.1\nsecond line"})
        self.daemon.create(one)
        self.daemon.create(job("other", ["sleep", "60"], replicas=1))
        found = self.daemon.cli("ps", "-l", "tag.muster.dev/baseline")
        self.assertEqual([line.split()[0] for line in found.stdout.splitlines()], ["NAME", "tagged"])
        self.assertNotIn("TAGS", found.stdout)
        wide = self.daemon.cli("ps", "-o", "wide").stdout
        self.assertRegex(wide, r"\btagged .* baseline,v1\.2 +学习率 0\.1\n")
        self.assertNotIn("second line", wide)
        none = self.daemon.cli("ps", "-l", "tag.muster.dev/nobody")
        self.assertIn("no jobs with these labels in namespace default", none.stderr)
        wrong = self.daemon.cli("ps", "-l", "tag.muster.dev/基线")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("基线", wrong.stderr)
        self.remove("tagged", "other")

    def test_run_fills_the_working_folder(self):
        folder = os.path.join(self.daemon.folder, "work")
        os.mkdir(folder)
        path = self.write("work/where.json", job("where", ["pwd"], replicas=1))
        self.assertEqual(self.daemon.cli("run", path).stdout, f"worker-0 | {folder}\n")
        self.remove("where")

    def test_run_other_objects_and_standard_input(self):
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1'}\n"
        done = self.daemon.cli("run", "-", stdin=text)
        self.assertEqual((done.returncode, done.stdout), (0, "configmap/settings created\n"), done.stderr)
        done = self.daemon.cli("run", "-", stdin=text.replace("'1'", "'2'"))
        self.assertEqual((done.returncode, done.stdout), (0, "configmap/settings updated\n"), done.stderr)
        found = self.daemon.call("GET", "/api/v1/namespaces/default/configmaps/settings")
        self.assertEqual(found["data"], {"a": "2"})
        two = "\n---\n".join(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}) for name in "xy")
        done = self.daemon.cli("run", "-", stdin=two)
        self.assertEqual((done.returncode, done.stdout), (0, "configmap/x created\nconfigmap/y created\n"), done.stderr)

    def kubectl(self, version, *arguments):
        environment = dict(os.environ, HOME=self.daemon.folder, KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig"))
        return subprocess.run([str(harness.ROOT / f"build/bin/kubectl-{version}"), *arguments],
                              capture_output=True, text=True, env=environment, timeout=harness.PATIENCE)

    def test_run_and_apply_agree(self):
        """What one of them made from a file, the other finds unchanged; and what the file no longer says goes."""
        sleeper = job("both", ["sh", "-c", "echo '<&>' \u2028 && exec sleep 1000"], replicas=1)
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "both", "labels": {"a": "b"}},
                    "data": {"rate": "1.0", "text": "<é>\n"}}
        path = self.write("both.json", {"apiVersion": "v1", "kind": "List", "items": [settings, sleeper]})
        said = ["configmap/both {}", "pytorchtrainingjob.batch.tensorstack.dev/both {}"]
        for version in ("1.20", "1.32"):
            made = self.daemon.cli("run", "--detach", path)
            self.assertEqual(made.stdout.splitlines(), [line.format("created") for line in said], made.stderr)
            applied = self.kubectl(version, "apply", "-f", path)
            self.assertEqual(applied.stdout.splitlines(), [line.format("unchanged") for line in said], applied.stderr)
            self.assertEqual(applied.stderr, "")
            self.kubectl(version, "delete", "-f", path)
            made = self.kubectl(version, "apply", "-f", path)
            self.assertEqual(made.stdout.splitlines(), [line.format("created") for line in said], made.stderr)
            again = self.daemon.cli("run", "--detach", path)
            self.assertEqual(again.stdout.splitlines(), [line.format("unchanged") for line in said], again.stderr)
            self.kubectl(version, "delete", "-f", path)
        self.daemon.cli("run", self.write("settings.json", settings))
        del settings["data"]["text"], settings["metadata"]["labels"]
        changed = self.daemon.cli("run", self.write("settings.json", settings))
        self.assertEqual(changed.stdout, "configmap/both updated\n", changed.stderr)
        found = self.daemon.call("GET", "/api/v1/namespaces/default/configmaps/both")
        self.assertEqual((found["data"], found["metadata"].get("labels")), ({"rate": "1.0"}, None))

    SPARSE = """
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: sparse}
spec:
  runMode: {pause: {enabled: true, resumeSpecs: [{type: worker}]}, debug: {replicaSpecs: [{type: worker}]}}
  replicaSpecs:
  - type: worker
    template: {spec: {containers: [{name: c, image: none, ports: [{containerPort: 80}], resources: {
      limits: {cpu: 1, memory: 1e6, ephemeral-storage: 1073741824}, requests: {cpu: 0.5}}}]}}
---
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {name: sparse}
spec:
  runMode: {pause: {enabled: true}}
  mpiConfig: {script: [hostname]}
  replicaSpecs:
  - {type: launcher, restartPolicy: {}, template: {}}
  - {type: worker, template: {spec: {containers: [{name: worker, image: none, resources: {limits: {cpu: 1}}}]}}}
---
apiVersion: tensorstack.dev/v1beta1
kind: TensorBoard
metadata: {name: sparse}
spec:
  logDir: {pvc: [{name: sparse, subPath: [log]}]}
  resources: {limits: {cpu: 1, memory: 1073741824}}
---
apiVersion: tensorstack.dev/v1beta1
kind: Notebook
metadata: {name: sparse}
spec:
  suspend: true
  template: {spec: {containers: [{name: notebook, image: none, resources: {limits: {cpu: 1, memory: 1e9}}}]}}
"""

    def test_apply_of_a_file_that_leaves_out_what_has_a_default(self):
        """Lists are compared whole, so nothing is filled into them; and a number stays a number."""
        path = self.write("sparse.yaml", self.SPARSE)
        run = lambda: self.daemon.cli("run", "--detach", path)
        for version in ("1.20", "1.32"):
            apply = lambda: self.kubectl(version, "apply", "-f", path)
            for first, second in ((run, apply), (apply, run), (apply, apply), (run, run)):
                made = first()
                self.assertEqual([line.split()[-1] for line in made.stdout.splitlines()], ["created"] * 4, made.stderr)
                again = second()
                self.assertEqual([line.split()[-1] for line in again.stdout.splitlines()], ["unchanged"] * 4,
                                 (version, again.stdout, again.stderr))
                self.assertEqual(again.returncode, 0, again.stderr)
                gone = self.kubectl(version, "delete", "-f", path)
                self.assertEqual(gone.returncode, 0, gone.stderr)

    def test_two_kinds_with_one_name(self):
        pytorch = job("twin", ["sleep", "1000"], replicas=1)
        mpi = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "MPIJob", "metadata": {"name": "twin"},
               "spec": {"worker": {"replicas": 1, "cmd": ["sleep", "1000"], "template": {"spec": {"containers": [
                   {"name": "worker", "image": "none"}]}}}}}
        for one in (pytorch, mpi):
            done = self.daemon.cli("run", "--detach", self.write("twin.json", one))
            self.assertEqual(done.returncode, 0, done.stderr)
        unclear = self.daemon.cli("logs", "twin")
        self.assertEqual((unclear.returncode, unclear.stderr),
                         (1, "error: two jobs are called 'twin': pytorchtrainingjob/twin and mpijob/twin\n"
                             "  hint: say which: pytorchtrainingjob/twin\n"))
        wrong = self.daemon.cli("rm", "tfjob/twin")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("kinds of jobs: pytorchtrainingjob, mpijob", wrong.stderr)
        gone = self.daemon.cli("rm", "mpijob/twin")
        self.assertEqual((gone.returncode, gone.stdout), (0, "mpijob.batch.tensorstack.dev/twin removed\n"), gone.stderr)
        self.assertEqual(self.daemon.cli("rm", "twin").returncode, 0)

    def test_queues(self):
        done = self.daemon.cli("queue", "create", "night", "--quota", "cpu=8,memory=32Gi", "--priority", "10",
                               "--max-duration", "12h", "--namespaces", "default,other", "--keeps-room")
        self.assertEqual((done.returncode, done.stdout), (0, "queue.scheduler.tensorstack.dev/night created\n"), done.stderr)
        made = self.daemon.call("GET", "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues/night")
        self.assertEqual(made["spec"], {
            "quota": {"requests": {"cpu": "8", "memory": "32Gi"}}, "priority": 10, "preemptible": False, "closed": False,
            "maxDuration": "12h", "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["default", "other"]}]}})
        header, *rows = self.daemon.cli("queue").stdout.splitlines()
        self.assertEqual(header.split(), "NAME PRIORITY STATE QUOTA USED RUNNING WAITING OLDEST WAIT".split())
        self.assertEqual([row.split()[:4] for row in rows],
                         [["default", "0", "open", "-"], ["night", "10", "open", "cpu=8,memory=32Gi"]])
        self.assertIn("nothing new starts", self.daemon.cli("queue", "close", "night").stdout)
        self.assertIn("is closed already", self.daemon.cli("queue", "close", "night").stdout)
        sleeper = job("sleeper", ["sleep", "1000"], replicas=1, cpu="10m")
        sleeper["spec"]["scheduler"] = {"t9kScheduler": {"queue": "night", "priority": 3}}
        for c in sleeper["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]:
            c["resources"]["requests"]["memory"] = "1Mi"
        refused = self.daemon.cli("run", "--detach", self.write("sleeper.json", sleeper))
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.assertIn('queue "night" is closed', refused.stderr)
        self.assertIn("opened", self.daemon.cli("queue", "open", "night").stdout)
        self.assertEqual(self.daemon.cli("run", "--detach", self.write("sleeper.json", sleeper)).returncode, 0)
        self.daemon.wait_running("sleeper", 1)
        header, row = self.daemon.cli("ps").stdout.splitlines()
        self.assertEqual(row.split()[header.split().index("QUEUE")], "night")
        shown = self.daemon.cli("queue", "get", "night")
        self.assertRegex(shown.stdout, r"(?m)^\S+ +default/sleeper +3 +1 ")
        self.assertEqual(self.daemon.cli("queue", "get", "-o", "name", "night").stdout,
                         "queue.scheduler.tensorstack.dev/night\n")
        for words, code in ((("get",), 2), (("list", "x"), 2), (("shut", "x"), 2), (("get", "none"), 5),
                            (("create", "bad", "--priority", "101"), 1), (("create", "bad", "--quota", "cpu"), 2),
                            (("close", "night", "--priority", "1"), 2), (("close", "night", "--force"), 2),
                            (("delete", "none"), 5), (("delete", "default", "--force"), 4)):
            done = self.daemon.cli("queue", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        self.daemon.create(job("stays", ["sleep", "1000"], replicas=1))
        self.daemon.wait_running("stays", 1)
        refused = self.daemon.cli("queue", "delete", "default")
        self.assertIn('queue "default" is in use: default/stays (runs)\n', refused.stderr)
        self.assertIn("it cannot be deleted, because jobs that name no queue use it", refused.stderr)
        self.assertNotIn("--force", refused.stderr)
        self.remove("stays")
        refused = self.daemon.cli("queue", "delete", "night")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('queue "night" is in use: default/sleeper (runs)\n', refused.stderr)
        self.assertIn("--force", refused.stderr)
        done = self.daemon.cli("queue", "delete", "night", "--force")
        self.assertEqual((done.returncode, done.stdout), (0, "queue.scheduler.tensorstack.dev/night deleted\n"), done.stderr)
        self.assertEqual([row.split()[0] for row in self.daemon.cli("queue").stdout.splitlines()[1:]], ["default"])
        self.assertEqual(self.daemon.get_job("sleeper")["status"]["phase"], "Running")
        self.remove("sleeper")

    def test_an_attempt_that_never_was(self):
        self.daemon.create(job("once", ["echo", "only line"], replicas=1))
        self.daemon.wait_phase("once", "Succeeded")
        done = self.daemon.cli("logs", "once", "--attempt", "9")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (5, "", "error: 'once' has no log of an attempt 9\n"
                                 "  hint: it was never restarted: its one attempt is number 0\n"))
        self.assertEqual(self.daemon.cli("logs", "once", "--attempt", "0").stdout, "worker-0 | only line\n")
        self.remove("once")

    def test_lines_that_match(self):
        self.daemon.create(job("talks", ["sh", "-c", "echo loss 0.31; echo loss 0.07; echo bye"], replicas=1))
        self.daemon.wait_phase("talks", "Succeeded")
        self.assertEqual(self.daemon.cli("logs", "talks", "--grep", r"loss 0\.0\d").stdout, "worker-0 | loss 0.07\n")
        self.assertEqual(self.daemon.cli("logs", "talks", "-f", "--grep", "^b").stdout, "worker-0 | bye\n")
        done = self.daemon.cli("logs", "talks", "--grep", "a(")
        self.assertEqual((done.returncode, done.stderr), (1, "error: --grep: not a regular expression: missing closing "
                                                             "parenthesis, at character 2 of \"a(\"\n"))
        self.remove("talks")

    def test_logs_outlive_pods(self):
        path = self.write("clean.json", job("clean", ["sh", "-c", "echo $RANK was here"], replicas=2,
                                            run_policy={"cleanUpPolicy": "All"}))
        self.assertEqual(self.daemon.cli("run", path).returncode, 0)
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: True if not pods else None, "pods to be gone")
        for arguments in (["logs", "clean"], ["logs", "-f", "clean"]):
            done = self.daemon.cli(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.splitlines()[0], "worker-0 | 0 was here")

    def test_logs_follow_a_finished_job(self):
        self.daemon.create(job("done", ["echo", "only line"], replicas=1))
        self.daemon.wait_phase("done", "Succeeded")
        done = self.daemon.cli("logs", "-f", "done")
        self.assertEqual((done.returncode, done.stdout), (0, "worker-0 | only line\n"))
        self.remove("done")


if __name__ == "__main__":
    harness.main()
