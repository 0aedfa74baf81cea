import assert from "node:assert/strict";
import { test } from "node:test";
import { begunAt, changesAt, fallOf, paceOf } from "../src/metrics/fall.ts";
import { ranksOf, stragglers } from "../src/metrics/ranks.ts";
import { byGpu, stepFor, total, type Samples } from "../src/metrics/samples.ts";

const T0 = 1_800_000_000;

function samples(values: (number | null)[], stepS = 2): Samples {
  return {
    time: values.map((_, i) => (T0 + i * stepS) * 1000),
    columns: { cpu: { unit: "cores", values } },
  };
}

/** A run that makes so many steps a second, each for so long. */
function run(...parts: [perSecond: number, seconds: number][]) {
  const step: number[] = [];
  const wall: number[] = [];
  let at = T0;
  let n = 0;
  for (const [perSecond, seconds] of parts)
    for (const end = at + seconds; at < end; at += 1) {
      step.push(Math.round(n));
      wall.push(at);
      n += perSecond;
    }
  return { run: ".", tag: "loss", step, wall, value: step };
}

test("ranks on one axis; the one that is not like the others stands out", () => {
  const all = [1, 0.98, 0.3, 1.02].map((cpu, i) => ({
    name: `worker-${i}`,
    samples: samples(new Array<number>(20).fill(cpu)),
  }));
  const ranks = ranksOf(all, "cpu", 2000);
  assert.equal(ranks.x.length, 20);
  const odd = stragglers(ranks.ranks, 0.1);
  assert.deepEqual(
    odd.map((one) => one.rank),
    [2],
  );
  assert.equal(odd[0]!.has, 0.3);
  assert.equal(odd[0]!.others, 0.99);
  // Where all differ, and of two, nobody stands out.
  const spread = [1, 2, 3, 4].map((cpu, i) => ({ name: `${i}`, samples: samples([cpu, cpu]) }));
  assert.deepEqual(stragglers(ranksOf(spread, "cpu", 2000).ranks, 0.1), []);
  assert.deepEqual(stragglers(ranks.ranks.slice(1, 3), 0.1), []);
  // A hole stays a hole.
  const holes = ranksOf([{ name: "a", samples: samples([1, null, null, 2]) }], "cpu", 2000);
  assert.deepEqual(holes.ranks[0]!.values, [1, null, null, 2]);
});

test("samples that grow sparser with age are whole lines, and a hole stays one", () => {
  // As the server keeps them: 5 min apart, then 30 s, then 2 s; two minutes of the last were lost.
  const time: number[] = [];
  let at = T0 - (T0 % 300);
  for (const [apart, seconds] of [
    [300, 3600],
    [30, 1770],
    [58, 58], // what overlaps the denser samples is left out
    [2, 300],
    [120, 120],
    [2, 100],
  ] as const)
    for (const end = at + seconds; at < end; at += apart) time.push(at * 1000);
  const one = (cpu: number, from = 0): Samples => ({
    time: time.slice(from),
    columns: { cpu: { unit: "cores", values: time.slice(from).map(() => cpu) } },
  });
  for (const stepMs of [4000, 16_000]) {
    const all = [0.5, 1, 1, 1].map((cpu, i) => ({ name: `${i}`, samples: one(cpu, i ? 0 : 11) }));
    const { x, ranks } = ranksOf(all, "cpu", stepMs);
    const holes = ranks[1]!.values.flatMap((value, i) => (value === null ? [x[i]!] : []));
    const hole = time[0]! / 1000 + 3600 + 1828 + 300;
    assert.ok(holes.length >= 120_000 / stepMs - 2, String(holes.length));
    assert.ok(
      holes.every((s) => s >= hole && s < hole + 120),
      String(holes.map((s) => s - hole)),
    );
    // A series that begins with one old sample lasts until the denser ones too.
    assert.equal(ranks[0]!.values[ranks[0]!.values.findIndex((one) => one !== null) + 5], 0.5);
    // The sum does not fall where one replica has no sample of its own.
    const later = { ...one(2), time: time.map((ms) => ms + 16_000) };
    for (const [ms, sum] of total([one(1), later], "cpu", stepMs))
      if (ms >= later.time[0]! && ms < hole * 1000) assert.equal(sum, 3);
  }
  // One sample that measured nothing ends what lasts.
  const lost = one(1);
  lost.columns["cpu"]!.values[3] = null;
  const { ranks } = ranksOf([{ name: "a", samples: lost }], "cpu", 100_000);
  assert.deepEqual(ranks[0]!.values.slice(6, 14), [1, 1, 1, null, null, null, 1, 1]);
});

