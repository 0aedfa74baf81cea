// Logs of one replica or of all, merged by time: followed, searched and read anywhere, filtered,
// downloaded. What is chosen is in the address.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Pod } from "../data/types.ts";
import { lang, translator } from "../i18n/index.ts";
import { logsTexts } from "../i18n/logs.ts";
import { say } from "../lib/say.ts";
import type { TabProps } from "../pages/job/job.tsx";
import { query, setQuery, withQuery } from "../router.ts";
import { copyText } from "../ui/cli.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Empty } from "../ui/notice.tsx";
import { VirtualList } from "../ui/virtual.tsx";
import { Book, type Place } from "./book.ts";
import type { Source } from "./follow.ts";
import { Hits } from "./hits.ts";
import {
  LINES_LIMIT,
  matcher,
  matches,
  rowAt,
  rowsOf,
  type Level,
  type Line,
  type Row,
} from "./lines.ts";
import { prettyJson } from "./pieces.ts";
import { LogRow, ROW_PX } from "./row.tsx";
import { isGone, shortName, useReplicas, useSources } from "./sources.ts";
import { LEVELS, readChosen, Toolbar, type FoundState } from "./tools.tsx";
import "../style/logs.css";

const t = translator(logsTexts);
// Wrapped rows differ in height and are all in the document.
const HOW_MANY = {
  plain: { limit: LINES_LIMIT, tail: 5_000 },
  wrapped: { limit: 2_000, tail: 1_000 },
};
const NEAR_PX = 20 * ROW_PX; // of an end: more is read

/** A replica that is not there yet is followed when it is: the pods' phase is part of the key. */
function useBook(
  sources: Source[],
  pods: Pod[],
  how: { wrap: boolean; levels: Level[] | null; place: Place | null },
): { book: Book | null; version: number } {
  const [version, setVersion] = useState(0);
  const [book, setBook] = useState<Book | null>(null);
  const startable = pods
    .map((pod) =>
      isGone(pod) ||
      pod.status?.containerStatuses?.some((one) => one.state?.running || one.state?.terminated)
        ? "1"
        : "0",
    )
    .join("");
  useEffect(() => {
    const size = HOW_MANY[how.wrap ? "wrapped" : "plain"];
    const mine: Book = new Book(sources, { ...size, levels: how.levels, place: how.place }, () => {
      setBook(mine);
      setVersion((n) => n + 1);
    });
    // What is shown stays until there is something else to show.
    if (book?.sources !== sources) setBook(mine);
    return () => mine.stop();
  }, [sources, startable, how.wrap, how.levels, how.place]);
  return { book, version };
}

/** The search on the server, and which hit is shown. */
function useFound(
  sources: Source[],
  q: string,
  levels: Level[] | null,
  show: (place: Place) => void,
): FoundState & { unable: boolean } {
  const [, setVersion] = useState(0);
  const [at, setAt] = useState(-1);
  const [hits, setHits] = useState<Hits | null>(null);
  const now = useRef<{ hits: Hits | null; at: number; wanted: number }>({
    hits: null,
    at: -1,
    wanted: 0,
  });
  useEffect(() => {
    const mine =
      q && sources.length ? new Hits(sources, q, levels, () => setVersion((n) => n + 1)) : null;
    setHits(mine);
    setAt(-1);
    const before = now.current;
    now.current = { hits: mine, at: -1, wanted: 0 };
    // Enter came before the search did.
    if (mine && before.wanted && !before.hits) void step(before.wanted);
    return () => mine?.stop();
  }, [sources, q, levels]);
  const step = async (by: number): Promise<void> => {
    const state = now.current;
    if (!state.hits || state.hits.query !== query.value.get("q")) {
      now.current = { hits: null, at: -1, wanted: by };
      return;
    }
    let next = state.at + by;
    if (next < 0) {
      await state.hits.counted;
      next = state.hits.count - 1;
    }
    let place = await state.hits.get(next);
    if (!place && by > 0) place = await state.hits.get((next = 0));
    if (!place || now.current !== state) return;
    state.at = next;
    setAt(next);
    show(place);
  };
  return {
    at,
    count: hits?.count ?? 0,
    counting: hits?.counting ?? false,
    error: hits?.error ?? "",
    unable: hits?.unable ?? false,
    step: (by) => void step(by),
  };
}

/** Where the server cannot search: in the lines that are here. */
function useFoundHere(rows: Row[], q: string, show: (place: Place) => void): FoundState {
  const hits = useMemo(() => matches(rows, matcher(q)), [rows, q]);
  const [at, setAt] = useState(-1);
  useEffect(() => setAt(-1), [q]);
  return {
    at: Math.min(at, hits.length - 1),
    count: hits.length,
    counting: false,
    error: q && !matcher(q) ? t("badPattern") : "",
    step: (by) => {
      if (!hits.length) return;
      const next = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
      setAt(next);
      show({ ...rows[hits[next]!]!.line });
    },
  };
}

const scrollerIn = (box: HTMLElement | null): HTMLElement | null =>
  box?.querySelector<HTMLElement>(".log-rows") ?? null;

