// The job's curves, drawn from its event files: no TensorBoard needed. Live while it trains.
import { useMemo, useState } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import { lookOf } from "../charts/palette.ts";
import type { Window } from "../charts/range.ts";
import { boardApi } from "../data/board.ts";
import { boardHref, useBoard } from "../data/boards.ts";
import { useJobs } from "../data/jobs.ts";
import type { Job } from "../data/types.ts";
import { tc, translator } from "../i18n/index.ts";
import { trainingTexts } from "../i18n/training.ts";
import { duration } from "../lib/time.ts";
import { BoardDialog } from "../pages/tensorboards/dialog.tsx";
import type { TabProps } from "../pages/job/job.tsx";
import { query, setQuery } from "../router.ts";
import { savePath } from "../ui/save.ts";
import { Empty, Loading, Problem } from "../ui/notice.tsx";
import { formatValue, readZoom, runLabel, usePoints, writeZoom } from "./points.ts";
import { extremes, groupsOf, lineOf, type Axis, type Points } from "./smooth.ts";
import "../style/metrics.css";

const t = translator(trainingTexts);
const WIDTH = 800; // points per curve: about as many as there are pixels

function Curve(props: {
  tag: string;
  series: Points[];
  runs: string[];
  axis: Axis;
  weight: number;
  log: boolean;
  zoom: Window | null;
}) {
  const lines = useMemo(
    () =>
      props.series.map((one) => ({
        label: one.run,
        ...lookOf(props.runs.indexOf(one.run)), // the same colour in every chart
        ...lineOf(one, props.axis, props.weight),
      })),
    [props.series, props.runs, props.axis, props.weight],
  );
  return (
    <Chart
      label={props.tag}
      xLabel={t(props.axis === "step" ? "step" : props.axis)}
      time={props.axis === "wall"}
      elapsed={props.axis === "relative"}
      fit
      format={formatValue}
      log={props.log}
      group="training"
      series={lines}
      window={props.zoom ?? undefined}
      onWindow={(next) => setQuery({ zoom: writeZoom(next) })}
    />
  );
}

