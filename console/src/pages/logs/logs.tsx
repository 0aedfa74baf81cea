// One search over the logs of all jobs of a project: of those that run, and what was kept of pods
// that are gone. The server searches one log after the other; each line leads to its place.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Failure, list } from "../../data/api.ts";
import { useJobs } from "../../data/jobs.ts";
import { corePath } from "../../data/kinds.ts";
import { session } from "../../data/session.ts";
import type { Job, Pod } from "../../data/types.ts";
import { tc, texts, translator } from "../../i18n/index.ts";
import { jobHref } from "../../lib/jobs.ts";
import Logs from "../../logs/logs.tsx";
import type { Source } from "../../logs/follow.ts";
import { LogRow } from "../../logs/row.tsx";
import { lineOf, matcher, type Row } from "../../logs/lines.ts";
import {
  podLogs,
  NoSearch,
  searchProblem,
  questionOf,
  searchLog,
  type Found,
} from "../../logs/search.ts";
import { attemptOf, gonePod, isGone, shortName } from "../../logs/sources.ts";
import { LEVELS } from "../../logs/tools.tsx";
import { project } from "../../project.tsx";
import { query, setQuery } from "../../router.ts";
import { Empty, Loading } from "../../ui/notice.tsx";

const t = translator(
  texts({
    zh: {
      what: "在项目 {ns} 的所有日志中搜索（/正则/）",
      go: "搜索",
      hint: "搜索正在运行的和已结束的 Job 的日志，以及已删除副本所保留的日志。",
      progress: "已搜索 {done}/{all} 份日志，{count} 处匹配",
      hits: "{count} 处",
      none: "没有找到",
      failed: "{name}：{message}",
      gone: "已删除",
      levels: "级别",
      levelAll: "全部级别",
      error: "错误",
      warn: "警告",
    },
    en: {
      what: "Search all logs of project {ns} (/pattern/)",
      go: "Search",
      hint: "Looks through the logs of jobs that run or have ended, and what was kept of replicas that are gone.",
      progress: "{done} of {all} {all|log|logs} searched, {count} {count|hit|hits}",
      hits: "{count} {count|hit|hits}",
      none: "Nothing found",
      failed: "{name}: {message}",
      gone: "deleted replica",
      levels: "Level",
      levelAll: "All levels",
      error: "Errors",
      warn: "Warnings",
    },
  }),
);

const LINES_EACH = 5;

interface Result {
  pod: Pod;
  source: Source;
  found: Found[];
  count: number;
  error: string;
}

/** The pods whose logs there are, the newest first. */
async function allPods(ns: string, signal: AbortSignal): Promise<Pod[]> {
  const [pods, kept] = await Promise.all([
    list<Pod>(corePath("pods", ns), signal),
    podLogs(ns, signal),
  ]);
  const started = pods.filter((pod) =>
    pod.status?.containerStatuses?.some((one) => one.state?.running ?? one.state?.terminated),
  );
  started.sort(
    (a, b) =>
      b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp) ||
      a.metadata.name.localeCompare(b.metadata.name, "en", { numeric: true }),
  );
  return [
    ...started,
    ...kept
      .filter((one) => !pods.some((pod) => pod.metadata.uid === one.uid))
      .map((one) => {
        const pod = gonePod(one, ns, null);
        return one.owner
          ? {
              ...pod,
              metadata: {
                ...pod.metadata,
                ownerReferences: [{ uid: one.owner, kind: "", name: "", apiVersion: "" }],
              },
            }
          : pod;
      }),
  ];
}

function sourcesOf(pod: Pod): Source[] {
  return (pod.spec?.containers ?? []).map((one) => ({
    ns: pod.metadata.namespace ?? "default",
    pod: pod.metadata.name,
    container: one.name,
    previous: false,
    uid: isGone(pod) ? pod.metadata.uid : undefined,
  }));
}

function useResults(ns: string, q: string, level: string) {
  const [state, setState] = useState<{ results: Result[]; done: number; all: number } | null>(null);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    const gone = new AbortController();
    setState(null);
    setFailure("");
    if (!q) return;
    const run = async (): Promise<void> => {
      const pods = await allPods(ns, gone.signal);
      const wanted = pods.flatMap((pod) => sourcesOf(pod).map((source) => ({ pod, source })));
      const results: Result[] = [];
      let done = 0;
      const tell = (): void => {
        if (!gone.signal.aborted) setState({ results: [...results], done, all: wanted.length });
      };
      tell();
      await Promise.all(
        wanted.map(async ({ pod, source }) => {
          const mine: Result = { pod, source, found: [], count: 0, error: "" };
          try {
            const end = await searchLog(
              source,
              {
                ...questionOf(q),
                levels: LEVELS[level] ?? null,
                lines: LINES_EACH,
                count: true,
              },
              gone.signal,
              (one) => mine.found.push(one),
            );
            mine.count = end.count;
          } catch (error) {
            mine.error = error instanceof NoSearch ? "" : (error as Error).message;
          }
          done++;
          if (mine.count || mine.error) results.push(mine);
          tell();
        }),
      );
    };
    run().catch((error: Failure) => {
      if (error.name !== "AbortError") setFailure(error.message);
    });
    return () => gone.abort();
  }, [ns, q, level]);
  return { state, failure };
}

