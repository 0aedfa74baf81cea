// Where a job's curves are.
import { jobKind } from "./kinds.ts";
import type { Job } from "./types.ts";

export function boardApi(job: Job, what: string): string {
  const { namespace = "default", name } = job.metadata;
  return `/board/api/${jobKind(job.kind ?? "")?.plural}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/${what}`;
}
