// When a training's pace fell, and what the machine did then. Pure: from points (steps and when they
// were written) and samples; what they do not show is not said.
import type { Points } from "../curves/smooth.ts";
import { median } from "./samples.ts";

export interface Pace {
  x: number[]; // seconds
  perSecond: (number | null)[]; // steps
}

const SLOTS = 120;
const LEAST_POINTS = 12;

/** Steps per second over equal parts of the time. A part in which no point was written is empty, unless
 * the points are farther apart than the parts are long. */
export function paceOf(points: Points): Pace {
  const n = points.wall.length;
  if (n < LEAST_POINTS) return { x: [], perSecond: [] };
  const from = points.wall[0]!;
  const slots = Math.min(SLOTS, Math.floor(n / 2));
  const wide = (points.wall[n - 1]! - from) / slots;
  if (!(wide > 0)) return { x: [], perSecond: [] };
  const x: number[] = [];
  const perSecond: (number | null)[] = [];
  let before = 0; // the last point of the parts before
  for (let slot = 0, i = 0; slot < slots; slot++) {
    const end = from + wide * (slot + 1);
    while (i + 1 < n && points.wall[i + 1]! <= end) i++;
    const steps = points.step[i]! - points.step[before]!;
    const seconds = points.wall[i]! - points.wall[before]!;
    x.push(from + wide * (slot + 0.5));
    // A step that goes back is a restart from a checkpoint, which is no pace.
    perSecond.push(i > before && seconds > 0 && steps >= 0 ? steps / seconds : null);
    before = i;
  }
  return { x, perSecond };
}

export interface Fall {
  at: number; // seconds
  before: number; // steps per second
  after: number;
  /** What was compared: as long before as after. */
  window: number; // seconds
}

const BEFORE = 10; // parts
const LEAST_SIDE = 4;
const LEAST_FALL = 0.25;

function known(values: (number | null)[], from: number, to: number): number[] {
  return values.slice(Math.max(0, from), to).filter((one): one is number => one !== null);
}

/** Where the pace fell most, by a quarter at least, and stayed there; null when it did not. */
export function fallOf({ x, perSecond }: Pace): Fall | null {
  let worst: Fall | null = null;
  const apart = x.length > 1 ? x[1]! - x[0]! : 0;
  for (let i = LEAST_SIDE; i <= x.length - LEAST_SIDE; i++) {
    const earlier = known(perSecond, i - BEFORE, i);
    const later = known(perSecond, i, i + BEFORE);
    if (earlier.length < LEAST_SIDE || later.length < LEAST_SIDE) continue;
    const before = median(earlier);
    const after = median(later);
    if (before <= 0 || 1 - after / before < LEAST_FALL) continue;
    // Most of what came before was faster than most of what came after, or it is noise.
    const slowest = [...earlier].sort((a, b) => a - b)[Math.floor(earlier.length / 4)]!;
    const fastest = [...later].sort((a, b) => b - a)[Math.floor(later.length / 4)]!;
    if (slowest <= fastest) continue;
    const score = (n: Fall): number => 1 - n.after / n.before;
    const fall = { at: x[i]! - apart / 2, before, after, window: BEFORE * apart };
    // Of neighbours with the same fall the one between a fast part and a slow one.
    const middle = (before + after) / 2;
    if ((perSecond[i - 1] ?? before) < middle || (perSecond[i] ?? after) > middle) continue;
    if (!worst || score(fall) > score(worst) + 0.02) worst = fall;
  }
  return worst;
}

/** A line of samples with what it is. */
export interface Measured {
  who: string; // a rank, or a node
  column: string;
  x: ArrayLike<number>; // seconds
  values: ArrayLike<number | null>;
  least: number; // a smaller change is none
}

export interface Change {
  who: string;
  column: string;
  before: number;
  after: number;
}

const LEAST_CHANGE = 0.3;

function meanWithin(one: Measured, from: number, to: number): number | null {
  let sum = 0;
  let n = 0;
  for (let i = 0; i < one.x.length; i++) {
    const value = one.values[i];
    if (one.x[i]! < from || one.x[i]! > to || value === null || value === undefined) continue;
    sum += value;
    n++;
  }
  return n ? sum / n : null;
}

/** What changed most where the pace fell: by a third at least, of each column the one that changed
 * most. */
export function changesAt(fall: Fall, all: Measured[]): Change[] {
  const most = new Map<string, Change & { by: number }>();
  for (const one of all) {
    const edge = fall.window / 10; // when exactly it fell is known no better
    const before = meanWithin(one, fall.at - fall.window, fall.at - edge);
    const after = meanWithin(one, fall.at + edge, fall.at + fall.window);
    if (before === null || after === null) continue;
    const change = Math.abs(after - before);
    const by = change / Math.max(before, after);
    if (change < one.least || by < LEAST_CHANGE || by <= (most.get(one.column)?.by ?? 0)) continue;
    most.set(one.column, { who: one.who, column: one.column, before, after, by });
  }
  return [...most.values()]
    .sort((a, b) => b.by - a.by)
    .map(({ who, column, before, after }) => ({ who, column, before, after }));
}

const JUST_BEFORE_S = 60;

/** Pods of others that began on the same nodes shortly before or where it fell. */
export function begunAt<T extends { node: string; start: number }>(
  fall: Fall,
  nodes: ReadonlySet<string>,
  pods: T[],
): T[] {
  const slack = Math.max(JUST_BEFORE_S, fall.window / 4);
  return pods.filter(
    ({ node, start }) =>
      nodes.has(node) && start >= fall.at - slack && start <= fall.at + slack / 2,
  );
}
