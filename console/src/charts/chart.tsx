// A line chart over time or steps: uPlot behind our own names. Charts of one group share their cursor.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "preact/hooks";
import { dark } from "../theme.ts";

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
  format(value: number): string;
  group?: string;
  log?: boolean;
  height?: number;
  from?: number | undefined;
}

function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || name;
}

function optionsOf(props: ChartProps, width: number): uPlot.Options {
  const axis = { stroke: colourOf("--dim"), grid: { stroke: colourOf("--line"), width: 1 }, ticks: { stroke: colourOf("--line") } };
  return {
    width,
    height: props.height ?? 200,
    scales: { x: { time: props.time }, y: { distr: props.log ? 3 : 1, ...(props.log ? {} : { range: (_u: uPlot, min: number, max: number): uPlot.Range.MinMax => [Math.min(0, min), max <= 0 ? 1 : max * 1.05] }) } },
    axes: [axis, { ...axis, size: 72, values: (_u, splits) => splits.map((one) => (one === null ? "" : props.format(one))) }],
    cursor: props.group ? { sync: { key: props.group } } : {},
    legend: { live: true },
    series: [
      {},
      ...props.series.map((one) => ({
        label: one.label, stroke: colourOf(one.colour), width: one.dash ? 1 : 1.5, ...(one.dash ? { dash: [6, 4] } : {}), spanGaps: false, points: { show: false },
        value: (_u: uPlot, value: number | null) => (value === null || value === undefined ? "-" : props.format(value)),
      })),
    ],
  };
}

/** The newest values in words, for those who cannot see the lines. */
function summary(props: ChartProps): string {
  const last = (values: (number | null)[]): string => {
    for (let i = values.length - 1; i >= 0; i--) if (values[i] !== null && values[i] !== undefined) return props.format(values[i]!);
    return "-";
  };
  return `${props.label}: ${props.series.map((one) => `${one.label} ${last(one.values)}`).join(", ")}`;
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = (): uPlot.AlignedData => [props.x, ...props.series.map((one) => one.values)] as uPlot.AlignedData;
  const shape = `${props.series.map((one) => `${one.label}${one.colour}`).join()}|${props.log}|${props.time}|${dark.value}`;
  useEffect(() => {
    if (!box.current) return;
    const element = box.current;
    plot.current = new uPlot(optionsOf(props, Math.max(200, element.clientWidth)), data(), element);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, element.clientWidth), height: props.height ?? 200 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => { plot.current?.setData(data()); }, [props.x, props.series]);
  return (
    <figure class="chart">
      <figcaption>{props.label}</figcaption>
      <div ref={box} role="img" aria-label={summary(props)} />
    </figure>
  );
}
