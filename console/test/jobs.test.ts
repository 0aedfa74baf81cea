import assert from "node:assert/strict";
import { test } from "node:test";
import { fill, setLang } from "../src/i18n/index.ts";
import { unseen } from "../src/lib/seen.ts";
import type { Event, Job, Pod, PodGroup } from "../src/data/types.ts";
import { exitWord, firstEnding, tipFor } from "../src/lib/failure.ts";
import { choose, offers, readChoice, sortedBy, toggled, type ListName } from "../src/lib/filter.ts";
import { allows } from "../src/data/rights.ts";
import { COLUMNS, fitting, nameWidth, tableWidth } from "../src/pages/jobs/columns.ts";
import { entriesOf, groupsOfOne, type Entry } from "../src/lib/queues.ts";
import { placeInLine } from "../src/lib/waiting.ts";
import { timeLineOf } from "../src/lib/timeline.ts";
import {
  extendedResources,
  failedReplicas,
  gpuSharesOf,
  gpusOf,
  jobHref,
  pair,
  ranMs,
  replicaCounts,
  standingWarnings,
  totalsOf,
} from "../src/lib/jobs.ts";
import { byName } from "../src/lib/nodes.ts";
import { formatBytes, formatCores, parseQuantity, plainCores } from "../src/lib/quantity.ts";
import { stateOfPhase } from "../src/lib/state.ts";
import { ago, duration } from "../src/lib/time.ts";

