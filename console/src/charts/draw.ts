// Draws the lines of a chart, each on its own x. A line that is alone at its place is a dot; what is
// no number is a gap.
import type { Values, Window } from "./range.ts";
import { lowerBound } from "./range.ts";

/** From values to the canvas' pixels. */
export interface Place {
  x: (value: number) => number;
  y: (value: number) => number;
  window: Window;
  ratio: number; // pixels of the canvas per CSS pixel
}

const DOT = 2.5;

/** As many columns as the canvas has: of what falls into one the lowest and highest are drawn. */
export function line(
  ctx: CanvasRenderingContext2D,
  x: ArrayLike<number>,
  values: Values,
  place: Place,
): void {
  const from = Math.max(0, lowerBound(x, place.window.from) - 1);
  const end = Math.min(x.length, lowerBound(x, place.window.to) + 1);
  const dots: number[] = [];
  let first = NaN; // the column the piece began in; NaN: no piece is open
  let column = NaN;
  let low = 0;
  let high = 0;
  let last = 0;
  const flush = (): void => {
    if (low !== high) {
      ctx.lineTo(column, low);
      ctx.lineTo(column, high);
      ctx.lineTo(column, last);
    }
  };
  const endPiece = (): void => {
    flush();
    if (column === first && high - low < 1) dots.push(column, last);
    first = column = NaN;
    low = high = last;
  };
  ctx.beginPath();
  for (let i = from; i < end; i++) {
    const value = values[i];
    const y = typeof value === "number" ? place.y(value) : NaN;
    if (!Number.isFinite(y)) {
      endPiece();
      continue;
    }
    const at = Math.round(place.x(x[i]!) * 2) / 2;
    if (at === column) {
      low = Math.min(low, y);
      high = Math.max(high, y);
      last = y;
      continue;
    }
    flush();
    if (Number.isNaN(first)) ctx.moveTo((first = at), y);
    else ctx.lineTo(at, y);
    column = at;
    low = high = last = y;
  }
  endPiece();
  ctx.stroke();
  for (let i = 0; i < dots.length; i += 2) {
    ctx.beginPath();
    ctx.arc(dots[i]!, dots[i + 1]!, DOT * place.ratio, 0, 2 * Math.PI);
    ctx.fill();
  }
}

/** Between two lines of the same x. */
export function band(
  ctx: CanvasRenderingContext2D,
  x: ArrayLike<number>,
  low: Values,
  high: Values,
  place: Place,
): void {
  ctx.beginPath();
  for (let i = 0; i < x.length; i++) ctx.lineTo(place.x(x[i]!), place.y(high[i] ?? NaN));
  for (let i = x.length - 1; i >= 0; i--) ctx.lineTo(place.x(x[i]!), place.y(low[i] ?? NaN));
  ctx.closePath();
  ctx.fill();
}
