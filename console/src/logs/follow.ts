// One replica's log as it comes: followed over the page's one connection, and after a break from
// where it was.
import { corePath } from "../data/kinds.ts";
import { subscribe, type ServerMessage } from "../data/stream.ts";
import { Reader, type NewLine } from "./lines.ts";

export interface Source {
  ns: string;
  pod: string;
  container: string;
  previous: boolean;
  /** Of a pod that is gone: the one with this UID. */
  uid?: string | undefined;
  /** An earlier run of the replica by its number; the pod of that name may be another one now. */
  attempt?: number | undefined;
}

const CREDIT_BYTES = 1 << 20;

export function logPath(s: Source, options: Record<string, string>): string {
  const query = new URLSearchParams({
    container: s.container,
    ...(s.previous ? { previous: "true" } : {}),
    ...(s.uid === undefined ? {} : { uid: s.uid }),
    ...(s.attempt === undefined ? {} : { attempt: String(s.attempt) }),
    ...options,
  });
  return `${corePath("pods", s.ns, s.pod)}/log?${query}`;
}

/** first: where it begins, as the log's query says it. Answers how to end it. */
export function followOne(
  source: Source,
  index: number,
  first: Record<string, string>,
  on: {
    lines: (lines: NewLine[]) => void;
    problem: (message: string) => void;
    end: () => void;
  },
): () => void {
  const reader = new Reader(index);
  let begun = false;
  const held = subscribe({
    op: "logs",
    credit: CREDIT_BYTES,
    path: () => {
      if (begun) reader.restart();
      begun = true;
      // Times are what every server understands; lines seen before are left out by the reader.
      const from = reader.last ? { sinceTime: reader.last } : first;
      return logPath(source, { follow: "true", timestamps: "true", offsets: "true", ...from });
    },
    onMessage(message: ServerMessage) {
      if (message.t === "lines") {
        on.lines(reader.take(message.text ?? ""));
        held.credit(message.bytes ?? 0);
      } else if (message.t === "error") on.problem(message.message ?? "");
      else if (message.t === "end") on.end();
    },
  });
  return held.stop;
}
