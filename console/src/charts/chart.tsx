// A line chart over time or steps: uPlot behind our own names. Charts of one group share their
// cursor.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "preact/hooks";
import { lang, texts, translator } from "../i18n/index.ts";
import { byteTicks } from "../lib/quantity.ts";
import { clock, exact } from "../lib/time.ts";
import { dark } from "../theme.ts";

const t = translator(
  texts({ zh: { time: "时间", step: "步数" }, en: { time: "Time", step: "Step" } }),
);

export interface Series {
  label: string;
  colour: string; // a custom property's name, such as "--info"
  dash?: boolean;
  values: (number | null)[];
}

export interface ChartProps {
  label: string;
  x: number[]; // seconds, or steps
  series: Series[];
  time: boolean;
  format: (value: number) => string;
  group?: string;
  log?: boolean;
  height?: number;
  /** From where to where the axis goes; else over all points. */
  window?: { from: number; to: number } | undefined;
  /** A part was dragged over; with it, a double click asks for the whole again (null). Without it,
   * dragging magnifies. */
  onWindow?: (window: { from: number; to: number } | null) => void;
  /** Bytes: the marks of the axis are at 256 MiB, 512 MiB, 1 GiB. */
  bytes?: boolean;
  xLabel?: string;
  xFormat?: (value: number) => string;
}

function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || name;
}

const LEAST_DRAG_PX = 5; // less is a click

/** Told to the page, which asks for the samples of that part: magnified points would show no more
 * than they did. */
function dragging(latest: { current: ChartProps }): Pick<uPlot.Options, "hooks"> {
  return {
    hooks: {
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          if (width < LEAST_DRAG_PX) return;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          latest.current.onWindow?.({
            from: u.posToVal(left, "x"),
            to: u.posToVal(left + width, "x"),
          });
        },
      ],
      ready: [(u) => u.over.addEventListener("dblclick", () => latest.current.onWindow?.(null))],
    },
  };
}

/** Charts of one group show their cursors together; a part is chosen in one of them. */
function cursorOf(props: ChartProps): uPlot.Cursor {
  return {
    ...(props.group
      ? {
          sync: {
            key: props.group,
            filters: {
              pub: (type: string) =>
                !props.onWindow || !/^(mousedown|mouseup|dblclick)$/.test(type),
            },
          },
        }
      : {}),
    ...(props.onWindow
      ? { drag: { x: true, y: false, setScale: false, dist: LEAST_DRAG_PX } }
      : {}),
  };
}

function optionsOf(
  props: ChartProps,
  width: number,
  latest: { current: ChartProps },
): uPlot.Options {
  const axis = {
    stroke: colourOf("--dim"),
    grid: { stroke: colourOf("--line"), width: 1 },
    ticks: { stroke: colourOf("--line") },
  };
  return {
    width,
    height: props.height ?? 200,
    padding: [null, 28, null, null], // the last time stands whole
    scales: {
      x: {
        time: props.time,
        ...(props.window
          ? { range: [props.window.from, props.window.to] as uPlot.Range.MinMax }
          : {}),
      },
      y: {
        distr: props.log ? 3 : 1,
        ...(props.log
          ? {}
          : {
              range: (_u: uPlot, min: number, max: number): uPlot.Range.MinMax => [
                Math.min(0, min),
                max <= 0 ? 1 : max * 1.05,
              ],
            }),
      },
    },
    axes: [
      {
        ...axis,
        ...(props.time
          ? {
              space: 80,
              values: (_u: uPlot, splits: number[], _i: number, _space: number, step: number) =>
                splits.map((one) => clock(one * 1000, step)),
            }
          : props.xFormat
            ? { values: (_u: uPlot, splits: number[]) => splits.map(props.xFormat!) }
            : {}),
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
        values: (_u, splits) => splits.map((one) => (one === null ? "" : props.format(one))),
      },
    ],
    cursor: cursorOf(props),
    ...(props.onWindow ? dragging(latest) : {}),
    legend: { live: true },
    series: [
      {
        label: props.xLabel ?? t(props.time ? "time" : "step"),
        value: (_u: uPlot, value: number | null) =>
          value === null || value === undefined
            ? "-"
            : props.time
              ? exact(value * 1000)
              : (props.xFormat ?? String)(value),
      },
      ...props.series.map((one) => ({
        label: one.label,
        stroke: colourOf(one.colour),
        width: one.dash ? 1 : 1.5,
        ...(one.dash ? { dash: [6, 4] } : {}),
        spanGaps: false,
        points: { show: false },
        value: (_u: uPlot, value: number | null) =>
          value === null || value === undefined ? "-" : props.format(value),
      })),
    ],
  };
}

/** The newest values in words, for those who cannot see the lines. */
function summary(props: ChartProps): string {
  const last = (values: (number | null)[]): string => {
    for (let i = values.length - 1; i >= 0; i--)
      if (values[i] !== null && values[i] !== undefined) return props.format(values[i]!);
    return "-";
  };
  return `${props.label}: ${props.series.map((one) => `${one.label} ${last(one.values)}`).join(", ")}`;
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const data = (): uPlot.AlignedData =>
    [props.x, ...props.series.map((one) => one.values)] as uPlot.AlignedData;
  const shape = `${props.series.map((one) => `${one.label}${one.colour}`).join()}|${props.log}|${props.time}|${props.xLabel}|${props.window?.from}-${props.window?.to}|${dark.value}|${lang.value}`;
  useEffect(() => {
    if (!box.current) return;
    const element = box.current;
    plot.current = new uPlot(
      optionsOf(props, Math.max(200, element.clientWidth), latest),
      data(),
      element,
    );
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({
        width: Math.max(200, element.clientWidth),
        height: props.height ?? 200,
      }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(data());
  }, [props.x, props.series]);
  return (
    <figure class="chart">
      <figcaption>{props.label}</figcaption>
      <div ref={box} role="img" aria-label={summary(props)} />
    </figure>
  );
}
