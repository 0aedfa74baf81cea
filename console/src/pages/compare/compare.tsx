// Runs beside each other: their curves by tag, a table of what differs, parameters against a metric.
// The address holds all of it: which jobs, the order, what is drawn and how.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSummaries } from "../../curves/many.ts";
import { DrawingTools, readDrawing } from "../../curves/tools.tsx";
import { useJobs } from "../../data/jobs.ts";
import type { Job } from "../../data/types.ts";
import { lang, tc, translator } from "../../i18n/index.ts";
import { compareTexts } from "../../i18n/compare.ts";
import { isName, readJobs } from "../../lib/compare.ts";
import { labelsOf } from "../../lib/filter.ts";
import { query, setQuery } from "../../router.ts";
import { Empty, Loading, Problem } from "../../ui/notice.tsx";
import { Curves } from "./curves.tsx";
import { Parallel, Scatter } from "./pictures.tsx";
import {
  columnOf,
  columnsOf,
  defaultSort,
  runsOf,
  sorted,
  tagsOf,
  valueOf,
  type Column,
} from "./rows.ts";
import { RunTable } from "./table.tsx";
import "../../style/metrics.css";
import "../../style/compare.css";

const t = translator(compareTexts);
const AXES = 9; // of the parallel coordinates; more could not be read

