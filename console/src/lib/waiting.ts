// The place in line of what waits. Pure.
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

const IN_LINE: readonly string[] = ["WaitingForTurn", "QuotaExceeded", "InsufficientResources"];
const FAR = / (\d+) are in line before it/;

/** The place a group's status tells, in the line of all queues: "2", ">20"; empty when it is in none. */
export function placeInLine(status: { reason?: string; message?: string } | undefined): string {
  const message = status?.message ?? "";
  if (!IN_LINE.includes(status?.reason ?? "")) return "";
  const far = FAR.exec(message);
  if (far) return `>${far[1]}`;
  return /number (\d+) in line/.exec(message)?.[1] ?? "1";
}
