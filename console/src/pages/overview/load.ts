// What is used now: by the pods of each job, and by the machines over the last minutes.
import { get } from "../../data/api.ts";
import { corePath, OWNER_LABEL } from "../../data/kinds.ts";
import type { Job, Node, Pod } from "../../data/types.ts";
import { parseQuantity } from "../../lib/quantity.ts";
import { asked, isHolding } from "../../lib/nodes.ts";
import { total, type Samples } from "../../metrics/samples.ts";
import { usePolled } from "../../ui/poll.ts";

const EVERY_MS = 5_000;
const SPAN_MS = 10 * 60_000;
const STEP_MS = 10_000;
const NODES_ASKED = 8; // one request each; a cluster of more says only what is allocated
const GPU_PODS = 16;

export interface Use {
  cpu: number;
  memory: number;
  gpu?: number;
}

interface PodMetrics {
  metadata: { name: string; namespace?: string };
  containers?: { usage?: Record<string, string> }[];
}

export function ownerKey(ns: string | undefined, name: string): string {
  return `${ns ?? "default"}/${name}`;
}

/** By project and name of the job; empty where nobody measures. */
export function useJobLoad(scope: string, pods: Pod[]): Map<string, Use> {
  const running = pods.filter((pod) => pod.status?.phase === "Running");
  const withGpu = running
    .filter((pod) => (asked([pod])["nvidia.com/gpu"] ?? 0) > 0)
    .slice(0, GPU_PODS);
  const path = `/apis/metrics.k8s.io/v1beta1/${scope ? `namespaces/${encodeURIComponent(scope)}/` : ""}pods`;
  const key = `${path} ${running.length} ${withGpu.length}`;
  const found = usePolled(key, EVERY_MS, async () => {
    const [metrics, gpus] = await Promise.all([
      get<{ items: PodMetrics[] }>(path),
      Promise.all(withGpu.map(gpuOf)),
    ]);
    return { metrics: metrics.items, gpus: new Map(gpus) };
  });
  const owners = new Map(
    running.map((pod) => [
      ownerKey(pod.metadata.namespace, pod.metadata.name),
      ownerKey(pod.metadata.namespace, pod.metadata.labels?.[OWNER_LABEL] ?? ""),
    ]),
  );
  const loads = new Map<string, Use>();
  for (const one of found?.metrics ?? []) {
    const pod = ownerKey(one.metadata.namespace, one.metadata.name);
    const owner = owners.get(pod);
    if (!owner) continue;
    const load = loads.get(owner) ?? { cpu: 0, memory: 0 };
    for (const container of one.containers ?? []) {
      load.cpu += parseQuantity(container.usage?.["cpu"]) ?? 0;
      load.memory += parseQuantity(container.usage?.["memory"]) ?? 0;
    }
    const gpu = found?.gpus.get(pod);
    if (gpu !== undefined) load.gpu = (load.gpu ?? 0) + gpu;
    loads.set(owner, load);
  }
  return loads;
}

async function gpuOf(pod: Pod): Promise<[string, number | undefined]> {
  const name = ownerKey(pod.metadata.namespace, pod.metadata.name);
  const samples = await get<Samples>(
    `${corePath("pods", pod.metadata.namespace, pod.metadata.name)}/samples?since=${Date.now() - 3 * EVERY_MS}&uid=${pod.metadata.uid}`,
  ).catch(() => null);
  const last = samples?.columns["gpu"]?.values.filter((one) => one !== null).at(-1);
  return [name, typeof last === "number" ? last : undefined];
}

export interface Room {
  resource: "cpu" | "memory" | "gpu";
  all: number;
  allocated: number;
  used: number | undefined;
  /** What was used, over the last minutes. */
  past: number[];
}

const RESOURCES: readonly ["cpu" | "memory" | "gpu", string][] = [
  ["cpu", "cpu"],
  ["memory", "memory"],
  ["gpu", "nvidia.com/gpu"],
];

/** All nodes together; nothing of what there is none of. */
export function useRooms(nodes: Node[], pods: Pod[]): Room[] {
  const names = nodes.map((node) => node.metadata.name).sort();
  const samples = usePolled(names.join(), EVERY_MS, async () =>
    names.length > NODES_ASKED
      ? []
      : Promise.all(
          names.map((name) =>
            get<Samples>(
              `${corePath("nodes", undefined, name)}/samples?since=${Date.now() - SPAN_MS}&step=${STEP_MS / 1000}`,
            ),
          ),
        ),
  );
  const taken = asked(pods.filter((pod) => pod.spec?.nodeName && isHolding(pod)));
  return RESOURCES.flatMap(([resource, name]) => {
    const all = nodes.reduce(
      (sum, node) => sum + (parseQuantity(node.status?.allocatable?.[name]) ?? 0),
      0,
    );
    if (!all) return [];
    const sums = samples ? total(samples, resource, STEP_MS) : new Map<number, number>();
    const past = [...sums].sort(([a], [b]) => a - b).map(([, value]) => value);
    return [{ resource, all, allocated: taken[name] ?? 0, used: past.at(-1), past }];
  });
}

/** Of the jobs that run, the newest first. */
export function runningFirst(jobs: Job[]): Job[] {
  return [...jobs].sort((a, b) =>
    (a.status?.startTime ?? "~") > (b.status?.startTime ?? "~") ? -1 : 1,
  );
}
