// Times in words. One ticking clock for the whole page.
import { signal } from "@preact/signals";
import { lang } from "../i18n/index.ts";

export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

export function millis(time: string | undefined): number | undefined {
  const ms = time ? Date.parse(time) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

// Making one costs more than using it a hundred times, and every row in sight does each second.
const RELATIVE = {
  zh: new Intl.RelativeTimeFormat("zh-CN", { numeric: "auto" }),
  en: new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" }),
};

/** "3 min. ago", "3 分钟前". */
export function ago(ms: number, at: number): string {
  const seconds = Math.min(0, Math.round((ms - at) / 1000)); // a clock that is ahead of ours is not the future
  const [unit, size] = STEPS.find(([, one]) => Math.abs(seconds) >= one) ?? ["second", 1];
  const text = RELATIVE[lang.value].format(Math.trunc(seconds / size), unit);
  return lang.value === "zh" ? text.replace(/^\d+/, "$& ") : text;
}

const UNITS = { zh: [" 天", " 小时", " 分", " 秒"], en: ["d", "h", "m", "s"] };

/** "1h 5m", "42s", "1 小时 5 分": how long something took. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  const parts = [
    Math.floor(s / 86_400),
    Math.floor(s / 3_600) % 24,
    Math.floor(s / 60) % 60,
    s % 60,
  ];
  const units = UNITS[lang.value];
  const first = parts.findIndex((one) => one > 0);
  if (first < 0) return `0${units[3]}`;
  return parts
    .slice(first, first + 2)
    .map((one, i) => (one ? `${one}${units[first + i]}` : ""))
    .filter(Boolean)
    .join(" ");
}

const UTC_KEY = "muster.utc";
/** Times are shown in UTC, not in the reader's own zone. */
export const utc = signal(localStorage.getItem(UTC_KEY) === "1");
export function setUtc(on: boolean): void {
  utc.value = on;
  localStorage.setItem(UTC_KEY, on ? "1" : "0");
}

/** Minutes that the zone shown is ahead of UTC at that moment. */
export function zoneMinutes(ms: number): number {
  return utc.value ? 0 : -new Date(ms).getTimezoneOffset();
}

/** "2026-06-09T16:14:05.000" in the zone shown. */
function shown(ms: number): string {
  return new Date(ms + zoneMinutes(ms) * 60_000).toISOString().slice(0, -1);
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

/** "2026-06-09 16:14:05 UTC+8": the time in full, in the zone shown. Year first: nobody has to guess which is
 * the month. */
export function exact(ms: number): string {
  const zone = zoneMinutes(ms);
  const offset =
    zone === 0
      ? ""
      : `${zone > 0 ? "+" : "-"}${Math.floor(Math.abs(zone) / 60)}${zone % 60 ? `:${two(Math.abs(zone) % 60)}` : ""}`;
  return `${shown(ms).slice(0, 19).replace("T", " ")} UTC${offset}`;
}

/** A moment on an axis whose marks are so many seconds apart: "11-15", "16:14", "16:14:05",
 * "16:14:05.25". */
export function clock(ms: number, step: number): string {
  const text = shown(ms);
  const digits = step >= 1 ? 0 : Math.min(3, Math.ceil(-Math.log10(step) - 1e-9));
  if (step >= 86_400) return text.slice(5, 10);
  return text.slice(11, step >= 60 ? 16 : digits ? 20 + digits : 19);
}
