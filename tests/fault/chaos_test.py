#!/usr/bin/python3
"""kill -9 of the daemon and of supervisors while many jobs of all restart policies run.

Every attempt must be made once, end with its program's own code and have every line of its program in its log once;
every job must end as its policy says with as many restarts charged; every write that was acknowledged must be there.
In CI it is short. By hand: MUSTER_CHAOS_JOBS=30 MUSTER_CHAOS_DAEMONS=200 MUSTER_CHAOS_SUPERVISORS=300 chaos_test.py; MUSTER_CHAOS_SEED repeats.
"""
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import supervisors  # noqa: E402
from harness import JOBS, DaemonTest, job  # noqa: E402

DAEMONS = int(os.environ.get("MUSTER_CHAOS_DAEMONS", "6"))
SUPERVISORS = int(os.environ.get("MUSTER_CHAOS_SUPERVISORS", "8"))
SEED = int(os.environ.get("MUSTER_CHAOS_SEED", random.randrange(1 << 30)))
APART = 1.0  # seconds between two kills of supervisors
AT_A_TIME = int(os.environ.get("MUSTER_CHAOS_JOBS", "12"))
LINES = 400
MAPS = "/api/v1/namespaces/default/configmaps"

# Each attempt says that it was begun, writes numbered lines to both streams without haste, and ends with its own code.
PROGRAM = """
echo x >> "$1"
attempt=$(wc -l < "$1")
i=0
while [ $i -lt %d ]; do
  echo "out $attempt $i"; echo "err $attempt $i" >&2
  i=$((i+1))
  [ $((i %% 20)) = 0 ] && sleep "$2"
done
shift $((attempt + 1))
exit "$1"
""" % LINES

# policy, budget, the codes of the attempts that are made, how the job ends. The last code stands for any further one,
# which would be one too many.
PLANS = [
    ("Never", 3, [0], "Succeeded"), ("Never", 3, [5], "Failed"),
    ("OnFailure", 3, [1, 7, 0], "Succeeded"), ("OnFailure", 1, [137, 9], "Failed"), ("OnFailure", 2, [0], "Succeeded"),
    ("Always", 1, [0, 0], "Succeeded"), ("Always", 2, [3, 0, 4], "Failed"),
    ("ExitCode", 3, [138, 143, 0], "Succeeded"), ("ExitCode", 3, [1], "Failed"), ("ExitCode", 1, [130, 137], "Failed"),
]


