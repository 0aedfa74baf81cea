#!/usr/bin/python3
"""Twenty real trainings in three queues on two CPUs: at their start, in the middle and at the end `muster ps`, `muster queue`
and `kubectl describe` say what the API holds, and what they say is true. The first training, and the one in the middle,
wait at a gate, so that nothing moves while it is looked at."""
import pathlib
import re

import harness
from harness import job
from torch_runs import PATIENCE, TorchTest

QUEUES = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues"
GROUPS = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/default/podgroups"
EVERYBODY = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "Exists"}]}
PRIORITY = {"urgent": 9, "day": 5, "night": 1}
PROGRAM = """\
import os, sys, time, torch
import torch.distributed as dist
torch.set_num_threads(1)
torch.manual_seed(0)
world = int(os.environ["WORLD_SIZE"])
if world > 1:
    dist.init_process_group("gloo")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
x = torch.randn(64, 4)
y = x @ torch.tensor([1.0, -2.0, 3.0, 0.5])
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(50):
    loss = ((model(x).squeeze(1) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        if world > 1:
            dist.all_reduce(p.grad)
            p.grad /= world
    optimizer.step()
assert loss.item() < 0.01, loss
print("loss", loss.item())
"""


def cpus(requests):
    text = requests.get("cpu", "0")
    return int(text[:-1]) / 1000 if text.endswith("m") else int(text)


