// The hits of a search in the logs of several replicas, in the order of their times: numbered from
// the first and, where that is nearer, from the last. They come from the server as they are wanted.
import type { Level } from "./lines.ts";
import type { Source } from "./follow.ts";
import type { Place } from "./book.ts";
import { NoSearch, questionOf, searchLog, type Progress } from "./search.ts";

const PAGE_HITS = 200;

/** What is known of one replica, from one end. */
interface Part {
  waiting: Place[]; // found, and not in the list yet
  next: string;
  more: boolean; // there may be more behind next
  asking: boolean;
}

export class Hits {
  count = 0;
  counting = true;
  /** Of none could be told: of one replica that has not started yet, the others' hits are. */
  error = "";
  private errors: string[] = [];
  /** The server cannot search. */
  unable = false;
  readonly progress: Progress = { scanned: 0, total: 0, count: 0 };
  private parts: [Part[], Part[]]; // from the first hit on; from the last back
  private lists: [Place[], Place[]] = [[], []];
  private counts: Progress[];
  private gone = new AbortController();
  private wake: (() => void)[] = [];

  constructor(
    private sources: Source[],
    readonly query: string,
    private levels: readonly Level[] | null,
    private onChange: () => void,
  ) {
    const part = (): Part => ({ waiting: [], next: "", more: true, asking: false });
    this.parts = [sources.map(part), sources.map(part)];
    this.counts = sources.map(() => ({ scanned: 0, total: 0, count: 0 }));
    this.counted = Promise.all(sources.map((_, i) => this.ask(0, i, true))).then(() => {
      this.counting = false;
      this.changed();
    });
  }
  readonly counted: Promise<void>;

  stop(): void {
    this.gone.abort();
    this.wake.forEach((go) => go());
  }

  private changed(): void {
    this.merge(0);
    this.merge(1);
    this.wake.splice(0).forEach((go) => go());
    if (!this.gone.signal.aborted) this.onChange();
  }

  private async ask(end: 0 | 1, i: number, count: boolean): Promise<void> {
    const part = this.parts[end][i]!;
    const back = end === 1;
    part.asking = true;
    try {
      const answer = await searchLog(
        this.sources[i]!,
        {
          ...questionOf(this.query),
          levels: this.levels,
          from: part.next,
          back,
          lines: PAGE_HITS,
          count,
        },
        this.gone.signal,
        (found) => {
          part.waiting.push({ source: i, at: found.at, time: found.time });
          if (this.lists[end].length === 0) this.changed(); // the first is wanted at once
        },
        (progress) => {
          if (!count) return;
          this.counts[i] = progress;
          this.sum();
          this.changed();
        },
      );
      part.next = answer.next;
      part.more = count ? answer.count > part.waiting.length + this.taken(end, i) : !answer.all;
    } catch (error) {
      part.more = false;
      if (error instanceof NoSearch) this.unable = true;
      else if ((error as Error).name !== "AbortError") this.errors.push((error as Error).message);
      if (this.errors.length >= this.sources.length) this.error = this.errors[0]!;
    }
    part.asking = false;
    this.changed();
  }

  private taken(end: 0 | 1, i: number): number {
    return this.lists[end].filter((one) => one.source === i).length;
  }

  private sum(): void {
    for (const name of ["scanned", "total", "count"] as const)
      this.progress[name] = this.counts.reduce((sum, one) => sum + one[name], 0);
    this.count = this.progress.count;
  }

  /** The next in order is known when every replica's is. */
  private merge(end: 0 | 1): void {
    const parts = this.parts[end];
    for (;;) {
      let best: Part | undefined;
      for (const part of parts) {
        const mine = part.waiting[0];
        if (!mine) {
          if (part.more || part.asking) return;
          continue;
        }
        const other = best?.waiting[0];
        if (!other || (end === 0 ? mine.time < other.time : mine.time >= other.time)) best = part;
      }
      if (!best) return;
      this.lists[end].push(best.waiting.shift()!);
    }
  }

  /** The hit of that number, counted from 0; null: there is none. */
  async get(index: number): Promise<Place | null> {
    for (;;) {
      const end = this.counting || index < this.lists[0].length || index * 2 < this.count ? 0 : 1;
      const list = this.lists[end];
      const at = end === 0 ? index : this.count - 1 - index;
      if (at < list.length) return list[at]!;
      const parts = this.parts[end];
      if (this.gone.signal.aborted || at < 0 || parts.every((one) => !one.more && !one.asking))
        return null;
      parts.forEach((part, i) => {
        if (part.more && !part.asking && !part.waiting.length) void this.ask(end, i, false);
      });
      await new Promise<void>((go) => this.wake.push(go));
    }
  }
}
