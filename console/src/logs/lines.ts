// Lines of one or several replicas, in the order they were written. Pure: no page, no network.
//
// Logs come with time stamps, each replica's in order. Merged, a line finds its place from the end.
// After a break a log is asked for again from its last time stamp on, and what was seen already is
// left out.

export type Level = "error" | "warn" | "info" | "debug" | "none";

export interface Line {
  seq: number; // unique, for keys
  time: string; // RFC 3339 with nanoseconds; "" when the log has none
  source: number; // which replica
  at: string; // its place in the replica's log; "" when the server does not tell
  text: string;
  cut: boolean; // it is longer than what is here
  level: Level;
  progress: boolean; // a bar that is drawn again and again
}

export type NewLine = Omit<Line, "seq">;

const LEVELS: readonly [RegExp, Level][] = [
  [/\b(ERROR|CRITICAL|FATAL)\b|^Traceback|Error:|Exception:/, "error"],
  [/\b(WARN|WARNING)\b|Warning:/, "warn"],
  [/\b(DEBUG|TRACE)\b/, "debug"],
  [/\bINFO\b/, "info"],
];

export function levelOf(text: string): Level {
  for (const [pattern, level] of LEVELS) if (pattern.test(text)) return level;
  return "none";
}

// tqdm and its kin: a percentage with a bar, or a bar with counts.
const BAR = /\d+%\s*\|.*\||\[[=>#\-. ]{5,}\]\s*\d+%|^\s*\d+\/\d+ \[[=>.\s]*\]/;

/** What a terminal would show of a line with carriage returns. */
export function afterReturns(text: string): { text: string; progress: boolean } {
  if (!text.includes("\r")) return { text, progress: BAR.test(text) };
  const parts = text.split("\r").filter((one) => one.trim() !== "");
  return { text: parts[parts.length - 1] ?? "", progress: true };
}

// With its place before it, where the server tells.
const STAMP = /^(?:(\d+\.\d+) )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?/;
export const LINES_LIMIT = 20_000;
const LINE_CHARS_LIMIT = 8_192;

export function lineOf(
  source: number,
  time: string,
  at: string,
  whole: string,
  cut: boolean,
): NewLine {
  const { text, progress } = afterReturns(whole.slice(0, LINE_CHARS_LIMIT));
  return {
    time,
    source,
    at,
    text,
    cut: cut || whole.length > LINE_CHARS_LIMIT,
    level: levelOf(text),
    progress,
  };
}

/** One replica's log as it arrives: cuts lines out of pieces and knows where to go on after a
 * break. */
export class Reader {
  private rest = "";
  /** The last time stamp, and how many lines had it. */
  last = "";
  private same = 0;
  private skip = 0;

  constructor(readonly source: number) {}

  /** The connection broke: what comes next begins at `last`, with lines that were seen. */
  restart(): void {
    this.rest = "";
    this.skip = this.last ? this.same : 0;
    this.resuming = this.last;
  }
  private resuming = "";

  take(piece: string): NewLine[] {
    const parts = (this.rest + piece).split("\n");
    this.rest = parts.pop() ?? "";
    const lines: NewLine[] = [];
    for (const part of parts) {
      const line = this.one(part);
      if (line) lines.push(line);
    }
    return lines;
  }

  private one(raw: string): NewLine | null {
    const stamp = STAMP.exec(raw);
    const time = stamp?.[2] ?? "";
    if (this.resuming && time) {
      if (time < this.resuming) return null;
      if (time === this.resuming && this.skip > 0) {
        this.skip--;
        return null;
      }
      if (time > this.resuming) this.resuming = "";
    }
    if (time && time === this.last) this.same++;
    else if (time) {
      this.last = time;
      this.same = 1;
    }
    return lineOf(this.source, time, stamp?.[1] ?? "", raw.slice(stamp?.[0].length ?? 0), false);
  }
}

/** Lines of all replicas, oldest first, about as many as the limit says. */
export class Lines {
  all: Line[] = [];
  private seq = 0;

  constructor(readonly limit = LINES_LIMIT) {}

  clear(): void {
    this.all = [];
  }

  add(lines: NewLine[]): void {
    for (const line of lines) this.insert({ ...line, seq: this.seq++ });
  }

  /** Lines of one replica from before what is here of it. */
  addOld(lines: NewLine[]): void {
    if (!lines.length) return;
    const before = this.all;
    this.all = [];
    let at = 0;
    for (const line of lines) {
      while (at < before.length && before[at]!.time < line.time) this.all.push(before[at++]!);
      this.insert({ ...line, seq: this.seq++ });
    }
    for (; at < before.length; at++) this.all.push(before[at]!);
  }

  /** Not at every line: more than enough is let go at once. Answers what was. */
  trimOld(): NewLine[] {
    const surplus = this.all.length - this.limit;
    return surplus > 0 ? this.all.splice(0, surplus + Math.floor(this.limit / 10)) : [];
  }

  trimNew(): NewLine[] {
    const surplus = this.all.length - this.limit;
    return surplus > 0 ? this.all.splice(this.limit - Math.floor(this.limit / 10)) : [];
  }

  firstOf(source: number): Line | undefined {
    return this.all.find((line) => line.source === source);
  }

  lastOf(source: number): Line | undefined {
    let i = this.all.length - 1;
    while (i >= 0 && this.all[i]!.source !== source) i--;
    return this.all[i];
  }

  private insert(line: Line): void {
    const { all } = this;
    const before = all[all.length - 1];
    if (line.progress && before?.progress && before.source === line.source) {
      all[all.length - 1] = { ...line, seq: before.seq };
      return;
    }
    let at = all.length;
    if (line.time)
      while (at > 0 && all[at - 1]!.time > line.time && all[at - 1]!.source !== line.source) at--;
    if (at === all.length) all.push(line);
    else all.splice(at, 0, line);
  }
}

export interface Row {
  line: Line;
  sources: number[]; // replicas that wrote the same, in their order
  others: Line[]; // their lines
}

export interface View {
  sources: ReadonlySet<number> | null; // null: all
  levels: ReadonlySet<Level> | null;
  collapse: boolean;
}

// Ranks print the same line within moments of each other.
const SAME_WITHIN = 8;

/** What is shown: filtered, and equal lines of several replicas as one. */
export function rowsOf(lines: Line[], view: View): Row[] {
  const rows: Row[] = [];
  for (const line of lines) {
    if (view.sources && !view.sources.has(line.source)) continue;
    if (view.levels && !view.levels.has(line.level)) continue;
    if (view.collapse && line.text) {
      let same: Row | undefined;
      for (let i = rows.length - 1; i >= 0 && i >= rows.length - SAME_WITHIN; i--) {
        const row = rows[i]!;
        if (row.line.text === line.text && !row.sources.includes(line.source)) {
          same = row;
          break;
        }
      }
      if (same) {
        same.sources.push(line.source);
        same.others.push(line);
        continue;
      }
    }
    rows.push({ line, sources: [line.source], others: [] });
  }
  return rows;
}

/** The newest line of each replica, the one that said nothing for longest first; of many, both ends.
 * lines: also those of before, of which some are let go meanwhile. */
export function latestOf(lines: Line[], most: number): Row[] {
  const newest = new Map<number, Line>();
  for (const line of lines) {
    const before = newest.get(line.source);
    if (line.text && (!before || before.time <= line.time)) newest.set(line.source, line);
  }
  const rows = rowsOf(
    [...newest.values()].sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0)),
    { sources: null, levels: null, collapse: true },
  );
  return rows.length <= most ? rows : [...rows.slice(0, most / 2), ...rows.slice(-most / 2)];
}

