// What is open of the logs of several replicas: a piece of them, read on at both ends, and at the
// newest end followed. Whatever the length of the logs, so many lines are kept.
import { followOne, type Source } from "./follow.ts";
import { lineOf, Lines, type Level, type NewLine } from "./lines.ts";
import { NoSearch, searchLog, type Found } from "./search.ts";

export interface Place {
  source: number;
  at: string; // "" : only the time is known
  time: string;
}

export interface BookOptions {
  tail: number; // lines of each replica at first
  limit: number; // lines kept of all
  levels: readonly Level[] | null;
  place: Place | null; // around this; null: at the end
}

const PAGE_LINES = 1_000;
const TRIES = 20;

/** Where unread lines of one replica are. after: those behind the line there. */
interface Edge {
  place: string;
  after?: boolean;
  done: boolean;
}

export class Book {
  readonly lines: Lines;
  /** What went wrong, by source; and which have come to their end. */
  readonly problems = new Map<number, string>();
  readonly ended = new Set<number>();
  live = false;
  /** The server gives places, so that all of a log can be read. null: not known yet. */
  places: boolean | null = null;
  busy = false;
  loaded = false;
  private top: Edge[];
  private bottom: Edge[];
  private counts: number[];
  private follows: (() => void)[] = [];
  private gone = new AbortController();
  private scheduled = false;

  constructor(
    readonly sources: Source[],
    readonly options: BookOptions,
    private onMore: () => void,
  ) {
    this.lines = new Lines(options.limit);
    this.top = sources.map(() => ({ place: "", done: true }));
    this.bottom = sources.map(() => ({ place: "", done: true }));
    this.counts = sources.map(() => 0);
    void this.open();
  }

  stop(): void {
    this.gone.abort();
    this.unfollow();
  }

  get hasOlder(): boolean {
    if (!this.places)
      return this.counts.some((n) => n >= this.tail) && this.tail < this.options.limit;
    return this.top.some((edge) => !edge.done);
  }
  private tail = 0;

  private more(): void {
    if (this.scheduled || this.gone.signal.aborted) return;
    this.scheduled = true;
    const tell = (): void => {
      this.scheduled = false;
      if (!this.gone.signal.aborted) this.onMore();
    };
    if (document.hidden) setTimeout(tell, 250);
    else requestAnimationFrame(tell);
  }

  // --- the newest end

  private follow(first: (i: number) => Record<string, string>): void {
    const { levels } = this.options;
    this.live = true;
    this.follows = this.sources.map((source, i) =>
      followOne(source, i, first(i), {
        lines: (all) => {
          if (all.length && this.places === null) this.places = all[0]!.at !== "";
          this.beginTail(i, all);
          const taken = levels ? all.filter((line) => levels.includes(line.level)) : all;
          this.lines.add(taken);
          this.forget(this.lines.trimOld(), this.top, "first");
          this.loaded = true;
          this.more();
        },
        problem: (message) => {
          this.problems.set(i, message);
          this.loaded = true;
          this.more();
        },
        end: () => {
          this.ended.add(i);
          this.loaded = true;
          this.more();
        },
      }),
    );
  }

  /** Of a log's tail: as many lines as were asked for came, so there may be more before them. */
  private beginTail(i: number, lines: NewLine[]): void {
    const before = this.counts[i]!;
    this.counts[i] = before + lines.length;
    if (!this.tailing) return;
    if (before === 0 && lines[0]?.at) this.top[i] = { place: lines[0].at, done: true };
    if (before < this.tail && this.counts[i] >= this.tail && this.top[i]!.place)
      this.top[i]!.done = false;
  }
  private tailing = false;

  private unfollow(): void {
    this.follows.forEach((stop) => stop());
    this.follows = [];
    this.live = false;
  }

  /** Lines were let go: they begin, or end, what is unread. */
  private forget(dropped: NewLine[], edges: Edge[], which: "first" | "last"): void {
    if (!dropped.length) return;
    for (let i = 0; i < edges.length; i++) {
      const mine = dropped.filter((line) => line.source === i);
      if (!mine.length) continue;
      // What is left of this replica tells where it goes on.
      const left = which === "first" ? this.lines.firstOf(i) : this.lines.lastOf(i);
      edges[i] = left
        ? { place: left.at, after: which === "last", done: false }
        : { place: which === "first" ? mine.at(-1)!.at : mine[0]!.at, done: false };
    }
  }

  // --- pages

  private ask(i: number, question: { from: string; back: boolean; lines: number }) {
    const found: Found[] = [];
    return searchLog(
      this.sources[i]!,
      { search: "", levels: this.options.levels, ...question },
      this.gone.signal,
      (one) => found.push(one),
    ).then(
      (end) => ({ found: question.back ? found.reverse() : found, end: end }),
      (error: Error) => {
        if (error instanceof NoSearch) this.places = false;
        else if (error.name !== "AbortError") this.problems.set(i, error.message);
        return { found: [] as Found[], end: null };
      },
    );
  }

  private newLines(i: number, found: Found[]): NewLine[] {
    return found.map((one) => lineOf(i, one.time, one.at, one.text, one.cut === true));
  }

