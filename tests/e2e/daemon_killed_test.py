#!/usr/bin/python3
"""kill -9 of `muster up` during a job: training goes on, and nothing of it is lost or doubled."""
import pathlib
import re
import subprocess
import tempfile

import harness
from harness import DaemonTest, job

LINES = 250
# Before its last lines it waits: however long a start of the daemon takes, it is there to be found again.
PRINTER = f"i=1; while [ $i -le {LINES} ]; do echo number $i; [ $i != 200 ] || until [ -e $GO ]; do sleep 0.02; done; " \
          "i=$((i+1)); sleep 0.02; done"
EXPECTED = [f"number {i}" for i in range(1, LINES + 1)]


class DaemonKilled(DaemonTest):
    def follow(self, *arguments):
        """A muster process whose output goes to a file, which is answered."""
        output = tempfile.NamedTemporaryFile(dir=self.daemon.folder, suffix=".txt")
        return self.daemon.spawn(*arguments, stdout=output, stderr=subprocess.DEVNULL), output

    def wait_line(self, pod, number):
        """Until a pod has printed a line, seen through a followed log."""
        import http.client
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.request("GET", f"{harness.PODS.format(ns='default')}/{pod}/log?follow=true",
                           headers={"Authorization": f"Bearer {self.daemon.token}"})
        for line in connection.getresponse():
            if line.decode().strip() == f"number {number}":
                break
        connection.close()

    def lines_by_replica(self, output):
        output.seek(0)
        found = {}
        for line in output.read().decode().splitlines():
            match = re.fullmatch(r"(worker-\d)\s+\| (.*)", line)
            self.assertIsNotNone(match, line)
            found.setdefault(match[1], []).append(match[2])
        return found

    def test_training_outlives_the_daemon(self):
        daemon = self.daemon
        go = pathlib.Path(daemon.folder, "go-on")
        path = self.write("numbers.json", job("numbers", ["sh", "-c", PRINTER.replace("$GO", str(go))],
                                              run_policy={"cleanUpPolicy": "None"}))
        runner, output = self.follow("run", path)
        pods = daemon.wait_running("numbers")
        before = daemon.main_processes()
        self.assertEqual(len(before), 4)
        self.wait_line(sorted(pods)[0], 40)
        daemon.kill()
        self.assertEqual(daemon.main_processes(), before)
        daemon.start()
        self.assertEqual(daemon.main_processes(), before)
        go.touch()
        daemon.wait_phase("numbers", "Succeeded")
        daemon.wait_for(harness.PODS.format(ns="default"),
                        lambda found: all(p["status"]["phase"] == "Succeeded" for p in found.values()))
        self.assertEqual(harness.uids(daemon.pods("numbers")), harness.uids(pods))
        self.assertEqual(daemon.get_job("numbers")["status"].get("backoffCount", 0), 0)
        for name in pods:
            self.assertEqual(daemon.log(name).splitlines(), EXPECTED, name)
        self.assertEqual(runner.wait(harness.PATIENCE), 0)
        self.assertEqual(self.lines_by_replica(output), {f"worker-{i}": EXPECTED for i in range(4)})
        printed = daemon.cli("logs", "numbers", "--replica", "worker-2")
        self.assertEqual(printed.stdout.splitlines(), EXPECTED)
        self.remove("numbers")

    def test_exit_while_the_daemon_is_down(self):
        """An exit code from while the daemon was down is not lost, and is charged once."""
        daemon = self.daemon
        flag = f"{daemon.folder}/tried"
        command = ["sh", "-c", f"echo begin; test -e {flag} && exit 0; while ! test -e {daemon.folder}/go; do sleep 0.02; done; "
                   f"touch {flag}; exit 9"]
        daemon.create(job("once", command, replicas=1, restart="OnFailure"))
        daemon.wait_running("once", 1)
        daemon.kill()
        open(f"{daemon.folder}/go", "w").close()
        while daemon.pod_processes(container=True):  # the end of the process is the event
            pass
        daemon.start()
        status = daemon.wait_phase("once", "Succeeded")["status"]
        self.assertEqual(status["backoffCount"], 1)
        self.remove("once")

    def test_killed_in_the_middle_of_starting(self):
        """Killed at once after a submit, five times: in the end exactly four processes run."""
        daemon = self.daemon
        daemon.create(job("early", ["sleep", "1000"], restart="OnFailure"))
        for _ in range(5):
            daemon.kill()
            daemon.start()
        daemon.wait_running("early")
        self.assertEqual(len(daemon.pod_processes(container=True)), 4)
        self.assertEqual(daemon.get_job("early")["status"].get("backoffCount", 0), 0)
        self.remove("early")
        self.assertEqual(daemon.pod_processes(), {})


class CleanStop(DaemonTest):
    def test_down_leaves_training_running(self):
        daemon = self.daemon
        daemon.create(job("go-on", ["sleep", "1000"], replicas=2))
        daemon.wait_running("go-on", 2)
        before = daemon.pod_processes(container=True)
        done = daemon.cli("down")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 pods", done.stdout)
        self.assertEqual(daemon.process.wait(harness.PATIENCE), 0)
        self.assertEqual(daemon.pod_processes(container=True), before)
        self.assertEqual(daemon.cli("down").returncode, 5)
        daemon.start()
        daemon.wait_running("go-on", 2)
        self.assertEqual(daemon.pod_processes(container=True), before)
        self.remove("go-on")


if __name__ == "__main__":
    harness.main()