/** The last, lowest and highest value of each curve. */
function Values(props: { series: Points[] }) {
  return (
    <details>
      <summary>
        <h2>{t("table")}</h2>
      </summary>
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">{t("tag")}</th>
              <th scope="col">{t("run")}</th>
              <th scope="col">{t("last")}</th>
              <th scope="col">{t("min")}</th>
              <th scope="col">{t("max")}</th>
              <th scope="col">{t("step")}</th>
            </tr>
          </thead>
          <tbody>
            {props.series.map((one) => {
              const { last, min, max } = extremes(one.value);
              const show = (n: number | null): string => (n === null ? "-" : formatValue(n));
              return (
                <tr key={`${one.tag}\n${one.run}`}>
                  <td class="mono">{one.tag}</td>
                  <td class="mono">{one.run}</td>
                  <td class="num">{show(last)}</td>
                  <td class="num">{show(min)}</td>
                  <td class="num">{show(max)}</td>
                  <td class="num">{one.step.at(-1) ?? "-"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function filesetsOf(job: Job): string[] {
  const spec = job.spec?.tensorboardSpec as { trainingLogFilesets?: string[] } | undefined;
  return spec?.trainingLogFilesets ?? [];
}

/** The TensorBoard there is, or a way to one. */
function BoardButton(props: { job: Job }) {
  const board = useBoard(props.job);
  const [making, setMaking] = useState(false);
  const { namespace = "default", name } = props.job.metadata;
  if (board)
    return (
      <a
        class="button"
        target="_blank"
        rel="noopener"
        href={boardHref(namespace, board.metadata.name)}
      >
        {t("board")}
      </a>
    );
  return (
    <>
      <button type="button" onClick={() => setMaking(true)}>
        {t("makeBoard")}
      </button>
      {making ? (
        <BoardDialog
          ns={namespace}
          name={name}
          filesets={filesetsOf(props.job)}
          onClose={() => setMaking(false)}
        />
      ) : null}
    </>
  );
}

const OTHERS = 100;

/** Another job whose curves are drawn too: "kind/namespace/name" in the address. */
function useOther(job: Job): { other: Job | null; all: Job[] } {
  const jobs = useJobs().items;
  const all = useMemo(
    () =>
      jobs
        .filter((one) => one.metadata.uid !== job.metadata.uid)
        .sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1))
        .slice(0, OTHERS),
    [jobs, job.metadata.uid],
  );
  const said = query.value.get("vs") ?? "";
  return { other: jobs.find((one) => keyOf(one) === said) ?? null, all };
}

function keyOf(job: Job): string {
  return `${job.kind}/${job.metadata.namespace}/${job.metadata.name}`;
}

function NoCurves(props: { job: Job; title: string; message?: string | undefined }) {
  return (
    <Empty title={props.title}>
      <p>{t("noneHint")}</p>
      {props.message ? <p class="dim">{props.message}</p> : null}
      <BoardButton job={props.job} />
    </Empty>
  );
}

export default function Training(props: TabProps) {
  const { answer, failure, again } = usePoints(props.job, WIDTH);
  const { other, all } = useOther(props.job);
  const compared = usePoints(other, WIDTH);
  const q = query.value;
  const axis = (q.get("axis") as Axis | null) ?? "step";
  const weight = Math.min(0.99, Number(q.get("smooth") ?? "0"));
  const log = q.get("log") === "1";
  const search = q.get("tag") ?? "";
  const zoom = readZoom(q.get("zoom"));
  const name = props.job.metadata.name;
  const mine = useMemo(
    () => (answer?.series ?? []).map((one) => ({ ...one, run: runLabel(name, one.run) })),
    [answer, name],
  );
  const series = useMemo(
    () =>
      other
        ? [
            ...mine,
            ...(compared.answer?.series ?? []).map((one) => ({
              ...one,
              run: runLabel(other.metadata.name, one.run),
            })),
          ]
        : mine,
    [mine, other, compared.answer],
  );
  const runs = useMemo(() => [...new Set(series.map((one) => one.run))], [series]);
  const byTag = useMemo(() => {
    const map = new Map<string, Points[]>();
    for (const one of series) map.set(one.tag, [...(map.get(one.tag) ?? []), one]);
    return map;
  }, [series]);
  const groups = groupsOf(
    [...byTag.keys()].filter((tag) => tag.toLowerCase().includes(search.toLowerCase())),
  );
  const wall = extremes(mine.flatMap((one) => [one.wall[0] ?? null, one.wall.at(-1) ?? null]));
  if (!answer)
    return !failure ? (
      <Loading />
    ) : failure.code === 404 ? (
      <NoCurves job={props.job} title={t("noFolder")} message={failure.message} />
    ) : (
      <Problem failure={failure} onRetry={again} />
    );
  return (
    <div class="training">
      <div class="log-tools section-head">
        <input
          id="search"
          type="search"
          value={search}
          placeholder={t("search")}
          aria-label={t("search")}
          onInput={(event) => setQuery({ tag: event.currentTarget.value || null })}
        />
        <label>
          {t("smoothing")}{" "}
          <input
            type="range"
            min="0"
            max="0.99"
            step="0.01"
            value={weight}
            onInput={(event) =>
              setQuery({
                smooth: event.currentTarget.value === "0" ? null : event.currentTarget.value,
              })
            }
          />{" "}
          <span class="num">{weight.toFixed(2)}</span>
        </label>
        <label>
          {t("xAxis")}{" "}
          <select
            value={axis}
            onChange={(event) =>
              setQuery({
                axis: event.currentTarget.value === "step" ? null : event.currentTarget.value,
                zoom: null,
              })
            }
          >
            <option value="step">{t("step")}</option>
            <option value="relative">{t("relative")}</option>
            <option value="wall">{t("wall")}</option>
          </select>
        </label>
        <label>
          <input
            type="checkbox"
            checked={log}
            onChange={() => setQuery({ log: log ? null : "1" })}
          />{" "}
          {t("log")}
        </label>
        <label>
          {t("compare")}{" "}
          <select
            value={other ? keyOf(other) : ""}
            onChange={(event) => setQuery({ vs: event.currentTarget.value || null })}
          >
            <option value="">{t("noCompare")}</option>
            {all.map((one) => (
              <option key={one.metadata.uid} value={keyOf(one)}>
                {one.metadata.name}
              </option>
            ))}
          </select>
        </label>
        {zoom ? (
          <button type="button" onClick={() => setQuery({ zoom: null })}>
            {t("unzoom")}
          </button>
        ) : null}
        <span class="grow" />
        <BoardButton job={props.job} />
        {wall.min === null || wall.max === null ? null : (
          <span class="dim num">{duration((wall.max - wall.min) * 1000)}</span>
        )}
        <button
          type="button"
          onClick={() =>
            savePath(`${props.job.metadata.name}.csv`, boardApi(props.job, "points.csv"))
          }
        >
          {t("csv")}
        </button>
      </div>
      {answer.reading ? (
        <p class="dim" role="status">
          {t("reading")}
        </p>
      ) : null}
      {!series.length && !answer.reading ? (
        <NoCurves
          job={props.job}
          title={t(answer.message ? "noFolder" : "none")}
          message={answer.message}
        />
      ) : null}
      {series.length && !groups.size ? <Empty title={tc("noData")} /> : null}
      {[...groups].map(([group, tags]) => (
        <details key={group} open>
          <summary>
            <h2>{group || t("others")}</h2> <span class="dim num">{tags.length}</span>
          </summary>
          <div class="chart-grid">
            {tags.map((tag) => (
              <Curve
                key={tag}
                tag={tag}
                series={byTag.get(tag)!}
                runs={runs}
                axis={axis}
                weight={weight}
                log={log}
                zoom={zoom}
              />
            ))}
          </div>
        </details>
      ))}
      {series.length ? <Values series={series} /> : null}
    </div>
  );
}
