// What a list or a page says of a job, worked out from the object. Pure.
import type { Event, Job, PodSpec, Resources } from "../data/types.ts";
import { formatQuantity, parseQuantity } from "./quantity.ts";
import { millis } from "./time.ts";

export interface Totals {
  requests: Record<string, number>;
  limits: Record<string, number>;
}

function add(
  into: Record<string, number>,
  from: Record<string, string> | undefined,
  times: number,
): void {
  for (const [name, text] of Object.entries(from ?? {})) {
    const n = parseQuantity(text);
    if (n !== undefined) into[name] = (into[name] ?? 0) + n * times;
  }
}

function addPod(totals: Totals, spec: PodSpec | undefined, times: number): void {
  for (const container of spec?.containers ?? []) {
    const resources: Resources = container.resources ?? {};
    add(totals.requests, resources.requests ?? resources.limits, times); // as Kubernetes defaults requests
    add(totals.limits, resources.limits, times);
  }
}

// A job that changes is another object: what was worked out of one stays right. Lists of thousands
// ask again and again.
const known = new WeakMap<Job, Totals>();

/** Warnings that still count: that it did not fit is over once it has places. */
export function standingWarnings(job: Job, events: Event[]): number {
  const placed = ["Running", "Succeeded"].includes(job.status?.phase ?? "");
  return events.filter(
    (one) =>
      one.type === "Warning" &&
      !(placed && ["FailedScheduling", "Unschedulable"].includes(one.reason ?? "")),
  ).length;
}

/** Over all replicas; an MPI launcher is not counted. */
export function totalsOf(job: Job): Totals {
  let totals = known.get(job);
  if (!totals) known.set(job, (totals = addUp(job)));
  return totals;
}

function addUp(job: Job): Totals {
  const totals: Totals = { requests: {}, limits: {} };
  for (const spec of job.spec?.replicaSpecs ?? [])
    if (job.kind !== "MPIJob" || spec.type !== "launcher")
      addPod(totals, spec.template?.spec, spec.replicas ?? 1);
  return totals;
}

/** "16.00 / 32.00": what is asked for, and the limit. */
export function pair(resource: string, totals: Totals): string {
  const show = (n: number | undefined): string =>
    n === undefined ? "-" : formatQuantity(resource, n);
  return `${show(totals.requests[resource])} / ${show(totals.limits[resource])}`;
}

/** Resources other than CPU and memory that the job asks for: "nvidia.com/gpu". */
export function extendedResources(totals: Totals): string[] {
  return [...new Set([...Object.keys(totals.requests), ...Object.keys(totals.limits)])]
    .filter((name) => name.includes("/"))
    .sort();
}

/** How many whole GPUs (extended resources of that name) the job has or asks for. */
export function gpusOf(job: Job): number {
  const totals = totalsOf(job);
  return extendedResources(totals)
    .filter((name) => /gpu/i.test(name) && name !== GPU_SHARE)
    .reduce((sum, name) => sum + (totals.limits[name] ?? totals.requests[name] ?? 0), 0);
}

const GPU_SHARE = "nvidia.com/gpu.shared";

export function gpuSharesOf(job: Job): number {
  const { limits, requests } = totalsOf(job);
  return limits[GPU_SHARE] ?? requests[GPU_SHARE] ?? 0;
}

/** A loss that is no number comes as a word: "NaN". */
export function lossText(loss: number | string | undefined): string {
  return typeof loss === "number" ? String(Number(loss.toPrecision(4))) : (loss ?? "");
}

export function replicasByRole(job: Job): { type: string; count: number }[] {
  return (job.spec?.replicaSpecs ?? []).map((spec) => ({
    type: spec.type,
    count: spec.replicas ?? 1,
  }));
}

/** An MPI job's workers are done when its launcher is, which is when they are stopped. */
export function replicaCounts(job: Job): { running: number; done: number; total: number } {
  const phases = (job.status?.tasks ?? []).flatMap((task) =>
    (task.replicas ?? []).map((one) => one.phase),
  );
  const total = replicasByRole(job).reduce((sum, one) => sum + one.count, 0);
  const done =
    job.kind === "MPIJob" ? total : phases.filter((phase) => phase === "Succeeded").length;
  return { running: phases.filter((phase) => phase === "Running").length, done, total };
}

/** Of a job that succeeded all the same: how many of its replicas failed. */
export function failedReplicas(job: Job): number {
  if (job.status?.phase !== "Succeeded") return 0;
  return (job.status.tasks ?? [])
    .flatMap((task) => task.replicas ?? [])
    .filter((one) => one.phase === "Failed").length;
}

export function queueOf(job: Job): string {
  return job.status?.queue ?? job.spec?.scheduler?.t9kScheduler?.queue ?? "default";
}

export function schedulerOf(job: Job): "default" | "t9k" {
  return job.spec?.scheduler?.t9kScheduler ? "t9k" : "default";
}

export function priorityOf(job: Job): number | undefined {
  return job.spec?.scheduler?.t9kScheduler?.priority;
}

/** How long it has run, or ran, without the time it was paused; undefined before it did. */
export function ranMs(job: Job, now: number): number | undefined {
  const start = millis(job.status?.startTime);
  const before = (job.status?.ranSeconds ?? 0) * 1000;
  if (start === undefined) return before || undefined;
  return before + Math.max(0, (millis(job.status?.completionTime) ?? now) - start);
}

export function isPaused(job: Job): boolean {
  return job.spec?.runMode?.pause?.enabled === true;
}

export function isDebug(job: Job): boolean {
  return job.spec?.runMode?.debug?.enabled === true;
}

export function claimsOf(job: Job): string[] {
  const found = new Set<string>();
  for (const spec of job.spec?.replicaSpecs ?? [])
    for (const volume of spec.template?.spec?.volumes ?? [])
      if (volume.persistentVolumeClaim) found.add(volume.persistentVolumeClaim.claimName);
  return [...found];
}

/** The page of a job, or of one of its tabs. */
export function jobHref(
  job: { kind?: string; metadata: { namespace?: string; name: string } },
  tab = "",
): string {
  const parts = [
    job.metadata.namespace ?? "default",
    job.kind ?? "PyTorchTrainingJob",
    job.metadata.name,
  ].map(encodeURIComponent);
  return `/jobs/${parts.join("/")}${tab ? `/${tab}` : ""}`;
}