function Select(props: {
  label: string;
  name: string;
  value: string;
  none?: string;
  options: { value: string; text: string }[];
}) {
  return (
    <label>
      {props.label}{" "}
      <select
        value={props.value}
        onChange={(event) => setQuery({ [props.name]: event.currentTarget.value || null })}
      >
        {props.none === undefined ? null : <option value="">{props.none}</option>}
        {props.options.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

const plain = (values: string[]): { value: string; text: string }[] =>
  values.map((value) => ({ value, text: value }));

/** The same jobs as long as they are the same: a job that moves on must not draw all anew. */
function useChosen(all: Job[]): Job[] {
  const q = query.value;
  const jobs = readJobs(all, q.get("jobs"), q.get("label"));
  return useMemo(
    () => jobs,
    [jobs.map((job) => `${job.metadata.uid}${job.metadata.resourceVersion}`).join()],
  );
}

/** After new figures it follows when the page has nothing else to do: thousands of cells must not hold
 * up the curves. */
function WhenIdle(props: { figures: unknown; children: ComponentChildren }) {
  const [ready, setReady] = useState<unknown>(null);
  const last = useRef<ComponentChildren>(null);
  useEffect(() => {
    const asked = requestIdleCallback(() => setReady(props.figures), { timeout: 1000 });
    return () => cancelIdleCallback(asked);
  }, [props.figures]);
  if (ready === props.figures) last.current = props.children;
  return <>{last.current}</>;
}

function Comparison(props: { jobs: Job[] }) {
  const q = query.value;
  const summaries = useSummaries(props.jobs);
  const runs = useMemo(() => runsOf(props.jobs, summaries), [props.jobs, summaries]);
  const drawing = readDrawing();
  const all = q.get("columns") === "all";
  const hide = q.get("hide") ?? "";
  const hidden = useMemo(() => new Set(hide.split(",").filter(Boolean)), [hide]);
  const shown = useMemo(
    () => (hidden.size ? runs.filter((run) => !hidden.has(run.job.metadata.name)) : runs),
    [runs, hidden],
  );
  const tags = useMemo(() => tagsOf(runs), [runs]);
  const columns = useMemo(() => columnsOf(runs, tags, all), [runs, tags, all]);
  const sort = q.get("sort") ?? defaultSort(tags);
  const rows = useMemo(() => sorted(runs, sort), [runs, sort]);
  const metrics = columns.filter((one) => one.kind === "last" || one.kind === "best");
  const parameters = useMemo(
    () => columnsOf(runs, [], false).filter((one) => !isName(runs.map((run) => valueOf(run, one)))),
    [runs],
  );
  const metric = columnOf(q.get("y") ?? metrics.find((one) => one.kind === "best")?.id ?? "best:");
  const parameter = q.get("x") ? columnOf(q.get("x")!) : parameters[0];
  const labels = [...new Set(runs.flatMap((run) => Object.keys(run.labels)))].sort();
  const reading = runs.some((run) => !run.summary || run.summary.reading);
  const without = runs.filter((run) => run.summary && !run.figures.size).length;
  const options = (list: Column[]): { value: string; text: string }[] =>
    list.map((one) => ({
      value: one.id,
      text: one.kind === "last" || one.kind === "best" ? `${one.name} ${t(one.kind)}` : one.name,
    }));
  // What is dragged over or smoothed must not make rows anew.
  const table = useMemo(
    () => (
      <RunTable
        runs={rows}
        columns={columns}
        sort={sort}
        hidden={hidden}
        hide={(run) => {
          const { name } = run.job.metadata;
          const next = new Set(hidden);
          if (!next.delete(name)) next.add(name);
          setQuery({ hide: [...next].join(",") || null });
        }}
      />
    ),
    [rows, columns, sort, hidden, lang.value],
  );
  const pictures = useMemo(
    () => ({
      parallel: <Parallel runs={shown} columns={[...parameters.slice(0, AXES - 1), metric]} />,
      scatter: parameter ? <Scatter runs={shown} x={parameter} y={metric} /> : null,
    }),
    [shown, parameters, metric.id, parameter?.id, lang.value],
  );
  return (
    <>
      <div class="section-head log-tools">
        <DrawingTools drawing={drawing} />
        <Select
          label={t("group")}
          name="group"
          value={q.get("group") ?? ""}
          none={t("noGroup")}
          options={plain(labels)}
        />
        <span class="dim" role="status">
          {reading ? t("reading") : without ? t("noCurves", { count: without }) : ""}
        </span>
      </div>
      <h2>{t("curves")}</h2>
      <Curves
        tags={tags.filter((tag) => tag.toLowerCase().includes(drawing.search))}
        runs={runs}
        shown={shown}
        summaries={summaries}
        how={{ ...drawing, group: q.get("group") ?? "" }}
      />
      <div class="section-head">
        <h2>{t("table")}</h2>
        <label>
          <input
            type="checkbox"
            checked={all}
            onChange={() => setQuery({ columns: all ? null : "all" })}
          />{" "}
          {t("all")}
        </label>
      </div>
      <WhenIdle figures={runs}>{table}</WhenIdle>
      <div class="section-head">
        <h2>{t("parallel")}</h2>
        <Select label={t("metric")} name="y" value={metric.id} options={options(metrics)} />
      </div>
      <WhenIdle figures={runs}>{pictures.parallel}</WhenIdle>
      {parameter ? (
        <>
          <div class="section-head">
            <h2>{t("scatter")}</h2>
            <Select
              label={t("parameter")}
              name="x"
              value={parameter.id}
              options={options(parameters)}
            />
          </div>
          <WhenIdle figures={runs}>{pictures.scatter}</WhenIdle>
        </>
      ) : null}
    </>
  );
}

export default function ComparePage() {
  const { items, loaded, failure } = useJobs();
  const jobs = useChosen(items);
  const labels = useMemo(() => labelsOf(items), [items]);
  return (
    <section class="compare">
      <nav class="crumbs" aria-label={tc("jobs")}>
        <a href="/jobs">{tc("jobs")}</a> › {t("title")}
      </nav>
      <div class="page-head">
        <h1>{t("title")}</h1>
        <span class="dim num">{t("runs", { count: jobs.length })}</span>
        <span class="grow" />
        <Select
          label={t("label")}
          name="label"
          value={query.value.get("label") ?? ""}
          none={t("noLabel")}
          options={plain(labels)}
        />
      </div>
      {failure ? <Problem failure={failure} /> : null}
      {jobs.length ? (
        <Comparison jobs={jobs} />
      ) : loaded ? (
        <Empty title={t("none")}>
          <p>{t("noneHint")}</p>
          <a class="button" href="/jobs">
            {tc("jobs")}
          </a>
        </Empty>
      ) : (
        <Loading />
      )}
    </section>
  );
}
