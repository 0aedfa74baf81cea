// The curves of many jobs: of each its figures at once, its points tag by tag when they come into
// sight. Few requests at a time; what was answered is told in bundles.
import { useEffect, useReducer, useRef } from "preact/hooks";
import { Failure, get } from "../data/api.ts";
import { boardApi } from "../data/board.ts";
import type { Job } from "../data/types.ts";
import type { TagFigures } from "../lib/compare.ts";
import { isOver } from "../lib/state.ts";
import type { Window } from "../charts/range.ts";
import type { Points } from "./smooth.ts";

const AT_ONCE = 6; // what a browser has for one server
const TELL_MS = 60;
const EVERY_MS = 3_000;
const READING_MS = 300;

const waiting: (() => Promise<void>)[] = [];
let busy = 0;

function next(): void {
  while (busy < AT_ONCE && waiting.length) {
    busy++;
    void waiting.shift()!().finally(() => {
      busy--;
      next();
    });
  }
}

/** In turn; not at all when it is cancelled before. */
function inTurn<T>(
  path: string,
  ended: () => boolean,
  done: (answer: T) => void,
  failed: (error: Failure) => void,
): void {
  waiting.push(async () => {
    if (ended()) return;
    try {
      const answer = await get<T>(path);
      if (!ended()) done(answer);
    } catch (error) {
      if (!ended()) failed(error as Failure);
    }
  });
  next();
}

/** Draws again soon, once for all that came meanwhile. */
function useTelling(): () => void {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      draw(0);
    }, TELL_MS);
  };
}

export interface Summary {
  reading: boolean;
  tags: TagFigures[];
  failure?: Failure;
}

/** What the event files of each job hold, by its UID; asked for again while it trains. */
export function useSummaries(jobs: Job[]): ReadonlyMap<string, Summary> {
  const kept = useRef<ReadonlyMap<string, Summary>>(new Map());
  const tell = useTelling();
  const key = jobs.map((job) => `${job.metadata.uid}${isOver(job) ? "." : "+"}`).join();
  useEffect(() => {
    let ended = false;
    const timers = new Set<ReturnType<typeof setTimeout>>();
    const keep = (job: Job, summary: Summary): void => {
      kept.current = new Map(kept.current).set(job.metadata.uid, summary);
      tell();
    };
    const later = (job: Job, ms: number): void => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        if (document.hidden) later(job, EVERY_MS);
        else look(job);
      }, ms);
      timers.add(timer);
    };
    const look = (job: Job): void =>
      inTurn<Summary>(
        boardApi(job, "tags"),
        () => ended,
        (answer) => {
          keep(job, answer);
          if (answer.reading || !isOver(job)) later(job, answer.reading ? READING_MS : EVERY_MS);
        },
        (failure) => {
          keep(job, { reading: false, tags: [], failure });
          if (!isOver(job) || failure.code === 429) later(job, EVERY_MS);
        },
      );
    jobs.forEach(look);
    return () => {
      ended = true;
      timers.forEach(clearTimeout);
    };
  }, [key]);
  return kept.current;
}

interface Kept {
  version: string;
  series: Points[];
}

/** The points of one tag of each job, by UID, about as many as the chart has pixels. window: of steps;
 * then more of what is in it. Until those are there, what there was. */
export function useTag(
  jobs: Job[],
  summaries: ReadonlyMap<string, Summary>,
  tag: string,
  width: number,
  window: Window | null,
  inSight: boolean,
): ReadonlyMap<string, Points[]> {
  const whole = useRef(new Map<string, Kept>());
  const part = useRef(new Map<string, Kept>());
  const shown = useRef<ReadonlyMap<string, Points[]>>(new Map());
  const tell = useTelling();
  const range = window ? `&from=${Math.floor(window.from)}&to=${Math.ceil(window.to)}` : "";
  const versions = jobs.map((job) => {
    const tags = summaries.get(job.metadata.uid)?.tags ?? [];
    return tags.reduce((sum, one) => (one.tag === tag ? sum + one.count : sum), 0);
  });
  const draw = (): void => {
    shown.current = new Map(
      jobs.map(({ metadata: { uid } }) => {
        const near = part.current.get(uid);
        return [uid, (near?.version.endsWith(range) && range ? near : whole.current.get(uid))?.series ?? []]; // prettier-ignore
      }),
    );
    tell();
  };
  useEffect(() => {
    let ended = false;
    if (range === "") part.current.clear();
    draw();
    if (!inSight) return;
    jobs.forEach((job, i) => {
      const version = `${versions[i]}${range}`;
      const into = range ? part.current : whole.current;
      if (!versions[i] || into.get(job.metadata.uid)?.version === version) return;
      inTurn<{ series: Points[] }>(
        `${boardApi(job, "points")}?tag=${encodeURIComponent(tag)}&width=${width}${range}`,
        () => ended,
        ({ series }) => {
          into.set(job.metadata.uid, { version, series });
          draw();
        },
        () => undefined, // the summary of the job says what is wrong
      );
    });
    return () => {
      ended = true;
    };
  }, [versions.join(), range, inSight, width, tag]);
  return shown.current;
}
