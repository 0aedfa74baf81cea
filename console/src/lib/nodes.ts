// What of a node is taken, and by which pods. Pure.
import type { Node, Pod } from "../data/types.ts";
import { parseQuantity } from "./quantity.ts";

/** Whether the pod holds what it asked for. */
export function isHolding(pod: Pod): boolean {
  return pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed";
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
