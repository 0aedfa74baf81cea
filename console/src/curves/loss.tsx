// The one curve that says whether it learns, small, for the job's first page.
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import type { Job } from "../data/types.ts";
import { jobHref } from "../lib/jobs.ts";
import { formatValue, usePoints } from "./points.ts";
import { lossTag } from "../lib/loss.ts";
import { lookOf } from "../charts/palette.ts";
import { lineOf } from "./smooth.ts";
import "../style/metrics.css";

const WIDTH = 400;
const RUNS = 4;

export default function LossCurve(props: { job: Job }) {
  const { answer } = usePoints(props.job, WIDTH);
  const picked = useMemo(() => {
    const series = answer?.series ?? [];
    const tag = lossTag(series);
    return series.filter((one) => one.tag === tag).slice(0, RUNS);
  }, [answer]);
  const lines = useMemo(
    () =>
      picked.map((one, i) => ({
        label: one.run === "." ? props.job.metadata.name : one.run,
        ...lookOf(i),
        ...lineOf(one, "step", 0),
      })),
    [picked],
  );
  if (!lines.some((one) => one.x.length)) return null;
  return (
    <a class="loss-curve" href={jobHref(props.job, "training")}>
      <Chart
        label={picked[0]!.tag}
        time={false}
        fit
        format={formatValue}
        height={150}
        legend="still"
        series={lines}
      />
    </a>
  );
}
