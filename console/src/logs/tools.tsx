// The row above a log: which replicas, which run, which level, what is searched for, how it is shown.
import { useEffect, useState } from "preact/hooks";
import { request } from "../data/api.ts";
import type { Pod } from "../data/types.ts";
import { translator } from "../i18n/index.ts";
import { logsTexts } from "../i18n/logs.ts";
import { query, setQuery } from "../router.ts";
import { Icon } from "../ui/icon.tsx";
import { DownIcon, UpIcon } from "../ui/icons.ts";
import { saveAs, savePath } from "../ui/save.ts";
import { logPath, type Source } from "./follow.ts";
import { nextRanks, type Level } from "./lines.ts";
import { searchProblem } from "./search.ts";
import { attemptOf, shortName } from "./sources.ts";
import { zip } from "./zip.ts";

const t = translator(logsTexts);

export interface Chosen {
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
}

export function readChosen(): Chosen {
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
  };
}

export const LEVELS: Record<string, Level[]> = {
  error: ["error"],
  warn: ["error", "warn"],
  info: ["error", "warn", "info"],
  debug: ["error", "warn", "info", "debug"],
};

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

function Attempts(props: { chosen: Chosen; pods: Pod[] }) {
  const picked = props.pods.filter(
    (pod) => props.chosen.replica === "all" || pod.metadata.name === props.chosen.replica,
  );
  const earlier = Math.max(0, ...picked.map(attemptOf));
  if (!earlier && !props.chosen.previous && props.chosen.attempt === undefined) return null;
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
        {on.length
          ? t("someRanks", { ranks: on.length > 3 ? String(on.length) : on.join(", ") })
          : t("ranks")}
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

/** What came of the search so far. */
export interface FoundState {
  at: number; // which hit is shown, from 0; -1: none yet
  count: number;
  counting: boolean;
  error: string;
  step: (by: number) => void;
}

/** The address has what is searched for a moment after the last key. */
function SearchBox(props: { q: string; found: FoundState }) {
  const { found } = props;
  const [text, setText] = useState(props.q);
  useEffect(() => setText(props.q), [props.q]);
  useEffect(() => {
    if (text === props.q) return;
    const timer = setTimeout(() => setQuery({ q: text || null }), 200);
    return () => clearTimeout(timer);
  }, [text]);
  const none = !found.counting && !found.count;
  return (
    <span class="log-search">
      <input
        id="search"
        type="search"
        value={text}
        placeholder={t("search")}
        aria-label={t("search")}
        aria-invalid={found.error ? "true" : undefined}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          if (text !== props.q) setQuery({ q: text || null });
          found.step(event.shiftKey ? -1 : 1);
        }}
      />
      {props.q ? (
        <span class="num dim" role="status">
          {found.error
            ? searchProblem(found.error)
            : t("found", { at: found.at + 1, count: found.count }) + (found.counting ? "…" : "")}
        </span>
      ) : null}
      <button
        type="button"
        class="icon"
        disabled={!props.q || none}
        aria-label={t("previous")}
        onClick={() => found.step(-1)}
      >
        <Icon of={UpIcon} />
      </button>
      <button
        type="button"
        class="icon"
        disabled={!props.q || none}
        aria-label={t("next")}
        onClick={() => found.step(1)}
      >
        <Icon of={DownIcon} />
      </button>
    </span>
  );
}

export function Toolbar(props: {
  chosen: Chosen;
  pods: Pod[];
  sources: Source[];
  names: string[];
  jobName: string;
  ranks: string[];
  found: FoundState;
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
      {props.ranks.length > 1 ? <Ranks names={props.ranks} chosen={chosen.ranks} /> : null}
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
      <SearchBox q={chosen.q} found={props.found} />
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
