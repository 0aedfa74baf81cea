// A line chart over time or steps. uPlot has the axes, the cursor and what is dragged over; the lines
// are drawn here, each on its own x, so that runs with different steps stay whole. Charts of one
// group share their cursor.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { lang, texts, translator } from "../i18n/index.ts";
import { byteTicks } from "../lib/quantity.ts";
import { clock, exact } from "../lib/time.ts";
import { dark } from "../theme.ts";
import { Cut } from "../ui/cut.tsx";
import { band, line, type Place } from "./draw.ts";
import {
  ELAPSED_STEPS,
  extentOf,
  markElapsed,
  markStep,
  markValue,
  nearest,
  WHOLE_STEPS,
  xRange,
  yRange,
  type Values,
  type Window,
} from "./range.ts";
import "../style/charts.css";

const t = translator(
  texts({
    zh: {
      time: "时间",
      step: "步数",
      hide: "隐藏 {name}",
      zoomed: "显示全部",
      smoothed: "平滑后 {value}",
    },
    en: {
      time: "Time",
      step: "Step",
      hide: "Hide {name}",
      zoomed: "Show all",
      smoothed: "smoothed {value}",
    },
  }),
);

export interface Series {
  label: string;
  colour: string; // a custom property's name, such as "--info"
  dash?: boolean | number[];
  x?: ArrayLike<number>; // its own; else the chart's
  values: Values;
  pale?: Values; // behind it: what it was before it was smoothed
  band?: { low: Values; high: Values }; // around it
}

export interface ChartProps {
  label: string;
  x?: number[]; // seconds, or steps
  series: Series[];
  time: boolean;
  format: (value: number) => string;
  group?: string;
  log?: boolean;
  height?: number;
  /** From where to where the axis goes; else over all points. */
  window?: Window | undefined;
  /** A part was dragged over; a double click asks for the whole again (null). Without it, the chart
   * magnifies by itself. */
  onWindow?: (window: Window | null) => void;
  /** Bytes: the marks of the axis are at 256 MiB, 512 MiB, 1 GiB. */
  bytes?: boolean;
  /** The y axis goes over what there is; else from zero. */
  fit?: boolean;
  /** x is seconds since the beginning. */
  elapsed?: boolean;
  xLabel?: string;
  /** "none": another part of the page names the lines; the nearest one is told at the cursor.
   * "still": names only, nothing to press. */
  legend?: "none" | "still";
  /** Places on the x axis that something is said of elsewhere. */
  marks?: number[];
}

const NO_X: number[] = [];
const LEAST_DRAG_PX = 5; // less is a click
const PALE = 0.28;
const BAND = 0.16;
const NEAR_PX = 24;
const MANY = 24; // lines; more are drawn one pixel wide, which takes a tenth of the time without a GPU

function xOf(props: ChartProps, one: Series): ArrayLike<number> {
  return one.x ?? props.x ?? NO_X;
}

function xText(props: ChartProps, value: number): string {
  if (props.time) return exact(value * 1000);
  return props.elapsed ? markElapsed(value, value < 60 ? 0.01 : 1) : String(Math.round(value));
}

/** What is seen of the lines: where the axes go. */
function frameOf(props: ChartProps, shown: Series[], own: Window | null): uPlot.AlignedData {
  const window =
    props.window ?? own ?? xRange(shown.map((one) => xOf(props, one)), props.time ? 30 : 1); // prettier-ignore
  const extent = { min: Infinity, max: -Infinity };
  for (const one of shown)
    for (const values of [one.values, one.pale, one.band?.low, one.band?.high])
      if (values) extentOf(xOf(props, one), values, window, props.log ?? false, extent);
  const [min, max] = yRange(extent, props.log ? "log" : props.fit ? "fit" : "zero");
  return [
    [window.from, window.to],
    [min, max],
  ];
}