/** Where a line of this log is: in its job's page, or on a page of its own. */
function hrefOf(result: Result, job: Job | undefined, q: string, at: string): string {
  const { pod, source } = result;
  const gone = isGone(pod);
  const name = job ? shortName(named(pod, job)) : pod.metadata.name;
  const where = new URLSearchParams({ q, container: source.container, line: `${name}@${at}` });
  if (!job)
    return `/logs/${encodeURIComponent(source.ns)}/${encodeURIComponent(source.pod)}/${pod.metadata.uid}?${where}`;
  where.set("replica", source.pod);
  if (gone) where.set("attempt", String(attemptOf(pod)));
  return `${jobHref(job, "logs")}?${where}`;
}

/** With the labels its job's page will give it. */
function named(pod: Pod, job: Job): Pod {
  if (!isGone(pod)) return pod;
  const kept = {
    pod: pod.metadata.name,
    uid: pod.metadata.uid,
    owner: "",
    attempt: attemptOf(pod),
    leftMs: 0,
    bytes: 0,
    containers: [],
  };
  return gonePod(kept, pod.metadata.namespace ?? "", job);
}

function Results(props: { result: Result; job: Job | undefined; q: string }) {
  const { result, job, q } = props;
  const { pod, source } = result;
  const pattern = useMemo(() => matcher(q), [q]);
  const title = job ? `${job.metadata.name} / ${shortName(named(pod, job))}` : pod.metadata.name;
  return (
    <section class="found-log">
      <h2>
        <a href={hrefOf(result, job, q, result.found[0]?.at ?? "0.0")}>{title}</a>{" "}
        <span class="dim num">
          {t("hits", { count: result.count })}
          {isGone(pod) ? ` · ${t("gone")}` : ""}
          {(pod.spec?.containers?.length ?? 0) > 1 ? ` · ${source.container}` : ""}
        </span>
      </h2>
      {result.error ? (
        <p class="dim">{t("failed", { name: title, message: searchProblem(result.error) })}</p>
      ) : (
        <div class="log-rows found-rows">
          {result.found.map((one, i) => {
            const line = { ...lineOf(0, one.time, one.at, one.text, one.cut === true), seq: i };
            const row: Row = { line, sources: [0], others: [] };
            return (
              <a key={one.at} class="found-line" href={hrefOf(result, job, q, one.at)}>
                <LogRow
                  row={row}
                  names={[""]}
                  times={false}
                  pattern={pattern}
                  found={false}
                  linked={false}
                />
              </a>
            );
          })}
        </div>
      )}
    </section>
  );
}

/** The log of a pod that is gone, and its job too. */
function GoneLog(props: { ns: string; uid: string }) {
  const [pod, setPod] = useState<Pod | null | undefined>(undefined);
  useEffect(() => {
    const gone = new AbortController();
    podLogs(props.ns, gone.signal).then(
      (all) => {
        const mine = all.find((one) => one.uid === props.uid);
        setPod(mine ? gonePod(mine, props.ns, null) : null);
      },
      () => setPod(null),
    );
    return () => gone.abort();
  }, [props.ns, props.uid]);
  const pods = useMemo(() => (pod ? [pod] : []), [pod]);
  if (pod === undefined) return <Loading />;
  if (pod === null) return <Empty title={tc("notFound")} />;
  const job = { metadata: { ...pod.metadata, uid: `of-${props.uid}` } } as Job;
  return (
    <section>
      <nav class="crumbs" aria-label="breadcrumb">
        <a href="/logs">{tc("logSearch")}</a> › <span aria-current="page">{pod.metadata.name}</span>
      </nav>
      <h1>{pod.metadata.name}</h1>
      <Logs job={job} pods={pods} rest="" />
    </section>
  );
}

function Search() {
  const ns = project.value || (session.value?.namespace ?? "default");
  const q = query.value.get("q") ?? "";
  const level = query.value.get("level") ?? "";
  const [text, setText] = useState(q);
  const { state, failure } = useResults(ns, q, level);
  const jobs = useJobs();
  const jobOf = (pod: Pod): Job | undefined =>
    jobs.items.find((job) =>
      pod.metadata.ownerReferences?.some((one) => one.uid === job.metadata.uid),
    );
  const count = state?.results.reduce((sum, one) => sum + one.count, 0) ?? 0;
  return (
    <section>
      <div class="page-head">
        <h1>{tc("logSearch")}</h1>
      </div>
      <form
        class="log-tools"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery({ q: text || null });
        }}
      >
        <input
          id="search"
          class="grow"
          type="search"
          value={text}
          placeholder={t("what", { ns })}
          aria-label={t("what", { ns })}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <label>
          {t("levels")}{" "}
          <select
            value={level}
            onChange={(event) => setQuery({ level: event.currentTarget.value || null })}
          >
            <option value="">{t("levelAll")}</option>
            <option value="error">{t("error")}</option>
            <option value="warn">{t("warn")}</option>
          </select>
        </label>
        <button type="submit" class="primary">
          {t("go")}
        </button>
      </form>
      {failure ? <p role="alert">{failure}</p> : null}
      {!q ? <p class="dim">{t("hint")}</p> : null}
      {state ? (
        <p class="dim num" role="status">
          {t("progress", { done: state.done, all: state.all, count })}
        </p>
      ) : null}
      {state && state.done === state.all && !state.results.length ? (
        <Empty title={t("none")} />
      ) : null}
      {state?.results.map((one) => (
        <Results
          key={`${one.pod.metadata.uid}/${one.source.container}`}
          result={one}
          job={jobOf(one.pod)}
          q={q}
        />
      ))}
    </section>
  );
}

export default function LogsPage(props: { rest: string }) {
  const [ns = "", , uid = ""] = props.rest.split("/");
  return uid ? <GoneLog ns={ns} uid={uid} /> : <Search />;
}