test("where the pace fell, and nothing where it did not", () => {
  const fall = fallOf(paceOf(run([8, 300], [3, 300])))!;
  assert.ok(Math.abs(fall.at - (T0 + 300)) < 10, String(fall.at - T0));
  assert.ok(Math.abs(fall.before - 8) < 0.3 && Math.abs(fall.after - 3) < 0.3);
  assert.equal(fallOf(paceOf(run([8, 600]))), null);
  assert.equal(fallOf(paceOf(run([3, 300], [8, 300]))), null, "it rose");
  assert.equal(fallOf(paceOf(run([8, 300], [7, 300]))), null, "by an eighth");
  assert.equal(fallOf(paceOf(run([8, 295], [1, 5], [8, 300]))), null, "one pause");
  assert.equal(fallOf(paceOf(run([8, 5]))), null, "too few points");
});

test("what changed where it fell, and who began there", () => {
  const fall = { at: T0 + 300, before: 8, after: 3, window: 50 };
  const line = (who: string, column: string, before: number, after: number) => ({
    who,
    column,
    least: 0.1,
    x: Array.from({ length: 300 }, (_, i) => T0 + 2 * i),
    values: Array.from({ length: 300 }, (_, i) => (i < 150 ? before : after)),
  });
  const changes = changesAt(fall, [
    line("worker-0", "cpu", 0.9, 0.85),
    line("worker-2", "cpu", 0.9, 0.2),
    line("worker-2", "memory", 5, 5),
    line("worker-1", "diskRead", 0, 0.05),
  ]);
  assert.equal(changes.length, 1);
  assert.deepEqual([changes[0]!.who, changes[0]!.column], ["worker-2", "cpu"]);
  const pods = [
    { name: "b", node: "n1", start: fall.at - 5 },
    { name: "long ago", node: "n1", start: fall.at - 500 },
    { name: "elsewhere", node: "n2", start: fall.at },
  ];
  assert.deepEqual(
    begunAt(fall, new Set(["n1"]), pods).map((one) => one.name),
    ["b"],
  );
});

test("what is kept is bounded, however long and however many", () => {
  for (const hours of [0.1, 1, 24, 24 * 30])
    for (const pods of [1, 64]) {
      const points = (hours * 3600) / stepFor(hours * 3600, pods);
      assert.ok(points <= (pods > 12 ? 300 : 600), `${hours} h of ${pods}: ${points}`);
    }
  assert.equal(stepFor(60, 1), 2);
});

test("each of several GPUs is a line of its own; a single one stays the replica's", () => {
  const column = (n: number) => ({ unit: "gpus", values: [n, null] });
  const time = [T0 * 1000, T0 * 1000 + 2000];
  const all = [
    {
      name: "worker-0",
      samples: {
        time,
        columns: {
          gpu: column(1.2),
          "gpu.1": column(1),
          "gpu.3": column(0.2),
          "gpuMemory.1": column(7),
        },
      },
    },
    { name: "worker-1", samples: { time, columns: { gpu: column(0.9) } } },
  ];
  const ranks = ranksOf(byGpu(all, "gpu"), "gpu", 2000);
  assert.deepEqual(
    ranks.ranks.map((one) => [one.name, one.values[0]]),
    [
      ["worker-0 GPU 1", 1],
      ["worker-0 GPU 3", 0.2],
      ["worker-1", 0.9],
    ],
  );
});
