// The job's curves, drawn from its event files: no TensorBoard needed. Live while it trains.
import { useMemo, useState } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import { lookOf } from "../charts/palette.ts";
import type { Window } from "../charts/range.ts";
import { boardApi } from "../data/board.ts";
import { appHref } from "../data/apps.ts";
import { useBoard } from "../data/boards.ts";
import { useJobs } from "../data/jobs.ts";
import { TENSORBOARDS } from "../data/kinds.ts";
import { may } from "../data/rights.ts";
import type { Job } from "../data/types.ts";
import { tc, translator } from "../i18n/index.ts";
import { trainingTexts } from "../i18n/training.ts";
import { duration } from "../lib/time.ts";
import { BoardDialog } from "../pages/tensorboards/dialog.tsx";
import type { TabProps } from "../pages/job/job.tsx";
import { compareHref, keyOf } from "../lib/compare.ts";
import { navigate, setQuery } from "../router.ts";
import { savePath } from "../ui/save.ts";
import { Empty, Loading, Problem } from "../ui/notice.tsx";
import { formatValue, runLabel, usePoints, writeZoom } from "./points.ts";
import Media from "./media.tsx";
import { DrawingTools, readDrawing } from "./tools.tsx";
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
                  <td class="num">{one.step[one.step.length - 1] ?? "-"}</td>
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
      <a class="button" target="_blank" rel="noopener" href={appHref(TENSORBOARDS, board)}>
        {t("board")}
      </a>
    );
  if (!may("create", TENSORBOARDS, namespace)) return null;
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

/** Jobs to compare with, the newest first. */
function useOthers(job: Job): Job[] {
  const jobs = useJobs().items;
  return useMemo(
    () =>
      jobs
        .filter((one) => one.metadata.uid !== job.metadata.uid)
        .sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1))
        .slice(0, OTHERS),
    [jobs, job.metadata.uid],
  );
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
  const others = useOthers(props.job);
  const drawing = readDrawing();
  const { axis, weight, log, zoom } = drawing;
  const name = props.job.metadata.name;
  const series = useMemo(
    () => (answer?.series ?? []).map((one) => ({ ...one, run: runLabel(name, one.run) })),
    [answer, name],
  );
  const runs = useMemo(() => [...new Set(series.map((one) => one.run))], [series]);
  const byTag = useMemo(() => {
    const map = new Map<string, Points[]>();
    for (const one of series) map.set(one.tag, [...(map.get(one.tag) ?? []), one]);
    return map;
  }, [series]);
  const groups = groupsOf(
    [...byTag.keys()].filter((tag) => tag.toLowerCase().includes(drawing.search)),
  );
  const wall = extremes(
    series.flatMap((one) => [one.wall[0] ?? null, one.wall[one.wall.length - 1] ?? null]),
  );
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
        <DrawingTools drawing={drawing} />
        <label>
          {t("compare")}{" "}
          <select
            value=""
            onChange={({ currentTarget: { value } }) => {
              const other = others.find((one) => keyOf(one) === value);
              if (other) navigate(compareHref([props.job, other]));
            }}
          >
            <option value="">{t("noCompare")}</option>
            {others.map((one) => (
              <option key={one.metadata.uid} value={keyOf(one)}>
                {one.metadata.name}
              </option>
            ))}
          </select>
        </label>
        {wall.min === null || wall.max === null ? null : (
          <span class="dim num">
            {t("covers", { time: duration((wall.max - wall.min) * 1000) })}
          </span>
        )}
        <span class="grow" />
        <BoardButton job={props.job} />
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
      <div class="chart-groups">
        {[...groups].map(([group, tags]) => (
          <details key={group} class={tags.length > 1 ? "several" : ""} open>
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
      </div>
      <Media job={props.job} search={drawing.search} />
      {series.length ? <Values series={series} /> : null}
    </div>
  );
}
