"""What .ci/run says of its targets, which a `make` of the test's own plays."""
import os
import pathlib
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


class Ci(unittest.TestCase):
    def run_with(self, settings=None, **targets):
        """The last line, the others, the exit status; targets: what each does, in sh."""
        with tempfile.TemporaryDirectory() as folder:
            make = pathlib.Path(folder, "make")
            cases = "".join("%s) %s ;;\n" % (t.replace("_", "-"), do) for t, do in targets.items())
            make.write_text("#!/bin/sh\ncase $1 in\n%sesac\n" % cases)
            make.chmod(0o755)
            done = subprocess.run([TOP / ".ci/run"], capture_output=True, text=True, env=dict(
                os.environ, PATH="%s:%s" % (folder, os.environ["PATH"]), **(settings or {})))
        lines = done.stdout.splitlines()
        return lines[-1], lines[:-1], done.returncode

    def test_both_are_added_up(self):
        total, lines, code = self.run_with(test="echo 10 passed, 0 failed", test_cluster="echo 3 passed, 0 failed")
        self.assertEqual((total, code), ("13 passed, 0 failed", 0))
        self.assertEqual(lines, ["10 passed, 0 failed", "3 passed, 0 failed"])

    def test_the_control_plane_is_built_beside_the_tests_before(self):
        """And waited for. What is built is what test-cluster is told to run."""
        with tempfile.TemporaryDirectory() as folder:
            begun, go, built = (pathlib.Path(folder, name) for name in ("begun", "go", "built"))
            for fifo in (begun, go):
                os.mkfifo(fifo)
            total, lines, code = self.run_with(kube=f"echo $LEVEL >{begun}; read word <{go}; echo so >{built}",
                                               test=f"read level <{begun}; echo on >{go}; echo 10 passed, 0 failed",
                                               test_cluster=f"cat {built}; echo $LEVEL; echo 3 passed, 0 failed")
        self.assertEqual((total, code), ("13 passed, 0 failed", 0))
        self.assertEqual(lines, ["10 passed, 0 failed", "so", "ci", "3 passed, 0 failed"])

    def test_a_failed_test_fails_it(self):
        total, _, code = self.run_with(test="echo 9 passed, 1 failed; echo 'make: *** [test] Error 1' >&2; exit 2",
                                       test_cluster="echo 3 passed, 0 failed")
        self.assertEqual((total, code), ("12 passed, 1 failed", 1))

    def test_what_fails_beside_others_is_run_once_more_alone(self):
        bad = "echo 'FAIL  normal e2e/a_test (exit status 1)'; echo 9 passed, 2 failed; exit 2"
        many = "for i in 1 2 3 4; do echo \"FAIL  normal e2e/a$i (exit status 1)\"; done; echo 9 passed, 4 failed; exit 2"
        with tempfile.TemporaryDirectory() as folder:
            runner = pathlib.Path(folder, "runner")
            for does, test, end in (("exit 0", bad, ("14 passed, 0 failed", 0)), ("exit 1", bad, ("12 passed, 2 failed", 1)),
                                    ("exit 0", many, ("12 passed, 4 failed", 1))):
                with self.subTest(does=does, test=test):
                    runner.write_text("#!/bin/sh\necho \"ran $ONLY\"; %s\n" % does)
                    runner.chmod(0o755)
                    total, lines, code = self.run_with({"CI_RUNNER": str(runner)}, test=test, test_cluster="echo 3 passed, 0 failed")
                    self.assertEqual((total, code), end)
                    self.assertEqual("ran normal e2e/a_test" in lines, test is bad)
                    self.assertEqual("FLAKY    normal e2e/a_test: failed beside other programs, passed alone" in lines, end[1] == 0)

    def test_a_target_without_a_total_is_named(self):
        for do, status in (("exit 2", 2), ("true", 0), ("echo 3 passed, 0 failed; echo then it broke", 0)):
            with self.subTest(do):
                total, lines, code = self.run_with(test="echo 10 passed, 0 failed", test_cluster=do)
                self.assertEqual((total, code), ("10 passed, 1 failed", 1))
                self.assertEqual(lines[-1], "FAIL  make test-cluster: ended without a total, exit status %d" % status)

    def test_a_bad_end_after_a_good_total_is_seen(self):
        total, lines, code = self.run_with(test="echo 10 passed, 0 failed; exit 2", test_cluster="echo 3 passed, 0 failed")
        self.assertEqual((total, code), ("13 passed, 1 failed", 1))
        self.assertIn("FAIL  make test: exit status 2", lines)

    def test_without_modules_the_cluster_is_left_out_with_a_word(self):
        no_modules = "echo 'build-kube: cannot get Go modules'; echo 'make: *** [Makefile:195: test-cluster] Error 75'; exit 2"
        for settings, end in (({}, ("10 passed, 0 failed", 0)), ({"CLUSTER_REQUIRED": "1"}, ("10 passed, 1 failed", 1))):
            with self.subTest(settings):
                total, lines, code = self.run_with(settings, test="echo 10 passed, 0 failed", test_cluster=no_modules)
                self.assertEqual((total, code), end)
                self.assertEqual(lines[-1], "NOT RUN  make test-cluster: build-kube: cannot get Go modules")

    def test_the_time_is_watched(self):
        total, lines, code = self.run_with({"CI_CLUSTER_END_S": "600"}, test="echo 10 passed, 0 failed", test_cluster="false")
        self.assertEqual((total, code), ("10 passed, 0 failed", 0))
        self.assertRegex(lines[-1], r"^NOT RUN  make test-cluster: only (600|5\d\d) seconds are left$")
        total, lines, code = self.run_with({"CI_LIMIT_S": "1"}, test="exec sleep 60", test_cluster="false")
        self.assertEqual((total, code), ("0 passed, 1 failed", 1))
        self.assertIn("FAIL  make test: not done when the time was up", lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
