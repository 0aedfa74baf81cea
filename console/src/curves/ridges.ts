// Histograms over a training as lines one before the other, the newest in front. Pure.
export interface Histogram {
  step: number;
  wall: number;
  min: number;
  max: number;
  count: number;
  bins: number[]; // of equal width
}

export interface Ridge {
  step: number;
  path: string;
  base: number;
  strength: number; // the newer the stronger
  named: boolean;
}

const NAMES = 6;
const LIFT = 60; // pixels of the highest bin

export function ridges(
  all: Histogram[],
  width: number,
  height: number,
): { lines: Ridge[]; marks: { x: number; value: number }[] } {
  const some = all.filter((one) => one.count > 0);
  if (!some.length) return { lines: [], marks: [] };
  let low = Math.min(...some.map((one) => one.min));
  let high = Math.max(...some.map((one) => one.max));
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const x = (value: number): number => ((value - low) / (high - low)) * width;
  // By how dense it is: bins of different widths are compared.
  const density = (one: Histogram, n: number): number =>
    n / one.count / Math.max((one.max - one.min) / one.bins.length, (high - low) / 1000);
  const most = Math.max(...some.flatMap((one) => one.bins.map((n) => density(one, n))));
  const every = Math.ceil(some.length / NAMES);
  const lines = some.map((one, i) => {
    const base = LIFT + ((height - LIFT) * (i + 1)) / some.length;
    const size = (one.max - one.min) / one.bins.length;
    const points = one.bins.map((n, k) => {
      const at = one.max > one.min ? one.min + (k + 0.5) * size : one.min;
      const y = base - (density(one, n) / most) * LIFT;
      return `L${x(at).toFixed(1)} ${y.toFixed(1)}`;
    });
    return {
      step: one.step,
      base,
      strength: 0.25 + (0.55 * (i + 1)) / some.length,
      named: i === some.length - 1 || (i % every === 0 && some.length - 1 - i >= every / 2),
      path: `M${x(one.min).toFixed(1)} ${base.toFixed(1)}${points.join("")}L${x(one.max).toFixed(1)} ${base.toFixed(1)}Z`,
    };
  });
  const marks = [0.1, 0.5, 0.9].map((at) => ({ x: at * width, value: low + at * (high - low) }));
  return { lines, marks };
}
