// Samples of a job's pods: asked for again while the job runs and the page is seen. What is kept and
// what is asked for is bounded, however many pods there are and however long the page stays open.
import { useEffect, useState } from "preact/hooks";
import type { Failure } from "../data/api.ts";
import { corePath } from "../data/kinds.ts";
import type { Job, Pod } from "../data/types.ts";
import { isOver } from "../lib/state.ts";
import { podSamples } from "./anywhere.ts";
import { merge, stepFor, type Samples } from "./samples.ts";
import { within, type Span } from "./span.ts";

const EVERY_MS = 2_000;
const EVERY_POD_MS = 100; // of many: ten requests a second at most
const AT_ONCE = 4; // of the six connections a browser has; the others are for the page
export const PODS_LIMIT = 256;

/** By UID. step: seconds between the samples asked for. */
export interface Sampled {
  samples: Map<string, Samples>;
  failure: Failure | null;
  loaded: boolean;
  step: number;
}

async function each<T>(items: T[], visit: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length) await visit(items[next++]!);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

export function useSamples(
  job: Job,
  pods: Pod[],
  seconds: number | undefined,
  span: Span | null,
): Sampled {
  const [samples, setSamples] = useState(new Map<string, Samples>());
  const [failure, setFailure] = useState<Failure | null>(null);
  const [loaded, setLoaded] = useState(false);
  const start = Date.parse(job.status?.startTime ?? job.metadata.creationTimestamp);
  const end = Date.parse(job.status?.completionTime ?? "") || Date.now();
  const wide = span
    ? ((span.to ?? Date.now()) - (span.from ?? start)) / 1000
    : (seconds ?? Math.max(60, (end - start) / 1000));
  const step = stepFor(wide, pods.length);
  const key = `${pods.map((pod) => pod.metadata.uid).join()}|${seconds}|${span?.from}|${span?.to}|${step}`;
  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const have = new Map<string, Samples>();
    const every = Math.max(EVERY_MS, step * 500, pods.length * EVERY_POD_MS);
    const one = async (pod: Pod): Promise<void> => {
      if (ended) return;
      const uid = pod.metadata.uid;
      const oldest = span?.from ?? (seconds ? Date.now() - seconds * 1000 : 0);
      const since = have.get(uid)?.time.at(-1) ?? oldest;
      const path = `${corePath("pods", pod.metadata.namespace, pod.metadata.name)}/samples?since=${Math.floor(since)}${span?.to === undefined ? "" : `&until=${span.to}`}&step=${step}&uid=${uid}`;
      const found = merge(have.get(uid), await podSamples(path, pod));
      have.set(uid, within(found, { from: oldest, to: span?.to }));
    };
    const look = async (): Promise<void> => {
      try {
        await each(pods, one);
        if (ended) return;
        setSamples(new Map(have));
        setFailure(null);
      } catch (error) {
        if (!ended) setFailure(error as Failure);
      }
      if (ended) return;
      setLoaded(true);
      if (!isOver(job) && Date.now() <= (span?.to ?? Infinity)) later();
    };
    const later = (): void => {
      timer = setTimeout(() => void (document.hidden ? later() : look()), every);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [key, isOver(job)]);
  return { samples, failure, loaded, step };
}
