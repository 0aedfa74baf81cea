// All jobs of all kinds as one live collection, and what can be done to one.
import { useMemo } from "preact/hooks";
import { Failure, merge } from "./api.ts";
import { JOB_KINDS, jobKind, kindPath, type JobKind } from "./kinds.ts";
import { useLive, type Collection } from "./live.ts";
import { may } from "./rights.ts";
import { scope } from "./session.ts";
import type { Job } from "./types.ts";

/** The items of one kind with their kind put in: items of a list need not say it. */
function named(kind: JobKind, items: Job[]): Job[] {
  for (const item of items) item.kind ??= kind.kind;
  return items;
}

export function useJobs(): Collection<Job> {
  // The list of kinds is fixed, so the hooks are called in the same order every time.
  const all = JOB_KINDS.map((kind) => ({ kind, live: useLive<Job>(kindPath(kind, scope.value)) }));
  return useMemo(
    () => {
      // A kind that this server does not have is no failure of the page.
      const failure =
        all.map((one) => one.live.failure).find((one) => one && one.code !== 404) ?? null;
      return {
        items: all.flatMap((one) => named(one.kind, one.live.items)),
        loaded: all.every((one) => one.live.loaded),
        failure,
      };
    },
    all.map((one) => one.live),
  );
}

/** One job, live. null: it does not exist. */
export function useJob(
  kindName: string,
  ns: string,
  name: string,
): { job: Job | null; loaded: boolean; failure: Failure | null } {
  const kind = jobKind(kindName) ?? JOB_KINDS[0]!;
  const live = useLive<Job>(
    kindPath(kind, ns),
    `fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`,
  );
  return { job: named(kind, live.items)[0] ?? null, loaded: live.loaded, failure: live.failure };
}

function pathOf(job: Job): string {
  const kind = jobKind(job.kind ?? "");
  if (!kind) throw new Failure(`unknown kind ${job.kind}`, 0, "");
  return kindPath(kind, job.metadata.namespace ?? "default", job.metadata.name);
}

export function setPaused(job: Job, paused: boolean): Promise<unknown> {
  return merge(pathOf(job), { spec: { runMode: { pause: { enabled: paused } } } });
}

/** Whether the user may do that to the job, as far as is known. */
export function mayJob(verb: string, job: Job): boolean {
  const kind = jobKind(job.kind ?? "");
  return !kind || may(verb, kind, job.metadata.namespace ?? "default");
}

/** Whether he may do it to all of them, or to any: asked once for each kind and project. */
export function mayJobs(verb: string, jobs: Job[], how: "all" | "any"): boolean {
  const one = [
    ...new Map(jobs.map((job) => [`${job.kind} ${job.metadata.namespace}`, job])).values(),
  ];
  return how === "all"
    ? one.every((job) => mayJob(verb, job))
    : one.some((job) => mayJob(verb, job));
}

export { pathOf as jobApiPath };

/** The line that does the same in a terminal. */
export const cli = {
  rerun: (job: Job): string =>
    `${cli.get(job)} > job.yaml   # metadata.name, then: kubectl create -f job.yaml`,
  get: (job: Job): string =>
    `kubectl -n ${job.metadata.namespace} get ${jobKind(job.kind ?? "")?.plural} ${job.metadata.name} -o yaml`,
  remove: (job: Job): string =>
    `kubectl -n ${job.metadata.namespace} delete ${jobKind(job.kind ?? "")?.plural} ${job.metadata.name}`,
  /** One line for each project and kind. */
  removeAll: (jobs: Job[]): string[] => {
    const groups = new Map<string, string[]>();
    for (const job of jobs) {
      const head = `kubectl -n ${job.metadata.namespace} delete ${jobKind(job.kind ?? "")?.plural}`;
      groups.set(head, [...(groups.get(head) ?? []), job.metadata.name]);
    }
    return [...groups].map(([head, names]) => `${head} ${names.join(" ")}`);
  },
  logs: (job: Job): string => `muster logs ${job.metadata.name} -n ${job.metadata.namespace} -f`,
  pause: (job: Job, on: boolean): string =>
    `kubectl -n ${job.metadata.namespace} patch ${jobKind(job.kind ?? "")?.plural} ${job.metadata.name} --type merge -p '{"spec":{"runMode":{"pause":{"enabled":${on}}}}}'`,
};
