// Which jobs came to an end between two looks at the list. Pure.
import type { Job } from "../data/types.ts";
import { isOver, stateOfJob } from "./state.ts";
import { millis } from "./time.ts";

/** Those that were seen unfinished before and are over now. What was over at the first look is no
 * news. */
export function newlyOver(
  before: ReadonlyMap<string, boolean> | null,
  jobs: Job[],
): { over: Job[]; now: Map<string, boolean> } {
  const now = new Map(jobs.map((job) => [job.metadata.uid, isOver(job)]));
  return {
    over: before ? jobs.filter((job) => isOver(job) && before.get(job.metadata.uid) === false) : [],
    now,
  };
}

/** How long a job waits before the user is notified. */
export const LONG_WAIT_MS = 10 * 60_000;

/** Since when a job that waits does so: since it was made, or its last run ended. */
function waitsSince(job: Job): number {
  const ends = (job.status?.interruptions ?? []).map((one) => millis(one.stopTime) ?? 0);
  return Math.max(millis(job.metadata.creationTimestamp) ?? 0, ...ends);
}

/** Those that wait for too long and of which nobody was told; `told` gets them, and forgets those
 * that wait no more. */
export function newlyLate(told: Set<string>, jobs: Job[], now: number): Job[] {
  const late = jobs.filter(
    (job) => stateOfJob(job) === "queued" && now - waitsSince(job) >= LONG_WAIT_MS,
  );
  const fresh = late.filter((job) => !told.has(job.metadata.uid));
  told.clear();
  for (const job of late) told.add(job.metadata.uid);
  return fresh;
}
