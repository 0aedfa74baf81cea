// The curves of many jobs: their figures at once, their points tag by tag when a chart comes into
// sight. Many jobs are asked in one request; what was answered is told in bundles.
import { useEffect, useReducer, useRef } from "preact/hooks";
import { Failure, request } from "../data/api.ts";
import { jobKind } from "../data/kinds.ts";
import type { Job } from "../data/types.ts";
import type { TagFigures } from "../lib/compare.ts";
import { isOver } from "../lib/state.ts";
import type { Window } from "../charts/range.ts";
import { framesOf, linesOf } from "./frames.ts";
import type { Points } from "./smooth.ts";

const JOBS_AT_ONCE = 50; // the server takes 64
const AT_ONCE = 4;
const TELL_MS = 40;
const EVERY_MS = 3_000;
const READING_MS = 400;
const LET_DRAW_MS = 20; // what is there already is drawn first

interface Ask {
  order: number; // of the chart on the page: the one at the top first
  run: () => Promise<void>;
}

const waiting: Ask[] = [];
let busy = 0;
let soon = 0;

function next(): void {
  while (busy < AT_ONCE && waiting.length) {
    const first = waiting.reduce((a, b) => (b.order < a.order ? b : a));
    waiting.splice(waiting.indexOf(first), 1);
    busy++;
    void first.run().finally(() => {
      busy--;
      next();
    });
  }
}

/** Jobs that can be asked together: of one kind and namespace. */
function bundles(jobs: Job[]): Job[][] {
  const groups = new Map<string, Job[]>();
  for (const job of jobs) {
    const key = `${job.kind}/${job.metadata.namespace}`;
    groups.set(key, [...(groups.get(key) ?? []), job]);
  }
  return [...groups.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / JOBS_AT_ONCE) }, (_, i) =>
      group.slice(i * JOBS_AT_ONCE, (i + 1) * JOBS_AT_ONCE),
    ),
  );
}

const BEFORE_CHARTS = -1;
const AFTER_CHARTS = Infinity;

/** Asks for all of them, few requests at a time, in turn; tells of each job. Cancelled: no more. */
function askAll(
  jobs: Job[],
  what: string,
  order: number,
  ended: () => boolean,
  done: (job: Job, body: Uint8Array, failure: Failure | null) => void,
  over?: () => void,
): void {
  const all = bundles(jobs);
  let left = all.length;
  for (const some of all)
    waiting.push({
      order,
      run: async () => {
        if (ended()) return;
        const { kind = "", metadata } = some[0]!;
        const names = some.map((job) => encodeURIComponent(job.metadata.name)).join(",");
        try {
          const path = `/board/api/${jobKind(kind)?.plural}/${encodeURIComponent(metadata.namespace ?? "default")}/${names}/${what}`;
          const answer = await (await request(path)).arrayBuffer();
          const frames = framesOf(answer, some.length);
          if (!ended()) some.forEach((job, i) => done(job, frames[i]!.body, frames[i]!.failure));
        } catch (error) {
          if (!ended()) some.forEach((job) => done(job, new Uint8Array(), error as Failure));
        }
        if (--left === 0 && !ended()) over?.();
      },
    });
  // once all charts that came into sight have asked: their effects run after the next frame
  soon ||= requestAnimationFrame(() =>
    setTimeout(() => {
      soon = 0;
      next();
    }, LET_DRAW_MS),
  );
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

/** What the event files of each job hold, by its UID; asked for again while one trains. */
export function useSummaries(jobs: Job[]): ReadonlyMap<string, Summary> {
  const kept = useRef<ReadonlyMap<string, Summary>>(new Map());
  const said = useRef(new Map<string, string>());
  const tell = useTelling();
  const key = jobs.map((job) => `${job.metadata.uid}${isOver(job) ? "." : "+"}`).join();
  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const take = (job: Job, body: Uint8Array, failure: Failure | null): boolean => {
      const { uid } = job.metadata;
      const text = failure ? failure.message : new TextDecoder().decode(body);
      if (said.current.get(uid) !== text) {
        said.current.set(uid, text);
        const summary = failure
          ? { reading: false, tags: [], failure }
          : (JSON.parse(text) as Summary);
        kept.current = new Map(kept.current).set(uid, summary);
        tell();
      }
      return failure ? failure.code === 429 : kept.current.get(uid)!.reading;
    };
    const look = (some: Job[], order: number): void => {
      const again: Job[] = [];
      let reading = false;
      askAll(
        some,
        "tags",
        order,
        () => ended,
        (job, body, failure) => {
          const more = take(job, body, failure);
          reading ||= more;
          if (more || !isOver(job)) again.push(job);
        },
        () => {
          if (again.length) later(again, reading ? READING_MS : EVERY_MS);
        },
      );
    };
    const later = (some: Job[], ms: number): void => {
      timer = setTimeout(
        () => (document.hidden ? later(some, EVERY_MS) : look(some, AFTER_CHARTS)),
        ms,
      );
    };
    look(jobs, BEFORE_CHARTS);
    return () => {
      ended = true;
      clearTimeout(timer);
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
  order: number,
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
  const latest = useRef(jobs);
  latest.current = jobs;
  const draw = (): void => {
    shown.current = new Map(
      latest.current.map(({ metadata: { uid } }) => {
        const near = part.current.get(uid);
        return [uid, (near?.version.endsWith(range) && range ? near : whole.current.get(uid))?.series ?? []]; // prettier-ignore
      }),
    );
    tell();
  };
  // What is on its way stays good when more jobs have answered what they hold.
  const round = useRef({ ended: false, asked: new Map<string, string>() });
  useEffect(() => {
    const mine = { ended: false, asked: new Map<string, string>() };
    round.current = mine;
    if (range === "") part.current.clear();
    return () => {
      mine.ended = true;
    };
  }, [range, inSight, width, tag]);
  useEffect(() => {
    draw();
    if (!inSight) return;
    const mine = round.current;
    const into = range ? part.current : whole.current;
    const version = new Map(jobs.map((job, i) => [job, `${versions[i]}${range}`]));
    const wanted = jobs.filter(({ metadata: { uid } }, i) => {
      const one = `${versions[i]}${range}`;
      return versions[i] && into.get(uid)?.version !== one && mine.asked.get(uid) !== one;
    });
    for (const job of wanted) mine.asked.set(job.metadata.uid, version.get(job)!);
    askAll(
      wanted,
      `lines.bin?tag=${encodeURIComponent(tag)}&width=${width}${range}`,
      order,
      () => mine.ended,
      (job, body, failure) => {
        const { uid } = job.metadata;
        if (mine.asked.get(uid) !== version.get(job)) return; // newer ones are on their way
        if (failure)
          mine.asked.delete(uid); // the summary of the job says what is wrong
        else into.set(uid, { version: version.get(job)!, series: linesOf(body) });
      },
      draw,
    );
  }, [versions.join(), range, inSight, width, tag]);
  return shown.current;
}
