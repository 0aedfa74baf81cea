// Logs of one replica or of all, merged by time: followed, searched, filtered, downloaded. What is
// chosen is in the address.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { request } from "../data/api.ts";
import type { Pod } from "../data/types.ts";
import { lang, translator } from "../i18n/index.ts";
import { logsTexts } from "../i18n/logs.ts";
import { say } from "../lib/say.ts";
import type { TabProps } from "../pages/job/job.tsx";
import { query, setQuery } from "../router.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Empty } from "../ui/notice.tsx";
import { saveAs, savePath } from "../ui/save.ts";
import { follow, logPath, TAIL_FIRST, type Follower, type Source } from "./follow.ts";
import { LogRow, ROW_PX } from "./row.tsx";
import {
  LINES_LIMIT,
  matcher,
  matches,
  nextRanks,
  rowsOf,
  type Level,
  type Line,
  type Row,
} from "./lines.ts";
import { prettyJson } from "./pieces.ts";
import { zip } from "./zip.ts";
import { VirtualList } from "../ui/virtual.tsx";
import "../style/logs.css";

const t = translator(logsTexts);
const WRAPPED_LIMIT = 2_000; // wrapped rows differ in height and are all in the document

function shortName(pod: Pod): string {
  const { labels } = pod.metadata;
  return labels?.["replica-type"]
    ? `${labels["replica-type"]}-${labels["replica-index"]}`
    : pod.metadata.name;
}

function mainContainer(pod: Pod): string {
  return pod.spec?.containers?.[0]?.name ?? "";
}

interface Chosen {
  replica: string;
  container: string;
  previous: boolean;
  attempt: number | undefined;
  ranks: string[];
  q: string;
  times: boolean;
  wrap: boolean;
  collapse: boolean;
  level: string;
  tail: number;
}

function readChosen(): Chosen {
  const q = query.value;
  return {
    replica: q.get("replica") ?? "all",
    container: q.get("container") ?? "",
    previous: q.get("previous") === "1",
    attempt: /^\d+$/.test(q.get("attempt") ?? "") ? Number(q.get("attempt")) : undefined,
    ranks: (q.get("ranks") ?? "").split(",").filter(Boolean),
    q: q.get("q") ?? "",
    times: q.get("times") === "1",
    wrap: q.get("wrap") === "1",
    collapse: q.get("collapse") !== "0",
    level: q.get("level") ?? "",
    tail: Math.min(LINES_LIMIT, Number(q.get("tail")) || TAIL_FIRST),
  };
}

/** The pods chosen, as sources; the same array as long as the choice is the same. */
function useSources(pods: Pod[], chosen: Chosen): { sources: Source[]; names: string[] } {
  const picked = pods.filter(
    (pod) => chosen.replica === "all" || pod.metadata.name === chosen.replica,
  );
  const key = `${picked.map((pod) => pod.metadata.uid).join()}|${chosen.container}|${chosen.previous}|${chosen.attempt}`;
  return useMemo(
    () => ({
      sources: picked.map((pod) => ({
        ns: pod.metadata.namespace ?? "default",
        pod: pod.metadata.name,
        container: chosen.container || mainContainer(pod),
        previous: chosen.previous,
        attempt: chosen.attempt,
      })),
      names: picked.map(shortName),
    }),
    [key],
  );
}

/** A replica that is not there yet is followed when it is: the pods' phase is part of the key. */
function useFollower(
  sources: Source[],
  pods: Pod[],
  tail: number,
): { follower: Follower | null; version: number } {
  const [version, setVersion] = useState(0);
  const [follower, setFollower] = useState<Follower | null>(null);
  const shownFor = useRef<Source[] | null>(null);
  const startable = pods
    .map((pod) =>
      pod.status?.containerStatuses?.some((one) => one.state?.running || one.state?.terminated)
        ? "1"
        : "0",
    )
    .join("");
  useEffect(() => {
    // What is shown stays until there is something else to show: reading further back does not
    // flash.
    const mine: Follower = follow(sources, tail, () => {
      setFollower(mine);
      setVersion((n) => n + 1);
    });
    if (!follower || shownFor.current !== sources) setFollower(mine);
    shownFor.current = sources;
    return () => mine.stop();
  }, [sources, tail, startable]);
  return { follower, version };
}

function downloadAll(name: string, sources: Source[], names: string[]): void {
  void saveAs(`${name}-logs.zip`, async () =>
    zip(
      await Promise.all(
        sources.map(async (source, i) => ({
          name: `${names[i]}.log`,
          data: new Uint8Array(
            await (await request(logPath(source, { timestamps: "true" }))).arrayBuffer(),
          ),
        })),
      ),
    ),
  );
}