/** The lines, over what uPlot drew. */
function drawAll(u: uPlot, props: ChartProps, shown: Series[]): void {
  const { ctx, bbox } = u;
  const { min: x0, max: x1 } = u.scales["x"] as { min: number; max: number };
  const { min: y0, max: y1 } = u.scales["y"] as { min: number; max: number };
  const scale = props.log ? Math.log10 : (value: number) => value;
  const bottom = scale(y0);
  const perX = bbox.width / (x1 - x0);
  const perY = bbox.height / (scale(y1) - bottom);
  const ratio = devicePixelRatio;
  const place: Place = {
    x: (value) => bbox.left + (value - x0) * perX,
    y: (value) => bbox.top + bbox.height - (scale(value) - bottom) * perY,
    window: { from: x0, to: x1 },
    ratio,
  };
  const style = getComputedStyle(document.documentElement);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineJoin = "round";
  for (const mark of props.marks ?? []) {
    const at = place.x(mark);
    ctx.strokeStyle = ctx.fillStyle = style.getPropertyValue("--warn").trim();
    ctx.lineWidth = 2 * ratio;
    ctx.setLineDash([4 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(at - 6 * ratio, bbox.top);
    ctx.lineTo(at + 6 * ratio, bbox.top);
    ctx.lineTo(at, bbox.top + 9 * ratio);
    ctx.fill();
  }
  const hair = shown.length > MANY;
  for (const one of shown) {
    const x = xOf(props, one);
    ctx.strokeStyle = ctx.fillStyle = style.getPropertyValue(one.colour).trim() || one.colour;
    if (one.band) {
      ctx.globalAlpha = BAND;
      band(ctx, x, one.band.low, one.band.high, place);
    }
    if (one.pale) {
      ctx.globalAlpha = PALE;
      ctx.lineWidth = hair ? 1 : ratio;
      ctx.setLineDash([]);
      line(ctx, x, one.pale, place);
    }
    const dash = one.dash === true ? [6, 4] : one.dash || [];
    ctx.globalAlpha = 1;
    ctx.lineWidth = hair ? 1 : (one.dash === true ? 1 : 1.5) * ratio;
    ctx.setLineDash(dash.map((n) => n * ratio));
    line(ctx, x, one.values, place);
  }
  ctx.restore();
}

/** What the hooks of a chart that lives on look at. */
interface Latest {
  props: ChartProps;
  shown: Series[];
  told: (u: uPlot) => void;
  zoom: (window: Window | null) => void;
}

function axesOf(latest: { current: Latest }): uPlot.Axis[] {
  const { props } = latest.current;
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--dim"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line") },
  };
  const mark = props.elapsed ? markElapsed : markStep;
  const y = (one: number, apart: number): string =>
    latest.current.props.fit && !latest.current.props.log
      ? markValue(one, apart)
      : latest.current.props.format(one);
  return [
    {
      ...axis,
      size: 34,
      space: props.time || props.elapsed ? 80 : 60,
      ...(props.time ? {} : { incrs: props.elapsed ? ELAPSED_STEPS : WHOLE_STEPS }),
      values: (_u, splits, _i, _space, apart) =>
        splits.map((one) => (props.time ? clock(one * 1000, apart) : mark(one, apart))),
    },
    {
      ...axis,
      size: 72,
      ...(props.bytes
        ? {
            splits: (u: uPlot, _i: number, _min: number, max: number) =>
              byteTicks(max, Math.max(2, u.height / 50)),
          }
        : {}),
      values: (_u, splits, _i, _space, apart) =>
        splits.map((one) => (one === null ? "" : y(one, apart))),
    },
  ];
}