/** The row on top of what is in sight, and how far it is above the edge. */
function anchorOf(
  element: HTMLElement,
  rows: Row[],
  wrap: boolean,
): { seq: number; above: number } | null {
  if (!wrap) {
    const index = Math.floor(element.scrollTop / ROW_PX);
    const row = rows[index];
    return row ? { seq: row.line.seq, above: element.scrollTop - index * ROW_PX } : null;
  }
  const edge = element.getBoundingClientRect().top;
  for (const one of element.querySelectorAll<HTMLElement>(".log-line")) {
    const place = one.getBoundingClientRect();
    if (place.bottom > edge) return { seq: Number(one.dataset["seq"]), above: edge - place.top };
  }
  return null;
}

/** At the end it stays at the end; the first scroll up stops that. Elsewhere what is read stays where
 * it is while lines come and go around it, and at an end more is read. */
function useScrolling(
  box: { current: HTMLDivElement | null },
  rows: Row[],
  wrap: boolean,
  book: Book | null,
  held: { current: boolean },
) {
  const [following, setFollowing] = useState(true);
  const state = useRef({ rows, book, following, anchor: null as ReturnType<typeof anchorOf> });
  state.current.rows = rows;
  state.current.book = book;
  state.current.following = following;
  const active = rows.length > 0;
  useEffect(() => {
    const element = scrollerIn(box.current);
    if (!element) return;
    let before = element.scrollTop;
    let height = element.scrollHeight;
    // Lines that came since the last scroll put the end further down: only going up is leaving it,
    // and not where lines went.
    const look = (): void => {
      const { book: open, rows: now } = state.current;
      const below = element.scrollHeight - element.scrollTop - element.clientHeight;
      state.current.anchor = anchorOf(element, now, wrap);
      if (below <= 2 * ROW_PX && open?.live) setFollowing(true);
      else if (element.scrollTop < before - 1 && element.scrollHeight >= height)
        setFollowing(false);
      if (element.scrollTop < NEAR_PX && element.scrollTop < before && open?.places)
        void open.older();
      if (below < NEAR_PX && open && !open.live) void open.newer();
      before = element.scrollTop;
      height = element.scrollHeight;
    };
    const up = (event: WheelEvent): void => {
      if (event.deltaY >= 0) return;
      setFollowing(false);
      if (element.scrollTop === 0) void state.current.book?.older();
    };
    const moved = (): void => {
      held.current = false;
    };
    const byHand = ["wheel", "touchmove", "pointerdown", "keydown"] as const;
    element.addEventListener("scroll", look, { passive: true });
    element.addEventListener("wheel", up, { passive: true });
    for (const one of byHand) element.addEventListener(one, moved, { passive: true });
    return () => {
      for (const one of byHand) element.removeEventListener(one, moved);
      element.removeEventListener("scroll", look);
      element.removeEventListener("wheel", up);
    };
  }, [active, wrap]);
  useLayoutEffect(() => {
    const element = scrollerIn(box.current);
    const { anchor } = state.current;
    if (!element) return;
    if (following && book?.live) {
      element.scrollTop = element.scrollHeight;
    } else if (anchor && !wrap) {
      const index = rows.findIndex((row) => row.line.seq === anchor.seq);
      if (index >= 0) element.scrollTop = index * ROW_PX + anchor.above;
    } else if (anchor) {
      const one = element.querySelector(`[data-seq="${anchor.seq}"]`);
      const edge = element.getBoundingClientRect().top;
      if (one) element.scrollTop += one.getBoundingClientRect().top + anchor.above - edge;
    }
  }, [rows, following, wrap]);
  return {
    following,
    setFollowing,
    show: (index: number): void => {
      const element = scrollerIn(box.current);
      const row = rows[index];
      if (!element || !row) return;
      if (wrap)
        element.querySelector(`[data-seq="${row.line.seq}"]`)?.scrollIntoView({ block: "center" });
      else element.scrollTop = Math.max(0, index * ROW_PX - element.clientHeight / 2);
      state.current.anchor = anchorOf(element, rows, wrap);
    },
  };
}

/** NAME@PLACE, or NAME@TIME where the server tells no places. */
function lineId(name: string | undefined, line: Line): string {
  return `${name ?? ""}@${line.at || line.time}`;
}

function placeOf(id: string, names: string[]): Place | null {
  const cut = id.lastIndexOf("@");
  const source = cut > 0 ? names.indexOf(id.slice(0, cut)) : -1;
  const where = id.slice(cut + 1);
  if (source < 0) return null;
  return where.includes("T") ? { source, at: "", time: where } : { source, at: where, time: "" };
}

const onLink = (id: string): void => {
  setQuery({ line: id });
  copyText(window.location.origin + withQuery({ line: id }));
};

/** Where the box begins on the page, for its sheet: it goes down to the window's edge. */
function useTop(box: { current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const measure = (): void => {
      const top = box.current!.getBoundingClientRect().top + window.scrollY;
      box.current!.style.setProperty("--logs-top", `${Math.round(top)}px`);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    measure();
    return () => observer.disconnect();
  }, []);
}

