// Who runs and who waits in a queue, in order. Pure.
import type { PodGroup } from "../data/types.ts";

export interface Entry {
  group: PodGroup;
  place: number; // among those that wait, from 1; 0: it runs
}

export function holdsRoom(group: PodGroup): boolean {
  return group.status?.conditions?.some((one) => one.type === "GroupScheduled" && one.status === "True") ?? false;
}

/** As the scheduler tells it; those it does not number come after, by priority and age. */
function told(group: PodGroup): number {
  const message = group.status?.message ?? "";
  const found = /number (\d+) in line/.exec(message);
  return found ? Number(found[1]) : message && !/more than \d+ are in line/.test(message) ? 1 : Infinity;
}

function before(a: PodGroup, b: PodGroup): number {
  const first = told(a), second = told(b);
  if (first !== second) return first < second ? -1 : 1;
  const higher = (b.spec?.priority ?? 0) - (a.spec?.priority ?? 0);
  if (higher) return higher;
  if (a.metadata.creationTimestamp !== b.metadata.creationTimestamp) return a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

export function entriesOf(groups: PodGroup[], queue: string): Entry[] {
  const mine = groups.filter((one) => (one.spec?.queue ?? "default") === queue);
  const waiting = mine.filter((one) => !holdsRoom(one)).sort(before);
  const running = mine.filter(holdsRoom).sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
  return [...running.map((group) => ({ group, place: 0 })), ...waiting.map((group, i) => ({ group, place: i + 1 }))];
}
