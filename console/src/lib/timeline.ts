// When what happened: spans of the job and of each replica, and marks for events, on one axis.
// Pure.
import type { Event, Job, Pod } from "../data/types.ts";
import { millis } from "./time.ts";

export type SpanKind = "queued" | "starting" | "running" | "paused";
export type SpanEnd = "succeeded" | "failed";

export interface Span {
  kind: SpanKind;
  from: number;
  to: number;
  /** How it ended. */
  end?: SpanEnd | undefined;
  /** Of an earlier run of the replica. */
  attempt?: number;
}

export interface Mark {
  at: number;
  event: Event;
}

export interface Lane {
  name: string; // of the pod; "" for the job itself
  label: string;
  spans: Span[];
  marks: Mark[];
}

export interface TimeLine {
  from: number;
  to: number;
  lanes: Lane[];
}

export function eventTime(event: Event): number {
  return (
    millis(
      event.lastTimestamp ??
        event.eventTime ??
        event.firstTimestamp ??
        event.metadata.creationTimestamp,
    ) ?? 0
  );
}

/** runs: when its replicas began, which may be some time before its own status says so. */
function jobSpans(job: Job, until: number, runs: number[]): Span[] {
  const spans: Span[] = [];
  let at = millis(job.metadata.creationTimestamp) ?? until;
  // Times are whole seconds: a short run or pause is there all the same.
  const upTo = (kind: SpanKind, to: number): void => {
    if (to > at || kind !== "queued") spans.push({ kind, from: at, to: Math.max(at, to) });
    at = Math.max(at, to);
  };
  for (const one of job.status?.interruptions ?? []) {
    const began = millis(one.startTime);
    const stopped = millis(one.stopTime) ?? at;
    upTo("queued", began ?? stopped);
    if (began !== undefined) upTo("running", stopped);
    if (one.reason === "Paused") upTo("paused", millis(one.resumeTime) ?? until);
  }
  const own = millis(job.status?.startTime) ?? Infinity;
  const started = Math.min(own, ...runs.filter((one) => one >= at));
  upTo("queued", Math.min(started, until));
  if (started < Infinity) upTo("running", until);
  const ends: Record<string, SpanEnd> = { Failed: "failed", Succeeded: "succeeded" };
  const last = spans[spans.length - 1];
  if (last) last.end = ends[job.status?.phase ?? ""];
  return spans;
}

/** Of the pod that is there: queued until it has a node, starting until its program runs. */
function podSpans(pod: Pod, until: number): Span[] {
  const created = millis(pod.metadata.creationTimestamp) ?? until;
  const scheduled =
    millis(
      pod.status?.conditions?.find((one) => one.type === "PodScheduled" && one.status === "True")
        ?.lastTransitionTime,
    ) ?? millis(pod.status?.startTime);
  const main = pod.status?.containerStatuses?.[0];
  const before = main?.lastState?.terminated;
  const state = main?.state;
  const started = millis(state?.running?.startedAt ?? state?.terminated?.startedAt);
  const first = millis(before?.startedAt) ?? started;
  const spans: Span[] = [];
  const queuedTo = scheduled ?? first ?? until;
  if (queuedTo > created || scheduled === undefined)
    spans.push({ kind: "queued", from: created, to: Math.max(created, queuedTo) });
  if (scheduled !== undefined && (first ?? until) > scheduled)
    spans.push({ kind: "starting", from: scheduled, to: first ?? until });
  if (before)
    spans.push({
      kind: "running",
      from: first ?? created,
      to: millis(before.finishedAt) ?? started ?? until,
      end: before.exitCode === 0 ? "succeeded" : "failed",
    });
  if (started !== undefined) {
    const end = state?.terminated;
    spans.push({
      kind: "running",
      from: started,
      to: Math.max(started, millis(end?.finishedAt) ?? until),
      end: end && (end.exitCode === 0 ? "succeeded" : "failed"),
    });
  }
  return spans;
}

/** Runs of a replica that is gone: its events say when it began and when it was replaced. */
function earlierSpans(pod: Pod, events: Event[]): Span[] {
  const born = millis(pod.metadata.creationTimestamp) ?? 0;
  const name = pod.metadata.name;
  const starts = events
    .filter(
      (one) =>
        one.involvedObject.name === name &&
        one.reason === "Started" &&
        one.involvedObject.uid !== pod.metadata.uid,
    )
    .map(eventTime)
    .filter((at) => at < born)
    .sort((a, b) => a - b);
  const ends = events
    .filter((one) => one.reason === "ReplicaFailed" && (one.message ?? "").startsWith(`${name} `))
    .flatMap((one) => [...new Set([millis(one.firstTimestamp) ?? eventTime(one), eventTime(one)])])
    .sort((a, b) => a - b);
  // Times are whole seconds: a run may begin in the second in which the one before it failed.
  return starts.map((from, i) => {
    while (ends[0] !== undefined && ends[0] < from) ends.shift();
    const to = Math.min(ends.shift() ?? born, starts[i + 1] ?? born);
    return { kind: "running", from, to, end: "failed", attempt: i };
  });
}

export function timeLineOf(job: Job, pods: Pod[], events: Event[], now: number): TimeLine {
  const until = millis(job.status?.completionTime) ?? now;
  const uids = new Set([job.metadata.uid]);
  const spans = pods.map((pod) => [...earlierSpans(pod, events), ...podSpans(pod, until)]);
  const runs = spans.flat().filter((one) => one.kind === "running");
  const jobLane: Lane = {
    name: "",
    label: "Job",
    spans: jobSpans(
      job,
      until,
      runs.map((one) => one.from),
    ),
    marks: events
      .filter((one) => uids.has(one.involvedObject.uid ?? ""))
      .map((event) => ({ at: eventTime(event), event })),
  };
  const lanes = pods.map((pod, i): Lane => {
    const labels = pod.metadata.labels ?? {};
    return {
      name: pod.metadata.name,
      label: labels["replica-type"]
        ? `${labels["replica-type"]}-${labels["replica-index"]}`
        : pod.metadata.name,
      spans: spans[i]!,
      marks: events
        .filter(
          (one) =>
            one.involvedObject.kind === "Pod" && one.involvedObject.name === pod.metadata.name,
        )
        .map((event) => ({ at: eventTime(event), event })),
    };
  });
  const all = [jobLane, ...lanes];
  const times = all.flatMap((lane) => [
    ...lane.spans.flatMap((one) => [one.from, one.to]),
    ...lane.marks.map((one) => one.at),
  ]);
  const from = Math.min(...times);
  return { from, to: Math.max(from + 1000, ...times), lanes: all };
}

/** Marks too near to each other to be clicked one by one, as one: the warnings of it first. */
export function gathered(marks: Mark[], within: number): { at: number; events: Event[] }[] {
  const groups: { at: number; events: Event[] }[] = [];
  for (const mark of [...marks].sort((a, b) => a.at - b.at)) {
    const last = groups[groups.length - 1];
    if (last && mark.at - last.at <= within) last.events.push(mark.event);
    else groups.push({ at: mark.at, events: [mark.event] });
  }
  for (const group of groups)
    group.events.sort((a, b) => Number(b.type === "Warning") - Number(a.type === "Warning"));
  return groups;
}

/** Round moments for an axis: about n of them, as ms since its beginning. */
export function ticks(length: number, n: number): number[] {
  const steps = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 172_800,
    604_800,
  ].map((s) => s * 1000);
  const step = steps.find((one) => length / one <= n) ?? steps[steps.length - 1]!;
  const found: number[] = [];
  for (let at = 0; at <= length; at += step) found.push(at);
  return found;
}