export default function Logs(props: TabProps) {
  const chosen = readChosen();
  const pods = useReplicas(props.job, props.pods);
  const { sources, names } = useSources(pods, chosen);
  const levels = LEVELS[chosen.level] ?? null;
  const box = useRef<HTMLDivElement>(null);
  useTop(box);
  const [json, setJson] = useState<string | null>(null);
  // What is to be in sight, and around what the book is open; null: at the end.
  const [target, setTarget] = useState<Place | null>(null);
  const [place, setPlace] = useState<Place | null>(null);
  // Until the reader moves it stays in sight, whatever comes before it.
  const held = useRef(false);
  const { book, version } = useBook(sources, pods, { wrap: chosen.wrap, levels, place });
  const rows = useMemo<Row[]>(
    () =>
      book
        ? rowsOf(book.lines.all, {
            sources: null,
            levels: levels ? new Set(levels) : null,
            collapse: chosen.collapse && sources.length > 1,
          })
        : [],
    [book, version, levels, chosen.collapse],
  );
  const scrolling = useScrolling(box, rows, chosen.wrap, book, held);
  const goTo = (to: Place): void => {
    scrolling.setFollowing(false);
    held.current = true;
    setTarget(to);
  };
  const there = useFound(sources, chosen.q, levels, goTo);
  const here = useFoundHere(rows, there.unable ? chosen.q : "", goTo);
  const found = there.unable ? here : there;
  const pattern = useMemo(() => matcher(chosen.q), [chosen.q]);
  const linked = query.value.get("line") ?? "";
  useEffect(() => {
    const to = linked ? placeOf(linked, names) : null;
    if (to) goTo(to);
  }, [linked, names]);
  useEffect(() => setPlace(null), [sources, levels]);
  useLayoutEffect(() => {
    if (!target || !held.current || !book?.loaded) return;
    const opened = book.options.place === target;
    const index = rowAt(rows, target, opened);
    if (index >= 0) scrolling.show(index);
    else if (!opened && book.places !== false) setPlace(target);
  }, [rows, target, book]);
  const toEnd = (): void => {
    setTarget(null);
    setPlace(null);
    if (linked) setQuery({ line: null });
    scrolling.setFollowing(true);
    const element = scrollerIn(box.current);
    if (element) element.scrollTop = element.scrollHeight;
  };
  const draw = (row: Row) => (
    <LogRow
      key={row.line.seq}
      row={row}
      names={names}
      times={chosen.times}
      pattern={pattern}
      found={
        chosen.q !== "" && found.at >= 0 && target !== null && rowAt([row], target, false) === 0
      }
      linked={linked !== "" && lineId(names[row.line.source], row.line) === linked}
      onLink={(line) => onLink(lineId(names[line.source], line))}
      onJson={setJson}
    />
  );
  const waiting = props.pods.map((pod) => pod.status?.message).find(Boolean);
  const atEnd = scrolling.following && (book?.live ?? true);
  return (
    <div class="logs" ref={box}>
      <Toolbar
        chosen={chosen}
        pods={pods}
        sources={sources}
        names={names}
        ranks={chosen.replica === "all" ? pods.map(shortName) : []}
        jobName={props.job.metadata.name}
        found={found}
      />
      {there.unable ? (
        <p class="dim" role="status">
          {t("searchHere")}
        </p>
      ) : null}
      {[...(book?.problems ?? [])]
        .filter(([i]) => !book?.lines.all.some((line) => line.source === i))
        .map(([i, message]) => (
          <p key={i} class="dim" role="status">
            {t("failed", { name: names[i] ?? "", message })}
          </p>
        ))}
      {!props.pods.length && pods.length > 0 ? (
        <p class="dim" role="status">
          {t("kept")}
        </p>
      ) : null}
      {book?.hasOlder ? (
        <p>
          <button type="button" disabled={book.busy} onClick={() => void book.older()}>
            {t("older")}
          </button>
        </p>
      ) : null}
      {!rows.length ? (
        <Empty title={t(levels ? "emptyLevel" : "empty")}>
          <p>{waiting ? t("waiting", { message: say(waiting, lang.value) }) : t("emptyHint")}</p>
        </Empty>
      ) : chosen.wrap ? (
        <div class="log-rows wrapped" tabIndex={0} role="region" aria-label={t("log")}>
          {rows.map(draw)}
        </div>
      ) : (
        <VirtualList
          class="log-rows"
          label={t("log")}
          count={rows.length}
          rowHeight={ROW_PX}
          render={(i) => draw(rows[i]!)}
        />
      )}
      {json === null ? null : (
        <Dialog wide title={t("json")} onClose={() => setJson(null)}>
          <pre class="tail">{prettyJson(json) ?? json}</pre>
        </Dialog>
      )}
      <div class="log-foot">
        <span class="dim num">
          {t("lines", { count: rows.length })}
          {book?.live && sources.length > 0 && book.ended.size === sources.length
            ? ` · ${t("ended")}`
            : ""}
        </span>
        {atEnd ? null : (
          <button type="button" class="primary" onClick={toEnd}>
            ↓ {t("newest")}
          </button>
        )}
      </div>
    </div>
  );
}
