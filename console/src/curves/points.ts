// A job's curves, asked for again while it runs and the page is seen.
import { useEffect, useState } from "preact/hooks";
import { Failure, get } from "../data/api.ts";
import { boardApi } from "../data/board.ts";
import type { Job } from "../data/types.ts";
import { isOver } from "../lib/state.ts";
import type { Window } from "../charts/range.ts";
import type { Points } from "./smooth.ts";

const EVERY_MS = 3_000;
const READING_MS = 300;

export interface Answer {
  reading: boolean;
  series: Points[];
  message?: string; // why there are none
}

export interface Curves {
  answer: Answer | null;
  failure: Failure | null;
  again: () => void;
}

/** width: points per curve, about as many as there are pixels. null: no job, nothing is asked. */
export function usePoints(job: Job | null, width: number): Curves {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [round, setRound] = useState(0);
  const over = job ? isOver(job) : true;
  useEffect(() => {
    setAnswer(null);
    setFailure(null);
    if (!job) return;
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let before = "";
    const look = async (): Promise<void> => {
      let reading = false;
      try {
        const next = await get<Answer>(`${boardApi(job, "points")}?width=${width}`);
        reading = next.reading;
        const text = JSON.stringify(next);
        if (!ended && text !== before) setAnswer(next);
        before = text;
        if (!ended) setFailure(null);
      } catch (error) {
        if (!ended) setFailure(error as Failure);
      }
      // After the end once more is enough, unless the files are still being read.
      if (!ended && (!over || reading)) later(reading ? READING_MS : EVERY_MS);
    };
    const later = (ms: number): void => {
      timer = setTimeout(() => void (document.hidden ? later(EVERY_MS) : look()), ms);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [job?.metadata.uid, over, width, round]);
  return { answer, failure, again: () => setRound((n) => n + 1) };
}

export function formatValue(value: number): string {
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6)
    ? value.toExponential(2)
    : String(Number(value.toPrecision(4)));
}

/** A part of the axis in the address: "120~480". */
export function writeZoom(window: Window | null): string | null {
  return window && `${Number(window.from.toPrecision(12))}~${Number(window.to.toPrecision(12))}`;
}

export function readZoom(text: string | null): Window | null {
  const [from, to, more] = (text ?? "").split("~").map(Number);
  return from !== undefined && to !== undefined && more === undefined && from < to
    ? { from, to }
    : null;
}

/** A job's only folder has the job's name; other folders are named after themselves. */
export function runLabel(job: string, run: string): string {
  return run === "." || run === "" ? job : `${job}/${run}`;
}
