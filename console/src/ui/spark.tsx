// A curve as small as a word: the loss of a job, asked for only by rows in sight, few at a time; or
// values at hand.
import { useEffect, useState } from "preact/hooks";
import { get } from "../data/api.ts";
import { boardApi } from "../data/board.ts";
import type { Job } from "../data/types.ts";
import { lossTag } from "../lib/loss.ts";
import { sparkPath } from "../lib/spark.ts";
import { isOver } from "../lib/state.ts";

const POINTS = 112; // two a pixel where it is smallest
const FRESH_MS = 10_000;
const AT_ONCE = 2;

interface Kept {
  values: (number | null)[];
  at: number;
  over: boolean;
}
const kept = new Map<string, Kept>();
const KEPT_LIMIT = 500;
const waiting: (() => Promise<void>)[] = [];
let busy = 0;

function next(): void {
  while (busy < AT_ONCE && waiting.length) {
    busy++;
    void waiting.pop()!().finally(() => {
      busy--;
      next();
    }); // newest first: that is what is looked at
  }
}

interface Answer {
  series: { tag: string; value: (number | null)[] }[];
}

async function ask(job: Job): Promise<void> {
  const over = isOver(job);
  let values: (number | null)[] = [];
  try {
    const answer = await get<Answer>(`${boardApi(job, "points")}?width=${POINTS}`);
    const tag = lossTag(answer.series);
    values = answer.series.find((one) => one.tag === tag)?.value ?? [];
  } catch {
    /* a job without curves has no spark */
  }
  if (kept.size >= KEPT_LIMIT) kept.delete(kept.keys().next().value!);
  kept.set(job.metadata.uid, { values, at: Date.now(), over });
}

export function Line(props: {
  values: (number | null)[];
  label: string;
  width?: number;
  height?: number;
}) {
  const { width = 56, height = 18 } = props;
  const path = sparkPath(props.values, width, height);
  return path ? (
    <svg class="spark" width={width} height={height} role="img" aria-label={props.label}>
      <path d={path} />
    </svg>
  ) : null;
}

export function Spark(props: { job: Job; label: string; width?: number; height?: number }) {
  const { job } = props;
  const [, again] = useState(0);
  const over = isOver(job);
  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      const have = kept.get(job.metadata.uid);
      if (have && (have.over || Date.now() - have.at < FRESH_MS)) return later();
      waiting.push(async () => {
        if (ended) return;
        await ask(job);
        if (!ended) {
          again((n) => n + 1);
          later();
        }
      });
      next();
    };
    const later = (): void => {
      if (!over) timer = setTimeout(document.hidden ? later : look, FRESH_MS);
    };
    look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [job.metadata.uid, over]);
  return <Line {...props} values={kept.get(job.metadata.uid)?.values ?? []} />;
}
