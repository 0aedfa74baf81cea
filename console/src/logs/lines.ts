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
  text: string;
  level: Level;
  progress: boolean; // a bar that is drawn again and again
}

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

const STAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?/;
export const LINES_LIMIT = 50_000;
const LINE_CHARS_LIMIT = 8_192;

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

  take(piece: string): Omit<Line, "seq">[] {
    const parts = (this.rest + piece).split("\n");
    this.rest = parts.pop() ?? "";
    const lines: Omit<Line, "seq">[] = [];
    for (const part of parts) {
      const line = this.one(part);
      if (line) lines.push(line);
    }
    return lines;
  }

  private one(raw: string): Omit<Line, "seq"> | null {
    const stamp = STAMP.exec(raw);
    const time = stamp?.[1] ?? "";
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
    const plain = raw.slice(stamp?.[0].length ?? 0, (stamp?.[0].length ?? 0) + LINE_CHARS_LIMIT);
    const { text, progress } = afterReturns(plain);
    return { time, source: this.source, text, level: levelOf(text), progress };
  }
}

/** All lines, oldest first, at most so many. */
export class Lines {
  all: Line[] = [];
  dropped = 0;
  private seq = 0;

  add(lines: Omit<Line, "seq">[]): void {
    for (const line of lines) this.insert({ ...line, seq: this.seq++ });
    if (this.all.length > LINES_LIMIT) {
      const surplus = this.all.length - LINES_LIMIT + LINES_LIMIT / 10; // not at every line
      this.all.splice(0, surplus);
      this.dropped += surplus;
    }
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
        continue;
      }
    }
    rows.push({ line, sources: [line.source] });
  }
  return rows;
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