class Writer(threading.Thread):
    """Counts up in objects of its own; remembers what it tried and what was acknowledged."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.server, self.over = daemon, threading.Event()
        self.tried, self.acknowledged, self.total = {}, {}, 0

    def write(self, name, value):
        item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": str(value)}}
        if name not in self.acknowledged:
            status, _ = self.server.request("POST", MAPS, item)
            if status == 409:  # made by a write that was not acknowledged
                status, _ = self.server.request("PUT", f"{MAPS}/{name}", item)
        else:
            status, _ = self.server.request("PUT", f"{MAPS}/{name}", item)
        if status in (200, 201):
            self.acknowledged[name] = value
            self.total += 1

    def run(self):
        number = 0
        while not self.over.is_set():
            number += 1
            name = f"written-{number % 50}"
            self.tried[name] = number
            try:
                self.write(name, number)
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)  # it is down

    def check(self, test):
        found = {item["metadata"]["name"]: int(item["data"]["n"]) for item in self.server.list(MAPS)
                 if item["metadata"]["name"].startswith("written-")}
        for name, value in self.acknowledged.items():
            test.assertTrue(value <= found.get(name, -1) <= self.tried[name], f"{name}: {found.get(name)}, not {value}")


class Chaos(DaemonTest):
    options = ("--overcommit",)

    def setUp(self):
        self.random = random.Random(SEED)
        self.made = self.attempts = 0
        self.running = {}
        self.hits = {"daemon": 0, "worker": 0, "keeper": 0}
        self.last_hit = 0.0
        print(f"seed {SEED}", file=sys.stderr)

    def marker(self, name):
        return pathlib.Path(self.daemon.folder, f"begun-{name}")

    def create(self):
        plan = PLANS[self.made % len(PLANS)]
        policy, budget, codes, _ = plan
        name = f"chaos-{self.made}"
        self.made += 1
        pause = self.random.choice(["0.1", "0.2", "0.4"])
        command = ["sh", "-c", PROGRAM, "sh", str(self.marker(name)), pause, *map(str, codes), *[str(codes[-1])] * 5]
        self.daemon.create(job(name, command, replicas=1, restart=policy, cpu="1m", memory="1Mi",
                               run_policy={"backoffLimit": budget, "cleanUpPolicy": "None"}))
        self.running[name] = plan

    # --- what must be so

    def records(self, name):
        """{attempt: (folder, record)} of all pods of a job, those that are gone included."""
        found = {}
        for place in ("pods/*", f"logs/default/{name}-*/*"):  # in this order: a folder may move meanwhile
            for folder in pathlib.Path(self.daemon.folder).glob(place):
                with contextlib.suppress(OSError):
                    record = json.loads((folder / "state.json").read_text())
                    if re.fullmatch(f"{name}-[^-]+-worker-0", record["name"]):
                        found[record["uid"]] = folder, record
        attempts = {record["attempt"]: (folder, record) for folder, record in found.values()}
        self.assertEqual(len(attempts), len(found), f"{name}: an attempt was made twice: {found}")
        return attempts

    def check_log(self, name, folder, number):
        segments = sorted(folder.glob("python.0.*.log"), key=lambda path: int(path.name.split(".")[2]))
        lines = [line.split(" ", 3) for path in segments for line in path.read_text().splitlines()]
        self.assertEqual({mark for _, _, mark, _ in lines}, {"F"}, name)
        for stream in ("out", "err"):
            self.assertEqual([text for _, which, _, text in lines if which == f"std{stream}"],
                             [f"{stream} {number} {i}" for i in range(LINES)], f"{name}, {folder}")

    def check(self, name, status):
        policy, _, codes, phase = self.running.pop(name)
        what = f"{name} ({policy}, {codes}), seed {SEED}: {status}"
        self.assertEqual(status["phase"], phase, what)
        self.assertEqual(status.get("backoffCount", 0), len(codes) - 1, what)
        self.assertEqual(len(self.marker(name).read_text().split()), len(codes), what)
        records = sorted(self.records(name).items())
        self.assertEqual([record["containers"][0]["exitCode"] for _, (_, record) in records], codes, what)
        for number, (_, (folder, _)) in enumerate(records, 1):
            self.check_log(name, folder, number)
        self.attempts += len(codes)

    def turn_over(self, refill):
        over = [item for item in self.daemon.list(JOBS.format(ns="default"))
                if item["metadata"]["name"] in self.running and item.get("status", {}).get("phase") in ("Succeeded", "Failed")]
        for item in over:
            self.check(item["metadata"]["name"], item["status"])
            self.daemon.call("DELETE", f"{JOBS.format(ns='default')}/{item['metadata']['name']}")
            if refill:
                self.create()

    # --- kills

    def kill_supervisor(self):
        """One of the two of a pod."""
        which = self.random.choice(["worker", "keeper"])
        if supervisors.kill_some(self.daemon, self.random, [which]):
            self.hits[which] += 1
            self.last_hit = time.monotonic()

    def supervisors_killed(self):
        return self.hits["worker"] + self.hits["keeper"]

    def hit(self):
        """Each once in a while; sometimes a supervisor while the daemon is down."""
        due = self.supervisors_killed() < SUPERVISORS and time.monotonic() - self.last_hit >= APART
        down = self.hits["daemon"] < DAEMONS and self.random.random() < 0.7
        if down:
            self.daemon.kill()
            self.hits["daemon"] += 1
        if due:
            self.kill_supervisor()
        if down:
            self.daemon.port = None  # another program may have taken it meanwhile
            self.daemon.start()

    def test_nothing_is_lost(self):
        begun = time.monotonic()
        writer = Writer(self.daemon)
        writer.start()
        for _ in range(AT_A_TIME):
            self.create()
        while self.hits["daemon"] < DAEMONS or self.supervisors_killed() < SUPERVISORS:
            self.hit()
            self.turn_over(refill=True)
            time.sleep(self.random.uniform(0, 1))  # when, is part of what is random
        while self.running:
            self.daemon.wait_for(JOBS.format(ns="default"), lambda jobs: any(
                one.get("status", {}).get("phase") in ("Succeeded", "Failed") for one in jobs.values()), "a job to end")
            self.turn_over(refill=False)
        writer.over.set()
        writer.join()
        writer.check(self)
        print(f"{self.made} jobs, {self.attempts} attempts, {writer.total} acknowledged writes, killed {self.hits}: "
              f"0 wrong codes, 0 wrong charges, 0 lines lost or doubled, 0 writes lost; "
              f"{time.monotonic() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    harness.main()
