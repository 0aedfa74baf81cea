// The curves of the compared runs, a chart per tag; those out of sight ask for nothing.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart, type Series } from "../../charts/chart.tsx";
import { COLOURS, lookOf } from "../../charts/palette.ts";
import type { Window } from "../../charts/range.ts";
import { formatValue, runLabel, writeZoom } from "../../curves/points.ts";
import { useTag, type Summary } from "../../curves/many.ts";
import { lineOf, type Axis, type Points } from "../../curves/smooth.ts";
import { translator } from "../../i18n/index.ts";
import { trainingTexts } from "../../i18n/training.ts";
import { meanOf } from "../../lib/compare.ts";
import { setQuery } from "../../router.ts";
import type { Run } from "./rows.ts";

const t = translator(trainingTexts);
const WIDTH = 300; // columns of a chart, two points each at most
const MEAN_POINTS = 200;

export interface How {
  axis: Axis;
  weight: number;
  log: boolean;
  zoom: Window | null;
  group: string; // a label's name, or ""
}

function eachRun(runs: Run[], points: ReadonlyMap<string, Points[]>, how: How): Series[] {
  return runs.flatMap((run) => {
    const series = points.get(run.job.metadata.uid) ?? [];
    const { name } = run.job.metadata;
    return series.map((one) => ({
      label: series.length > 1 ? runLabel(name, one.run) : name,
      ...lookOf(run.index),
      ...lineOf(one, how.axis, how.weight),
    }));
  });
}

/** A line for each value of a label: the mean of its runs, and between which they lie. */
function eachGroup(runs: Run[], points: ReadonlyMap<string, Points[]>, how: How): Series[] {
  const values = [...new Set(runs.map((run) => run.labels[how.group] ?? "-"))].sort();
  return values.map((value, i) => {
    const members = runs.filter((run) => (run.labels[how.group] ?? "-") === value);
    const lines = members.flatMap((run) =>
      (points.get(run.job.metadata.uid) ?? []).map((one) => lineOf(one, how.axis, how.weight)),
    );
    return {
      label: `${how.group}=${value} (${members.length})`,
      ...lookOf(i),
      ...meanOf(lines, MEAN_POINTS),
    };
  });
}

function TagChart(props: {
  tag: string;
  order: number;
  runs: Run[];
  shown: Run[];
  summaries: ReadonlyMap<string, Summary>;
  how: How;
}) {
  const { how } = props;
  const box = useRef<HTMLDivElement>(null);
  const [inSight, setInSight] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (seen) => setInSight(seen.some((one) => one.isIntersecting)),
      { rootMargin: "200px" },
    );
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const jobs = useMemo(() => props.runs.map((run) => run.job), [props.runs]);
  const window = how.axis === "step" ? how.zoom : null;
  const points = useTag(jobs, props.summaries, props.tag, WIDTH, window, inSight, props.order);
  const series = useMemo(
    () => (how.group ? eachGroup : eachRun)(props.shown, points, how),
    [props.shown, points, how.axis, how.weight, how.group],
  );
  const chart = (
    <Chart
      label={props.tag}
      xLabel={t(how.axis)}
      time={how.axis === "wall"}
      elapsed={how.axis === "relative"}
      fit
      log={how.log}
      format={formatValue}
      group="compare"
      height={230}
      series={series}
      window={how.zoom ?? undefined}
      onWindow={(next) => setQuery({ zoom: writeZoom(next) })}
      legend={how.group || series.length <= COLOURS ? "still" : "none"}
    />
  );
  const last = useRef(chart);
  if (inSight) last.current = chart; // out of sight it stays as it was
  return (
    <div ref={box} class="tag-chart">
      {last.current}
    </div>
  );
}

export function Curves(props: {
  tags: string[];
  runs: Run[];
  shown: Run[];
  summaries: ReadonlyMap<string, Summary>;
  how: How;
}) {
  return (
    <div class="chart-grid">
      {props.tags.map((tag, order) => (
        <TagChart key={tag} {...props} tag={tag} order={order} />
      ))}
    </div>
  );
}
