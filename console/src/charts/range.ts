// What of a chart is arithmetic: from where to where its axes go, what its marks say, which point is
// nearest. Pure.

/** Numbers in order; what is null or no number is a gap. */
export type Values = ArrayLike<number | null>;

export interface Window {
  from: number;
  to: number;
}

function finite(value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** The first index whose x is not below the value. */
export function lowerBound(x: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the point whose x is nearest, -1 without any. */
export function nearest(x: ArrayLike<number>, value: number): number {
  const at = lowerBound(x, value);
  if (at >= x.length) return x.length - 1;
  return at > 0 && value - x[at - 1]! < x[at]! - value ? at - 1 : at;
}

/** Over all points; one single x has room around it. */
export function xRange(all: ArrayLike<number>[], least: number): Window {
  let from = Infinity;
  let to = -Infinity;
  for (const x of all)
    if (x.length) {
      from = Math.min(from, x[0]!);
      to = Math.max(to, x[x.length - 1]!);
    }
  if (from > to) return { from: 0, to: 1 };
  return from === to ? { from: from - least, to: to + least } : { from, to };
}

export interface Extent {
  min: number;
  max: number;
}

/** Of the values within the window, and of the points next to it. */
export function extentOf(
  x: ArrayLike<number>,
  values: Values,
  { from, to }: Window,
  log: boolean,
  into: Extent,
): void {
  const end = Math.min(x.length, lowerBound(x, to) + 1);
  for (let i = Math.max(0, lowerBound(x, from) - 1); i < end; i++) {
    const value = values[i];
    if (!finite(value) || (log && value <= 0)) continue;
    if (value < into.min) into.min = value;
    if (value > into.max) into.max = value;
  }
}

/** What the axis goes over: from zero, or fitted to what there is. */
export function yRange({ min, max }: Extent, how: "zero" | "fit" | "log"): [number, number] {
  if (min > max) return how === "log" ? [0.1, 1] : [0, 1];
  if (how === "log") return min === max ? [min / 2, max * 2] : [min / 1.05, max * 1.05];
  if (how === "zero") return [Math.min(0, min), max <= 0 ? 1 : max * 1.05];
  const pad = min === max ? Math.abs(min) * 0.05 || 0.5 : (max - min) * 0.05;
  return [min - pad, max + pad];
}

/** 1, 2, 5, 10 ... from the smallest on. */
export function roundSteps(from: number, to: number): number[] {
  const steps: number[] = [];
  for (let size = from; size <= to; size *= 10)
    for (const one of [1, 2, 5]) steps.push(Number((one * size).toPrecision(1)));
  return steps;
}

const DECIMALS = 12;

/** A value on an axis whose marks are so far apart: as many digits as tell the marks apart. */
export function markValue(value: number, apart: number): string {
  const size = Math.abs(value);
  let digits = Math.min(DECIMALS, Math.max(0, -Math.floor(Math.log10(apart || 1) + 1e-9)));
  if (digits < DECIMALS && Number(apart.toFixed(digits)) !== apart) digits++; // 2.5 apart
  if (size !== 0 && (size >= 1e6 || (size < 1e-3 && digits > 4))) {
    const exponent = Math.floor(Math.log10(size));
    const shown = Math.max(0, exponent - Math.floor(Math.log10(apart || size)));
    return value.toExponential(Math.min(DECIMALS, shown));
  }
  return value.toFixed(digits);
}

const THOUSANDS: readonly [number, string][] = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A step on an axis: "1500", or "20k" where the marks are thousands apart. */
export function markStep(step: number, apart: number): string {
  const [size, unit] = THOUSANDS.find(([one]) => apart >= one && apart % one === 0) ?? [1, ""];
  return step === 0 ? "0" : `${Number((step / size).toFixed(3))}${unit}`;
}

/** Seconds since the beginning: "0.5s", "1m 30s", "2h", as exact as the marks are apart. */
export function markElapsed(seconds: number, apart: number): string {
  const digits = apart < 1 ? Math.min(6, Math.ceil(-Math.log10(apart) - 1e-9)) : 0;
  const whole = Number(Math.abs(seconds).toFixed(digits));
  const parts: [number, string, number][] = [
    [Math.floor(whole / 86_400), "d", 86_400],
    [Math.floor(whole / 3_600) % 24, "h", 3_600],
    [Math.floor(whole / 60) % 60, "m", 60],
    [Number((whole % 60).toFixed(digits)), "s", 1],
  ];
  const said = parts.filter(([n]) => n > 0).map(([n, unit]) => `${n}${unit}`);
  return `${seconds < 0 ? "-" : ""}${said.join(" ") || "0s"}`;
}

export const ELAPSED_STEPS = [
  ...roundSteps(1e-6, 0.1),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800],
  ...[3_600, 7_200, 10_800, 21_600, 43_200],
  ...roundSteps(1, 1e4).map((days) => days * 86_400),
];
export const WHOLE_STEPS = roundSteps(1, 1e15);