/** Which of two places of one log is first: negative, 0, positive. */
export function comparePlaces(a: string, b: string): number {
  const [x = 0, y = 0] = a.split(".").map(Number);
  const [v = 0, w = 0] = b.split(".").map(Number);
  return x - v || y - w;
}

/** The row in which a line is, by its place or else by its time; or, when there is none, the first
 * behind it (nearest). -1: none. */
export function rowAt(
  rows: Row[],
  to: { source: number; at: string; time: string },
  nearest: boolean,
): number {
  const order = (line: Line): number =>
    to.at && line.at
      ? comparePlaces(line.at, to.at)
      : line.time < to.time
        ? -1
        : line.time > to.time
          ? 1
          : 0;
  const passes = (line: Line, test: (n: number) => boolean): boolean =>
    line.source === to.source && test(order(line));
  const find = (test: (n: number) => boolean): number =>
    rows.findIndex((row) => passes(row.line, test) || row.others.some((one) => passes(one, test)));
  const exact = find((n) => n === 0);
  return exact >= 0 || !nearest ? exact : find((n) => n > 0);
}

/** "0–3", "0, 2": which ranks, in few words. */
export function ranges(numbers: number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; i++) {
    let j = i;
    while (sorted[j + 1] === sorted[j]! + 1) j++;
    parts.push(
      j > i + 1
        ? `${sorted[i]}–${sorted[j]}`
        : j > i
          ? `${sorted[i]}, ${sorted[j]}`
          : `${sorted[i]}`,
    );
    i = j;
  }
  return parts.join(", ");
}

/** A search: plain text without regard to case, or /a pattern/. null when the pattern is none. */
export function matcher(query: string): RegExp | null {
  if (!query) return null;
  const pattern = /^\/(.+)\/([i]?)$/.exec(query);
  try {
    return pattern
      ? new RegExp(pattern[1]!, `g${pattern[2]}`)
      : new RegExp(query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
  } catch {
    return null;
  }
}

/** Rows that match, by their index. */
export function matches(rows: Row[], pattern: RegExp | null): number[] {
  if (!pattern) return [];
  const found: number[] = [];
  rows.forEach((row, i) => {
    pattern.lastIndex = 0;
    if (pattern.test(row.line.text)) found.push(i);
  });
  return found;
}

/** The ranks shown after one is switched, as the address has them; null for all. None chosen means
 * all are. */
export function nextRanks(all: string[], on: string[], name: string): string | null {
  const shown = on.length ? on : all;
  const next = shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name];
  return next.length === 0 || next.length === all.length
    ? null
    : all.filter((one) => next.includes(one)).join(",");
}
