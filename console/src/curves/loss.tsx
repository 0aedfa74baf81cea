// The one curve that says whether it learns, small, for the job's first page.
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import type { Job } from "../data/types.ts";
import { jobHref } from "../lib/jobs.ts";
import { formatValue, usePoints } from "./points.ts";
import { onOneAxis } from "./smooth.ts";
import "../style/metrics.css";

const WIDTH = 400;
const RUNS = 4;
const COLOURS = ["--info", "--warn", "--ok", "--bad"];

export default function LossCurve(props: { job: Job }) {
  const { answer } = usePoints(props.job, WIDTH);
  const picked = useMemo(() => {
    const series = answer?.series ?? [];
    const tag = (series.find((one) => /loss/i.test(one.tag)) ?? series[0])?.tag;
    return series.filter((one) => one.tag === tag).slice(0, RUNS);
  }, [answer]);
  const { x, values } = useMemo(() => onOneAxis(picked, "step", 0), [picked]);
  if (!picked.length || x.length < 2) return null;
  return (
    <a class="loss-curve" href={jobHref(props.job, "training")}>
      <Chart
        label={picked[0]!.tag}
        x={x}
        time={false}
        format={formatValue}
        height={150}
        series={picked.map((one, i) => ({
          label: one.run || ".",
          colour: COLOURS[i]!,
          values: values[i]!,
        }))}
      />
    </a>
  );
}
