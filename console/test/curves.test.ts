import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { COLOURS, lookOf } from "../src/charts/palette.ts";
import {
  extentOf,
  lowerBound,
  markElapsed,
  markStep,
  markValue,
  nearest,
  xRange,
  yRange,
} from "../src/charts/range.ts";
import { readZoom, runLabel, writeZoom } from "../src/curves/points.ts";
import { ridges } from "../src/curves/ridges.ts";
import { lineOf } from "../src/curves/smooth.ts";
import { lossRank, lossTag } from "../src/lib/loss.ts";
import { clock } from "../src/lib/time.ts";
import { contrast, distance, KINDS, THEMES } from "./colours.ts";

test("twelve colours stay apart for everybody, in both themes", () => {
  const css = readFileSync("src/style/charts.css", "utf8");
  const themes = css.split('[data-theme="dark"]');
  themes.forEach((part, theme) => {
    const all = [...part.matchAll(/--curve-\d+: (#\w{6})/g)].map((one) => one[1]!);
    assert.equal(all.length, COLOURS);
    const ground = THEMES[theme]!.get("--bg")!;
    for (const kind of KINDS)
      for (let i = 0; i < COLOURS; i++)
        for (let j = 0; j < i; j++) {
          const apart = distance(kind, all[i]!, all[j]!);
          const least = kind === "tritan" ? 0.05 : 0.08; // one in thousands, the others one in twelve
          assert.ok(apart >= least, `${kind}, theme ${theme}: ${i + 1} and ${j + 1}: ${apart}`);
        }
    for (const c of all) assert.ok(contrast(c, ground) >= 3);
  });
  assert.notDeepEqual(lookOf(0), lookOf(COLOURS));
  assert.equal(lookOf(0).colour, lookOf(COLOURS).colour);
});

// --- axes -----------------------------------------------------------------------------------------

test("few points are smoothed less; many as strongly as asked", () => {
  const run = (value: number[]) => ({ run: ".", tag: "lr", step: value, wall: value, value });
  const few = [0.05, 0.045, 0.04, 0.036, 0.033, 0.03, 0.027, 0.0239];
  const { values } = lineOf(run(few), "step", 0.8);
  assert.ok(Math.abs(values[7]! - 0.0239) < 0.001, String(values[7]));
  const many = Array.from({ length: 200 }, (_, i) => (i < 199 ? 0 : 1));
  assert.ok(Math.abs(lineOf(run(many), "step", 0.8).values[199]! - 0.2) < 1e-6);
});

test("marks that are near each other differ", () => {
  assert.deepEqual([0.12345, 0.123455].map((n) => markValue(n, 0.000005)), ["0.123450", "0.123455"]); // prettier-ignore
  assert.deepEqual(
    [0, 5, 10].map((n) => markValue(n, 5)),
    ["0", "5", "10"],
  );
  assert.deepEqual([0, 2.5, 5].map((n) => markValue(n, 2.5)), ["0.0", "2.5", "5.0"]); // prettier-ignore
  assert.deepEqual([1_000_000, 1_000_500].map((n) => markValue(n, 500)), ["1.0000e+6", "1.0005e+6"]); // prettier-ignore
  assert.deepEqual(
    [0.00001, 0.00002].map((n) => markValue(n, 0.00001)),
    ["1e-5", "2e-5"],
  );
  assert.deepEqual(
    [0, 500, 1500].map((n) => markStep(n, 500)),
    ["0", "500", "1500"],
  );
  assert.deepEqual(
    [20_000, 40_000].map((n) => markStep(n, 20_000)),
    ["20k", "40k"],
  );
  assert.deepEqual(
    [0, 0.05, 0.1].map((n) => markElapsed(n, 0.05)),
    ["0s", "0.05s", "0.1s"],
  );
  assert.deepEqual(
    [3_600, 3_605].map((n) => markElapsed(n, 5)),
    ["1h", "1h 5s"],
  );
  const noon = new Date(2026, 5, 9, 12, 4, 5, 250).getTime();
  assert.equal(clock(noon, 0.05), "12:04:05.25");
});

test("an axis is fitted to what is seen", () => {
  const seen = { min: Infinity, max: -Infinity };
  extentOf([0, 1, 2, 3, 4], [9, null, 5, 6, 100], { from: 2, to: 2.5 }, false, seen);
  assert.deepEqual(seen, { min: 5, max: 6 }); // and the neighbours, which lines go to
  assert.deepEqual(yRange({ min: 5, max: 6 }, "fit"), [4.95, 6.05]);
  assert.deepEqual(yRange({ min: 3, max: 3 }, "fit"), [2.85, 3.15]);
  assert.deepEqual(yRange({ min: 5, max: 6 }, "zero")[0], 0);
  assert.deepEqual(xRange([[7]], 1), { from: 6, to: 8 });
  assert.deepEqual(xRange([[1, 5], [], [3, 9]], 1), { from: 1, to: 9 });
  assert.equal(lowerBound([1, 3, 5], 4), 2);
  assert.deepEqual(
    [0, 2.4, 4.6, 9].map((n) => nearest([1, 3, 5], n)),
    [0, 1, 2, 2],
  );
  assert.equal(nearest([], 3), -1);
});

// --- runs -----------------------------------------------------------------------------------------

test("a run has its own x on every axis", () => {
  const points = { run: "a", tag: "t", step: [0, 2], wall: [10, 12], value: [1, 2] };
  assert.deepEqual(lineOf(points, "step", 0), { x: [0, 2], values: [1, 2] });
  assert.deepEqual(lineOf(points, "relative", 0).x, [0, 2]);
  assert.deepEqual(lineOf(points, "wall", 0).x, [10, 12]);
  assert.deepEqual(lineOf(points, "step", 0.5).pale, [1, 2]);
});

test("the loss is what is trained on, and stays", () => {
  const one = (tag: string, n: number) => ({ tag, value: new Array<number>(n).fill(0) });
  assert.equal(lossTag([one("test/loss", 50), one("train/loss", 10)]), "train/loss");
  assert.equal(lossTag([one("loss_a", 5), one("loss_b", 9)]), "loss_b");
  assert.equal(lossTag([one("loss_test", 5), one("aux_loss", 9)]), "aux_loss");
  assert.equal(lossTag([one("val/loss", 5), one("lr", 9)]), "lr");
  assert.equal(lossTag([one("val/loss", 5), one("val/accuracy", 9)]), "val/loss");
  assert.equal(lossTag([]), undefined);
  assert.ok(lossRank("contest/loss") < 4); // no word of other data
});

test("a part of the axis, and names of runs", () => {
  assert.deepEqual(readZoom(writeZoom({ from: 1.5, to: 20 })), { from: 1.5, to: 20 });
  for (const bad of [null, "", "1", "2~1", "a~b", "1~2~3"]) assert.equal(readZoom(bad), null);
  assert.equal(runLabel("job", "."), "job");
  assert.equal(runLabel("job", "fold-1"), "job/fold-1");
});

test("histograms become ridges, the newest in front and named", () => {
  const one = (step: number) => ({ step, wall: 0, min: -1, max: 1, count: 4, bins: [1, 3] });
  const { lines, marks } = ridges([one(0), one(5), { ...one(9), count: 0 }], 100, 200);
  assert.deepEqual(
    lines.map((line) => line.step),
    [0, 5],
  );
  assert.ok(lines[1]!.named && lines[1]!.strength > lines[0]!.strength);
  assert.match(lines[0]!.path, /^M0.0 130.0L25.0 110.0L75.0 70.0L100.0 130.0Z$/);
  assert.equal(marks[1]!.value, 0);
  assert.deepEqual(ridges([], 1, 1).lines, []);
  assert.ok(ridges([{ ...one(1), min: 2, max: 2 }], 100, 200).lines[0]!.path.length > 10);
});