  /** A page before what is there. Of replicas that wrote less, no more than of the others: what is
   * shown has no holes. */
  async older(lines = PAGE_LINES): Promise<void> {
    if (this.places === false) return this.longerTail();
    if (this.busy || !this.hasOlder) return;
    this.busy = true;
    const pages = await Promise.all(
      this.top.map((edge, i) =>
        edge.done ? Promise.resolve(null) : this.ask(i, { from: edge.place, back: true, lines }),
      ),
    );
    const since = pages.reduce(
      (most, page) =>
        page?.end && !page.end.all && page.found[0]!.time > most ? page.found[0]!.time : most,
      "",
    );
    for (const [i, page] of pages.entries()) {
      if (!page) continue;
      const taken = page.found.filter((one) => one.time >= since);
      this.lines.addOld(this.newLines(i, taken));
      if (taken.length < page.found.length || (page.end && !page.end.all))
        this.top[i] = { place: taken[0]?.at ?? this.top[i]!.place, done: false };
      else this.top[i] = { place: "", done: true };
    }
    const dropped = this.lines.trimNew();
    if (dropped.length) {
      if (this.live) this.bottom = this.sources.map((_, i) => this.edgeBehind(i));
      this.unfollow();
      this.forget(dropped, this.bottom, "last");
    }
    this.busy = false;
    this.more();
  }

  private edgeBehind(i: number): Edge {
    const last = this.lines.lastOf(i);
    return last ? { place: last.at, after: true, done: false } : { place: "", done: false };
  }

  /** A page behind what is there; at the end it is followed. */
  async newer(lines = PAGE_LINES): Promise<void> {
    if (this.busy || this.live || this.places === false) return;
    this.busy = true;
    const pages = await Promise.all(
      this.bottom.map((edge, i) =>
        edge.done
          ? Promise.resolve(null)
          : this.ask(i, { from: edge.place, back: false, lines: lines + (edge.after ? 1 : 0) }),
      ),
    );
    const until = pages.reduce(
      (least, page) =>
        page?.end && !page.end.all && page.found.at(-1)!.time < least
          ? page.found.at(-1)!.time
          : least,
      "~",
    );
    for (const [i, page] of pages.entries()) {
      if (!page) continue;
      const edge = this.bottom[i]!;
      const fresh = page.found.filter((one) => !(edge.after && one.at === edge.place));
      const taken = fresh.filter((one) => one.time <= until);
      this.lines.add(this.newLines(i, taken));
      if (taken.length < fresh.length)
        this.bottom[i] = { place: fresh[taken.length]!.at, done: false };
      else this.bottom[i] = { place: page.end?.next ?? edge.place, done: page.end?.all ?? true };
    }
    this.forget(this.lines.trimOld(), this.top, "first");
    this.busy = false;
    const able = this.places as boolean | null; // asking may have shown that it is not
    if (able !== false && this.bottom.every((edge) => edge.done) && !this.gone.signal.aborted)
      this.follow((i) => ({ from: this.bottom[i]!.place }));
    this.more();
  }

  /** Without places: the same again, longer. */
  private longerTail(): void {
    this.unfollow();
    this.tail = Math.min(this.options.limit, this.tail * 4);
    this.lines.clear();
    this.counts.fill(0);
    this.follow(() => ({ tailLines: String(this.tail) }));
  }

  // --- the beginning

  private async open(): Promise<void> {
    const { place, levels, tail } = this.options;
    this.tail = tail;
    if (place) return this.openAt(place);
    this.tailing = !levels;
    if (!levels) return this.follow(() => ({ tailLines: String(tail) }));
    // Lines of a level may be far apart: the server looks for the last of them.
    const pages = await Promise.all(
      this.sources.map((_, i) => this.ask(i, { from: "", back: true, lines: PAGE_LINES })),
    );
    if (this.gone.signal.aborted) return;
    this.places = !pages.some((page) => !page.end) && pages.length > 0 ? true : this.places;
    for (const [i, page] of pages.entries()) {
      this.lines.addOld(this.newLines(i, page.found));
      this.top[i] = { place: page.found[0]?.at ?? "", done: page.end?.all ?? true };
    }
    this.loaded = this.places === true;
    this.follow((i) => {
      const began = pages[i]!.end?.began;
      return began ? { from: began } : { tailLines: String(tail) };
    });
    this.more();
  }

  private async openAt(place: Place): Promise<void> {
    this.places = true;
    const from = (i: number): string =>
      i === place.source && place.at ? place.at : place.time || "";
    this.top = this.sources.map((_, i) => ({ place: from(i), done: !from(i) }));
    this.bottom = this.sources.map((_, i) => ({ place: from(i), done: false }));
    await this.newer(PAGE_LINES / 2);
    // Times are told apart by milliseconds when a log is opened: others may have written much in the
    // same one.
    for (let i = 0; i < TRIES && !this.live && !this.lines.firstOf(place.source); i++)
      await this.newer();
    await this.older(PAGE_LINES / 2);
    this.loaded = true;
    this.more();
  }
}
