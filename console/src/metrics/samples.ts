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
    columns[name] = { unit: (more.columns[name] ?? have.columns[name])!.unit, values: [...before, ...after.slice(from)] };
  }
  return { time: [...have.time, ...more.time.slice(from)], columns };
}

/** The sum of a column over replicas, on steps of so many ms. A step nobody measured is null. */
export function total(all: Samples[], column: string, stepMs: number): Map<number, number> {
  const sums = new Map<number, number>();
  for (const one of all) {
    const values = one.columns[column]?.values;
    const seen = new Map<number, { sum: number; n: number }>();
    one.time.forEach((time, i) => {
      const value = values?.[i];
      if (value === null || value === undefined) return;
      const at = Math.floor(time / stepMs) * stepMs;
      const slot = seen.get(at) ?? { sum: 0, n: 0 };
      slot.sum += value;
      slot.n++;
      seen.set(at, slot);
    });
    for (const [at, slot] of seen) sums.set(at, (sums.get(at) ?? 0) + slot.sum / slot.n);
  }
  return sums;
}

/** Several columns on one time axis. */
export function aligned(sums: Map<number, number>[]): { x: number[]; values: (number | null)[][] } {
  const x = [...new Set(sums.flatMap((one) => [...one.keys()]))].sort((a, b) => a - b);
  return { x: x.map((ms) => ms / 1000), values: sums.map((one) => x.map((ms) => one.get(ms) ?? null)) };
}
