// From when to when charts are drawn, as the address has it (from=, to=: ISO times). Either end may
// be open. Pure.
import { utc, zoneMinutes } from "../lib/time.ts";
import type { Samples } from "./samples.ts";

export interface Span {
  from: number | undefined; // ms
  to: number | undefined;
}

const LEAST_MS = 10_000; // some samples must be in it

function moment(text: string | null): number | undefined {
  const ms = text ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** null: none chosen. What cannot be a span, because it ends before it begins, is "wrong". */
export function readSpan(from: string | null, to: string | null): Span | "wrong" | null {
  const span = { from: moment(from), to: moment(to) };
  if (span.from === undefined && span.to === undefined) return null;
  return span.from !== undefined && span.to !== undefined && span.from >= span.to ? "wrong" : span;
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString().replace(/\.000Z$/, "Z");
}

/** For the address: whole seconds, around what was chosen. The other way to choose is then off. */
export function spanQuery(span: Span | null): Record<string, string | null> {
  const from = span?.from === undefined ? undefined : Math.floor(span.from / 1000) * 1000;
  let to = span?.to === undefined ? undefined : Math.ceil(span.to / 1000) * 1000;
  if (from !== undefined && to !== undefined && to > from) to = Math.max(to, from + LEAST_MS);
  return { from: iso(from), to: iso(to), range: null };
}

/** A time as it is read and typed, in the zone shown: "2026-11-15 18:04:05". A browser's own field
 * would write it as its country does. */
export function toField(ms: number | undefined): string {
  return ms === undefined
    ? ""
    : new Date(ms + zoneMinutes(ms) * 60_000).toISOString().slice(0, 19).replace("T", " ");
}

/** Seconds may be left out; what is no time is undefined. */
export function fromField(text: string): number | undefined {
  const parts = /^\s*(\d{4}-\d\d?-\d\d?)[ T]+(\d\d?:\d\d(?::\d\d)?)\s*$/.exec(text);
  // Without a zone it is local time.
  return parts ? moment(`${parts[1]} ${parts[2]}${utc.value ? " UTC" : ""}`) : undefined;
}

/** Only what is in it. */
export function within(samples: Samples, span: Span | null): Samples {
  if (!span) return samples;
  const inside = samples.time.flatMap((time, i) =>
    time >= (span.from ?? 0) && time <= (span.to ?? Infinity) ? [i] : [],
  );
  if (inside.length === samples.time.length) return samples;
  const columns = Object.fromEntries(
    Object.entries(samples.columns).map(([name, one]) => [
      name,
      { ...one, values: inside.map((i) => one.values[i]!) },
    ]),
  );
  return { ...samples, time: inside.map((i) => samples.time[i]!), columns };
}
