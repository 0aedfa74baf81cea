// All ranks over time as a map: a row for each, the darker the more. For jobs with more ranks than lines
// can be told apart. Its cursor is that of the charts around it; with the keyboard, the arrow keys move
// it from cell to cell.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { pointAt, pointed } from "../charts/chart.tsx";
import { nearest } from "../charts/range.ts";
import { translator } from "../i18n/index.ts";
import { metricsTexts } from "../i18n/metrics.ts";
import { clock, exact } from "../lib/time.ts";
import { dark } from "../theme.ts";
import type { Ranks, Straggler } from "./ranks.ts";

const t = translator(metricsTexts);
const NAMES_PX = 96;
const AXIS_PX = 20;
const LEAST_ROW_PX = 4;
const ROW_PX = 14;
const MAP_PX = 420;

interface Cell {
  rank: number;
  column: number;
}

function shadeOf(): (share: number) => string {
  const style = getComputedStyle(document.documentElement);
  const bg = style.getPropertyValue("--bg-soft").trim();
  const full = style.getPropertyValue("--info").trim();
  return (share) => `color-mix(in oklab, ${full} ${Math.round(6 + 94 * share)}%, ${bg})`;
}

/** The lightest is nothing, the darkest the most there is. Without the cursor, which moves more often
 * than this changes. */
function drawMap(
  width: number,
  ranks: Ranks,
  most: number,
  rowPx: number,
  odd: ReadonlySet<number>,
): HTMLCanvasElement {
  const ratio = devicePixelRatio;
  const height = ranks.ranks.length * rowPx;
  const canvas = document.createElement("canvas");
  canvas.width = width * ratio;
  canvas.height = (height + AXIS_PX) * ratio;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const shade = shadeOf();
  const shades = Array.from({ length: 33 }, (_, i) => shade(i / 32));
  const cell = (width - NAMES_PX) / Math.max(1, ranks.x.length);
  const every = Math.ceil(12 / rowPx);
  ctx.font = "11px system-ui, sans-serif";
  ctx.textBaseline = "middle";
  ranks.ranks.forEach((rank, k) => {
    const y = k * rowPx;
    rank.values.forEach((value, i) => {
      if (value === null) return;
      ctx.fillStyle = shades[Math.round(32 * Math.min(1, Math.max(0, value / most)))]!;
      const left = Math.round(i * cell);
      const right = Math.round((i + 1) * cell);
      ctx.fillRect(NAMES_PX + left, y, right - left, rowPx - (rowPx > 6 ? 1 : 0));
    });
    if (odd.has(k)) {
      ctx.fillStyle = colour("--warn");
      ctx.fillRect(NAMES_PX - 4, y, 3, rowPx - (rowPx > 6 ? 1 : 0));
    }
    const near = !odd.has(k) && [...odd].some((one) => Math.abs(one - k) < every);
    if (odd.has(k) || (k % every === 0 && !near)) {
      ctx.fillStyle = colour(odd.has(k) ? "--warn" : "--dim");
      ctx.fillText(rank.name, 0, Math.max(6, y + rowPx / 2), NAMES_PX - 8);
    }
  });
  ctx.fillStyle = colour("--dim");
  const first = ranks.x[0] ?? 0;
  const last = ranks.x.at(-1) ?? 0;
  const marks = Math.max(2, Math.floor((width - NAMES_PX) / 110));
  for (let i = 0; i < marks; i++) {
    const share = i / (marks - 1);
    ctx.textAlign = i === 0 ? "left" : i === marks - 1 ? "right" : "center";
    ctx.fillText(
      clock((first + share * (last - first)) * 1000, (last - first) / marks),
      NAMES_PX + share * (width - NAMES_PX),
      height + AXIS_PX / 2,
    );
  }
  return canvas;
}

function drawCursor(canvas: HTMLCanvasElement, ranks: Ranks, rowPx: number, at: Cell): void {
  const ctx = canvas.getContext("2d")!;
  const width = canvas.width / devicePixelRatio;
  const height = ranks.ranks.length * rowPx;
  const cell = (width - NAMES_PX) / Math.max(1, ranks.x.length);
  ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  ctx.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--text").trim();
  ctx.strokeRect(NAMES_PX + at.column * cell, 0, Math.max(1, cell), height);
  if (at.rank >= 0) ctx.strokeRect(NAMES_PX, at.rank * rowPx, width - NAMES_PX, rowPx);
}

