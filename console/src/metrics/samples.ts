// Samples of replicas: fetched, kept, put together. The pure part is merge and total.
export interface Samples {
  metadata?: { uid: string };
  time: number[]; // ms
  columns: Record<string, { unit: string; values: (number | null)[] }>;
}

/** Appends what is newer. */
export function merge(have: Samples | undefined, more: Samples): Samples {
  if (!have || !have.time.length) return more;
  const last = have.time[have.time.length - 1]!;
  const from = more.time.findIndex((one) => one > last);
  if (from < 0) return have;
  const columns: Samples["columns"] = {};
  for (const name of new Set([...Object.keys(have.columns), ...Object.keys(more.columns)])) {
    const before = have.columns[name]?.values ?? have.time.map(() => null);
    const after = more.columns[name]?.values ?? more.time.map(() => null);
    columns[name] = {
      unit: (more.columns[name] ?? have.columns[name])!.unit,
      values: [...before, ...after.slice(from)],
    };
  }
  return { time: [...have.time, ...more.time.slice(from)], columns };
}

export interface Named {
  name: string;
  samples: Samples;
}

/** Each GPU of replicas that have several by itself ("worker-0 GPU 3"); the others as they are. */
export function byGpu(all: Named[], column: string): Named[] {
  return all.flatMap(({ name, samples }) => {
    const gpus = Object.keys(samples.columns).filter((one) => one.startsWith(`${column}.`));
    if (!gpus.length) return [{ name, samples }];
    return gpus.map((one) => ({
      name: `${name} GPU ${one.slice(column.length + 1)}`,
      samples: { ...samples, columns: { [column]: samples.columns[one]! } },
    }));
  });
}

const COARSEST_MS = 300_000; // the server keeps samples at 2 s, then 30 s, then 5 min
const NEIGHBOURS = 3;
const HOLE = 2.5; // of the interval: before denser samples up to two are not there

/** Whether the sample stands for all the time up to the next: the gap is no longer than the gaps next
 * to it, on the side where samples are sparser. */
function lasts(time: number[], i: number): boolean {
  const gap = time[i + 1]! - time[i]!;
  const typical = (from: number, to: number): number => {
    const gaps: number[] = [];
    for (let k = Math.max(0, from); k < Math.min(to, time.length - 1); k++)
      gaps.push(time[k + 1]! - time[k]!);
    return gaps.length ? median(gaps) : 0;
  };
  const interval = Math.max(typical(i - NEIGHBOURS, i), typical(i + 1, i + 1 + NEIGHBOURS));
  return gap <= (i === 0 ? Math.max(COARSEST_MS, interval) : HOLE * interval);
}

/** The mean of a column in each step. Where samples are sparser than the steps, each lasts until the
 * next. */
function steps(one: Samples, column: string, stepMs: number): Map<number, number> {
  const values = one.columns[column]?.values;
  const stepOf = (time: number): number => Math.floor(time / stepMs) * stepMs;
  const slots = new Map<number, { sum: number; n: number }>();
  one.time.forEach((time, i) => {
    const value = values?.[i];
    if (value === null || value === undefined) return;
    const slot = slots.get(stepOf(time)) ?? { sum: 0, n: 0 };
    slot.sum += value;
    slot.n++;
    slots.set(stepOf(time), slot);
  });
  const means = new Map([...slots].map(([at, slot]) => [at, slot.sum / slot.n]));
  one.time.forEach((time, i) => {
    const mean = means.get(stepOf(time));
    const next = stepOf(one.time[i + 1] ?? 0);
    let at = stepOf(time) + stepMs;
    if (mean !== undefined && at < next && typeof values?.[i] === "number" && lasts(one.time, i))
      for (; at < next; at += stepMs) means.set(at, mean);
  });
  return means;
}

/** The sum of a column over replicas, on steps of so many ms; a step nobody measured is not there. A
 * replica whose next sample is only due is where it was: without it the sum would fall at its end. */
export function total(all: Samples[], column: string, stepMs: number): Map<number, number> {
  const measured = all.map((one) => steps(one, column, stepMs));
  const lastOf = (seen: Map<number, number>): number => Math.max(...seen.keys());
  const newest = Math.max(...measured.map(lastOf));
  const sums = new Map<number, number>();
  for (const seen of measured) {
    const last = lastOf(seen);
    if (newest - last <= HOLE * stepMs)
      for (let at = last + stepMs; at <= newest; at += stepMs) seen.set(at, seen.get(last)!);
    for (const [at, value] of seen) sums.set(at, (sums.get(at) ?? 0) + value);
  }
  return sums;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Several columns on one time axis. */
export function aligned(sums: Map<number, number>[]): { x: number[]; values: (number | null)[][] } {
  const x = [...new Set(sums.flatMap((one) => [...one.keys()]))].sort((a, b) => a - b);
  return {
    x: x.map((ms) => ms / 1000),
    values: sums.map((one) => x.map((ms) => one.get(ms) ?? null)),
  };
}

/** The mean of a column over all replicas and all time; null when it was not measured. */
export function meanOf(all: Samples[], column: string): number | null {
  let mean: number | null = null;
  for (const one of all) {
    const known = (one.columns[column]?.values ?? []).filter(
      (value): value is number => value !== null,
    );
    if (known.length) mean = (mean ?? 0) + known.reduce((a, b) => a + b, 0) / known.length;
  }
  return mean;
}

/** For how many ms, up to the newest sample, every replica was below the limit. */
export function idleFor(all: Samples[], column: string, limit: number): number {
  let least = Infinity;
  for (const one of all) {
    const values = one.columns[column]?.values ?? [];
    let i = values.length - 1;
    while (i >= 0 && values[i] !== null && values[i]! < limit) i--;
    const end = one.time.at(-1);
    const from = one.time[i + 1];
    least = Math.min(least, end === undefined || from === undefined ? 0 : end - from);
  }
  return Number.isFinite(least) ? least : 0;
}

const LEAST_STEP_S = 2;
const POINTS = 600;
const POINTS_OF_MANY = 300;
const MANY = 12;

/** How many seconds apart samples are asked for over so long a time. Doubles as the time does, so that
 * a page that stays open asks for all of it anew, coarser, instead of keeping ever more. */
export function stepFor(seconds: number, pods: number): number {
  const points = pods > MANY ? POINTS_OF_MANY : POINTS;
  return LEAST_STEP_S * 2 ** Math.max(0, Math.ceil(Math.log2(seconds / points / LEAST_STEP_S)));
}
