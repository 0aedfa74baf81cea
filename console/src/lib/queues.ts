// Who runs and who waits in a queue, in order. Pure.
import type { Pod, PodGroup } from "../data/types.ts";
import { placeInLine } from "./waiting.ts";

export interface Entry {
  group: PodGroup;
  place: string; // in the line of all queues; empty: in none
}

const QUEUE_LABEL = "scheduler.tensorstack.dev/queue";
/** Pods in a queue by themselves: the scheduler takes each for a group of one. */
export const LONE_PODS = `labelSelector=${encodeURIComponent(`${QUEUE_LABEL},!scheduler.tensorstack.dev/group-name`)}`;

export function groupsOfOne(pods: Pod[]): PodGroup[] {
  return pods
    .filter(({ status }) => !["Succeeded", "Failed"].includes(status?.phase ?? ""))
    .map(({ metadata, spec, status }) => {
      const placed = status?.conditions?.find((one) => one.type === "PodScheduled");
      return {
        metadata,
        spec: { queue: metadata.labels?.[QUEUE_LABEL] || "default", minMember: 1 },
        status: {
          phase: spec?.nodeName ? "Running" : "Waiting",
          message: placed?.message ?? "",
        },
      };
    });
}

/** Who is in no line: his job is paused, his pods have ended, or he has none. */
const AT_REST: readonly string[] = ["Paused", "Finished", "Empty"];

export interface Entries {
  running: Entry[];
  waiting: Entry[];
  resting: Entry[];
}

/** Those in no line come last. */
function before(a: PodGroup, b: PodGroup): number {
  const first = a.status?.place ?? Infinity,
    second = b.status?.place ?? Infinity;
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
    running: those("running").map((group) => ({ group, place: "" })),
    waiting: those("waiting")
      .sort(before)
      .map((group) => ({ group, place: placeInLine(group.status) })),
    resting: those("resting").map((group) => ({ group, place: "" })),
  };
}
