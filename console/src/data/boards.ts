// TensorBoards: where the API and the proxy have them.
import { TENSORBOARDS } from "./kinds.ts";
import { useLive } from "./live.ts";
import type { Condition, Job, KubeObject } from "./types.ts";

export interface TensorBoard extends KubeObject {
  spec?: {
    suspend?: boolean;
    trainingLogFilesets?: string[];
    logDir?: { pvc?: { name: string; subPath?: string[] }[] };
  };
  status?: { phase?: string; url?: string; conditions?: Condition[]; message?: string };
}

export function boardHref(ns: string, name: string): string {
  return `/tensorboard/${encodeURIComponent(ns)}/${encodeURIComponent(name)}/`;
}

/** The job's TensorBoard, or null: the one its status names, else the one of its name. */
/** undefined: not known yet. */
export function useBoard(job: Job): TensorBoard | null | undefined {
  const ns = job.metadata.namespace ?? "default";
  const name = String(job.status?.tensorboard?.name ?? job.metadata.name);
  const live = useLive<TensorBoard>(
    `/apis/${TENSORBOARDS.group}/${TENSORBOARDS.version}/namespaces/${encodeURIComponent(ns)}/${TENSORBOARDS.plural}`,
  );
  return live.items.find((one) => one.metadata.name === name) ?? (live.loaded ? null : undefined);
}
