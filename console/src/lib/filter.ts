// Which jobs a list shows and in which order. The choice is read from the address and written back
// to it. Pure.
import type { Job } from "../data/types.ts";
import { extendedResources, queueOf, ranMs, replicaCounts, schedulerOf, totalsOf } from "./jobs.ts";
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
  sort: string; // a column, with "-" before it for descending
}

const LISTS: readonly [keyof Choice, string][] = [
  ["phases", "phase"],
  ["kinds", "kind"],
  ["queues", "queue"],
  ["schedulers", "scheduler"],
  ["resources", "resource"],
  ["projects", "project"],
  ["labels", "label"],
];

export function readChoice(query: URLSearchParams): Choice {
  const choice = { q: query.get("q") ?? "", sort: query.get("sort") ?? "-created" } as Choice;
  for (const [field, name] of LISTS)
    (choice[field] as string[]) = (query.get(name) ?? "").split(",").filter(Boolean);
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

function fits(job: Job, c: Choice): boolean {
  const among = (list: string[], value: string): boolean => !list.length || list.includes(value);
  return (
    job.metadata.name.includes(c.q) &&
    among(c.phases, job.status?.phase ?? "Pending") &&
    among(c.kinds, job.kind ?? "") &&
    among(c.queues, queueOf(job)) &&
    among(c.schedulers, schedulerOf(job)) &&
    among(c.projects, job.metadata.namespace ?? "") &&
    c.labels.every((one) => hasLabel(job, one)) &&
    (!c.resources.length ||
      extendedResources(totalsOf(job)).some((one) => c.resources.includes(one)))
  );
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
};

export function choose(jobs: Job[], c: Choice): Job[] {
  const down = c.sort.startsWith("-");
  const key = KEYS[down ? c.sort.slice(1) : c.sort] ?? KEYS["created"]!;
  const keyed = jobs.filter((job) => fits(job, c)).map((job) => ({ job, key: key(job) }));
  keyed.sort((a, b) => {
    const order = a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
    // Equal ones keep an order of their own, or rows would jump at every update.
    return (down ? -order : order) || (a.job.metadata.name < b.job.metadata.name ? -1 : 1);
  });
  return keyed.map((one) => one.job);
}

/** The values there are to choose from. */
export function offers(
  jobs: Job[],
): Record<"phase" | "kind" | "queue" | "scheduler" | "resource" | "project" | "label", string[]> {
  const sets = {
    phase: new Set<string>(),
    kind: new Set<string>(),
    queue: new Set<string>(),
    scheduler: new Set<string>(),
    resource: new Set<string>(),
    project: new Set<string>(),
    label: new Set<string>(),
  };
  for (const job of jobs) {
    sets.phase.add(job.status?.phase ?? "Pending");
    sets.kind.add(job.kind ?? "");
    sets.queue.add(queueOf(job));
    sets.scheduler.add(schedulerOf(job));
    sets.project.add(job.metadata.namespace ?? "");
    for (const one of extendedResources(totalsOf(job))) sets.resource.add(one);
    for (const [name, value] of Object.entries(job.metadata.labels ?? {}))
      sets.label.add(`${name}=${value}`);
  }
  return Object.fromEntries(
    Object.entries(sets).map(([name, set]) => [name, [...set].sort()]),
  ) as ReturnType<typeof offers>;
}
