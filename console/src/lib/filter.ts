// Which jobs a list shows and in which order. The choice is read from the address and written back
// to it. Pure.
import type { Job } from "../data/types.ts";
import {
  extendedResources,
  gpuSharesOf,
  gpusOf,
  queueOf,
  ranMs,
  replicaCounts,
  schedulerOf,
  totalsOf,
} from "./jobs.ts";
import { plainLabels, tagsOf } from "./remarks.ts";
import { millis } from "./time.ts";

export interface Choice {
  q: string;
  phases: string[];
  kinds: string[];
  queues: string[];
  schedulers: string[];
  resources: string[];
  projects: string[];
  labels: string[]; // "name" or "name=value"
  tags: string[];
  favourites: boolean; // only those
  sort: string; // a column, with "-" before it for descending
}

export type ListName =
  "tag" | "label" | "phase" | "scheduler" | "queue" | "kind" | "resource" | "project";
export type ListField = Exclude<keyof Choice, "q" | "sort" | "favourites">;

const LISTS: readonly [ListField, ListName][] = [
  ["phases", "phase"],
  ["kinds", "kind"],
  ["queues", "queue"],
  ["schedulers", "scheduler"],
  ["resources", "resource"],
  ["projects", "project"],
  ["labels", "label"],
  ["tags", "tag"],
];

export function readChoice(query: URLSearchParams): Choice {
  const choice = {
    q: query.get("q") ?? "",
    sort: query.get("sort") ?? "-created",
    favourites: query.get("favourites") === "1",
  } as Choice;
  for (const [field, name] of LISTS)
    choice[field] = (query.get(name) ?? "").split(",").filter(Boolean);
  return choice;
}

/** The query value of one list filter with a value switched on or off; null when none is left. */
export function toggled(values: string[], value: string): string | null {
  const next = values.includes(value) ? values.filter((one) => one !== value) : [...values, value];
  return next.length ? next.join(",") : null;
}

function hasLabel(job: Job, want: string): boolean {
  const at = want.indexOf("=");
  const labels = job.metadata.labels ?? {};
  return at < 0 ? want in labels : labels[want.slice(0, at)] === want.slice(at + 1);
}

/** Of one key any value will do; each key named must have one. */
function hasLabels(job: Job, wanted: string[]): boolean {
  const keys = new Set(wanted.map((one) => one.split("=")[0]));
  for (const key of keys)
    if (!wanted.some((one) => one.split("=")[0] === key && hasLabel(job, one))) return false;
  return true;
}

/** What a job has of each list one can choose from. */
const VALUES: Record<ListName, (job: Job) => string[]> = {
  phase: (job) => [job.status?.phase ?? "Pending"],
  kind: (job) => [job.kind ?? ""],
  queue: (job) => [queueOf(job)],
  scheduler: (job) => [schedulerOf(job)],
  project: (job) => [job.metadata.namespace ?? ""],
  resource: (job) => extendedResources(totalsOf(job)),
  label: (job) => plainLabels(job).map(([name, value]) => `${name}=${value}`),
  tag: tagsOf,
};

/** Whether a job is chosen; `but`: whatever that list says. */
function fits(words: string[], c: Choice, but?: ListName): (job: Job) => boolean {
  const lists = LISTS.filter(([field, name]) => name !== but && c[field].length);
  return (job) => {
    const name = job.metadata.name.toLowerCase();
    return (
      words.every((word) => name.includes(word)) &&
      lists.every(([field, list]) =>
        list === "label"
          ? hasLabels(job, c.labels)
          : VALUES[list](job).some((one) => c[field].includes(one)),
      )
    );
  };
}

function wordsOf(c: Choice): string[] {
  return c.q.toLowerCase().split(/\s+/).filter(Boolean);
}

const KEYS: Record<string, (job: Job) => string | number> = {
  name: (job) => job.metadata.name,
  kind: (job) => job.kind ?? "",
  project: (job) => job.metadata.namespace ?? "",
  state: (job) => job.status?.phase ?? "",
  created: (job) => millis(job.metadata.creationTimestamp) ?? 0,
  duration: (job) => ranMs(job, Number.MAX_SAFE_INTEGER) ?? -1,
  replicas: (job) => replicaCounts(job).total,
  cpu: (job) => totalsOf(job).requests["cpu"] ?? 0,
  memory: (job) => totalsOf(job).requests["memory"] ?? 0,
  gpu: (job) => gpusOf(job) + gpuSharesOf(job),
  progress: (job) => job.status?.progress?.fraction ?? -1,
};

/** The sort that a click on a column's head asks for: first up, then down. */
export function sortedBy(sort: string, column: string): string {
  return sort === column ? `-${column}` : column;
}

export function choose(jobs: Job[], c: Choice): Job[] {
  const down = c.sort.startsWith("-");
  const key = KEYS[down ? c.sort.slice(1) : c.sort] ?? KEYS["created"]!;
  const keyed = jobs.filter(fits(wordsOf(c), c)).map((job) => ({ job, key: key(job) }));
  keyed.sort((a, b) => {
    const order = a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
    // Equal ones keep an order of their own, or rows would jump at every update.
    return (down ? -order : order) || (a.job.metadata.name < b.job.metadata.name ? -1 : 1);
  });
  return keyed.map((one) => one.job);
}

/** The values there are to choose from in one list, and how many jobs each would show with what is
 * chosen in the others. */
export function offers(jobs: Job[], c: Choice, list: ListName): [value: string, count: number][] {
  const counts = new Map<string, number>();
  const field = LISTS.find(([, name]) => name === list)![0];
  for (const one of c[field]) counts.set(one, 0);
  const wanted = fits(wordsOf(c), c, list);
  for (const job of jobs)
    if (wanted(job))
      for (const one of VALUES[list](job)) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Every label there is, "name=value". */
export function labelsOf(jobs: Job[]): string[] {
  return offers(jobs, readChoice(new URLSearchParams()), "label").map(([value]) => value);
}
