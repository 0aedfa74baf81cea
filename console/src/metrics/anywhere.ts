// Samples of a pod where our own agent is not: metrics.k8s.io says what is used now, and the page
// that asks again and again puts a line together of it. It has no past, and neither network, disk
// nor GPU.
import { Failure, get } from "../data/api.ts";
import type { Pod } from "../data/types.ts";
import { parseQuantity } from "../lib/quantity.ts";
import type { Samples } from "./samples.ts";

export interface PodMetrics {
  timestamp?: string;
  containers?: { usage?: Record<string, string> }[];
}

/** One sample; none when there is nothing in it. */
export function fromMetrics(metrics: PodMetrics): Samples {
  const time = Date.parse(metrics.timestamp ?? "");
  if (Number.isNaN(time) || !metrics.containers?.length) return { time: [], columns: {} };
  const sum = (resource: string): number =>
    metrics.containers!.reduce((n, one) => n + (parseQuantity(one.usage?.[resource]) ?? 0), 0);
  return {
    time: [time],
    columns: {
      cpu: { unit: "cores", values: [sum("cpu")] },
      memory: { unit: "bytes", values: [sum("memory")] },
    },
  };
}

const isOneOf = (error: unknown, ...codes: number[]): boolean =>
  error instanceof Failure && codes.includes(error.code);

/** What the samples' own path says, or else the cluster's metrics; nothing when neither knows the
 * pod. A cluster has no such path, and tells who may not do everything that he may not use it. */
export async function podSamples(path: string, pod: Pod): Promise<Samples> {
  try {
    return await get<Samples>(path);
  } catch (error) {
    if (!isOneOf(error, 403, 404)) throw error;
  }
  try {
    return fromMetrics(
      await get<PodMetrics>(
        `/apis/metrics.k8s.io/v1beta1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`,
      ),
    );
  } catch (error) {
    if (!isOneOf(error, 404)) throw error;
    return { time: [], columns: {} }; // over, or a cluster that measures nothing
  }
}
