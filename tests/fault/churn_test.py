#!/usr/bin/python3
"""kill -9 of the daemon and of supervisor processes, again and again, while 20 pods churn.

Every pod must be started exactly once, end with its program's own code, have every line of its program in its log
exactly once, and leave nothing behind; one whose supervisors were both killed at once may end early, and says so.
MUSTER_CHURN_SEED repeats a run's choices.
"""
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import supervisors  # noqa: E402
from harness import PODS, DaemonTest  # noqa: E402

KILLS = 60 // int(os.environ.get("MUSTER_TEST_STRIDE", "1"))
SLOTS = 20
LINES = 400
PATH = PODS.format(ns="default")

# Says that it was started, writes numbered lines to both streams, some of them without haste, and ends with a code.
PROGRAM = """
echo x >> "$1"
i=0
while [ $i -lt %d ]; do
  echo "out $i"; echo "err $i" >&2
  i=$((i+1))
  [ $((i %% 40)) = 0 ] && sleep 0.05
done
printf last
exit "$2"
""" % LINES


class Churn(DaemonTest):
    def setUp(self):
        self.seed = int(os.environ.get("MUSTER_CHURN_SEED", random.randrange(1 << 30)))
        print(f"seed {self.seed}", file=sys.stderr)
        self.random = random.Random(self.seed)
        self.made = self.checked = 0
        self.codes, self.hits = {}, {"daemon": 0, "worker": 0, "keeper": 0, "both": 0}
        self.bereft = set()

    def marker(self, name):
        return os.path.join(self.daemon.folder, f"started-{name}")

    def create(self):
        name = f"churn-{self.made}"
        self.made += 1
        self.codes[name] = self.random.choice([0, 0, 1, 7, 42])
        self.daemon.call("POST", PATH, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [
                {"name": "main", "image": "none",
                 "command": ["sh", "-c", PROGRAM, "sh", self.marker(name), str(self.codes[name])],
                 "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]}})

    def check(self, name, pod):
        """A finished pod: all of it, once."""
        state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        self.checked += 1
        if name in self.bereft and state["reason"] == "SupervisorLost":
            self.check_cut_short(name, state)
            return
        self.assertEqual(state["exitCode"], self.codes[name], f"{name}: {state}, seed {self.seed}")
        self.assertEqual(pathlib.Path(self.marker(name)).read_text(), "x\n", f"{name} started, seed {self.seed}")
        lines = self.daemon.log(name).splitlines()
        for stream in ("out", "err"):
            self.assertEqual([line for line in lines if line.startswith(stream)],
                             [f"{stream} {i}" for i in range(LINES)], f"{name}, seed {self.seed}")
        self.assertEqual(len(lines), 2 * LINES + 1, f"{name}, seed {self.seed}")

    def check_cut_short(self, name, state):
        """Both supervisors were killed at once: it says so, was not started again, and what was read is there in order."""
        self.assertEqual(state["exitCode"], 137, f"{name}: {state}, seed {self.seed}")
        started = pathlib.Path(self.marker(name))
        self.assertIn(started.read_text() if started.exists() else "", ("", "x\n"), f"{name} started, seed {self.seed}")
        lines = self.daemon.log(name).splitlines()
        for stream in ("out", "err"):
            said = [line for line in lines if line.startswith(stream)]
            self.assertEqual(said, [f"{stream} {i}" for i in range(len(said))], f"{name}, seed {self.seed}")

    def turn_over(self, refill):
        """Checks and removes what has finished; as many come after."""
        for name, pod in self.daemon.pods().items():
            if pod["status"].get("phase") not in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp"):
                continue
            self.check(name, pod)
            self.daemon.call("DELETE", f"{PATH}/{name}?gracePeriodSeconds=0")
            if refill:
                self.create()

    def supervisors_hit(self):
        return self.hits["worker"] + self.hits["keeper"] + self.hits["both"]

    def kill_supervisor(self):
        """The worker or the keeper of a pod that runs; each sixth time both at once, so that nobody can replace them."""
        which = "both" if self.supervisors_hit() % 6 == 5 else self.random.choice(["worker", "keeper"])
        order = self.random.sample(["worker", "keeper"], 2) if which == "both" else [which]
        record = supervisors.kill_some(self.daemon, self.random, order)
        if record:
            self.hits[which] += 1
            if which == "both":
                self.bereft.add(record["name"])

    def test_nothing_is_lost_doubled_or_left(self):
        begun = time.monotonic()
        for _ in range(SLOTS):
            self.create()
        while self.hits["daemon"] < KILLS or self.supervisors_hit() < KILLS:
            for _ in range(self.random.randrange(1, 3)):
                if self.supervisors_hit() < KILLS:
                    self.kill_supervisor()
            if self.hits["daemon"] < KILLS:
                self.daemon.kill()
                self.hits["daemon"] += 1
                if self.random.random() < .5 and self.supervisors_hit() < KILLS:
                    self.kill_supervisor()
                self.daemon.port = None  # another program may have taken it meanwhile
                self.daemon.start()
            self.turn_over(refill=True)
        while self.daemon.pods():
            self.daemon.wait_for(PATH, lambda pods: not pods or any(
                p["status"].get("phase") in ("Succeeded", "Failed") for p in pods.values()), "a pod to end")
            self.turn_over(refill=False)
        self.assertEqual(self.checked, self.made)
        deadline = time.monotonic() + harness.PATIENCE  # what was told to the daemon is done when it is done
        while self.daemon.pod_processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.daemon.pod_processes(), {})
        print(f"{self.made} pods, killed {self.hits}: 0 lost, 0 doubled, 0 left, {time.monotonic() - begun:.0f} s",
              file=sys.stderr)


if __name__ == "__main__":
    harness.main()