function job(name: string, change: Partial<Job> = {}): Job {
  return {
    kind: "PyTorchTrainingJob",
    metadata: {
      name,
      namespace: "demo",
      uid: name,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    ...change,
  };
}

function replicas(type: string, count: number, cpu: [string, string], memory: [string, string]) {
  return {
    type,
    replicas: count,
    template: {
      spec: {
        containers: [
          {
            name: "c",
            resources: {
              requests: { cpu: cpu[0], memory: memory[0] },
              limits: { cpu: cpu[1], memory: memory[1] },
            },
          },
        ],
      },
    },
  };
}

test("a place in line", () => {
  assert.equal(placeInLine({ place: 1 }), "1");
  assert.equal(placeInLine({ place: 20 }), "20");
  assert.equal(placeInLine({ place: 21 }), ">20");
  assert.equal(placeInLine({}), "");
  assert.equal(placeInLine(undefined), "");
});

test("quantities", () => {
  assert.equal(parseQuantity("250m"), 0.25);
  assert.equal(parseQuantity("2Gi"), 2 ** 31);
  assert.equal(parseQuantity("1e3"), 1000);
  assert.equal(parseQuantity("5E"), 5e18);
  assert.equal(parseQuantity("two"), undefined);
  assert.equal(parseQuantity(""), undefined);
  assert.equal(formatBytes(12 * 2 ** 30), "12.00Gi");
  assert.equal(formatCores(16), "16.00");
  assert.equal(formatCores(0.25), "250m");
});

test("totals are those the reference shows", () => {
  const tf = job("tf", {
    spec: {
      replicaSpecs: [
        replicas("chief", 1, ["2", "4"], ["4Gi", "8Gi"]),
        replicas("ps", 2, ["1", "2"], ["1Gi", "2Gi"]),
        replicas("worker", 4, ["2", "4"], ["4Gi", "8Gi"]),
      ],
    },
  });
  assert.equal(pair("cpu", totalsOf(tf)), "12.00 / 24.00");
  assert.equal(pair("memory", totalsOf(tf)), "22.00Gi / 44.00Gi");
  const mpi = job("mpi", {
    kind: "MPIJob",
    spec: {
      replicaSpecs: [
        replicas("launcher", 1, ["100m", "200m"], ["100Mi", "200Mi"]),
        replicas("worker", 4, ["4", "8"], ["2Gi", "4Gi"]),
      ],
    },
  });
  assert.equal(pair("cpu", totalsOf(mpi)), "16.00 / 32.00", "the launcher is not counted");
  assert.equal(pair("memory", totalsOf(mpi)), "8.00Gi / 16.00Gi");
});

test("requests default to limits, extended resources are found", () => {
  const gpu = job("g", {
    spec: {
      replicaSpecs: [
        {
          type: "w",
          template: {
            spec: { containers: [{ name: "c", resources: { limits: { "nvidia.com/gpu": "2" } } }] },
          },
        },
      ],
    },
  });
  assert.deepEqual(extendedResources(totalsOf(gpu)), ["nvidia.com/gpu"]);
  assert.equal(pair("nvidia.com/gpu", totalsOf(gpu)), "2 / 2");
  assert.equal(pair("cpu", totalsOf(gpu)), "- / -");
  const share = job("s", {
    spec: {
      replicaSpecs: [
        {
          type: "w",
          replicas: 3,
          template: {
            spec: {
              containers: [{ name: "c", resources: { limits: { "nvidia.com/gpu.shared": "1" } } }],
            },
          },
        },
      ],
    },
  });
  assert.deepEqual(
    [gpusOf(gpu), gpuSharesOf(gpu), gpusOf(share), gpuSharesOf(share)],
    [2, 0, 0, 3],
  );
});

test("replicas, durations, addresses", () => {
  const one = job("a/b", {
    spec: { replicaSpecs: [{ type: "w", replicas: 3 }] },
    status: {
      startTime: "2026-01-01T00:00:00Z",
      completionTime: "2026-01-01T01:05:00Z",
      tasks: [{ type: "w", replicas: [{ phase: "Running" }, { phase: "Failed" }] }],
    },
  });
  assert.deepEqual(replicaCounts(one), { running: 1, done: 0, total: 3 });
  const done = job("d", {
    spec: { replicaSpecs: [{ type: "w", replicas: 3 }] },
    status: {
      phase: "Succeeded",
      tasks: [
        {
          type: "w",
          replicas: [{ phase: "Succeeded" }, { phase: "Succeeded" }, { phase: "Deleted" }],
        },
      ],
    },
  });
  assert.deepEqual(replicaCounts(done), { running: 0, done: 2, total: 3 });
  assert.equal(
    replicaCounts({ ...done, kind: "MPIJob" }).done,
    3,
    "its workers are stopped when they are not needed any more",
  );
  assert.equal(duration(ranMs(one, 0)!), "1h 5m");
  assert.equal(ranMs(job("x"), 5), undefined);
  assert.equal(jobHref(one, "logs"), "/jobs/demo/PyTorchTrainingJob/a%2Fb/logs");
  assert.equal(duration(0), "0s");
  assert.equal(duration(90_061_000), "1d 1h");
});

test("filters and order come from the address", () => {
  const jobs = [
    job("alpha", {
      status: { phase: "Running" },
      metadata: {
        ...job("alpha").metadata,
        labels: { team: "x" },
        creationTimestamp: "2026-01-02T00:00:00Z",
      },
    }),
    job("beta", { status: { phase: "Failed" } }),
    job("gamma", {
      kind: "MPIJob",
      spec: { scheduler: { t9kScheduler: { queue: "big", priority: 5 } } },
    }),
  ];
  const names = (query: string): string[] =>
    choose(jobs, readChoice(new URLSearchParams(query))).map((one) => one.metadata.name);
  assert.deepEqual(names(""), ["alpha", "beta", "gamma"], "newest first, then by name");
  assert.deepEqual(names("q=et"), ["beta"]);
  assert.deepEqual(names("phase=Running,Failed&sort=-name"), ["beta", "alpha"]);
  assert.deepEqual(names("phase=Pending"), ["gamma"], "without a status it is pending");
  assert.deepEqual(names("kind=MPIJob"), ["gamma"]);
  assert.deepEqual(names("queue=big"), ["gamma"]);
  assert.deepEqual(names("scheduler=t9k"), ["gamma"]);
  assert.deepEqual(names("label=team%3Dx"), ["alpha"]);
  assert.deepEqual(names("label=team"), ["alpha"]);
  const offered = (query: string, list: ListName): [string, number][] =>
    offers(jobs, readChoice(new URLSearchParams(query)), list);
  assert.deepEqual(offered("", "kind"), [
    ["MPIJob", 1],
    ["PyTorchTrainingJob", 2],
  ]);
  assert.deepEqual(
    offered("kind=MPIJob&phase=Failed", "kind"),
    [
      ["MPIJob", 0],
      ["PyTorchTrainingJob", 1],
    ],
    "as many as the other filters leave; what is chosen stays",
  );
  assert.equal(toggled(["a"], "a"), null);
  assert.equal(toggled(["a"], "b"), "a,b");
});

test("search: any case, several words; labels of one key are alternatives", () => {
  const labelled = (name: string, labels: Record<string, string>): Job =>
    job(name, { metadata: { ...job(name).metadata, labels } });
  const jobs = [
    labelled("Sweep-lr-0.1", { lr: "0.1", team: "x" }),
    labelled("sweep-lr-0.2", { lr: "0.2", team: "x" }),
    labelled("other", { lr: "0.1", team: "y" }),
  ];
  const names = (query: string): string[] =>
    choose(jobs, readChoice(new URLSearchParams(query))).map((one) => one.metadata.name);
  assert.deepEqual(names("q=SWEEP"), ["Sweep-lr-0.1", "sweep-lr-0.2"]);
  assert.deepEqual(names("q=0.2+sweep"), ["sweep-lr-0.2"]);
  assert.deepEqual(names("label=lr%3D0.1,lr%3D0.2&sort=name").length, 3);
  assert.deepEqual(names("label=lr%3D0.1,lr%3D0.2,team%3Dx"), ["Sweep-lr-0.1", "sweep-lr-0.2"]);
  assert.deepEqual(
    ["name", "-created", "-name"].map((one) => sortedBy(one, "name")),
    ["-name", "name", "name"],
  );
});

test("one replica, two replicas", () => {
  const text = "{count} {count|replica is|replicas are} {state}";
  assert.equal(fill(text, { count: 1, state: "up" }), "1 replica is up");
  assert.equal(fill(text, { count: 2, state: "up" }), "2 replicas are up");
  assert.equal(fill("{a} {b}", { a: "x" }), "x {b}");
});

test("columns give way to names, the least missed first", () => {
  const all = fitting(COLUMNS, 10, 5000);
  assert.deepEqual(all, COLUMNS);
  const some = fitting(
    COLUMNS.filter((one) => one !== "gpu"),
    26,
    1222,
  );
  for (const one of ["cpu", "memory", "kind", "progress"] as const) assert.ok(some.includes(one));
  const few = fitting(COLUMNS, 60, 1222);
  assert.ok(!few.includes("memory") && few.includes("progress"), few.join());
  assert.ok(tableWidth(few, nameWidth(60, 1222)) <= 1222);
  assert.deepEqual(fitting(COLUMNS, 60, 340), []); // a telephone: names alone
});

test("a job that succeeded with a failed replica; what ran is ran", () => {
  const partly = job("p", {
    status: { phase: "Succeeded", tasks: [{ type: "w", replicas: [{ phase: "Failed" }] }] },
  });
  assert.equal(failedReplicas(partly), 1);
  assert.equal(failedReplicas({ ...partly, status: { ...partly.status, phase: "Failed" } }), 0);
  const resumed = job("r", {
    status: {
      phase: "Running",
      ranSeconds: 30,
      startTime: "2026-01-01T00:02:00Z",
      interruptions: [
        {
          reason: "Paused",
          startTime: "2026-01-01T00:00:10Z",
          stopTime: "2026-01-01T00:00:40Z",
          resumeTime: "2026-01-01T00:01:40Z",
        },
      ],
    },
  });
  const now = Date.parse("2026-01-01T00:02:05Z");
  assert.equal(ranMs(resumed, now), 35_000);
  const [lane] = timeLineOf(resumed, [], [], now).lanes;
  assert.deepEqual(
    lane!.spans.map((one) => `${one.kind} ${(one.to - one.from) / 1000}`),
    ["queued 10", "running 30", "paused 60", "queued 20", "running 5"],
  );
});

test("rights: what the rules of a namespace allow", () => {
  const rules = [
    { verbs: ["get", "list"], apiGroups: ["batch.tensorstack.dev"], resources: ["*"] },
    { verbs: ["*"], apiGroups: [""], resources: ["pods"] },
  ];
  assert.ok(allows(rules, "get", "batch.tensorstack.dev", "mpijobs"));
  assert.ok(!allows(rules, "delete", "batch.tensorstack.dev", "mpijobs"));
  assert.ok(allows(rules, "delete", "", "pods"));
});

function ended(name: string, code: number, at: string, message = ""): Pod {
  return {
    metadata: { ...job(name).metadata },
    status: {
      containerStatuses: [
        {
          name: "c",
          ready: false,
          restartCount: 0,
          state: { terminated: { exitCode: code, finishedAt: at, message } },
        },
      ],
    },
  };
}

test("the first bad ending is the cause", () => {
  const found = firstEnding([
    ended("w-0", 1, "2026-01-01T00:00:05Z"),
    ended("w-2", 137, "2026-01-01T00:00:03Z"),
    ended("w-1", 0, "2026-01-01T00:00:01Z"),
  ]);
  assert.equal(found?.pod.metadata.name, "w-2");
  assert.equal(firstEnding([ended("w", 0, "")]), null);
});

test("exit codes and advice", () => {
  assert.equal(exitWord(137), "exit137");
  assert.equal(exitWord(136), "exitSignal");
  assert.equal(exitWord(77), "exitOther");
  assert.equal(tipFor(1, "ModuleNotFoundError: No module named 'x'"), "tipModule");
  assert.equal(tipFor(1, "RuntimeError: CUDA out of memory"), "tipCuda");
  assert.equal(tipFor(137, ""), "tipOom");
  assert.equal(
    tipFor(1, "RuntimeError: [../gloo/transport/tcp/pair.cc] Connection closed by peer"),
    "tipNccl",
  );
  assert.equal(tipFor(3, "?"), "tipGeneral");
});

test("failures since somebody looked, but for those he opened", () => {
  const ended = (uid: string, phase: string, completionTime: string): Job => ({
    metadata: { name: uid, uid, creationTimestamp: "" },
    status: { phase, completionTime },
  });
  const jobs = [
    ended("before", "Failed", "2026-01-01T00:00:00Z"),
    ended("after", "Failed", "2026-01-01T00:00:02Z"),
    ended("opened", "Failed", "2026-01-01T00:00:02Z"),
    ended("fine", "Succeeded", "2026-01-01T00:00:02Z"),
  ];
  const by = { at: Date.parse("2026-01-01T00:00:01Z"), opened: ["opened"] };
  assert.deepEqual(
    unseen(jobs, by).map((job) => job.metadata.uid),
    ["after"],
  );
});

test("what can never start has no place in line, and the others have theirs", () => {
  const group = (name: string, place?: number): PodGroup => ({
    metadata: { name, uid: name, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { queue: "default", priority: name.startsWith("never") ? 90 : 0 },
    status: { phase: "Pending", ...(place && { place }) },
  });
  const { waiting } = entriesOf(
    [group("never-1"), group("never-2"), group("far", 21), group("sixth", 6), group("first", 1)],
    "default",
  );
  assert.deepEqual(
    waiting.map(({ group: { metadata }, place }) => [metadata.name, place]),
    [
      ["first", "1"],
      ["sixth", "6"],
      ["far", ">20"],
      ["never-1", ""],
      ["never-2", ""],
    ],
  );
});

test("a pod in a queue by itself is a group of one", () => {
  const pod = (name: string, more: Pick<Pod, "spec" | "status">): Pod => ({
    metadata: {
      name,
      uid: name,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { "scheduler.tensorstack.dev/queue": "f" },
    },
    ...more,
  });
  const conditions = [{ type: "PodScheduled", status: "False", message: "no room" }];
  const { running, waiting } = entriesOf(
    groupsOfOne([
      pod("lonely", { status: { phase: "Pending", conditions } }),
      pod("runs", { spec: { containers: [], nodeName: "n" }, status: { phase: "Running" } }),
      pod("over", { spec: { containers: [], nodeName: "n" }, status: { phase: "Succeeded" } }),
    ]),
    "f",
  );
  const told = (one: Entry): string[] => [one.group.metadata.name, one.group.status?.message ?? ""];
  assert.deepEqual(waiting.map(told), [["lonely", "no room"]]);
  assert.deepEqual(running.map(told), [["runs", ""]]);
});

test("that a job did not fit is no warning once it runs", () => {
  const events = ["FailedScheduling", "FailedScheduling", "BackOff"].map((reason) => ({
    type: "Warning",
    reason,
  })) as Event[];
  assert.equal(standingWarnings(job("a", { status: { phase: "Pending" } }), events), 3);
  assert.equal(standingWarnings(job("a", { status: { phase: "Running" } }), events), 1);
});

test("times in words are spaced as Chinese text is", () => {
  setLang("zh");
  assert.equal(duration(696_000), "11 分 36 秒");
  assert.equal(duration(0), "0 秒");
  assert.equal(ago(0, 120_000), "2 分钟前");
  setLang("en");
  assert.equal(duration(696_000), "11m 36s");
});

test("pods by number, and cores that are not taken for minutes", () => {
  const pods = ["w-10", "w-2", "w-1"].map((name) => ({ metadata: { name } }) as Pod);
  assert.deepEqual(
    pods.sort(byName).map((pod) => pod.metadata.name),
    ["w-1", "w-2", "w-10"],
  );
  assert.equal(plainCores(0.003), "0.003");
  assert.equal(plainCores(1.5), "1.50");
});

test("a program that is being started is starting", () => {
  assert.equal(stateOfPhase("Initializing"), "starting");
});