export function Heat(props: {
  label: string;
  group: string;
  ranks: Ranks;
  odd: Straggler[];
  format: (value: number) => string;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<Cell | null>(null);
  const [width, setWidth] = useState(0);
  const { ranks } = props;
  const rowPx = Math.max(LEAST_ROW_PX, Math.min(ROW_PX, Math.floor(MAP_PX / ranks.ranks.length)));
  const most = useMemo(
    () =>
      ranks.ranks.reduce(
        (max, one) => one.values.reduce<number>((m, value) => Math.max(m, value ?? 0), max),
        0,
      ) || 1,
    [ranks],
  );
  // The cursor of another chart of the group marks the time here too.
  const other = pointed.value;
  const shared: Cell | null =
    at ??
    (other?.group === props.group && ranks.x.length
      ? { rank: -1, column: nearest(ranks.x, other.at) }
      : null);
  const map = useMemo(
    () => (width ? drawMap(width, ranks, most, rowPx, new Set(props.odd.map((one) => one.rank))) : null), // prettier-ignore
    [ranks, most, rowPx, props.odd, width, dark.value],
  );
  useEffect(() => {
    const on = canvas.current;
    if (!on || !map) return;
    on.width = map.width; // and it is empty again
    on.height = map.height;
    on.getContext("2d")!.drawImage(map, 0, 0);
    if (shared) drawCursor(on, ranks, rowPx, shared);
  }, [map, shared?.rank, shared?.column]);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(canvas.current?.clientWidth ?? 0));
    observer.observe(canvas.current!);
    return () => observer.disconnect();
  }, []);
  const go = (cell: Cell | null): void => {
    setAt(cell);
    pointAt(props.group, cell ? ranks.x[cell.column]! : null);
  };
  const under = (event: MouseEvent): Cell | null => {
    const box = canvas.current!.getBoundingClientRect();
    const column = Math.floor(
      ((event.clientX - box.left - NAMES_PX) / (box.width - NAMES_PX)) * ranks.x.length,
    );
    const rank = Math.floor((event.clientY - box.top) / rowPx);
    return column >= 0 && column < ranks.x.length && rank >= 0 && rank < ranks.ranks.length
      ? { rank, column }
      : null;
  };
  const onKey = (event: KeyboardEvent): void => {
    const [x, y] =
      { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ??
      [];
    if (x === undefined || y === undefined) return;
    event.preventDefault();
    const from = at ?? { rank: 0, column: ranks.x.length - 1 };
    const clamp = (n: number, length: number): number => Math.max(0, Math.min(length - 1, n));
    go({
      rank: clamp(from.rank + (at ? y : 0), ranks.ranks.length),
      column: clamp(from.column + (at ? x : 0), ranks.x.length),
    });
  };
  const here = at ? ranks.ranks[at.rank] : undefined;
  const value = here?.values[at!.column];
  const said = here
    ? `${here.name}: ${typeof value === "number" ? props.format(value) : "-"} (${exact(ranks.x[at!.column]! * 1000)})`
    : "";
  return (
    <figure class="chart heat">
      <figcaption>
        <span class="chart-title">{props.label}</span>
        <span class="chart-at dim num" role="status">
          {said}
        </span>
      </figcaption>
      <canvas
        ref={canvas}
        style={{ height: `${ranks.ranks.length * rowPx + AXIS_PX}px` }}
        tabIndex={0}
        role="img"
        aria-label={t("heatLabel", {
          label: props.label,
          count: ranks.ranks.length,
          most: props.format(most),
        })}
        onMouseMove={(event) => go(under(event))}
        onMouseLeave={() => go(null)}
        onBlur={() => go(null)}
        onKeyDown={onKey}
      />
      <p class="heat-scale dim num" aria-hidden="true">
        {props.format(0)} <span class="heat-bar" /> {props.format(most)}
      </p>
    </figure>
  );
}