function optionsOf(width: number, latest: { current: Latest }): uPlot.Options {
  const { props } = latest.current;
  return {
    width,
    height: props.height ?? 200,
    padding: [null, 36, null, null], // the last time stands whole
    scales: {
      x: { time: props.time, range: (_u, min, max) => [min, max] },
      y: { distr: props.log ? 3 : 1, range: (_u, min, max) => [min, max] },
    },
    axes: axesOf(latest),
    cursor: {
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: LEAST_DRAG_PX },
      ...(props.group
        ? {
            sync: {
              key: props.group,
              // A part is chosen in one of them.
              filters: { pub: (type: string) => !/^(mousedown|mouseup|dblclick)$/.test(type) },
            },
          }
        : {}),
    },
    hooks: {
      drawSeries: [
        (u, i) => void (i === 1 && drawAll(u, latest.current.props, latest.current.shown)),
      ],
      setCursor: [
        (u) => {
          latest.current.told(u);
          const { left = -10 } = u.cursor;
          const { group } = latest.current.props;
          if (group && u.over.matches(":hover"))
            pointed.value = left >= 0 ? { group, at: u.posToVal(left, "x") } : null;
        },
      ],
      setSelect: [
        (u) => {
          const { left, width: chosen } = u.select;
          if (chosen < LEAST_DRAG_PX) return;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          latest.current.zoom({ from: u.posToVal(left, "x"), to: u.posToVal(left + chosen, "x") });
        },
      ],
      ready: [(u) => u.over.addEventListener("dblclick", () => latest.current.zoom(null))],
    },
    legend: { show: false },
    // One line nobody sees: its ends say where the axes go.
    series: [{}, { paths: () => null, points: { show: false } }],
  };
}

/** Where the pointer is on the x axis of a group, for what is no chart of lines. */
export const pointed = signal<{ group: string; at: number } | null>(null);

/** The same the other way: the cursors of a group's charts go there. */
export function pointAt(group: string, at: number | null): void {
  pointed.value = at === null ? null : { group, at };
  for (const u of uPlot.sync(group).plots) {
    const { min = 0, max = 0 } = u.scales["x"]!;
    const inside = at !== null && at >= min && at <= max;
    u.setCursor({ left: inside ? u.valToPos(at, "x") : -10, top: inside ? 0 : -10 });
  }
}

function lastOf(values: Values): number {
  let i = values.length - 1;
  while (i >= 0 && !Number.isFinite(values[i] ?? NaN)) i--;
  return i;
}

/** What was measured there; where it is smoothed, both values. */
function told(one: Series, i: number, format: (value: number) => string): string {
  const measured = (one.pale ?? one.values)[i];
  if (typeof measured !== "number") return "-";
  const smoothed = one.pale ? one.values[i] : null;
  return typeof smoothed === "number"
    ? `${format(measured)} (${t("smoothed", { value: format(smoothed) })})`
    : format(measured);
}

/** The newest values in words, for those who cannot see the lines. */
function summary(props: ChartProps): string {
  const words = props.series
    .slice(0, 12)
    .map((one) => `${one.label} ${told(one, lastOf(one.values), props.format)}`);
  return `${props.label}: ${words.join(", ")}${props.series.length > 12 ? " …" : ""}`;
}

/** A piece of the line, for a legend. */
export function Swatch(props: { colour: string; dash?: boolean | number[] | undefined }) {
  const { dash } = props;
  return (
    <svg class="swatch" width="18" height="8" aria-hidden="true">
      <line
        x1="0"
        y1="4"
        x2="18"
        y2="4"
        style={{ stroke: `var(${props.colour})` }}
        stroke-width="2.5"
        stroke-dasharray={dash === true ? "6 4" : dash ? dash.join(" ") : ""}
      />
    </svg>
  );
}