class Queues(TorchTest):
    options = ("--cpus", "2")

    def submit(self, name, queue, priority, gate, replicas=1, cpu="1"):
        made = job(name, ["python", str(self.script), str(self.gates / gate)], replicas=replicas, cpu=cpu, memory="64Mi")
        made["spec"]["scheduler"] = {"t9kScheduler": {"queue": queue, "priority": priority}}
        self.daemon.create(made)
        self.wait_groups(lambda groups: name in groups, f"the group of {name}")  # its age is its place in line

    def groups(self):
        return self.by_job(self.daemon.list(GROUPS))

    @staticmethod
    def by_job(groups):
        return {g["metadata"]["labels"]["tensorstack.dev/owner-name"]: g for g in groups}

    def wait_groups(self, wanted, what, patience=None):
        self.daemon.wait_for(GROUPS, lambda found: wanted(self.by_job(found.values())) or None, what, patience)

    def wait_moment(self, runs, line):
        """Until exactly that job runs, with all its pods, and exactly those wait, each told its place; and until the jobs say
        what their groups do."""
        def told(groups):
            return [name for name in line if groups[name].get("status", {}).get("message") == self.sentence(name, runs, line)] == line
        self.daemon.wait_running(runs, 2 if runs == "middle" else 1, patience=PATIENCE)
        self.wait_groups(lambda groups: set(groups) == {runs, *line} and told(groups), f"{runs} to run and {line} to wait", PATIENCE)
        self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: jobs[runs]["status"]["phase"] == "Running" and all(
            jobs[name]["status"].get("message") == self.sentence(name, runs, line) for name in line) or None, "the jobs to say so")
        self.daemon.wait_for(QUEUES, lambda queues: all(
            queues[name].get("status", {}).get("podGroups") == {"total": self.count(name, [runs, *line]), "running": self.count(name, [runs]),
                                                    "waiting": self.count(name, line)} for name in PRIORITY) or None, "the queues' counts")

    def count(self, queue, names):
        return sum(self.queue_of[name] == queue for name in names)

    def sentence(self, name, runs, line):
        place = line.index(name) + 1
        left, before = 2, None  # of the CPUs that those before it have kept for them
        for other in line[:place - 1]:
            if self.size[other] <= left:
                left, before = left - self.size[other], other
        if before:
            return f'waiting for its turn: number {place} in line behind job "{before}"'
        return f'waiting for resources: needs {self.size[name]} CPU, 0 of 2 CPU is free; job "{runs}" (queue {self.queue_of[runs]}) holds 2 CPU'

    def look(self, runs, line):
        """What is shown is what is."""
        self.wait_moment(runs, line)
        pods = self.daemon.pods()
        placed = [p for p in pods.values() if p["spec"].get("nodeName") and p["status"]["phase"] in ("Pending", "Running")]
        self.assertEqual({p["metadata"]["labels"]["tensorstack.dev/owner-name"] for p in placed}, {runs})
        self.assertLessEqual(sum(cpus(c["resources"]["requests"]) for p in placed for c in p["spec"]["containers"]), 2)
        jobs = {j["metadata"]["name"]: j for j in self.daemon.list(harness.JOBS.format(ns="default"))}
        header, *rows = self.daemon.cli("ps").stdout.splitlines()
        self.assertEqual({row.split()[0]: row.split()[2] for row in rows}, {name: j["status"]["phase"] for name, j in jobs.items()})
        for row in rows:
            name = row.split()[0]
            self.assertEqual(row[header.index("WHY"):].strip(), self.sentence(name, runs, line) if name in line else "")
        header, *rows = self.daemon.cli("queue").stdout.splitlines()
        counts = {row.split()[0]: (int(row.split()[5]), int(row.split()[6])) for row in rows}
        for queue in PRIORITY:
            self.assertEqual(counts[queue], (self.count(queue, [runs]), self.count(queue, line)))
            shown = re.findall(r"(?m)^(runs|#\d+|>20) +default/(\S+) +\d+ +\d+ +\S+ *(.*)$", self.daemon.cli("queue", "get", queue).stdout)
            mine = [name for name in line if self.queue_of[name] == queue]
            self.assertEqual(shown, [("runs", runs, "")] * (self.queue_of[runs] == queue) +
                             [(f"#{line.index(name) + 1}", name, self.sentence(name, runs, line)) for name in mine])
        for name in (line[0], line[-1]):
            self.assertIn(self.sentence(name, runs, line), self.describe("pytorchtrainingjob", name))

    def test_what_is_said_of_twenty_trainings(self):
        self.gates = self.folder("gates")
        self.script = pathlib.Path(self.gates, "train.py")
        self.script.write_text(PROGRAM)
        for name, priority in PRIORITY.items():
            self.daemon.call("POST", QUEUES, {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "Queue", "metadata": {"name": name},
                                              "spec": {"priority": priority, "namespaceSelector": EVERYBODY}})
        plan = [(f"t-{i:02}", ("night", "urgent", "day")[i % 3], i * 7 % 5 * 10) for i in range(18)] + [("middle", "day", 15)]
        order = [name for _, _, _, name in sorted((-PRIORITY[queue], -priority, i, name) for i, (name, queue, priority) in enumerate(plan))]
        self.queue_of = {"first": "urgent", **{name: queue for name, queue, _ in plan}}
        self.size = {name: 2 if name == "middle" else 1 for name in order}
        middle = order.index("middle")
        self.assertTrue(3 < middle < 15)

        self.submit("first", "urgent", 50, "begin", cpu="2")
        self.daemon.wait_running("first", 1, patience=PATIENCE)
        for name, queue, priority in plan:
            self.submit(name, queue, priority, "go-on" if name == "middle" else "begin", replicas=2 if name == "middle" else 1)
        self.look("first", order)
        (self.gates / "begin").touch()
        self.look("middle", order[middle + 1:])
        self.assertEqual({j["metadata"]["name"] for j in self.daemon.list(harness.JOBS.format(ns="default")) if j["status"]["phase"] == "Succeeded"},
                         {"first", *order[:middle]})
        (self.gates / "go-on").touch()
        done = self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: jobs if all(
            j["status"]["phase"] in ("Succeeded", "Failed") for j in jobs.values()) else None, "all to end", PATIENCE)
        self.assertEqual({name: j["status"]["phase"] for name, j in done.items()}, {name: "Succeeded" for name in ["first", *order]})
        self.wait_groups(lambda groups: not groups, "the groups to go")
        self.daemon.wait_for(QUEUES, lambda queues: all(
            queues[name].get("status", {}).get("podGroups") == {"total": 0, "running": 0, "waiting": 0} for name in PRIORITY) or None, "nothing to be counted")
        self.assertEqual([row.split()[5:7] for row in self.daemon.cli("queue").stdout.splitlines()[1:]], [["0", "0"]] * 4)
        for name in order:
            self.assertRegex(self.daemon.log(next(iter(self.daemon.pods(name)))), r"^loss \d")


if __name__ == "__main__":
    harness.main()
