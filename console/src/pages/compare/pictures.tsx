// Parameters against a metric: every run as a line over parallel axes, and as a dot.
import { translator } from "../../i18n/index.ts";
import { compareTexts } from "../../i18n/compare.ts";
import { lookOf } from "../../charts/palette.ts";
import { formatValue } from "../../curves/points.ts";
import { scaleOf } from "../../lib/compare.ts";
import { navigate } from "../../router.ts";
import { jobHref } from "../../lib/jobs.ts";
import { valueOf, type Column, type Run } from "./rows.ts";

const t = translator(compareTexts);
const WIDTH = 1000;
const HEIGHT = 260;
const TOP = 34;
const BOTTOM = 14;

function nameOf(column: Column): string {
  return column.kind === "last" || column.kind === "best"
    ? `${column.name} ${t(column.kind)}`
    : column.name;
}

function said(run: Run, columns: Column[]): string {
  const facts = columns.map((one) => {
    const value = valueOf(run, one);
    return `${nameOf(one)}: ${typeof value === "number" ? formatValue(value) : (value ?? "-")}`;
  });
  return [run.job.metadata.name, ...facts].join("\n");
}

export function Parallel(props: { runs: Run[]; columns: Column[] }) {
  const { runs, columns } = props;
  if (columns.length < 2) return <p class="dim">{t("nothingDiffers")}</p>;
  const axes = columns.map((column, i) => ({
    column,
    x: 60 + (i * (WIDTH - 160)) / (columns.length - 1),
    scale: scaleOf(runs.map((run) => valueOf(run, column))),
  }));
  const y = (at: number): number => HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM);
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={t("parallel")}>
      <svg class="picture" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t("parallel")}>
        {runs.map((run) => {
          let pen = "M";
          const path = axes
            .map(({ column, scale, x }) => {
              const at = scale.place(valueOf(run, column));
              if (at === null) {
                pen = "M";
                return "";
              }
              const part = `${pen}${x.toFixed(1)} ${y(at).toFixed(1)}`;
              pen = "L";
              return part;
            })
            .join("");
          const { colour, dash } = lookOf(run.index);
          return (
            <path
              key={run.job.metadata.uid}
              class="run"
              d={path}
              style={{ stroke: `var(${colour})` }}
              stroke-dasharray={dash.join(" ")}
            >
              <title>{said(run, columns)}</title>
            </path>
          );
        })}
        {axes.map(({ column, x, scale }) => (
          <g key={column.id}>
            <line class="axis" x1={x} x2={x} y1={y(0)} y2={y(1)} />
            <text class="axis-name" x={x} y={16} text-anchor="middle">
              {nameOf(column).slice(0, 24)}
              <title>{nameOf(column)}</title>
            </text>
            {scale.marks.slice(0, 12).map((mark) => (
              <text key={mark.text} x={x + 6} y={y(mark.at) + 4}>
                {mark.text.slice(0, 16)}
              </text>
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

export function Scatter(props: { runs: Run[]; x: Column; y: Column }) {
  const xs = scaleOf(props.runs.map((run) => valueOf(run, props.x)));
  const ys = scaleOf(props.runs.map((run) => valueOf(run, props.y)));
  const width = 560;
  const px = (at: number): number => 64 + at * (width - 94);
  const py = (at: number): number => HEIGHT - 40 - at * (HEIGHT - 64);
  return (
    <svg
      class="picture scatter"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={`${nameOf(props.y)} / ${nameOf(props.x)}`}
    >
      <line class="axis" x1={px(0)} x2={px(1)} y1={py(0) + 8} y2={py(0) + 8} />
      <line class="axis" x1={px(0) - 8} x2={px(0) - 8} y1={py(0)} y2={py(1)} />
      {xs.marks.map((mark) => (
        <text key={mark.text} x={px(mark.at)} y={HEIGHT - 16} text-anchor="middle">
          {mark.text.slice(0, 12)}
        </text>
      ))}
      {ys.marks.map((mark) => (
        <text key={mark.text} x={px(0) - 14} y={py(mark.at) + 4} text-anchor="end">
          {mark.text.slice(0, 9)}
        </text>
      ))}
      <text class="axis-name" x={px(0.5)} y={HEIGHT - 1} text-anchor="middle">
        {nameOf(props.x)}
      </text>
      <text class="axis-name" x={4} y={12}>
        {nameOf(props.y)}
      </text>
      {props.runs.map((run) => {
        const [x, y] = [xs.place(valueOf(run, props.x)), ys.place(valueOf(run, props.y))];
        return x === null || y === null ? null : (
          <circle
            key={run.job.metadata.uid}
            class="dot"
            cx={px(x)}
            cy={py(y)}
            r={5}
            style={{ fill: `var(${lookOf(run.index).colour})` }}
            onClick={() => navigate(jobHref(run.job, "training"))}
          >
            <title>{said(run, [props.x, props.y])}</title>
          </circle>
        );
      })}
    </svg>
  );
}
