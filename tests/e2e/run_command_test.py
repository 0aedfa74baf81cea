#!/usr/bin/python3
"""`muster run -- COMMAND`: a job without a manifest, and a daemon that is started when there is none."""
import concurrent.futures
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import termios
import time
import unittest

import harness
from harness import Daemon, DaemonTest


class StartsTheDaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)

    def tearDown(self):
        self.daemon.cli("down")
        self.assertEqual(self.daemon.close(), [])

    def test_once_for_many(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = list(pool.map(lambda i: self.daemon.cli("run", "--", "echo", f"number {i}"), range(4)))
        for i, done in enumerate(runs):
            self.assertEqual((done.returncode, done.stdout), (0, f"worker-0 | number {i}\n"), done.stderr)
        self.assertEqual(sum("is up at" in done.stderr for done in runs), 1)
        names = sorted(re.search(r"/(\S+) created", done.stderr)[1] for done in runs)
        self.assertEqual(names, ["echo", "echo-2", "echo-3", "echo-4"])

    def test_port_taken_by_another(self):
        other = Daemon(start=False)
        self.addCleanup(lambda: (other.cli("down"), other.close()))
        for daemon in (self.daemon, other):
            self.assertEqual(daemon.cli("up", "--detach").returncode, 0)
        addresses = {pathlib.Path(d.data, "muster.pid").read_text().split()[1] for d in (self.daemon, other)}
        self.assertEqual(len(addresses), 2)


class RunCommand(DaemonTest):
    def test_callers_path_and_folder(self):
        folder = pathlib.Path(self.daemon.folder, "project")
        (folder / "bin").mkdir(parents=True)
        program = folder / "bin" / "mine"
        program.write_text('#!/bin/sh\necho "$PWD $1 $X rank $RANK of $WORLD_SIZE"\n')
        program.chmod(0o755)
        done = subprocess.run([harness.BIN, "run", "--workers", "2", "--env", "X=$(RANK)", "--name", "both", "--", "mine", "a b"],
                              cwd=folder, capture_output=True, text=True, timeout=harness.PATIENCE,
                              env={**self.daemon.environment, "PATH": f"{folder}/bin:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"worker-{i} | {folder} a b $(RANK) rank {i} of 2" for i in range(2)])
        again = self.daemon.cli("run", "--name", "both", "--", "true")
        self.assertEqual(again.returncode, 6)
        self.assertIn("job 'both' already exists", again.stderr)

    def test_result(self):
        failed = self.daemon.cli("run", "--", "sh", "-c", "exit 4")
        self.assertEqual(failed.returncode, 3)
        self.assertIn("failed with exit code 4", failed.stderr)
        detached = self.daemon.cli("run", "--detach", "--", "true")
        self.assertEqual((detached.returncode, detached.stdout),
                         (0, "pytorchtrainingjob.batch.tensorstack.dev/true created\n"))
        self.daemon.wait_phase("true", "Succeeded")

    def test_restarts_all_together(self):
        script = self.write("attempts.sh", 'echo "rank $RANK"\n[ ! -e failed ] || exit 0\n'
                            '[ $RANK = 1 ] || { touch begun; exec sleep 1000; }\n'
                            'until [ -e begun ]; do sleep 0.02; done\ntouch failed; exit 1\n')
        done = subprocess.run([harness.BIN, "run", "--workers", "2", "--max-restarts", "1", "--", "sh", script],
                              cwd=os.path.dirname(script), capture_output=True, text=True, timeout=harness.PATIENCE,
                              env=self.daemon.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"worker-{i} | rank {i}" for i in (0, 0, 1, 1)])

    def test_dry_run_is_what_is_made(self):
        text = self.daemon.cli("run", "--dry-run", "--workers", "2", "--label", "a=b", "--", "echo", "hi")
        self.assertEqual(text.returncode, 0)
        path = self.write("dry.yaml", text.stdout)
        self.assertEqual(self.daemon.list("/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"), [])
        done = self.daemon.cli("run", path)
        self.assertEqual((done.returncode, sorted(done.stdout.splitlines())), (0, ["worker-0 | hi", "worker-1 | hi"]))
        as_json = json.loads(self.daemon.cli("run", "--dry-run", "-o", "json", path).stdout)
        self.assertEqual(as_json["metadata"]["labels"], {"a": "b"})

    def test_folder_of_manifests(self):
        folder = pathlib.Path(self.daemon.folder, "manifests")
        folder.mkdir()
        for name in ("one", "two"):
            (folder / f"{name}.yaml").write_text(
                self.daemon.cli("run", "--dry-run", "--name", name, "--", "echo", name).stdout)
        (folder / "notes.txt").write_text("not a manifest")
        done = self.daemon.cli("run", str(folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ["one/worker-0 | one", "two/worker-0 | two"])
        (folder / "two.yaml").write_text("kind: Nothing\n")
        wrong = self.daemon.cli("run", "--replace", str(folder))
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("two.yaml:1", wrong.stderr)

    def test_wrong_usage(self):
        for arguments, said in ((["train.py"], "train.py is a program, not a manifest\n  hint: muster run -- python train.py"),
                                (["python", "train.py"], "'python': either one file, or a command after --"),
                                (["--workers", "2", "x.yaml"], "--workers is for a command; x.yaml specifies it itself"),
                                (["--"], "nothing to run"), ([], "nothing to run"),
                                (["--workers", "two", "--", "true"], "--workers takes a whole number, not 'two'"),
                                (["--workers", "0", "--", "true"], "--workers must be at least 1, not '0'"),
                                (["--nproc", "0", "--", "true"], "--nproc must be at least 1, not '0'")):
            done = self.daemon.cli("run", *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)
        done = self.daemon.cli("run", "--cpus", "much", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("requests[cpu]", done.stderr)
        self.assertIn("nothing was created", done.stderr)

    def test_status_line_on_a_terminal(self):
        main, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (24, 100))
        process = subprocess.Popen([harness.BIN, "run", "--name", "shown", "--", "sh", "-c", "echo begun; sleep 1000"],
                                   stdin=terminal, stdout=terminal, stderr=terminal,
                                   env={**self.daemon.environment, "TERM": "xterm"}, start_new_session=True)
        os.close(terminal)
        seen = b""
        until = time.monotonic() + harness.PATIENCE
        while not re.search(rb"begun\r\n.*shown Running 1/1 .*Ctrl-C detaches", seen, re.S):
            self.assertLess(time.monotonic(), until, seen)
            if select.select([main], [], [], 1)[0]:
                seen += os.read(main, 65536)
        self.daemon.cli("rm", "shown")
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        self.assertEqual(process.wait(harness.PATIENCE), 3)
        # at the end it is taken away
        self.assertIn(b"\r\x1b[K", seen[seen.rindex(b"Ctrl-C detaches"):])
        os.close(main)


if __name__ == "__main__":
    harness.main()
