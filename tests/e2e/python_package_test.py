#!/usr/bin/python3
"""The Python client with a real daemon: submit, wait, logs, scalars, errors."""
import os
import pathlib
import sys
import unittest

import harness

sys.path.insert(0, str(harness.ROOT / "python"))
sys.path.insert(0, str(harness.ROOT / "examples/ddp"))
import muster  # noqa: E402

muster.binary = lambda: harness.BIN


class Client(harness.DaemonTest):
    def setUp(self):
        super().setUp()
        self.client = muster.Client(dir=self.daemon.data)
        self.work = pathlib.Path(self.daemon.folder, "work")
        self.work.mkdir(exist_ok=True)
        for name in ("MUSTER_HOME", "KUBECONFIG"):
            os.environ.pop(name, None)

    def submit(self, script, **options):
        return self.client.submit([sys.executable, "-c", script], cwd=self.work, **options)

    def test_a_job_from_submit_to_its_curves(self):
        job = self.submit("import os, sys; sys.path.insert(0, os.environ['LIB'])\n"
                          "from eventfile import EventWriter\n"
                          "with_rank = os.environ['RANK']\n"
                          "w = EventWriter('logs/run' + with_rank)\n"
                          "for i in range(3): w.add_scalar('loss', 1 / (i + 1), i)\n"
                          "w.add_scalar('odd', float('nan'), 7)\n"
                          "w.close(); print('rank', with_rank, 'of', os.environ['WORLD_SIZE'])",
                          name="curves", workers=2, env={"LIB": str(harness.ROOT / "examples/ddp")}, labels={"team": "x"})
        self.assertEqual(job.name, "curves")
        self.assertEqual(sorted(job.logs(follow=True)), ["worker-0 | rank 0 of 2", "worker-1 | rank 1 of 2"])
        self.assertEqual(job.wait(timeout=harness.PATIENCE).phase, "Succeeded")
        self.assertTrue(job.status().is_final)
        self.assertEqual([*job.logs(replica="worker-1")], ["rank 1 of 2"])
        self.assertEqual([*job.logs(grep="rank [1-9]")], ["worker-1 | rank 1 of 2"])
        loss = job.scalars("loss")
        self.assertEqual(sorted(loss), ["logs/run0", "logs/run1"])
        self.assertEqual([(p.step, round(p.value, 3)) for p in loss["logs/run0"]], [(0, 1.0), (1, 0.5), (2, 0.333)])
        everything = job.scalars()
        self.assertEqual(everything["loss"], loss)
        self.assertNotEqual(everything["odd"]["logs/run0"][0].value, everything["odd"]["logs/run0"][0].value)  # NaN
        self.assertEqual(job.scalars("none"), {})
        self.assertEqual([*self.client.jobs("team=x")], ["curves"])
        job.delete()
        self.assertEqual(self.client.jobs(), {})

    def test_failures_say_why(self):
        job = self.submit("import sys; print('words'); sys.exit(3)")
        with self.assertRaises(muster.JobFailed) as failed:
            job.wait()
        self.assertIn("failed with exit code 3", str(failed.exception))
        self.assertEqual([*job.logs()], ["worker-0 | words"])
        self.assertEqual(job.status().phase, "Failed")
        with self.assertRaises(muster.MusterError) as wrong:
            self.client.job("absent").status()
        self.assertEqual(wrong.exception.code, 5)
        with self.assertRaises(muster.MusterError) as wrong:
            [*self.client.job("absent").logs()]
        self.assertEqual(wrong.exception.code, 5)
        self.assertIn("absent", str(wrong.exception))
        with self.assertRaises(muster.MusterError) as wrong:
            self.client.submit(["true"], workers=0)
        self.assertEqual(wrong.exception.code, 2)

    def test_stopped_and_followed_only_as_long_as_wanted(self):
        job = self.submit("import time\nfor i in range(10**9): print(i, flush=True); time.sleep(0.01)", name="long")
        lines = job.logs(follow=True)
        self.assertEqual(next(lines), "worker-0 | 0")
        lines.close()
        with self.assertRaises(TimeoutError):
            job.wait(timeout=1)
        job.stop()
        self.assertEqual(job.wait(until="Paused").phase, "Paused")
        job.resume()
        self.assertEqual(job.wait(until="Running").phase, "Running")
        again = self.client.job("pytorchtrainingjob/long")
        again.delete()
        again.wait(until="deleted")


if __name__ == "__main__":
    unittest.main()
