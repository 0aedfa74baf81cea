#!/usr/bin/python3
"""Logs that grow beyond their limit, and logs of earlier attempts: by muster, and by kubectl 1.20 and 1.32."""
import contextlib
import http.client
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
from harness import PODS, DaemonTest  # noqa: E402

PATH = PODS.format(ns="default")
LIMIT = 16 << 20
LINE = 1000
ROUND = 2000  # lines; then the program waits until they were read
ROUNDS = 12
KUBECTLS = [harness.ROOT / f"build/bin/kubectl-{version}" for version in ("1.20", "1.32")]


class Logs(DaemonTest):
    options = ("--log-limit", "16Mi", "--overcommit")

    def create(self, name, command, policy="Never"):
        self.daemon.call("POST", PATH, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": policy, "terminationGracePeriodSeconds": 1, "containers": [
                {"name": "main", "image": "none", "command": command}]}})

    def tearDown(self):
        for name in self.daemon.pods():
            self.daemon.call("DELETE", f"{PATH}/{name}?gracePeriodSeconds=0", expect=(200, 404))
        super().tearDown()

    def kubectl(self, program, *arguments):
        environment = dict(self.daemon.environment, KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig"),
                           HOME=self.daemon.folder)
        return subprocess.run([str(program), *arguments], capture_output=True, text=True, env=environment,
                              timeout=harness.PATIENCE)

    def follow(self, name):
        """Its lines, as they come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.request("GET", f"{PATH}/{name}/log?follow=true",
                           headers={"Authorization": f"Bearer {self.daemon.token}"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        yield from answer
        connection.close()

    def test_following_goes_through_all_files(self):
        """24 MB through a log of 16: who follows gets each line once, the files stay within the limit."""
        folder = self.daemon.folder
        program = (f"import os, time\nfor r in range({ROUNDS}):\n"
                   f"  for i in range(r * {ROUND}, (r + 1) * {ROUND}):\n"
                   f"    print(str(i).ljust({LINE}, '.'))\n"
                   f"  print(end='', flush=True)\n"
                   f"  while not os.path.exists('{folder}/read-%d' % r): time.sleep(0.001)\n")
        self.create("long", ["/usr/bin/python3", "-c", program])
        self.daemon.wait_for(PATH, lambda pods: pods["long"]["status"]["phase"] == "Running", "long to run")
        number = -1
        for number, line in enumerate(self.follow("long")):
            self.assertEqual(line.decode(), str(number).ljust(LINE, ".") + "\n")
            if number % ROUND == ROUND - 1:
                pathlib.Path(folder, f"read-{number // ROUND}").touch()
        self.assertEqual(number, ROUNDS * ROUND - 1)
        pod = self.daemon.pods()["long"]
        files = list(pathlib.Path(folder, "pods", pod["metadata"]["uid"]).glob("main.0.*.log"))
        size = sum(file.stat().st_size for file in files)
        self.assertTrue(0.8 * LIMIT < size < 1.15 * LIMIT, size)
        kept = [int(line.rstrip(".")) for line in self.daemon.log("long").splitlines()]
        self.assertEqual(kept, list(range(kept[0], ROUNDS * ROUND)))
        self.assertGreater(kept[0], 0)

    def test_bad_limits_are_told(self):
        for limit in ("1Mi", "2Ti", "much", "-16Mi"):
            done = self.daemon.cli("up", "--log-limit", limit)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f'--log-limit wants a size from 16Mi to 1Ti, like 64Mi, not "{limit}"', done.stderr)

    def attempts(self, name):
        """A program that says which of its attempts it is, and fails twice."""
        count = os.path.join(self.daemon.folder, name)
        return ["sh", "-c", f"echo x >>{count}; n=$(($(wc -l <{count}) - 1)); echo attempt $n; [ $n -ge 2 ]"]

    def test_logs_by_attempt(self):
        self.daemon.create(harness.job("tries", self.attempts("tries"), replicas=1, restart="OnFailure",
                                       run_policy={"backoffLimit": 5}))
        self.daemon.wait_phase("tries", "Succeeded")
        for options, expected in ((["--attempt", "0"], "attempt 0\n"), (["--attempt", "1"], "attempt 1\n"),
                                  (["--attempt", "2"], "attempt 2\n"), (["--previous"], "attempt 1\n"),
                                  ([], "attempt 2\n")):
            done = self.daemon.cli("logs", "tries", "--replica", "worker-0", *options)
            self.assertEqual((done.returncode, done.stdout), (0, expected), f"{options} {done.stderr}")
        done = self.daemon.cli("logs", "tries", "--attempt", "3")
        self.assertEqual(done.stdout, "")
        for kubectl in KUBECTLS:  # the job's replaced pod had the same name
            name, = self.daemon.pods()
            for flag in ("-p", "--previous"):
                done = self.kubectl(kubectl, "logs", name, flag)
                self.assertEqual((done.returncode, done.stdout), (0, "attempt 1\n"), done.stderr)
            done = self.kubectl(kubectl, "logs", name)
            self.assertEqual((done.returncode, done.stdout), (0, "attempt 2\n"), done.stderr)

    @contextlib.contextmanager
    def held(self, pod):
        """Stops the clock of a pod that waits for its restart: asking takes as long as it takes."""
        pids = list(self.daemon.pod_processes(pod["metadata"]["uid"]))
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def test_previous_of_a_restarted_container(self):
        """While it runs again that is the run before; while it waits to be restarted, the last one."""
        script = self.attempts("again")[-1]
        self.create("again", ["sh", "-c", f"{script} || [ $n = 0 ] && exit 1 || exec sleep 1000"], "OnFailure")
        self.create("crash", self.attempts("crash"), "OnFailure")

        def restarted(name, state):
            return lambda pods: pods[name] if pods[name]["status"].get("containerStatuses", [{}])[0].get("restartCount") == 1 \
                and state in pods[name]["status"]["containerStatuses"][0]["state"] else None
        crash = self.daemon.wait_for(PATH, restarted("crash", "waiting"), "crash to wait for its second restart")
        with self.held(crash):
            self.daemon.wait_for(PATH, restarted("again", "running"), "again to run again")
            self.check_previous()

    def check_previous(self):
        for name, flag, expected in (("again", "-p", 0), ("crash", "--previous=true", 1), ("crash", "--previous=false", 1)):
            for kubectl in KUBECTLS:
                done = self.kubectl(kubectl, "logs", name, "-c", "main", flag)
                self.assertEqual((done.returncode, done.stdout), (0, f"attempt {expected}\n"), done.stderr)
        for name, expected in (("again", 0), ("crash", 1)):
            done = self.daemon.cli("logs", name, "--previous")
            self.assertEqual((done.returncode, done.stdout), (0, f"attempt {expected}\n"), done.stderr)

    def on_terminal(self, *arguments):
        """What a terminal gets of a command's output."""
        terminal, end = pty.openpty()
        with contextlib.closing(os.fdopen(terminal, "rb", buffering=0)) as screen:
            process = subprocess.Popen([harness.BIN, *arguments], stdin=subprocess.DEVNULL, stdout=end, stderr=end,
                                       env=dict(self.daemon.environment, NO_COLOR="1"))
            os.close(end)
            got = b""
            with contextlib.suppress(OSError):  # EIO: the other end is closed
                while piece := screen.read(65536):
                    got += piece
            self.assertEqual(process.wait(harness.PATIENCE), 0, got)
        return got.replace(b"\r\n", b"\n")

    def test_a_log_does_not_rule_the_terminal(self):
        said = b"\x1b]0;title\x07 \x1b[31mred\x1b[0m \x1b[2J\xc2\x9b2J\n 10%\r100%\n"
        shown = b"^[]0;title^G \x1b[31mred\x1b[0m ^[[2J\xef\xbf\xbd2J\x1b[0m\n100%\n"
        script = "printf '" + "".join(f"\\{byte:03o}" for byte in said) + "'"
        self.create("wild", ["sh", "-c", script])
        self.daemon.wait_for(PATH, lambda pods: pods["wild"]["status"].get("phase") == "Succeeded")
        self.assertEqual(self.on_terminal("logs", "wild"), shown)
        self.assertEqual(self.on_terminal("logs", "-f", "wild"), shown)
        self.assertEqual(self.on_terminal("logs", "--raw", "wild"), said)
        piped = subprocess.run([harness.BIN, "logs", "wild"], capture_output=True, env=self.daemon.environment,
                               timeout=harness.PATIENCE)
        self.assertEqual(piped.stdout, said)
        wild = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": "wild-job"},
                "spec": {"replicaSpecs": [{"type": "worker", "template": {"spec": {"containers": [
                    {"name": "c", "image": "none", "command": ["sh", "-c", script]}]}}}]}}
        path = pathlib.Path(self.daemon.folder, "wild.yaml")
        path.write_text(json.dumps(wild))
        ran = self.on_terminal("run", str(path))
        self.assertIn(b"worker-0 | " + shown.splitlines()[0], ran)
        self.assertNotIn(b"\x1b]", ran)
        self.daemon.call("PATCH", harness.JOBS.format(ns="default") + "/wild-job",
                         {"metadata": {"annotations": {"note": "\x7f\x9b2J\x1b]0;x"}}},
                         content_type="application/merge-patch+json")
        for format in ("table", "yaml", "json"):
            self.assertNotRegex(self.on_terminal("ps", "-o", format), rb"\x1b|\xc2\x9b|\x7f")

    def test_no_previous(self):
        self.create("once", ["echo", "only"])
        self.daemon.wait_for(PATH, lambda pods: pods["once"]["status"]["phase"] == "Succeeded", "once to end")
        for kubectl in KUBECTLS:
            done = self.kubectl(kubectl, "logs", "-p", "once")
            self.assertEqual(done.returncode, 1)
            self.assertIn('previous terminated container "main" in pod "once" not found', done.stderr)


if __name__ == "__main__":
    harness.main()
