// Who runs and who waits in a queue, in order. Pure.
import type { PodGroup } from "../data/types.ts";

export interface Entry {
  group: PodGroup;
  place: number; // among those that wait, from 1; 0: none, it is in no line or can never start
}

/** Who is in no line: his job is paused, his pods have ended, or he has none. */
const AT_REST: readonly string[] = ["Paused", "Finished", "Empty"];

export interface Entries {
  running: Entry[];
  waiting: Entry[];
  resting: Entry[];
}

function neverFits(group: PodGroup): boolean {
  return (group.status?.message ?? "").startsWith("can never fit");
}

/** As the scheduler tells it; those it does not number come after, by priority and age, and last those
 * that can never start. */
function told(group: PodGroup): number {
  const message = group.status?.message ?? "";
  if (neverFits(group)) return Infinity;
  const found = /number (\d+) in line/.exec(message);
  return found
    ? Number(found[1])
    : message && !/more than \d+ are in line/.test(message)
      ? 1
      : Infinity;
}

function before(a: PodGroup, b: PodGroup): number {
  const first = told(a),
    second = told(b);
  if (neverFits(a) !== neverFits(b)) return neverFits(a) ? 1 : -1;
  if (first !== second) return first < second ? -1 : 1;
  const higher = (b.spec?.priority ?? 0) - (a.spec?.priority ?? 0);
  if (higher) return higher;
  if (a.metadata.creationTimestamp !== b.metadata.creationTimestamp)
    return a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

export function entriesOf(groups: PodGroup[], queue: string): Entries {
  const mine = groups
    .filter((one) => (one.spec?.queue ?? "default") === queue)
    .sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
  const standing = (one: PodGroup): keyof Entries =>
    one.status?.phase === "Running"
      ? "running"
      : AT_REST.includes(one.status?.phase ?? "")
        ? "resting"
        : "waiting";
  const those = (which: keyof Entries): PodGroup[] => mine.filter((one) => standing(one) === which);
  return {
    running: those("running").map((group) => ({ group, place: 0 })),
    waiting: those("waiting")
      .sort(before)
      .map((group, i) => ({ group, place: neverFits(group) ? 0 : i + 1 })),
    resting: those("resting").map((group) => ({ group, place: 0 })),
  };
}
