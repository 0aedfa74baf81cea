// Follows the logs of several replicas into one list of lines; tells once per frame that there is
// more.
import { corePath } from "../data/kinds.ts";
import { subscribe, type ServerMessage } from "../data/stream.ts";
import { Lines, Reader } from "./lines.ts";

export interface Source {
  ns: string;
  pod: string;
  container: string;
  previous: boolean;
  /** An earlier run of the replica by its number; the pod of that name may be another one now. */
  attempt?: number | undefined;
}

export const TAIL_FIRST = 5_000;
const CREDIT_BYTES = 1 << 20;

export function logPath(s: Source, options: Record<string, string>): string {
  const query = new URLSearchParams({
    container: s.container,
    ...(s.previous ? { previous: "true" } : {}),
    ...(s.attempt === undefined ? {} : { attempt: String(s.attempt) }),
    ...options,
  });
  return `${corePath("pods", s.ns, s.pod)}/log?${query}`;
}

export interface Follower {
  lines: Lines;
  /** What went wrong, by source; and which have come to their end. */
  problems: Map<number, string>;
  ended: Set<number>;
  /** How many lines came of each source. */
  counts: number[];
  stop: () => void;
}

/** tail: so many lines of each at first. */
export function follow(sources: Source[], tail: number, onMore: () => void): Follower {
  const lines = new Lines();
  const problems = new Map<number, string>();
  const ended = new Set<number>();
  const counts = sources.map(() => 0);
  let scheduled = false;
  const more = (): void => {
    if (scheduled) return;
    scheduled = true;
    const tell = (): void => {
      scheduled = false;
      onMore();
    };
    if (document.hidden) setTimeout(tell, 250);
    else requestAnimationFrame(tell);
  };
  const subscriptions = sources.map((source, i) => {
    const reader = new Reader(i);
    let begun = false;
    const held = subscribe({
      op: "logs",
      credit: CREDIT_BYTES,
      path: () => {
        if (begun) reader.restart();
        begun = true;
        // Whole seconds are what every server understands; lines seen before are left out by the
        // reader.
        const from: Record<string, string> = reader.last
          ? { sinceTime: reader.last }
          : { tailLines: String(tail) };
        return logPath(source, { follow: "true", timestamps: "true", ...from });
      },
      onMessage(message: ServerMessage) {
        if (message.t === "lines") {
          const taken = reader.take(message.text ?? "");
          counts[i]! += taken.length;
          lines.add(taken);
          held.credit(message.bytes ?? 0);
        } else if (message.t === "error") problems.set(i, message.message ?? "");
        else if (message.t === "end") ended.add(i);
        more();
      },
    });
    return held;
  });
  return { lines, problems, ended, counts, stop: () => subscriptions.forEach((one) => one.stop()) };
}
