// What of a node is taken, and by which pods. Pure.
import type { Node, Pod } from "../data/types.ts";
import { parseQuantity } from "./quantity.ts";
import { millis } from "./time.ts";

/** Whether the pod holds what it asked for. */
export function isHolding(pod: Pod): boolean {
  return pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed";
}

/** worker-2 before worker-10. */
export function byName(a: Pod, b: Pod): number {
  const whole = (pod: Pod): string => `${pod.metadata.namespace}/${pod.metadata.name}`;
  return whole(a).localeCompare(whole(b), "en", { numeric: true });
}

export function asked(pods: Pod[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const pod of pods)
    for (const container of pod.spec?.containers ?? [])
      for (const [name, text] of Object.entries({
        ...container.resources?.limits,
        ...container.resources?.requests,
      }))
        sum[name] = (sum[name] ?? 0) + (parseQuantity(text) ?? 0);
  return sum;
}

/** When a pod began to hold what it asked for, and when it let go; ms. Of one without a node: never. */
function heldBy(pod: Pod): { from: number; to: number } {
  const scheduled = pod.status?.conditions?.find((one) => one.type === "PodScheduled");
  const from = millis(scheduled?.lastTransitionTime) ?? millis(pod.status?.startTime) ?? Infinity;
  if (isHolding(pod)) return { from, to: Infinity };
  const ends = (pod.status?.containerStatuses ?? []).map(
    (one) => millis(one.state?.terminated?.finishedAt) ?? from,
  );
  return { from, to: Math.max(from, ...ends) };
}

/** What the pods held of a resource at each of the times, in seconds. Pods that were deleted since are
 * not known. */
export function heldAt(pods: Pod[], resource: string, times: number[]): number[] {
  const held = pods.map((pod) => ({ ...heldBy(pod), amount: asked([pod])[resource] ?? 0 }));
  return times.map((s) =>
    held.reduce(
      (sum, one) => (s * 1000 >= one.from && s * 1000 < one.to ? sum + one.amount : sum),
      0,
    ),
  );
}

export function usageOf(node: Node, pods: Pod[]): Record<string, { used: number; all: number }> {
  const used = asked(
    pods.filter((pod) => pod.spec?.nodeName === node.metadata.name && isHolding(pod)),
  );
  return Object.fromEntries(
    Object.entries(node.status?.allocatable ?? {}).map(([name, text]) => [
      name,
      { used: used[name] ?? 0, all: parseQuantity(text) ?? 0 },
    ]),
  );
}
