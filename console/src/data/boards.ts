// TensorBoards, as the API has them.
import type { App } from "./apps.ts";
import { kindPath, TENSORBOARDS } from "./kinds.ts";
import { useLive } from "./live.ts";
import type { Job } from "./types.ts";

export interface TensorBoard extends App {
  spec?: {
    suspend?: boolean;
    trainingLogFilesets?: string[];
    logDir?: { pvc?: { name: string; subPath?: string[] }[] };
  };
}

/** The job's TensorBoard, or null: the one its status names, else the one of its name. undefined: not
 * known yet. */
export function useBoard(job: Job): TensorBoard | null | undefined {
  const ns = job.metadata.namespace ?? "default";
  const name = String(job.status?.tensorboard?.name ?? job.metadata.name);
  const live = useLive<TensorBoard>(kindPath(TENSORBOARDS, ns));
  return live.items.find((one) => one.metadata.name === name) ?? (live.loaded ? null : undefined);
}
