// Smoothing, and runs as the lines of a chart. Pure.
import type { Values } from "../charts/range.ts";
import { lossRank, NO_LOSS } from "../lib/loss.ts";

export interface Points {
  run: string;
  tag: string;
  step: ArrayLike<number>;
  wall: ArrayLike<number>;
  value: Values; // what is no number is null, or NaN
}

const FULL_POINTS = 100; // of fewer points each says more, and is smoothed less

/** An exponential mean that is not pulled towards zero at its start. */
export function smooth(values: Values, asked: number): Values {
  if (asked <= 0) return values;
  const points = Array.from(values).filter((one) => Number.isFinite(one ?? NaN)).length;
  const weight = asked ** Math.max(1, FULL_POINTS / (points || 1));
  let mean = 0;
  let mass = 0;
  return Array.from(values, (value) => {
    if (value === null || !Number.isFinite(value)) return value;
    mean = mean * weight + (1 - weight) * value;
    mass = mass * weight + (1 - weight);
    return mean / mass;
  });
}

export type Axis = "step" | "relative" | "wall";

/** Where the points of a run lie on the axis. */
function xOf(points: Points, axis: Axis): ArrayLike<number> {
  if (axis === "step") return points.step;
  const start = axis === "wall" ? 0 : (points.wall[0] ?? 0);
  return start ? Array.from(points.wall, (at) => at - start) : points.wall;
}

export interface Line {
  x: ArrayLike<number>;
  values: Values;
  pale?: Values;
}

/** A run on its own x; where it is smoothed, what it was is pale behind it. */
export function lineOf(points: Points, axis: Axis, weight: number): Line {
  const x = xOf(points, axis);
  if (weight <= 0) return { x, values: points.value };
  return { x, values: smooth(points.value, weight), pale: points.value };
}

/** "train/loss" is in the group "train"; a tag without a slash is in none, which comes last unless it has
 * the loss. What says most whether it learns comes first, in its group too. */
export function groupsOf(tags: string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  // hparam/loss is one figure of a run, no curve.
  const rank = (tag: string): number => lossRank(tag) + (tag.startsWith("hparam/") ? 100 : 0);
  const order = (a: string, b: string): number => rank(a) - rank(b) || (a < b ? -1 : 1);
  for (const tag of [...new Set(tags)].sort(order)) {
    const slash = tag.indexOf("/");
    const name = slash > 0 ? tag.slice(0, slash) : "";
    groups.set(name, [...(groups.get(name) ?? []), tag]);
  }
  const none = groups.get("");
  if (none && lossRank(none[0]!) >= NO_LOSS) {
    groups.delete("");
    groups.set("", none);
  }
  return groups;
}

/** What is no number does not count. */
export function extremes(values: Values): {
  last: number | null;
  min: number | null;
  max: number | null;
} {
  const known = Array.from(values).filter(
    (one): one is number => one !== null && Number.isFinite(one),
  );
  if (!known.length) return { last: null, min: null, max: null };
  return {
    last: known[known.length - 1]!,
    min: known.reduce((a, b) => Math.min(a, b)),
    max: known.reduce((a, b) => Math.max(a, b)),
  };
}
