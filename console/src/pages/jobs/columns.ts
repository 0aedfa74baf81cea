// Which columns the list shows: those chosen, or as many as leave the names their room. Pure.
export type Column =
  | "labels"
  | "project"
  | "kind"
  | "replicas"
  | "cpu"
  | "memory"
  | "gpu"
  | "progress"
  | "duration"
  | "created";
export const COLUMNS: readonly Column[] = [
  "labels",
  "project",
  "kind",
  "replicas",
  "cpu",
  "memory",
  "gpu",
  "progress",
  "duration",
  "created",
];

/** As in style/jobs.css. */
const WIDTH: Record<Column, number> = {
  labels: 150,
  project: 90,
  kind: 72,
  replicas: 64,
  cpu: 100,
  memory: 120,
  gpu: 44,
  progress: 164,
  duration: 84,
  created: 100,
};
/** The least missed first. */
const GIVEN_UP: readonly Column[] = [
  "labels",
  "project",
  "memory",
  "cpu",
  "gpu",
  "kind",
  "replicas",
  "progress",
  "duration",
  "created",
];
const GAP = 8;
const FIXED = 52 + 112 + 36 + 24 + 4 * GAP; // box, state, menu, edges
const CHARACTER = 7.3;
const NAME_LEAST = 112;
const NAME_MOST = 0.6; // of the whole

/** How wide the names want to be. */
export function nameWidth(longest: number, width: number): number {
  return Math.max(NAME_LEAST, Math.min(longest * CHARACTER + 12, width * NAME_MOST));
}

export function tableWidth(columns: readonly Column[], name: number): number {
  return columns.reduce((sum, one) => sum + WIDTH[one] + GAP, FIXED + name);
}

const TELEPHONE = 480; // where names have the whole row

/** Of these columns, those that fit beside names of so many characters. */
export function fitting(offered: readonly Column[], longest: number, width: number): Column[] {
  let left = [...offered];
  const name = nameWidth(longest, width);
  for (const one of GIVEN_UP) {
    if (tableWidth(left, name) <= width || (left.length <= 1 && width >= TELEPHONE)) break;
    left = left.filter((column) => column !== one);
  }
  return left;
}