/** The attempt the pod is at: replicas that were replaced count from 0. */
function attemptOf(pod: Pod): number {
  return Number(pod.metadata.annotations?.["batch.tensorstack.dev/attempt"] ?? 0) || 0;
}

function Attempts(props: { chosen: Chosen; pods: Pod[] }) {
  const picked = props.pods.filter(
    (pod) => props.chosen.replica === "all" || pod.metadata.name === props.chosen.replica,
  );
  const earlier = Math.max(0, ...picked.map(attemptOf));
  const value =
    props.chosen.attempt !== undefined
      ? String(props.chosen.attempt)
      : props.chosen.previous
        ? "previous"
        : "";
  const shown = [
    ...new Set([
      ...Array.from({ length: earlier }, (_, i) => i),
      ...(props.chosen.attempt === undefined ? [] : [props.chosen.attempt]),
    ]),
  ];
  return (
    <label>
      {t("attempt")}{" "}
      <select
        value={value}
        onChange={(event) => {
          const next = event.currentTarget.value;
          setQuery({
            previous: next === "previous" ? "1" : null,
            attempt: next && next !== "previous" ? next : null,
          });
        }}
      >
        <option value="">{t("currentAttempt")}</option>
        <option value="previous">{t("previousAttempt")}</option>
        {shown.map((n) => (
          <option key={n} value={String(n)}>
            {t("nthAttempt", { n })}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Which replicas of those merged are shown. */
function Ranks(props: { names: string[]; chosen: string[] }) {
  const on = props.names.filter((name) => props.chosen.includes(name));
  return (
    <details class="ranks">
      <summary class="button">
        {t("someRanks", {
          ranks: on.length ? (on.length > 3 ? String(on.length) : on.join(", ")) : t("allRanks"),
        })}
      </summary>
      <div class="ranks-list" role="group" aria-label={t("ranks")}>
        {props.names.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={!on.length || on.includes(name)}
              onChange={() => setQuery({ ranks: nextRanks(props.names, on, name) })}
            />{" "}
            {name}
          </label>
        ))}
      </div>
    </details>
  );
}

const LEVELS: Record<string, Level[]> = {
  error: ["error"],
  warn: ["error", "warn"],
  info: ["error", "warn", "info"],
  debug: ["error", "warn", "info", "debug"],
};

function Toolbar(props: {
  chosen: Chosen;
  pods: Pod[];
  sources: Source[];
  names: string[];
  jobName: string;
  hits: number[];
  at: number;
  step: (by: number) => void;
}) {
  const { chosen } = props;
  const pod = props.pods.find((one) => one.metadata.name === chosen.replica);
  const containers = pod?.spec?.containers ?? [];
  const flag =
    (name: string, on: boolean, base = false) =>
    () =>
      setQuery({ [name]: on === base ? (on ? "0" : "1") : null });
  return (
    <div class="log-tools" role="toolbar" aria-label={t("log")}>
      <label>
        {t("replica")}{" "}
        <select
          value={chosen.replica}
          onChange={(event) =>
            setQuery({
              replica: event.currentTarget.value === "all" ? null : event.currentTarget.value,
              container: null,
            })
          }
        >
          <option value="all">{t("all")}</option>
          {props.pods.map((one) => (
            <option key={one.metadata.uid} value={one.metadata.name}>
              {shortName(one)}
            </option>
          ))}
        </select>
      </label>
      {containers.length > 1 ? (
        <label>
          {t("container")}{" "}
          <select
            value={chosen.container || containers[0]!.name}
            onChange={(event) => setQuery({ container: event.currentTarget.value })}
          >
            {containers.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <Attempts chosen={chosen} pods={props.pods} />
      {props.names.length > 1 ? <Ranks names={props.names} chosen={chosen.ranks} /> : null}
      <label>
        {t("level")}{" "}
        <select
          value={chosen.level}
          onChange={(event) => setQuery({ level: event.currentTarget.value || null })}
        >
          <option value="">{t("levelAll")}</option>
          <option value="error">{t("levelError")}</option>
          <option value="warn">{t("levelWarn")}</option>
          <option value="info">{t("levelInfo")}</option>
          <option value="debug">{t("levelDebug")}</option>
        </select>
      </label>
      <span class="log-search">
        <input
          id="search"
          type="search"
          value={chosen.q}
          placeholder={t("search")}
          aria-label={t("search")}
          onInput={(event) => setQuery({ q: event.currentTarget.value || null })}
          onKeyDown={(event) => {
            if (event.key === "Enter") {
              event.preventDefault();
              props.step(event.shiftKey ? -1 : 1);
            }
          }}
        />
        {chosen.q ? (
          <span class="num dim" role="status">
            {matcher(chosen.q)
              ? t("found", { at: props.hits.length ? props.at + 1 : 0, count: props.hits.length })
              : t("badPattern")}
          </span>
        ) : null}
        <button
          type="button"
          class="icon"
          disabled={!props.hits.length}
          aria-label={t("previous")}
          onClick={() => props.step(-1)}
        >
          ↑
        </button>
        <button
          type="button"
          class="icon"
          disabled={!props.hits.length}
          aria-label={t("next")}
          onClick={() => props.step(1)}
        >
          ↓
        </button>
      </span>
      <label>
        <input type="checkbox" checked={chosen.times} onChange={flag("times", chosen.times)} />{" "}
        {t("times")}
      </label>
      <label>
        <input type="checkbox" checked={chosen.wrap} onChange={flag("wrap", chosen.wrap)} />{" "}
        {t("wrap")}
      </label>
      {props.sources.length > 1 ? (
        <label>
          <input
            type="checkbox"
            checked={chosen.collapse}
            onChange={() => setQuery({ collapse: chosen.collapse ? "0" : null })}
          />{" "}
          {t("collapse")}
        </label>
      ) : null}
      <span class="grow" />
      {props.sources.length === 1 ? (
        <button
          type="button"
          onClick={() =>
            savePath(`${props.names[0]}.log`, logPath(props.sources[0]!, { timestamps: "true" }))
          }
        >
          {t("download")}
        </button>
      ) : props.sources.length ? (
        <button
          type="button"
          onClick={() => downloadAll(props.jobName, props.sources, props.names)}
        >
          {t("downloadAll")}
        </button>
      ) : null}
    </div>
  );
}

/** At the end it stays at the end; the first scroll up stops that. */
function useFollowing(
  box: { current: HTMLDivElement | null },
  version: number,
  active: boolean,
): { following: boolean; toEnd: () => void } {
  const [following, setFollowing] = useState(true);
  const scroller = (): HTMLElement | null =>
    box.current?.querySelector<HTMLElement>(".log-rows") ?? null;
  useEffect(() => {
    const element = scroller();
    if (!element) return;
    let before = element.scrollTop;
    // Lines that came since the last scroll put the end further down: only going up is leaving it.
    const look = (): void => {
      if (element.scrollTop + element.clientHeight >= element.scrollHeight - 2 * ROW_PX)
        setFollowing(true);
      else if (element.scrollTop < before - 1) setFollowing(false);
      before = element.scrollTop;
    };
    const up = (event: WheelEvent): void => {
      if (event.deltaY < 0) setFollowing(false);
    };
    element.addEventListener("scroll", look, { passive: true });
    element.addEventListener("wheel", up, { passive: true });
    return () => {
      element.removeEventListener("scroll", look);
      element.removeEventListener("wheel", up);
    };
  }, [active]);
  const toEnd = (): void => {
    const element = scroller();
    if (element) element.scrollTop = element.scrollHeight;
  };
  useEffect(() => {
    if (following) toEnd();
  }, [version, following, active]);
  return {
    following,
    toEnd: () => {
      setFollowing(true);
      toEnd();
    },
  };
}

const onLink = (id: string): void => setQuery({ line: id });

/** As many lines as were asked for came: there may be more before them. */
function mayHaveOlder(follower: Follower | null, chosen: Chosen): boolean {
  return (
    follower !== null &&
    follower.counts.some((count) => count >= chosen.tail) &&
    !follower.lines.dropped &&
    chosen.tail < LINES_LIMIT
  );
}

function readOlder(chosen: Chosen): void {
  setQuery({ tail: String(Math.min(LINES_LIMIT, chosen.tail * 4)) });
}

/** Scrolling to the top reads further back; what was on top stays where it was. */
function useOlder(
  box: { current: HTMLDivElement | null },
  rows: Row[],
  chosen: Chosen,
  follower: Follower | null,
): void {
  const top = useRef<Line | null>(null);
  const possible = mayHaveOlder(follower, chosen);
  useEffect(() => {
    const element = box.current?.querySelector<HTMLElement>(".log-rows");
    if (!element || !possible) return;
    const look = (event: WheelEvent): void => {
      if (event.deltaY >= 0 || element.scrollTop > 0 || top.current) return;
      top.current = rows[0]?.line ?? null;
      readOlder(chosen);
    };
    element.addEventListener("wheel", look, { passive: true });
    return () => element.removeEventListener("wheel", look);
  }, [possible, chosen.tail, rows]);
  useEffect(() => {
    const mark = top.current;
    const index = mark
      ? rows.findIndex(
          (row) =>
            row.line.time === mark.time &&
            row.line.source === mark.source &&
            row.line.text === mark.text,
        )
      : -1;
    const element = box.current?.querySelector<HTMLElement>(".log-rows");
    if (index <= 0 || !element) return;
    top.current = null;
    element.scrollTop = index * ROW_PX;
  }, [rows]);
}

export default function Logs(props: TabProps) {
  const chosen = readChosen();
  const { sources, names } = useSources(props.pods, chosen);
  const { follower, version } = useFollower(sources, props.pods, chosen.tail);
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const [json, setJson] = useState<string | null>(null);
  const levels = LEVELS[chosen.level];
  const ranks = new Set(names.flatMap((name, i) => (chosen.ranks.includes(name) ? [i] : [])));
  const rows = useMemo<Row[]>(
    () =>
      follower
        ? rowsOf(follower.lines.all, {
            sources: ranks.size ? ranks : null,
            levels: levels ? new Set(levels) : null,
            collapse: chosen.collapse && sources.length > 1,
          })
        : [],
    [follower, version, chosen.level, chosen.collapse, chosen.ranks.join()],
  );
  const pattern = useMemo(() => matcher(chosen.q), [chosen.q]);
  const hits = useMemo(() => matches(rows, pattern), [rows, pattern]);
  const { following, toEnd } = useFollowing(box, version, rows.length > 0);
  const linked = query.value.get("line") ?? "";

  const show = (index: number): void => {
    const element = box.current?.querySelector<HTMLElement>(".log-rows");
    if (!element) return;
    if (chosen.wrap)
      element.querySelectorAll(".log-line")[index]?.scrollIntoView({ block: "center" });
    else element.scrollTop = Math.max(0, index * ROW_PX - element.clientHeight / 2);
  };
  const step = (by: number): void => {
    if (!hits.length) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    show(hits[next]!);
  };
  useEffect(() => setAt(0), [chosen.q]);
  useEffect(() => {
    const index = linked
      ? rows.findIndex((row) => `${names[row.line.source]}@${row.line.time}` === linked)
      : -1;
    if (index >= 0) show(index);
  }, [linked, rows.length > 0]);

  useOlder(box, rows, chosen, follower);
  const draw = (row: Row, index: number) => (
    <LogRow
      key={row.line.seq}
      row={row}
      names={names}
      times={chosen.times}
      pattern={pattern}
      found={hits[at] === index}
      linked={linked !== "" && `${names[row.line.source]}@${row.line.time}` === linked}
      onLink={onLink}
      onJson={setJson}
    />
  );
  const waiting = props.pods.map((pod) => pod.status?.message).find(Boolean);
  return (
    <div class="logs" ref={box}>
      <Toolbar
        chosen={chosen}
        pods={props.pods}
        sources={sources}
        names={names}
        jobName={props.job.metadata.name}
        hits={hits}
        at={at}
        step={step}
      />
      {[...(follower?.problems ?? [])]
        .filter(([i]) => !follower?.lines.all.some((line) => line.source === i))
        .map(([i, message]) => (
          <p key={i} class="dim" role="status">
            {t("failed", { name: names[i] ?? "", message })}
          </p>
        ))}
      {follower && follower.lines.dropped > 0 ? (
        <p class="dim">{t("dropped", { count: follower.lines.dropped })}</p>
      ) : null}
      {mayHaveOlder(follower, chosen) ? (
        <p>
          <button type="button" onClick={() => readOlder(chosen)}>
            {t("older")}
          </button>
        </p>
      ) : null}
      {!rows.length ? (
        <Empty title={t("empty")}>
          <p>{waiting ? t("waiting", { message: say(waiting, lang.value) }) : t("emptyHint")}</p>
        </Empty>
      ) : chosen.wrap ? (
        <div class="log-rows wrapped" tabIndex={0} role="region" aria-label={t("log")}>
          {rows
            .slice(-WRAPPED_LIMIT)
            .map((row, i) => draw(row, i + Math.max(0, rows.length - WRAPPED_LIMIT)))}
        </div>
      ) : (
        <VirtualList
          class="log-rows"
          label={t("log")}
          count={rows.length}
          rowHeight={ROW_PX}
          render={(i) => draw(rows[i]!, i)}
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
          {follower && sources.length > 0 && follower.ended.size === sources.length
            ? ` · ${t("ended")}`
            : ""}
        </span>
        {following ? null : (
          <button type="button" class="primary" onClick={toEnd}>
            ↓ {t("newest")}
          </button>
        )}
      </div>
    </div>
  );
}
