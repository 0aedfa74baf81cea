// Which jobs came to an end between two looks at the list. Pure.
import type { Job } from "../data/types.ts";
import { isOver } from "./state.ts";

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
