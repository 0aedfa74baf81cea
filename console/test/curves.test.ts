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

// --- colours: Machado's matrices for the three kinds of colour blindness, distances in OKLab ------

type Triple = [number, number, number];
const KINDS: Record<string, number[][]> = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], // prettier-ignore
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]], // prettier-ignore
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]], // prettier-ignore
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]], // prettier-ignore
};

function linear(hex: string): Triple {
  return [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as Triple;
}

function times(m: number[][], c: number[]): Triple {
  return m.map((row) => row.reduce((sum, k, i) => sum + k * c[i]!, 0)) as Triple;
}

function oklab(c: Triple): Triple {
  const lms = times(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], // prettier-ignore
    c,
  ).map(Math.cbrt);
  return times(
    [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], // prettier-ignore
    lms,
  );
}

const light = (c: Triple): number => 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];

test("twelve colours stay apart for everybody, in both themes", () => {
  const css = readFileSync("src/style/charts.css", "utf8");
  const base = readFileSync("src/style/base.css", "utf8");
  const themes = css.split('[data-theme="dark"]');
  const grounds = [...base.matchAll(/--bg: (#\w{6})/g)].map((one) => one[1]!);
  themes.forEach((part, theme) => {
    const all = [...part.matchAll(/--curve-\d+: (#\w{6})/g)].map((one) => linear(one[1]!));
    assert.equal(all.length, COLOURS);
    const ground = light(linear(grounds[theme]!));
    for (const [kind, matrix] of Object.entries(KINDS)) {
      const seen = all.map((c) =>
        oklab(times(matrix, c).map((n) => Math.min(1, Math.max(0, n))) as Triple),
      );
      for (let i = 0; i < COLOURS; i++)
        for (let j = 0; j < i; j++) {
          const apart = Math.hypot(...seen[i]!.map((n, k) => n - seen[j]![k]!));
          const least = kind === "tritan" ? 0.05 : 0.08; // one in thousands, the others one in twelve
          assert.ok(apart >= least, `${kind}, theme ${theme}: ${i + 1} and ${j + 1}: ${apart}`);
        }
    }
    for (const c of all) {
      const [high, low] = [light(c), ground].sort((a, b) => b - a) as [number, number];
      assert.ok((high + 0.05) / (low + 0.05) >= 3);
    }
  });
  assert.notDeepEqual(lookOf(0), lookOf(COLOURS));
  assert.equal(lookOf(0).colour, lookOf(COLOURS).colour);
});

// --- axes -----------------------------------------------------------------------------------------

test("marks that are near each other differ", () => {
  assert.deepEqual([0.12345, 0.123455].map((n) => markValue(n, 0.000005)), ["0.123450", "0.123455"]); // prettier-ignore
  assert.deepEqual(
    [0, 5, 10].map((n) => markValue(n, 5)),
    ["0", "5", "10"],
  );
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
