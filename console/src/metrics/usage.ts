// What the pods of a job use now: one request for all (metrics.k8s.io, as every cluster has it),
// and our samples for GPUs.
import { useEffect, useState } from "preact/hooks";
import { get } from "../data/api.ts";
import { corePath, OWNER_LABEL } from "../data/kinds.ts";
import type { Pod } from "../data/types.ts";
import { parseQuantity } from "../lib/quantity.ts";
import type { Samples } from "./samples.ts";

export interface Usage {
  cpu?: number;
  memory?: number;
  gpu?: number;
}

interface PodMetrics {
  metadata: { name: string };
  containers?: { usage?: Record<string, string> }[];
}

const EVERY_MS = 4_000;
const GPU_PODS = 16; // one request each
const RECENT_MS = 15_000;

export function usageOf(items: PodMetrics[]): Map<string, Usage> {
  return new Map(
    items.map((item) => {
      const sum = (name: string): number =>
        (item.containers ?? []).reduce(
          (all, one) => all + (parseQuantity(one.usage?.[name]) ?? 0),
          0,
        );
      return [item.metadata.name, { cpu: sum("cpu"), memory: sum("memory") }];
    }),
  );
}

async function addGpus(found: Map<string, Usage>, pods: Pod[]): Promise<void> {
  await Promise.all(
    pods.slice(0, GPU_PODS).map(async (pod) => {
      const samples = await get<Samples>(
        `${corePath("pods", pod.metadata.namespace, pod.metadata.name)}/samples?since=${Date.now() - RECENT_MS}&uid=${pod.metadata.uid}`,
      );
      const last = samples.columns["gpu"]?.values.filter((one) => one !== null).at(-1);
      if (typeof last === "number")
        found.set(pod.metadata.name, { ...found.get(pod.metadata.name), gpu: last });
    }),
  );
}

/** By the pod's name; empty where nobody measures. */
export function useUsage(
  ns: string,
  owner: string,
  pods: Pod[],
  live: boolean,
  gpu: boolean,
): Map<string, Usage> {
  const [usage, setUsage] = useState(new Map<string, Usage>());
  const running = pods.filter((pod) => pod.status?.phase === "Running");
  useEffect(() => {
    if (!live) return setUsage(new Map());
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      try {
        const answer = await get<{ items: PodMetrics[] }>(
          `/apis/metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(ns)}/pods?labelSelector=${encodeURIComponent(`${OWNER_LABEL}=${owner}`)}`,
        );
        const found = usageOf(answer.items);
        if (gpu) await addGpus(found, running).catch(() => undefined);
        if (!ended) setUsage(found);
      } catch {
        /* the column shows a dash */
      }
      if (!ended) later();
    };
    const later = (): void => {
      timer = setTimeout(() => void (document.hidden ? later() : look()), EVERY_MS);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [ns, owner, live, gpu, running.length]);
  return usage;
}
