import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { jobTexts } from "../src/i18n/job.ts";
import type { Event, Job, JobFailure, Node, Pod } from "../src/data/types.ts";
import { newlyOver } from "../src/lib/endings.ts";
import {
  sayOfJob,
  shortCause,
  tellingLine,
  tipFor,
  whyText,
  type Tip,
} from "../src/lib/failure.ts";
import { gpuKinds, misfit } from "../src/lib/fit.ts";
import { byteTicks, shortBytes } from "../src/lib/quantity.ts";
import { Failure } from "../src/data/api.ts";
import type { Status } from "../src/data/types.ts";
import { refusalText } from "../src/lib/refusal.ts";
import { say, sayBoth } from "../src/lib/say.ts";
import { exact, setUtc } from "../src/lib/time.ts";
import { sparkPath } from "../src/lib/spark.ts";
import { gathered, ticks, timeLineOf } from "../src/lib/timeline.ts";

const CASES: [code: number, text: string, tip: Tip][] = [
  [1, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "tipCuda"],
  [1, "RuntimeError: CUDA error: device-side assert triggered", "tipCudaAssert"],
  [1, "RuntimeError: No CUDA GPUs are available", "tipNoCuda"],
  [
    1,
    "RuntimeError: DataLoader worker (pid 71) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
    "tipShm",
  ],
  [137, "OOMKilled", "tipOom"],
  [137, "", "tipOom"],
  [137, "not for lack of memory: the kernel counts no such kill", "tipKilled"],
  [1, '  File "t.py", line 3\nSyntaxError: invalid syntax', "tipSyntax"],
  [1, "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x784 and 100x10)", "tipShape"],
  [1, "ModuleNotFoundError: No module named 'x'", "tipModule"],
  [
    1,
    "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
    "tipModule",
  ],
  [
    1,
    "RuntimeError: The server socket has failed to listen ... (errno: 98 - Address already in use).",
    "tipPort",
  ],
  [1, "OSError: [Errno 28] No space left on device", "tipDisk"],
  [1, 'persistentvolumeclaim "data" not found', "tipPvc"],
  [143, "DeadlineExceeded", "tipDeadline"],
  [143, 'Preempted: gave way to "big"', "tipPreempted"],
  [1, "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "tipRendezvous"],
  [
    1,
    "[E ProcessGroupNCCL.cpp:828] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE)",
    "tipNcclTimeout",
  ],
  [127, "sh: 1: trian: not found", "tipNotFound"],
  [127, "", "tipNotFound"],
  [1, "PermissionError: [Errno 13] Permission denied: '/data/out'", "tipPermission"],
  [1, "FileNotFoundError: [Errno 2] No such file or directory: 'a'", "tipFile"],
  [130, "KeyboardInterrupt", "tipKeyboard"],
  [2, "train.py: error: unrecognized arguments: --ephocs", "tipArgs"],
  [1, "ValueError: loss is nan", "tipNan"],
  [1, "KeyError: 'lr'", "tipKey"],
  [1, "RuntimeError: [../gloo/transport/tcp/pair.cc] Connection closed by peer", "tipNccl"],
  [139, "", "tipSegfault"],
  [134, "terminate called", "tipAbort"],
  [143, "", "tipTerminated"],
  [3, "BackoffLimitExceeded", "tipBudget"],
  [3, "?", "tipGeneral"],
];

test("the common failures are told apart", () => {
  for (const [code, text, tip] of CASES)
    assert.equal(tipFor(code, text), tip, text || `exit ${code}`);
  assert.ok(new Set(CASES.map(([, , tip]) => tip)).size >= 20);
  for (const [, , tip] of CASES) assert.ok(jobTexts.zh[tip] && jobTexts.en[tip], tip);
});

test("the line that says it", () => {
  assert.equal(tellingLine("a\nTraceback\nValueError: bad\nbye"), 2);
  assert.equal(tellingLine("KeyError: 'x'\nnothing"), 0);
  assert.equal(tellingLine("all is well"), -1);
});

test("a cause that fits into a row, and the whole of it, from status.failure", () => {
  const job = (status: NonNullable<Job["status"]>): Job => ({
    kind: "PyTorchTrainingJob",
    metadata: meta("a", ""),
    spec: { runPolicy: { activeDeadlineSeconds: 60 } },
    status: { phase: "Failed", message: "what the controller wrote", ...status },
  });
  const said = (failure: Omit<JobFailure, "replica">, status = {}): [string, string, string] => {
    const made = job({
      reason: "MasterFailed",
      ...status,
      failure: { replica: "a-w-0", ...failure },
    });
    return [shortCause(made, "en"), shortCause(made, "zh"), whyText(made, "zh")];
  };
  assert.deepEqual(said({ exitCode: 1, message: "KeyError: 'a'", restartPolicy: "Never" }), [
    "exit code 1: KeyError: 'a'",
    "退出码 1：KeyError: 'a'",
    "a-w-0：退出码 1：KeyError: 'a'；重启策略 Never 不会重启它",
  ]);
  assert.deepEqual(
    said({ exitCode: 3, restartLimit: 3 }, { reason: "BackoffLimitExceeded", backoffCount: 3 }),
    ["exit code 3", "退出码 3", "a-w-0：退出码 3；重启次数已用完（3/3）"],
  );
  assert.deepEqual(
    said(
      {
        exitCode: 137,
        message: "not for lack of memory: the kernel counts no such kill",
        restartLimit: 0,
      },
      { reason: "BackoffLimitExceeded" },
    ).slice(1),
    [
      "退出码 137（被 SIGKILL 强制终止）：不是因为内存不足：内核没有记录此类终止",
      "a-w-0：退出码 137（被 SIGKILL 强制终止）：不是因为内存不足：内核没有记录此类终止；不允许重启（backoffLimit 为 0）",
    ],
  );
  assert.equal(said({ exitCode: 137, reason: "OOMKilled" })[1], "退出码 137（内核报告内存不足）");
  assert.equal(
    said({ exitCode: 127, reason: "StartError" })[0],
    "exit code 127 (command not found)",
  );
  assert.equal(said({ reason: "Evicted" })[0], "no exit code (evicted by the node)");
  assert.equal(
    said({ exitCode: 139, container: "side", message: "step 3" })[1],
    "退出码 139，容器 side（段错误，SIGSEGV）：step 3",
  );
  assert.equal(
    said(
      { exitCode: 1, follower: "a-w-1", restartLimit: 3, restartSeconds: 20 },
      { phase: "Running", reason: "Restarting", backoffCount: 1 },
    )[2],
    "a-w-0：退出码 1（程序报错），a-w-1 随之失败；20 秒后进行第 1/3 次重启",
  );
  assert.equal(
    said(
      { exitCode: 1, message: "x", others: 2 },
      { phase: "Running", reason: "ReplicaFailed" },
    )[2],
    "a-w-0：退出码 1：x；另有 2 个副本失败",
  );
  const late = job({ reason: "DeadlineExceeded" });
  assert.equal(shortCause(late, "zh"), "运行时间超过 activeDeadlineSeconds（60 秒）");
  assert.equal(
    shortCause(job({ message: "The deadline is over." }), "en"),
    "The deadline is over.",
  );
  // Conditions and events repeat the job's sentence; others are said by their own.
  const failed = job({ reason: "MasterFailed", failure: { replica: "a-w-0", exitCode: 3 } });
  assert.equal(sayOfJob(failed, "what the controller wrote", "zh"), whyText(failed, "zh"));
  assert.equal(sayOfJob(failed, "The job is paused.", "zh"), "Job 已暂停。");
  assert.equal(
    say("can never fit: asks 6 CPU (up to 1500m a pod), the node has 4", "zh"),
    "无法调度：请求 6 CPU（每个 Pod 最多 1500m），节点只有 4",
  );
  assert.equal(sparkPath([3, null, 1], 12, 10), "M1.0 1.0M11.0 9.0");
  assert.equal(sparkPath([1], 12, 10), "");
});

const meta = (name: string, at: string, uid = name) => ({
  name,
  uid,
  namespace: "d",
  resourceVersion: "1",
  creationTimestamp: at,
});

test("what it waits for, in Chinese", () => {
  assert.equal(
    say("can never fit: asks 8 GPU, the node has 0", "zh"),
    "无法调度：请求 8 GPU，节点只有 0",
  );
  assert.equal(
    say(
      "can never fit: asks 8 GPU, the 2 nodes together have 4; a pod asks 4 GPU, the largest node has 2 (what helps: smaller requests or fewer replicas)",
      "zh",
    ),
    "无法调度：请求 8 GPU，2 个节点共有 4；单个 Pod 请求 4 GPU，最大的节点只有 2（可以减少请求量或副本数）",
  );
  assert.equal(
    say(
      "can never fit: no node has the labels of the nodeSelector: disk=no; no node offers enough foo.com/x, bar.com/y; asks 6 CPU (up to 5 a pod), the node has 4 (what helps: smaller requests)",
      "zh",
    ),
    "无法调度：没有节点带有 nodeSelector 要求的标签 disk=no；没有节点提供足够的 foo.com/x, bar.com/y；请求 6 CPU（每个 Pod 最多 5），节点只有 4（可以减少请求量）",
  );
  assert.equal(
    say("can never fit: no node has the labels of the nodeSelector: disk=ssd", "zh"),
    "无法调度：没有节点带有 nodeSelector 要求的标签 disk=ssd",
  );
  assert.equal(
    say('waiting for resources: needs 4 GPU, 1 of 8 is free; job "a" holds 7', "zh"),
    "等待资源：需要 4 GPU，共 8，空闲 1；“a”占用 7",
  );
  assert.equal(
    say(
      'waiting for resources: needs 4 CPU, 1 of 8 CPU is free; job "a" (queue q) holds 5 CPU until 2027-01-15T09:00:00Z at the latest, 2 more hold the rest; number 2 in line',
      "zh",
    ),
    `等待资源：需要 4 CPU，共 8 CPU，空闲 1；“a”（队列 q）占用 5 CPU，最迟到 ${exact(Date.UTC(2027, 0, 15, 9))}，其余由另外 2 个占用；排第 2 位`,
  );
  assert.match(
    say(
      'waiting for resources: needs 4 CPU, 0 of 8 CPU is free; job "a" (queue q) holds 5 CPU, 1 more holds the rest',
      "zh",
    ),
    /，其余由另外 1 个占用$/,
  );
  assert.equal(
    say(
      'waiting for resources: needs 1 CPU, 0 of 2 CPU is free; job "a" (queue q) holds 2 CPU; its room was taken by job "b" of queue "high" (priority 9)',
      "zh",
    ),
    "等待资源：需要 1 CPU，共 2 CPU，空闲 0；“a”（队列 q）占用 2 CPU；其资源被队列“high”（优先级 9）的“b”抢占",
  );
  assert.equal(
    say(
      "can never fit: asks 3 GPU, the node has 2 (what helps: smaller requests, fewer replicas, or muster up with --gpus if the machine has more)",
      "zh",
    ),
    "无法调度：请求 3 GPU，节点只有 2（可以减少请求量或副本数，或重新启动 muster up，加上 --gpus，如果本机还有 GPU）",
  );
  assert.equal(
    say(
      "can never fit: asks 5 CPU, the node has 4 (what helps: smaller requests, fewer replicas, or muster up with --cpus or --overcommit)",
      "zh",
    ),
    "无法调度：请求 5 CPU，节点只有 4（可以减少请求量或副本数，或重新启动 muster up，加上 --cpus、--overcommit）",
  );
  assert.equal(
    say(
      'the job is paused: it ran longer than maxDuration (1h) of queue "q"; runMode.pause.enabled: false resumes it',
      "zh",
    ),
    "Job 已暂停：运行时间超过了队列“q”的 maxDuration（1h）；将 runMode.pause.enabled 设为 false 可继续运行",
  );
  assert.equal(
    say('waiting for its PodGroup: there is none named "g" in namespace default', "zh"),
    "等待 PodGroup：项目 default 中没有名为“g”的 PodGroup",
  );
  assert.equal(
    say('waiting for the quota of queue "q": needs 3 CPU, 4 of 5 CPU is in use', "zh"),
    "等待队列“q”的配额：需要 3 CPU，共 5 CPU，已用 4",
  );
  assert.equal(
    say('waiting for the quota of queue "q": needs 3 CPU, 6 CPU is in use, more than its 5', "zh"),
    "等待队列“q”的配额：需要 3 CPU，已用 6 CPU，超过其上限 5",
  );
  assert.equal(
    say(
      'waiting for the quota of queue "q": needs 1 CPU, 4 of 4 CPU is in use; job "a" holds 3 CPU until 2027-01-15T09:00:00Z at the latest, 1 more holds the rest; number 2 in line',
      "zh",
    ),
    `等待队列“q”的配额：需要 1 CPU，共 4 CPU，已用 4；“a”占用 3 CPU，最迟到 ${exact(Date.UTC(2027, 0, 15, 9))}，其余由另外 1 个占用；排第 2 位`,
  );
  assert.equal(
    say(
      'waiting for the quota of queue "q": needs 1 CPU, 6 CPU is in use, more than its 5; it holds 1 CPU itself; job "a" holds 5 CPU',
      "zh",
    ),
    "等待队列“q”的配额：需要 1 CPU，已用 6 CPU，超过其上限 5；它自己占用 1 CPU；“a”占用 5 CPU",
  );
  assert.equal(
    say('waiting for the quota of queue "q": needs 1 CPU; 20 or more are in line before it', "zh"),
    "等待队列“q”的配额：需要 1 CPU；前面至少有 20 个",
  );
  assert.equal(
    say(
      'waiting for resources: needs 2 CPU, 0 of 3 CPU is free; it holds 2 CPU itself; pod "x" (queue q) holds 1 CPU; number 3 in line',
      "zh",
    ),
    "等待资源：需要 2 CPU，共 3 CPU，空闲 0；它自己占用 2 CPU；“x”（队列 q）占用 1 CPU；排第 3 位",
  );
  assert.equal(
    say(
      'waiting for room on node "n1", which its nodeName names, where it needs 2 CPU, and 1 of 8 CPU is free; it holds 2 CPU there itself; job "a" (queue q) holds 5 CPU there',
      "zh",
    ),
    "等待节点 n1（由 nodeName 指定）上的资源：需要 2 CPU，共 8 CPU，空闲 1；它自己占用 2 CPU；“a”（队列 q）占用 5 CPU",
  );
  assert.equal(say("waiting for node n2, which is not ready", "zh"), "等待节点 n2 就绪");
  assert.equal(
    say('can never fit: there is no node "ghost"', "zh"),
    "无法调度：没有名为 ghost 的节点",
  );
  assert.equal(
    say(
      "waiting for 1 of its own pods to stop; it was stopped: it lacks members, and no node can take them",
      "zh",
    ),
    "等待自己的 1 个 Pod 停止；已被停止：它缺少成员，而没有节点能容纳它们",
  );
  assert.equal(
    say(
      'queue "q" is closed: nothing new is started until it is opened (muster queue open q)',
      "zh",
    ),
    "队列“q”已关闭：可用 muster queue open q 打开",
  );
  assert.equal(
    say('there is no queue "q" in namespace t9k-system: make it (muster queue create q)', "zh"),
    "队列“q”不存在：可用 muster queue create q 创建",
  );
  assert.equal(
    say(
      'can never fit: no node has the label "rack", the topologyKey of its topologySpreadConstraints',
      "zh",
    ),
    "无法调度：没有节点带有 topologySpreadConstraints 的 topologyKey 标签 rack",
  );
  assert.match(
    say(
      "can never fit: there is enough in all, but not where its pods would need it: the largest pod asks 900m CPU (what helps: smaller requests or fewer replicas)",
      "zh",
    ),
    /最大的请求 900m CPU（可以减少请求量或副本数）$/,
  );
  assert.match(
    say(
      "waiting for other pods: where there is room its affinity, their anti-affinity or its topologySpreadConstraints forbid it to run; number 2 in line",
      "zh",
    ),
    /^等待其它 Pod：.*排第 2 位$/,
  );
  assert.equal(
    say('waiting for 2 pods of job "a" and 1 of others to stop; number 3 in line', "zh"),
    "等待“a”的 2 个 Pod、另外 1 个 Pod 停止；排第 3 位",
  );
  assert.equal(
    say(
      'waiting for room on node "n1", which its nodeName names, where it needs 1 CPU, and 0 of 8 CPU is free; job "a" (queue q) holds 6 CPU there, 1 more holds the rest',
      "zh",
    ),
    "等待节点 n1（由 nodeName 指定）上的资源：需要 1 CPU，共 8 CPU，空闲 0；“a”（队列 q）占用 6 CPU，其余由另外 1 个占用",
  );
  assert.equal(
    say(
      'waiting for resources: there is room for 1 of 2 pods, the largest of 3 CPU; 8 of 20 CPU is free, at most 5 on one node; job "w1" (queue q) holds 12 CPU; number 2 in line',
      "zh",
    ),
    "等待资源：需要的 2 个 Pod 中只能容纳 1 个，最大的请求 3 CPU；共 20 CPU，空闲 8，单个节点最多空闲 5；“w1”（队列 q）占用 12 CPU；排第 2 位",
  );
  assert.equal(
    say("waiting for node n2, which is cordoned (kubectl uncordon n2)", "zh"),
    "等待节点 n2，它已停止调度（kubectl uncordon n2）",
  );
  assert.equal(
    say(
      'can never fit: asks 9 CPU, node "n1", which its nodeName names, has 8 (what helps: smaller requests or fewer replicas)',
      "zh",
    ),
    "无法调度：请求 9 CPU，节点 n1（由 nodeName 指定）只有 8（可以减少请求量或副本数）",
  );
  assert.equal(
    say(
      'waiting for its turn: number 2 in line, needs 3 GPU, 2 of 4 GPU is free; job "ga" (queue q) holds 2 GPU',
      "zh",
    ),
    "排队等待：第 2 位；需要 3 GPU，共 4 GPU，空闲 2；“ga”（队列 q）占用 2 GPU",
  );
  assert.equal(say("something new", "zh"), "something new");
  assert.equal(say("waiting for a node: none is ready", "en"), "waiting for a node: none is ready");
  assert.equal(
    say(
      "waiting for a node: none is ready; node n1 and 2 more are cordoned (kubectl uncordon n1)",
      "zh",
    ),
    "等待节点：没有就绪的节点；节点 n1、另外 2 个节点已停止调度（kubectl uncordon n1）",
  );
});

test("a job runs in its time line when its replicas do, though its status says so later", () => {
  const job: Job = {
    metadata: meta("j", "2026-01-01T00:00:00Z"),
    status: { phase: "Failed", startTime: "2026-01-01T00:00:09Z", completionTime: "2026-01-01T00:00:09Z" }, // prettier-ignore
  };
  const terminated = { exitCode: 1, startedAt: "2026-01-01T00:00:02Z", finishedAt: "2026-01-01T00:00:08Z" }; // prettier-ignore
  const pod: Pod = {
    metadata: meta("j-w-0", "2026-01-01T00:00:01Z"),
    status: {
      startTime: "2026-01-01T00:00:01Z",
      containerStatuses: [{ name: "c", ready: false, restartCount: 0, state: { terminated } }],
    },
  };
  const { lanes } = timeLineOf(job, [pod], [], Date.parse("2026-01-01T00:01:00Z"));
  const second = (ms: number): number => (ms / 1000) % 60;
  assert.deepEqual(
    lanes[0]!.spans.map((one) => [one.kind, second(one.from), second(one.to), one.end]),
    [
      ["queued", 0, 2, undefined],
      ["running", 2, 9, "failed"],
    ],
  );
});

test("the time line has queued, starting and running, and earlier runs", () => {
  const job: Job = {
    metadata: meta("j", "2026-01-01T00:00:00Z"),
    status: { phase: "Running", startTime: "2026-01-01T00:00:02Z" },
  };
  const pod: Pod = {
    metadata: {
      ...meta("j-w-0", "2026-01-01T00:00:20Z", "new"),
      labels: { "replica-type": "w", "replica-index": "0" },
    },
    status: {
      startTime: "2026-01-01T00:00:21Z",
      containerStatuses: [
        {
          name: "c",
          ready: true,
          restartCount: 0,
          state: { running: { startedAt: "2026-01-01T00:00:23Z" } },
        },
      ],
    },
  };
  const event = (
    reason: string,
    at: string,
    about: Event["involvedObject"],
    message = "",
  ): Event => ({
    metadata: meta(reason + at, at),
    reason,
    message,
    lastTimestamp: at,
    involvedObject: about,
  });
  const line = timeLineOf(
    job,
    [pod],
    [
      event("Started", "2026-01-01T00:00:03Z", { kind: "Pod", name: "j-w-0", uid: "old" }),
      event(
        "ReplicaFailed",
        "2026-01-01T00:00:15Z",
        { kind: "PyTorchTrainingJob", name: "j", uid: "j" },
        "j-w-0 failed with exit code 3",
      ),
    ],
    Date.parse("2026-01-01T00:01:00Z"),
  );
  assert.deepEqual(
    line.lanes.map((one) => one.label),
    ["Job", "w-0"],
  );
  assert.deepEqual(
    line.lanes[0]!.spans.map((one) => [one.kind, (one.to - one.from) / 1000]),
    [
      ["queued", 2],
      ["running", 58],
    ],
  );
  assert.deepEqual(
    line.lanes[1]!.spans.map((one) => [one.kind, (one.to - one.from) / 1000]),
    [
      ["running", 12],
      ["queued", 1],
      ["starting", 2],
      ["running", 37],
    ],
  );
  assert.equal(line.lanes[1]!.spans[0]!.attempt, 0);
  assert.equal(line.lanes[1]!.spans[0]!.end, "failed");
  assert.equal(line.lanes[0]!.marks.length, 1);
  assert.equal(line.to - line.from, 60_000);
  assert.deepEqual(ticks(60_000, 6), [0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
});

test("what ran stays running in the time line, with how it ended; each failed run has its length", () => {
  const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
  const job: Job = {
    metadata: meta("j", at(0)),
    status: { phase: "Failed", startTime: at(1), completionTime: at(20) },
  };
  const pod: Pod = {
    metadata: meta("j-w-0", at(10), "new"),
    status: {
      startTime: at(10),
      containerStatuses: [
        {
          name: "c",
          ready: false,
          restartCount: 0,
          state: { terminated: { exitCode: 1, startedAt: at(10), finishedAt: at(20) } },
        },
      ],
    },
  };
  const events = (
    [
      ["Started", 1],
      ["ReplicaFailed", 5],
      ["Started", 5],
      ["ReplicaFailed", 9],
    ] as const
  ).map(
    // prettier-ignore
    ([reason, second]): Event => ({
      metadata: meta(`${reason}${second}`, at(second)),
      reason,
      message: "j-w-0 failed with exit code 3",
      lastTimestamp: at(second),
      involvedObject: { kind: "Pod", name: "j-w-0", uid: `old ${second}` },
    }),
  );
  const { lanes } = timeLineOf(job, [pod], events, 0);
  assert.deepEqual(
    lanes.map((lane) => lane.spans.map((one) => [one.kind, (one.to - one.from) / 1000, one.end])),
    [
      [
        ["queued", 1, undefined],
        ["running", 19, "failed"],
      ],
      [
        ["running", 4, "failed"],
        ["running", 4, "failed"],
        ["running", 10, "failed"],
      ],
    ],
  );
  // Of the same sentence twice only the last time may be known.
  const once = events.filter(
    (one) => one.reason !== "ReplicaFailed" || one.lastTimestamp === at(9),
  );
  assert.deepEqual(
    timeLineOf(job, [pod], once, 0).lanes[1]!.spans.map((one) => (one.to - one.from) / 1000),
    [4, 5, 10],
  );
  const never: Job = { ...job, status: { phase: "Failed", completionTime: at(20) } };
  assert.equal(timeLineOf(never, [], [], 0).lanes[0]!.spans.at(-1)?.end, "failed");
});

test("what can never fit is said before it is sent", () => {
  const node = (cpu: string, gpu: string): Node => ({
    metadata: meta("n", ""),
    status: { allocatable: { cpu, memory: "8Gi", "nvidia.com/gpu": gpu } },
  });
  const job = (replicas: number, limits: Record<string, string>): Job => ({
    metadata: meta("j", ""),
    spec: {
      replicaSpecs: [
        {
          type: "w",
          replicas,
          template: { spec: { containers: [{ name: "c", resources: { limits } }] } },
        },
      ],
    },
  });
  assert.equal(misfit(job(1, { cpu: "2" }), [node("4", "0")]), null);
  assert.deepEqual(misfit(job(1, { cpu: "8" }), [node("4", "0"), node("6", "0")]), {
    resource: "cpu",
    asked: 8,
    has: 6,
    pod: true,
  });
  assert.deepEqual(misfit(job(4, { cpu: "3" }), [node("4", "0"), node("6", "0")]), {
    resource: "cpu",
    asked: 12,
    has: 10,
    pod: false,
  });
  assert.deepEqual(
    misfit(job(1, { "nvidia.com/gpu": "1" }), [node("4", "0")])?.resource,
    "nvidia.com/gpu",
  );
  assert.equal(misfit(job(1, { cpu: "8" }), []), null, "without nodes nothing is known");
  assert.deepEqual(gpuKinds([node("4", "1")]), ["nvidia.com/gpu"]);
});

test("jobs that ended since the last look", () => {
  const job = (uid: string, phase: string): Job => ({
    metadata: meta(uid, "", uid),
    status: { phase },
  });
  const first = newlyOver(null, [job("a", "Running"), job("b", "Failed")]);
  assert.deepEqual(first.over, []);
  const second = newlyOver(first.now, [
    job("a", "Succeeded"),
    job("b", "Failed"),
    job("c", "Failed"),
  ]);
  assert.deepEqual(
    second.over.map((one) => one.metadata.uid),
    ["a"],
  );
});

test("axes of bytes have binary places", () => {
  assert.deepEqual(byteTicks(2 ** 30, 4), [0, 2 ** 28, 2 ** 29, 3 * 2 ** 28, 2 ** 30]);
  assert.equal(shortBytes(2 ** 30), "1 GiB");
  assert.equal(shortBytes(1.5 * 2 ** 20), "1.5 MiB");
  assert.equal(shortBytes(0), "0 B");
  assert.deepEqual(byteTicks(0, 4), [0]);
});

test("times inside sentences are in the zone of the page", () => {
  const began = "The job began running at 2026-11-17 06:29:49.89 UTC";
  const waits =
    'waiting for resources: needs 4 CPU, 1 of 8 is free; job "a" holds 7 until 2026-11-17T18:31:43Z at the latest';
  setUtc(true);
  assert.equal(say(began, "en"), "The job began running at 2026-11-17 06:29:49 UTC");
  assert.equal(say(began, "zh"), "Job 于 2026-11-17 06:29:49 UTC 开始运行");
  setUtc(false);
  const now = exact(Date.parse("2026-11-17T18:31:43Z"));
  assert.ok(say(waits, "en").endsWith(` holds 7 until ${now} at the latest`), say(waits, "en"));
  assert.ok(say(waits, "zh").includes(`最迟到 ${now}`), say(waits, "zh"));
  const quoted = "a-w-0 failed with exit code 1: 2026-11-17T18:31:43Z KeyError";
  assert.equal(say(quoted, "en"), quoted);
});

test("a program's own words stay as they are", () => {
  for (const words of [
    "RuntimeError: shapes cannot be multiplied (3x7 and 20x32)",
    "error (attempt 2)",
  ]) {
    const failed = `a-w-0 failed with exit code 1: ${words}`;
    assert.equal(say(failed, "zh"), `a-w-0 失败，退出码 1：${words}`);
  }
});

test("the controllers' sentences in Chinese", () => {
  assert.equal(
    say("a-w-0 is waiting: waiting for a node: none is ready", "zh"),
    "a-w-0 正在等待：等待节点：没有就绪的节点",
  );
  assert.equal(say("Create the replica[a-w-0] for the first time.", "zh"), "首次创建副本 a-w-0。");
  assert.equal(
    say("Create the replica[a-w-0] again: its last pod is gone.", "zh"),
    "重新创建副本 a-w-0：其上一个 Pod 已不存在。",
  );
  assert.equal(say("2 of 4 pods are running", "zh"), "4 个 Pod 中有 2 个在运行");
  assert.equal(say("2 of 4 pods are running", "en"), "2 of 4 pods are running");
  assert.equal(say("unheard of", "zh"), "unheard of");
  assert.equal(
    say(
      "OMP_NUM_THREADS is 2 in container c, from its CPU limit, divided by 3 processes: set it in env to change it",
      "zh",
    ),
    "容器 c 的 OMP_NUM_THREADS 为 2，依据其 CPU 上限除以 3 个进程：可在 env 中另行设置",
  );
  assert.equal(
    say(
      'a-w-0 failed with exit code 139 in container "side" (segmentation fault, SIGSEGV); it last said: step 3',
      "zh",
    ),
    "a-w-0 失败，退出码 139，容器 side（段错误，SIGSEGV）；最后的输出：step 3",
  );
  assert.equal(
    say("TensorBoard [a] is not ready: tensorboard is starting and does not answer yet.", "zh"),
    "TensorBoard a 尚未就绪：tensorboard 正在启动，尚未响应。",
  );
  assert.equal(
    say(
      "2 of 4 pods are refused: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=4",
      "zh",
    ),
    "4 个 Pod 中有 2 个被拒绝创建：超出配额 q：请求 requests.cpu=1，已用 requests.cpu=3，上限 requests.cpu=4",
  );
  assert.equal(
    say(
      "1 of 1 pods are refused: maximum memory usage per Container is 4Mi, but limit is not given",
      "zh",
    ),
    "1 个 Pod 中有 1 个被拒绝创建：每个容器的 memory 最多为 4Mi，而此处为未设置",
  );
  assert.equal(sayBoth("The job is paused.", "zh"), "Job 已暂停。\nThe job is paused.");
  assert.equal(sayBoth("The job is paused.", "en"), "The job is paused.");
});

/** Sentences of the C files that tell jobs, pods and boards why: what stands for a value is filled
 * in. */
function sentences(file: string, begin: RegExp): string[] {
  const text = readFileSync(`../src/${file}`, "utf8")
    .replace(/"\s*PRI[du]64\s*"/g, "d")
    .replace(/%"\s*PRI[du]64/g, '%d"')
    .replace(/"\s*\n\s*"/g, "");
  return [...text.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)]
    .map(([, one]) => one!.replace(/\\"/g, '"'))
    .filter((one) => begin.test(one))
    .map((one) =>
      one.replace(/%(?:\.\d+)?(?:s|zu|d)/g, (which) => (which.endsWith("s") ? "x" : "3")),
    );
}

test("no event of a job is left without its Chinese", () => {
  const files: [string, RegExp][] = [
    ["core/job_events.c", /^(A|Create|Replace|The) /],
    ["core/job_conditions.c", /^(All|The|No|3|%d) .*\.$/],
    [
      "core/job_tensorboard.c",
      /^(TensorBoard \[%s\] (was|is being|is ready)|There is|spec\.tensorboardSpec names)/,
    ],
    [
      "core/tensorboard.c",
      /^(tensorboard (is|has|answers)|The pod is|Every port|It is suspended;|It has not been used for 24|There is)/,
    ],
    ["core/replica_pod.c", /^(The template's|%s sets|%s names)/],
    ["core/job_why.c", /^(the job|a %s|%s (was|is waiting for)|nothing is known|%zu of|%d of)/],
    ["core/schedule_words.c", /^(waiting|can never)/],
    ["core/node_loss.c", /^(The|the) node has/],
    ["agent/pod_sync.c", /^(no command|the pod was)/],
    ["agent/pod_work.c", /^(Stopping|Started|The|No token) /],
  ];
  for (const [file, begin] of files) {
    const found = sentences(file, begin);
    assert.ok(found.length, `no sentence was found in ${file}`);
    for (const one of found) assert.match(say(one, "zh"), /[\u4e00-\u9fff]/, `${file}: ${one}`);
  }
});

test("marks of one moment are one, warnings first", () => {
  const event = (name: string, type: string): Event => ({
    metadata: meta(name, ""),
    type,
    involvedObject: {},
  });
  const groups = gathered(
    [
      { at: 50, event: event("c", "Normal") },
      { at: 0, event: event("a", "Normal") },
      { at: 4, event: event("b", "Warning") },
    ],
    5,
  );
  assert.deepEqual(
    groups.map((one) => [one.at, one.events.map((each) => each.metadata.name)]),
    [
      [0, ["b", "a"]],
      [50, ["c"]],
    ],
  );
});

test("a refusal is told by its reason, in the reader's language", () => {
  const refused = (reason: string, details: Status["details"] = {}): Failure =>
    new Failure("as the server said it", 409, reason, { kind: "Status", details });
  const mnist = { kind: "pytorchtrainingjobs", name: "mnist" };
  assert.equal(
    refusalText(refused("AlreadyExists", mnist), "zh"),
    "PyTorchTrainingJob “mnist”已存在，请换一个名称",
  );
  assert.equal(refusalText(refused("AlreadyExists", mnist), "en"), "as the server said it");
  assert.equal(refusalText(refused("Unheard"), "zh"), "as the server said it");
  const status = { kind: "Status", details: { kind: "queues" } };
  for (const [method, said] of [
    ["GET", "没有查看队列的权限，请联系管理员"],
    ["DELETE", "没有删除队列的权限，请联系管理员"],
  ])
    assert.equal(refusalText(new Failure("", 403, "Forbidden", status, method), "zh"), said);
  const causes = [
    { field: "metadata.name", reason: "FieldValueInvalid", message: "must be lower case" },
    { field: "spec", reason: "FieldValueRequired", message: "Required value" },
  ];
  assert.equal(
    refusalText(refused("Invalid", { causes }), "zh"),
    "metadata.name：值无效（must be lower case）；spec：必填（Required value）",
  );
  const rule =
    "Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case (e.g. 'x', regex used for validation is '[a-z0-9]')";
  const named = [{ field: "metadata.name", reason: "FieldValueInvalid", message: rule }];
  for (const lang of ["zh", "en"] as const) {
    const text = refusalText(refused("Invalid", { causes: named }), lang);
    assert.match(text, /^metadata\.name.*Bad_Name/);
    assert.doesNotMatch(text, /RFC|regex|a-z/);
  }
  assert.equal(refusalText(refused("Unreachable"), "en"), "muster cannot be reached.");
});
