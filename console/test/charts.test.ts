import assert from "node:assert/strict";
import { test } from "node:test";
import { applyMessage } from "../src/data/live.ts";
import { waitBefore } from "../src/data/stream.ts";
import type { KubeObject } from "../src/data/types.ts";
import { extremes, groupsOf, smooth } from "../src/curves/smooth.ts";
import { clock, exact } from "../src/lib/time.ts";
import { aligned, idleFor, meanOf, merge, total } from "../src/metrics/samples.ts";
import { match, withQuery } from "../src/router.ts";
import { visibleRange } from "../src/ui/virtual.tsx";

test("smoothing starts at the first value", () => {
  assert.deepEqual(
    smooth([1, 1, 1], 0.9).map((n) => Number(n!.toFixed(9))),
    [1, 1, 1],
  );
  assert.deepEqual(smooth([5, null, 3], 0), [5, null, 3]);
  const s = smooth([0, 10], 0.5);
  assert.ok(s[1]! > 0 && s[1]! < 10);
});

test("tags by what is before their slash, the loss first", () => {
  assert.deepEqual(
    [...groupsOf(["hparam/loss", "val/loss", "train/loss", "lr", "train/acc"])],
    [
      ["train", ["train/loss", "train/acc"]],
      ["val", ["val/loss"]],
      ["hparam", ["hparam/loss"]],
      ["", ["lr"]],
    ],
  );
});

const samples = (time: number[], cpu: (number | null)[]) => ({
  time,
  columns: { cpu: { unit: "cores", values: cpu } },
});

test("samples are appended and added up", () => {
  const both = merge(samples([0, 2000], [1, 2]), samples([2000, 4000], [9, 3]));
  assert.deepEqual(both.time, [0, 2000, 4000]);
  assert.deepEqual(both.columns["cpu"]!.values, [1, 2, 3]);
  const sums = total([samples([0, 2000], [1, null]), samples([100], [2])], "cpu", 2000);
  assert.deepEqual([...sums], [[0, 3]]);
  const due = total([samples([0, 2000], [1, 2]), samples([100], [4])], "cpu", 2000);
  assert.deepEqual([...due.values()], [5, 6], "one whose sample is only due has not gone");
  const gone = total([samples([0, 2000, 4000, 6000], [1, 1, 1, 1]), samples([0], [4])], "cpu", 2000); // prettier-ignore
  assert.deepEqual([...gone.values()], [5, 1, 1, 1], "and one that is gone has");
  assert.deepEqual(aligned([new Map([[0, 1]]), new Map([[2000, 5]])]), {
    x: [0, 2],
    values: [
      [1, null],
      [null, 5],
    ],
  });
});

test("a collection follows its messages", () => {
  const map = new Map<string, KubeObject>();
  const object = (uid: string, v: string): KubeObject => ({
    metadata: { name: uid, uid, resourceVersion: v, creationTimestamp: "" },
  });
  assert.ok(applyMessage(map, { t: "list", items: [object("a", "1"), object("b", "1")] }));
  assert.ok(applyMessage(map, { t: "event", type: "MODIFIED", object: object("a", "2") }));
  assert.equal(map.get("a")?.metadata.resourceVersion, "2");
  assert.ok(applyMessage(map, { t: "event", type: "DELETED", object: object("b", "3") }));
  assert.ok(!applyMessage(map, { t: "event", type: "DELETED", object: object("b", "3") }));
  assert.ok(applyMessage(map, { t: "list", items: [] }));
  assert.equal(map.size, 0);
});

test("waits grow, with a ceiling, and differ", () => {
  assert.equal(waitBefore(0, 1), 1000);
  assert.equal(waitBefore(3, 0), 4000);
  assert.equal(waitBefore(20, 1), 30_000);
});

test("addresses", () => {
  assert.deepEqual(match("/jobs/:ns/:kind/:name/*", "/jobs/a/K/n%2F1/logs/x"), {
    ns: "a",
    kind: "K",
    name: "n/1",
    "*": "logs/x",
  });
  assert.deepEqual(match("/jobs/:ns/:kind/:name/*", "/jobs/a/K/n"), {
    ns: "a",
    kind: "K",
    name: "n",
    "*": "",
  });
  assert.equal(match("/jobs", "/jobs/new"), null);
  assert.equal(withQuery({ q: "a b", x: null }), "/?q=a+b");
});

test("rows in sight", () => {
  assert.deepEqual(visibleRange(0, 100, 10, 1000), { from: 0, to: 18 });
  assert.deepEqual(visibleRange(9900, 100, 10, 1000), { from: 982, to: 1000 });
});

test("what was used on average, and how long nothing was", () => {
  const one = {
    time: [0, 1000, 2000, 3000],
    columns: {
      gpu: { unit: "gpus", values: [0.5, 0, 0, 0] },
      cpu: { unit: "cores", values: [1, null, 3, 2] },
    },
  };
  const two = { time: [0, 3000], columns: { gpu: { unit: "gpus", values: [0, 0] } } };
  assert.equal(meanOf([one, two], "cpu"), 2);
  assert.equal(meanOf([two], "cpu"), null);
  assert.equal(idleFor([one, two], "gpu", 0.01), 2000);
  assert.equal(idleFor([], "gpu", 0.01), 0);
});

test("moments on an axis", () => {
  const noon = new Date(2026, 5, 9, 12, 4, 5).getTime();
  assert.equal(clock(noon, 3600), "12:04");
  assert.equal(clock(noon, 1), "12:04:05");
  assert.equal(clock(noon, 86_400), "06-09");
  assert.match(exact(noon), /^2026-06-09 12:04:05 UTC/);
});

test("last, lowest and highest leave out what is no number", () => {
  assert.deepEqual(extremes([3, null, 1, Number.NaN]), { last: 1, min: 1, max: 3 });
  assert.deepEqual(extremes([null]), { last: null, min: null, max: null });
});
