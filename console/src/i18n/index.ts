// Texts. Each area has one file with its keys in both languages; a key that one language lacks is a
// type error, so the build fails. t() follows the language signal: switching needs no reload.
import { signal } from "@preact/signals";
import { common } from "./common.ts";

export type Lang = "zh" | "en";
export type Texts = Record<string, string>;

/** An area's texts: the same keys in both languages, or it does not compile. */
export function texts<K extends string>(all: {
  zh: Record<K, string>;
  en: Record<K, string>;
}): typeof all {
  return all;
}

const KEY = "muster.lang";

function initial(): Lang {
  const kept = localStorage.getItem(KEY);
  if (kept === "zh" || kept === "en") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const lang = signal<Lang>(initial());

export function setLang(next: Lang): void {
  lang.value = next;
  localStorage.setItem(KEY, next);
  document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
}
document.documentElement.lang = lang.value === "zh" ? "zh-CN" : "en";

type Values = Record<string, string | number>;

/** A translator in a language that is given. */
export function inLang<K extends string>(
  area: { zh: Record<K, string>; en: Record<K, string> },
  chosen: Lang,
) {
  return (key: K, values?: Values): string => fill(area[chosen][key], values);
}

/** A translator for one area: `const t = translator(area); t("key", { name })` fills `{name}`. */
export function translator<K extends string>(area: {
  zh: Record<K, string>;
  en: Record<K, string>;
}) {
  return (key: K, values?: Values): string => fill(area[lang.value][key], values);
}

/** `{name}` is its value; `{name|replica|replicas}` the first word where that is 1, else the second. */
export function fill(text: string, values?: Values): string {
  return values
    ? text.replace(
        /\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g,
        (whole, name: string, one?: string, many?: string) => {
          const value = values[name];
          if (value === undefined) return whole;
          return one === undefined ? String(value) : value === 1 ? one : many!;
        },
      )
    : text;
}

/** Words that many pages share. */
export const tc = translator(common);
