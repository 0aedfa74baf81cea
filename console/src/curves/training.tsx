// The job's curves, drawn from its event files: no TensorBoard needed. Live while it trains.
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import { boardApi } from "../data/board.ts";
import { tc, translator } from "../i18n/index.ts";
import { trainingTexts } from "../i18n/training.ts";
import { duration } from "../lib/time.ts";
import type { TabProps } from "../pages/job/job.tsx";
import { query, setQuery } from "../router.ts";
import { Empty, Loading, Problem } from "../ui/notice.tsx";
import { formatValue, usePoints } from "./points.ts";
import { groupsOf, onOneAxis, type Axis, type Points } from "./smooth.ts";
import "../style/metrics.css";

const t = translator(trainingTexts);
const WIDTH = 800; // points per curve: about as many as there are pixels
const COLOURS = ["--info", "--warn", "--ok", "--bad", "--accent", "--dim"];

function Curve(props: { tag: string; series: Points[]; axis: Axis; weight: number; log: boolean }) {
  const { x, values } = useMemo(() => onOneAxis(props.series, props.axis, props.weight), [props.series, props.axis, props.weight]);
  return (
    <Chart label={props.tag} x={x} time={props.axis === "wall"} format={formatValue} log={props.log} group="training"
      series={props.series.map((one, i) => ({ label: one.run || ".", colour: COLOURS[i % COLOURS.length]!, values: values[i]! }))} />
  );
}

export default function Training(props: TabProps) {
  const { answer, failure } = usePoints(props.job, WIDTH);
  const q = query.value;
  const axis = (q.get("axis") as Axis | null) ?? "step";
  const weight = Math.min(0.99, Number(q.get("smooth") ?? "0"));
  const log = q.get("log") === "1";
  const search = q.get("tag") ?? "";
  const series = answer?.series ?? [];
  const byTag = useMemo(() => {
    const map = new Map<string, Points[]>();
    for (const one of series) map.set(one.tag, [...(map.get(one.tag) ?? []), one]);
    return map;
  }, [answer]);
  const groups = groupsOf([...byTag.keys()].filter((tag) => tag.toLowerCase().includes(search.toLowerCase())));
  const wall = series.flatMap((one) => one.wall);
  if (!answer) return failure ? <Problem failure={failure} /> : <Loading />;
  return (
    <div class="training">
      <div class="log-tools section-head">
        <input id="search" type="search" value={search} placeholder={t("search")} aria-label={t("search")} onInput={(event) => setQuery({ tag: event.currentTarget.value || null })} />
        <label>{t("smoothing")} <input type="range" min="0" max="0.99" step="0.01" value={weight} onInput={(event) => setQuery({ smooth: event.currentTarget.value === "0" ? null : event.currentTarget.value })} /> <span class="num">{weight.toFixed(2)}</span></label>
        <label>{t("xAxis")} <select value={axis} onChange={(event) => setQuery({ axis: event.currentTarget.value === "step" ? null : event.currentTarget.value })}><option value="step">{t("step")}</option><option value="relative">{t("relative")}</option><option value="wall">{t("wall")}</option></select></label>
        <label><input type="checkbox" checked={log} onChange={() => setQuery({ log: log ? null : "1" })} /> {t("log")}</label>
        <span class="grow" />
        {wall.length ? <span class="dim num">{duration((Math.max(...wall) - Math.min(...wall)) * 1000)}</span> : null}
        <a class="button" download={`${props.job.metadata.name}.csv`} href={boardApi(props.job, "points.csv")}>{t("csv")}</a>
      </div>
      {answer.reading ? <p class="dim" role="status">{t("reading")}</p> : null}
      {!series.length && !answer.reading ? <Empty title={t("none")}><p>{t("noneHint")}</p></Empty> : null}
      {series.length && !groups.size ? <Empty title={tc("noData")} /> : null}
      {[...groups].map(([group, tags]) => (
        <details key={group} open><summary><h2>{group || t("others")}</h2> <span class="dim num">{tags.length}</span></summary>
          <div class="chart-grid">{tags.map((tag) => <Curve key={tag} tag={tag} series={byTag.get(tag)!} axis={axis} weight={weight} log={log} />)}</div>
        </details>
      ))}
    </div>
  );
}
