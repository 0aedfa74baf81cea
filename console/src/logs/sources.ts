// Whose logs there are: a job's pods, and those of its pods that are gone of which the log was kept
// (the job is paused, or they were cleaned up).
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Job, Pod } from "../data/types.ts";
import type { Source } from "./follow.ts";
import { podLogs, type PodLog } from "./search.ts";

const ATTEMPT = "batch.tensorstack.dev/attempt";
const GONE = "Gone"; // a phase of our own

export function shortName(pod: Pod): string {
  const { labels } = pod.metadata;
  return labels?.["replica-type"]
    ? `${labels["replica-type"]}-${labels["replica-index"]}`
    : pod.metadata.name;
}

/** The attempt the pod is at: replicas that were replaced count from 0. */
export function attemptOf(pod: Pod): number {
  return Number(pod.metadata.annotations?.[ATTEMPT] ?? 0) || 0;
}

/** A pod as far as its log remembers it; its rank is in its name. */
export function gonePod(kept: PodLog, ns: string, job: Job | null): Pod {
  const types = job?.spec?.replicaSpecs?.map((one) => one.type) ?? [];
  types.sort((a, b) => b.length - a.length); // the end of one may be another
  const type = types.find((one) => new RegExp(`-${one}-\\d+$`).test(kept.pod));
  const index = /\d+$/.exec(kept.pod)?.[0] ?? "0";
  return {
    metadata: {
      name: kept.pod,
      namespace: ns,
      uid: kept.uid,
      resourceVersion: "",
      creationTimestamp: new Date(kept.leftMs).toISOString(),
      annotations: { [ATTEMPT]: String(kept.attempt) },
      labels: type ? { "replica-type": type, "replica-index": index } : {},
    },
    spec: { containers: kept.containers.map((name) => ({ name })) },
    status: { phase: GONE },
  };
}

export const isGone = (pod: Pod): boolean => pod.status?.phase === GONE;

/** The pods, and for each name that has none the newest that is gone. */
export function useReplicas(job: Job, pods: Pod[]): Pod[] {
  const [kept, setKept] = useState<PodLog[]>([]);
  const ns = job.metadata.namespace ?? "default";
  const key = pods.map((pod) => pod.metadata.uid).join();
  useEffect(() => {
    const gone = new AbortController();
    podLogs(ns, gone.signal).then(
      (all) => setKept(all.filter((one) => one.owner === job.metadata.uid)),
      () => undefined,
    );
    return () => gone.abort();
  }, [job.metadata.uid, key]);
  return useMemo(() => {
    const names = new Set(pods.map((pod) => pod.metadata.name));
    const left: Pod[] = [];
    for (const one of kept) {
      if (names.has(one.pod)) continue;
      names.add(one.pod);
      left.push(gonePod(one, ns, job));
    }
    return [
      ...pods,
      ...left.sort((a, b) => shortName(a).localeCompare(shortName(b), "en", { numeric: true })),
    ];
  }, [kept, pods]);
}

export interface Choice {
  replica: string;
  container: string;
  previous: boolean;
  attempt: number | undefined;
  ranks: string[];
}

/** The pods chosen, as sources; the same array as long as the choice is the same. */
export function useSources(pods: Pod[], chosen: Choice): { sources: Source[]; names: string[] } {
  const picked = pods.filter(
    (pod) =>
      (chosen.replica === "all" || pod.metadata.name === chosen.replica) &&
      (!chosen.ranks.length || chosen.ranks.includes(shortName(pod))),
  );
  const key = `${picked.map((pod) => `${pod.metadata.uid}${isGone(pod)}`).join()}|${chosen.container}|${chosen.previous}|${chosen.attempt}`;
  return useMemo(
    () => ({
      sources: picked.map((pod) => ({
        ns: pod.metadata.namespace ?? "default",
        pod: pod.metadata.name,
        container: chosen.container || (pod.spec?.containers?.[0]?.name ?? ""),
        previous: chosen.previous,
        attempt: chosen.attempt,
        uid:
          isGone(pod) && !chosen.previous && chosen.attempt === undefined
            ? pod.metadata.uid
            : undefined,
      })),
      names: picked.map(shortName),
    }),
    [key],
  );
}
