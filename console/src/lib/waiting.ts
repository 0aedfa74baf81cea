// The place in line of a job that waits. Pure.
import type { Job } from "../data/types.ts";

const BEFORE = "number ";
const AFTER = " in line";

/** The place in the line of all queues; undefined when it is not the turn that it waits for. */
export function queuePosition(job: Job): number | undefined {
  const message = job.status?.message ?? "";
  const end = message.indexOf(AFTER);
  const from = message.lastIndexOf(BEFORE, end) + BEFORE.length;
  const place = end < 0 ? NaN : Number.parseInt(message.slice(from, end), 10);
  return Number.isNaN(place) ? undefined : place;
}