function Legend(props: {
  series: Series[];
  format: (value: number) => string;
  hidden: ReadonlySet<string>;
  toggle: ((label: string) => void) | null;
  values: { current: (HTMLElement | null)[] };
}) {
  return (
    <ul class="chart-legend">
      {props.series.map((one, i) => {
        const inside = (
          <>
            <Swatch colour={one.colour} dash={one.dash} />
            <Cut class="chart-name" text={one.label} />
            <span class="num" ref={(at: HTMLElement | null) => void (props.values.current[i] = at)}>
              {told(one, lastOf(one.values), props.format)}
            </span>
          </>
        );
        return (
          <li key={`${one.label}\n${i}`} title={one.label}>
            {props.toggle ? (
              <button
                type="button"
                class="plain"
                aria-pressed={!props.hidden.has(one.label)}
                onClick={() => props.toggle!(one.label)}
              >
                {inside}
              </button>
            ) : (
              <span class="plain">{inside}</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function toggled(set: ReadonlySet<string>, label: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(label)) next.add(label);
  return next;
}

/** What is told while the cursor is on the chart: x and the values there; or, without a legend, the
 * nearest line of the chart the pointer is on. */
function tell(
  u: uPlot,
  props: ChartProps,
  shown: Series[],
  at: HTMLElement | null,
  cells: (HTMLElement | null)[],
): void {
  const { left = -10, top = -10 } = u.cursor;
  const on = left >= 0;
  const value = on ? u.posToVal(left, "x") : 0;
  let said = on ? `${props.xLabel ?? t(props.time ? "time" : "step")} ${xText(props, value)}` : "";
  if (props.legend !== "none") {
    props.series.forEach((one, i) => {
      const here = on ? nearest(xOf(props, one), value) : lastOf(one.values);
      // The text node stays: the next values are written into it.
      const text = cells[i]?.firstChild;
      if (text) text.nodeValue = told(one, here, props.format);
    });
  } else if (on && u.over.matches(":hover")) {
    let near = NEAR_PX;
    for (const one of shown) {
      const x = xOf(props, one);
      const index = nearest(x, value);
      const here = one.values[index];
      const away = typeof here === "number" ? Math.abs(u.valToPos(here, "y") - top) : NEAR_PX;
      if (away >= near) continue;
      near = away;
      said = `${one.label}: ${told(one, index, props.format)} (${xText(props, x[index]!)})`;
    }
  }
  if (at) at.textContent = said;
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const at = useRef<HTMLSpanElement>(null);
  const cells = useRef<(HTMLElement | null)[]>([]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [own, setOwn] = useState<Window | null>(null);
  const shown = useMemo(
    () => (hidden.size ? props.series.filter((one) => !hidden.has(one.label)) : props.series),
    [props.series, hidden],
  );
  const latest = useRef<Latest>(null!);
  latest.current = {
    props,
    shown,
    told: (u) => tell(u, props, shown, at.current, cells.current),
    zoom: (window) => (props.onWindow ? props.onWindow(window) : setOwn(window)),
  };
  const shape = `${props.log}|${props.time}|${props.elapsed}|${props.bytes}|${props.group}|${props.height}|${dark.value}|${lang.value}`;
  useEffect(() => {
    if (!box.current) return;
    const element = box.current;
    const width = (): number => Math.max(200, element.clientWidth);
    plot.current = new uPlot(optionsOf(width(), latest), frameOf(props, shown, own), element);
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: width(), height: props.height ?? 200 }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  const from = props.window?.from;
  const to = props.window?.to;
  useEffect(() => {
    plot.current?.setData(frameOf(props, shown, own));
  }, [props.x, shown, from, to, own, props.fit, props.marks?.join()]);
  const words = useMemo(() => summary(props), [props.series, props.label, lang.value]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.label}</span>
        <span class="chart-at dim num" ref={at} />
        {own && !props.onWindow ? (
          <button type="button" class="small" onClick={() => setOwn(null)}>
            {t("zoomed")}
          </button>
        ) : null}
      </figcaption>
      <div ref={box} role="img" aria-label={words} />
      {props.legend === "none" ? null : (
        <Legend
          series={props.series}
          format={props.format}
          hidden={hidden}
          values={cells}
          toggle={
            props.legend === "still" || props.series.length < 2
              ? null
              : (label) => setHidden(toggled(hidden, label))
          }
        />
      )}
    </figure>
  );
}
