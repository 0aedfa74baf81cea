// Smoothing and putting several runs on one axis. Pure.
export interface Points {
  run: string;
  tag: string;
  step: number[];
  wall: number[];
  value: (number | null)[];
}

/** An exponential mean that is not pulled towards zero at its start. */
export function smooth(values: (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return values;
  let mean = 0;
  let mass = 0;
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return value;
    mean = mean * weight + (1 - weight) * value;
    mass = mass * weight + (1 - weight);
    return mean / mass;
  });
}

export type Axis = "step" | "relative" | "wall";

function xOf(points: Points, axis: Axis, i: number): number {
  if (axis === "step") return points.step[i]!;
  return axis === "wall" ? points.wall[i]! : points.wall[i]! - points.wall[0]!;
}

/** All runs of one tag on one axis; a run has null where it has no point. */
export function onOneAxis(
  all: Points[],
  axis: Axis,
  weight: number,
): { x: number[]; values: (number | null)[][] } {
  const maps = all.map((points) => {
    const smoothed = smooth(points.value, weight);
    return new Map(points.step.map((_, i) => [xOf(points, axis, i), smoothed[i] ?? null]));
  });
  const x = [...new Set(maps.flatMap((one) => [...one.keys()]))].sort((a, b) => a - b);
  return { x, values: maps.map((one) => x.map((at) => one.get(at) ?? null)) };
}

/** "train/loss" is in the group "train"; a tag without a slash is in none. */
export function groupsOf(tags: string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const tag of [...new Set(tags)].sort()) {
    const slash = tag.indexOf("/");
    const name = slash > 0 ? tag.slice(0, slash) : "";
    groups.set(name, [...(groups.get(name) ?? []), tag]);
  }
  return groups;
}

/** What is no number does not count. */
export function extremes(values: (number | null)[]): {
  last: number | null;
  min: number | null;
  max: number | null;
} {
  const known = values.filter((one): one is number => one !== null && Number.isFinite(one));
  if (!known.length) return { last: null, min: null, max: null };
  return {
    last: known[known.length - 1]!,
    min: known.reduce((a, b) => Math.min(a, b)),
    max: known.reduce((a, b) => Math.max(a, b)),
  };
}
