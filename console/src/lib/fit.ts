// Will it fit: what a job asks for against what the nodes have. Pure.
import type { Job, Node, PodSpec } from "../data/types.ts";
import { totalsOf } from "./jobs.ts";
import { formatQuantity, parseQuantity } from "./quantity.ts";

export interface Misfit {
  resource: string;
  asked: number;
  has: number;
  /** One pod alone is larger than the largest node; else the job as a whole is larger than all
   * together. */
  pod: boolean;
}

function asksOf(spec: PodSpec | undefined): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const container of spec?.containers ?? [])
    for (const [name, text] of Object.entries({
      ...container.resources?.limits,
      ...container.resources?.requests,
    }))
      sum[name] = (sum[name] ?? 0) + (parseQuantity(text) ?? 0);
  return sum;
}

/** CPU and memory can be promised more than once (`--overcommit`), other things cannot. */
export function isElastic(resource: string): boolean {
  return resource === "cpu" || resource === "memory";
}

/** What can never be had, or null. Without nodes nothing is known. Of several the first that no
 * overcommitment helps with. */
export function misfit(job: Job, nodes: Node[]): Misfit | null {
  const all = misfits(job, nodes);
  return all.find((one) => !isElastic(one.resource)) ?? all[0] ?? null;
}

function misfits(job: Job, nodes: Node[]): Misfit[] {
  const found: Misfit[] = [];
  const able = nodes
    .filter((node) => !node.spec?.unschedulable)
    .map((node) => node.status?.allocatable ?? {});
  if (!able.length) return [];
  const has = (node: Record<string, string>, name: string): number =>
    parseQuantity(node[name]) ?? 0;
  for (const replica of job.spec?.replicaSpecs ?? [])
    for (const [resource, asked] of Object.entries(asksOf(replica.template?.spec))) {
      const most = Math.max(...able.map((node) => has(node, resource)));
      if (asked > most) found.push({ resource, asked, has: most, pod: true });
    }
  for (const [resource, asked] of Object.entries(totalsOf(job).requests)) {
    const all = able.reduce((sum, node) => sum + has(node, resource), 0);
    if (asked > all) found.push({ resource, asked, has: all, pod: false });
  }
  return found;
}

export function amount(resource: string, n: number): string {
  return `${resource} ${formatQuantity(resource, n)}`;
}

/** The extended resources nodes have: "nvidia.com/gpu". */
export function gpuKinds(nodes: Node[]): string[] {
  return [...new Set(nodes.flatMap((node) => Object.keys(node.status?.allocatable ?? {})))]
    .filter((name) => name.includes("/"))
    .sort();
}
