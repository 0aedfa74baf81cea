#!/usr/bin/python3
"""The commands beside up, run, logs and ps: what each prints to a terminal and to a pipe, and how it ends."""
import json
import re

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
        self.assertEqual((again.returncode, again.stderr.splitlines()[0]), (6, "error: sweep 'grid' exists already: 4 jobs"))
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
        self.assertIn('waits for its turn: of sweep "turns" at most 1 run at once', self.daemon.cli("ps").stdout)
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
        self.assertIn("seen: detached; all its jobs go on", shown)
        self.daemon.wait_phase("seen-2", "Running")

    def test_failures(self):
        failed = self.daemon.cli("sweep", "--name", "ends", "--set", "n=0,4", "--", "sh", "-c", "exit {n}")
        self.assertEqual(failed.returncode, 3)
        self.assertRegex(failed.stderr, "error: job 'ends-2' did not succeed: .*failed with exit code 4")
        self.assertRegex(failed.stderr, "ends-1: succeeded after ")
        text = self.daemon.cli("sweep", "--dry-run", "--name", "dry", "--parallel", "1", "--set", "n=1,2", "--", "echo", "{n}").stdout
        self.assertEqual(text.count("\n---\n"), 1)
        self.assertEqual(text.count("muster.dev/sweep-parallel: \"1\""), 1)
        for arguments, said in (([], "nothing to run"), (["--", "echo"], "nothing to vary: say --set"),
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
        self.check(["wait", "on", "--timeout", "soon"], 2, "", "error: --timeout wants a time like 30s or 2h, not 'soon'\n")
        self.assertEqual(self.daemon.cli("wait", "of").returncode, 5)
        code, shown = self.daemon.terminal("wait", "on", until="on Running 1/1 .*Ctrl-C ends waiting", send=b"\x03")
        self.assertEqual(code, 130, shown)
        waiting = self.daemon.spawn("wait", "on", "--for=deleted")
        self.remove("on")
        self.assertEqual(waiting.wait(harness.PATIENCE), 0)


if __name__ == "__main__":
    harness.main()
