#!/usr/bin/python3
"""Memory that runs out, disks that fail or are full, no more descriptors, interrupted and short transfers: the request fails, not the
daemon.

tests/fault/faults.c makes one allocation or system call of a running daemon fail, or several in a row: the first of a scenario, the
second, and so on. A scenario is requests of all kinds, or a job from its creation to its end. Afterwards the daemon must be the same
process and answer, hold every write it acknowledged, and end the job as it should.

In CI it is a sample. By hand: MUSTER_SWEEP=all sweep_test.py; MUSTER_SWEEP_SEED repeats.
"""
import errno
import http.client
import json
import mmap
import os
import pathlib
import random
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import JOBS, job  # noqa: E402

LIBRARY = pathlib.Path(harness.BIN).parent / "faults.so"
SWEEP = os.environ.get("MUSTER_SWEEP", "60")
SEED = int(os.environ.get("MUSTER_SWEEP_SEED", random.randrange(1 << 30)))
MAPS = "/api/v1/namespaces/default/configmaps"
ALLOCATION, CALL = 0, 1
ERROR, SHORT = 0, 1
GONE = (OSError, http.client.HTTPException)

FAULTS = [("allocation", ALLOCATION, ERROR, 0, 0), ("allocations, 40 in a row", ALLOCATION, ERROR, 0, 40),
          ("EIO", CALL, ERROR, errno.EIO, 0), ("ENOSPC", CALL, ERROR, errno.ENOSPC, 0), ("EMFILE", CALL, ERROR, errno.EMFILE, 0),
          ("the call's own error, 5 in a row", CALL, ERROR, 0, 5), ("EINTR", CALL, ERROR, errno.EINTR, 0), ("short", CALL, SHORT, 0, 0)]


class Control:
    """The file that the daemon has mapped too: struct control of faults.c."""

    def __init__(self, path):
        with open(path, "w+b") as file:
            file.truncate(4096)
            self.map = mmap.mmap(file.fileno(), 4096)

    def arm(self, pid, what, countdown, burst, mode, error):
        self.map[:36] = struct.pack("9i", 0, what, countdown, burst, mode, error, 0, 0, 0)
        self.map[:4] = struct.pack("i", pid)

    def disarm(self):
        """(allocations seen, calls seen, failed)"""
        seen = struct.unpack("3I", self.map[24:36])
        self.map[:36] = bytes(36)
        return seen


class Sweep(harness.WithDaemon):
    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile(prefix="muster-faults-", delete=False) as file:
            cls.path = file.name
        cls.control = Control(cls.path)
        cls.environment = {"LD_PRELOAD": str(LIBRARY), "MUSTER_FAULTS": cls.path}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        os.unlink(cls.path)

    def ask(self, method, path, body=None, content_type="application/json"):
        """The status, or None when no answer came: a connection may be what fails."""
        try:
            return self.daemon.request(method, path, body, content_type=content_type)
        except GONE:
            return None, b""

    # --- scenarios: what happens under the fault, and what must be true afterwards

    def requests(self, number):
        name, self.may = f"m-{number}", [None]
        body = {"metadata": {"name": name}, "data": {"n": "1", "filling": "x" * 300}}
        steps = [("POST", MAPS, body, "application/json"), ("GET", f"{MAPS}/{name}", None, None),
                 ("PATCH", f"{MAPS}/{name}", {"data": {"n": "2"}}, "application/merge-patch+json"),
                 ("GET", f"{MAPS}?limit=5", None, None), ("PUT", f"{MAPS}/{name}", {**body, "data": {"n": "3"}}, "application/json"),
                 ("GET", "/openapi/v2", None, None)]
        for method, path, what, content_type in steps:
            value = what["data"]["n"] if what else None
            self.may = self.may + [value] if what else self.may
            status, text = self.ask(method, path, what, content_type or "application/json")
            if what and status in (200, 201):
                self.may = [value]
            elif status is not None and status >= 400 and not (json.loads(text).get("message") if text else status == 503):
                self.fail(f"{method} {path} gave {status} without a word: {text}")

    def after_requests(self, number):
        status, text = self.daemon.request("GET", f"{MAPS}/m-{number}")
        found = json.loads(text)["data"]["n"] if status == 200 else None
        self.assertIn(found, self.may, "what was acknowledged is not there")
        self.daemon.request("DELETE", f"{MAPS}/m-{number}")

    def run_job(self, number):
        self.created = self.ask("POST", JOBS.format(ns="default"), job(f"j-{number}", ["sh", "-c", "echo out; exit 0"], replicas=1))[0]
        self.daemon_works()

    def daemon_works(self):
        """Some time for it to do what the fault is to hit."""
        for _ in range(6):
            self.ask("GET", JOBS.format(ns="default") + "?limit=1")

    def after_job(self, number):
        name = f"j-{number}"
        if self.created != 201:
            found = self.daemon.request("GET", f"{JOBS.format(ns='default')}/{name}")[0]
            if found == 404:
                self.assertNotIn(self.created, (200, 201))
                return
        def end_of(jobs):
            status = jobs.get(name, {}).get("status", {})
            return status if status.get("phase") in ("Succeeded", "Failed") else None

        ended = self.daemon.wait_for(JOBS.format(ns="default"), end_of, f"{name} to end")
        # a program that could not be started for want of something is a failure that is charged and said
        self.assertTrue(ended["phase"] == "Succeeded" or ended.get("conditions"), ended)
        self.daemon.request("DELETE", f"{JOBS.format(ns='default')}/{name}")

    # --- the sweep

    def count(self, scenario, after, number):
        """How many allocations and calls it has."""
        self.control.arm(self.daemon.process.pid, ALLOCATION, 0, 0, ERROR, 0)
        scenario(number)
        seen = self.control.disarm()
        after(number)
        return seen

    def once(self, scenario, after, number, fault, at):
        name, what, mode, error, burst = fault
        pid = self.daemon.process.pid
        self.control.arm(pid, what, at, burst, mode, error)
        try:
            scenario(number)
        finally:
            fired = self.control.disarm()[2]
        said = f"{name} number {at} of {scenario.__name__}; MUSTER_SWEEP_SEED={SEED}"
        self.assertIsNone(self.daemon.process.poll(), f"the daemon ended: {said}\n{self.daemon.output()[-2000:]}")
        try:
            harness.wait_until(lambda: self.ask("GET", "/readyz")[0] == 200, "an answer")
            after(number)
        except AssertionError as wrong:
            raise AssertionError(f"{said}: {wrong}") from wrong
        self.assertEqual(self.daemon.process.pid, pid)
        return fired

    def test_the_request_fails_and_not_the_daemon(self):
        chance, number, trials, fired = random.Random(SEED), 1, 0, 0
        scenarios = [(self.requests, self.after_requests), (self.run_job, self.after_job)]
        for scenario, after in scenarios:
            self.count(scenario, after, number)  # what is done once only
            number += 1
        plan = []
        for index, (scenario, after) in enumerate(scenarios):
            seen = self.count(scenario, after, number)
            number += 1
            for fault in FAULTS:
                most = max(1, seen[fault[1]])
                if SWEEP == "all":
                    plan += [(index, fault, at) for at in range(1, most + 1)]
                else:
                    share = int(SWEEP) // (len(FAULTS) * len(scenarios)) + 1
                    plan += [(index, fault, chance.randrange(1, most + 1)) for _ in range(share)]
        for index, fault, at in plan:
            fired += self.once(*scenarios[index], number, fault, at)
            number, trials = number + 1, trials + 1
        self.assertGreater(fired, trials // 2, "most faults did not come")
        print(f"{trials} trials, {fired} faults, 0 daemons ended, 0 acknowledged writes lost", flush=True)


if __name__ == "__main__":
    harness.main()
