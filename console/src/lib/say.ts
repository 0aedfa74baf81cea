// The controllers' sentences in the reader's language, by the table both sides share
// (i18n/sentences.ts), and the times in them in the zone of the page. One that is not in the table
// stays as it is.
import { SENTENCES } from "../i18n/sentences.ts";
import { exact } from "./time.ts";

interface Row {
  pieces: string[]; // what stands between the values
  zh: string;
}

const SIGNS = " ,;:(";

/** The most telling first: the one with the most words of its own. */
const ROWS: readonly Row[] = Object.entries(SENTENCES)
  .map(([text, zh]) => ({ pieces: text.split("{}"), zh, own: text.length }))
  .sort((a, b) => b.own - a.own);
/** What may follow a sentence or a value. */
const PARTS = ROWS.filter(({ pieces }) => pieces[0] && SIGNS.includes(pieces[0][0]!));
const WHOLE = ROWS.filter((row) => !PARTS.includes(row));

/** The values, if the text is these pieces with something between them. */
function valuesOf(pieces: readonly string[], text: string): string[] | null {
  const [first = "", ...rest] = pieces;
  if (!text.startsWith(first)) return null;
  const after = text.slice(first.length);
  if (!rest.length) return after ? null : [];
  const [next = ""] = rest;
  if (rest.length === 1) return after.endsWith(next) ? [after.slice(0, after.length - next.length)] : null; // prettier-ignore
  for (let at = after.indexOf(next); at >= 0; at = after.indexOf(next, at + 1)) {
    const more = valuesOf(rest, after.slice(at));
    if (more) return [after.slice(0, at), ...more];
  }
  return null;
}

/** Puts the values into the Chinese: "{2}", or "{2+}" with what may follow it. */
function filled(zh: string, values: string[]): string {
  return zh
    .split("{")
    .map((part, i) => {
      if (i === 0) return part;
      const end = part.indexOf("}");
      const value = values[Number.parseInt(part, 10) - 1] ?? "";
      const said = part[end - 1] === "+" ? followed(value) : whole(value);
      return (said ?? value) + part.slice(end + 1);
    })
    .join("");
}

/** What a sentence begins with is a name or a number, unless it is said that more may stand there; and
 * so are two values with nothing but a space between them. A parenthesis after ": " is a program's own. */
function suits(value: string, pieces: readonly string[], i: number, zh: string): boolean {
  const begins = i === 0 && (pieces[0] === "" || pieces[0] === "; ");
  const word = (begins && !zh.includes("{1+}")) || pieces[i] === " " || pieces[i + 1] === " ";
  return !(word && value.includes(" ")) && !(pieces[i + 1] === " (" && value.includes(": "));
}

function byRows(rows: readonly Row[], text: string): string | null {
  for (const { pieces, zh } of rows) {
    const values = valuesOf(pieces, text);
    if (values?.every((value, i) => suits(value, pieces, i, zh))) return filled(zh, values);
  }
  return null;
}

/** Each piece of a sentence is looked at once, however many ways lead to it. */
const looked = new Map<string, string | null>();

function once(what: string, text: string, look: () => string | null): string | null {
  const key = what + text;
  let found = looked.get(key);
  if (found === undefined) looked.set(key, (found = look()));
  return found;
}

function whole(text: string): string | null {
  return text ? once("whole", text, () => byRows(WHOLE, text)) : "";
}

/** A part, or "; " and a sentence. */
function part(text: string): string | null {
  return once("part", text, () => {
    const one = byRows(PARTS, text);
    if (one !== null || !text.startsWith("; ")) return one;
    const clause = whole(text.slice(2));
    return clause === null ? null : `；${clause}`;
  });
}

/** One part or several. */
function parts(text: string): string | null {
  return once("parts", text, () => part(text) ?? split(text, part));
}

/** What head says of the beginning, and parts after it. */
function split(text: string, head: (text: string) => string | null): string | null {
  for (let at = 1; at < text.length; at++) {
    const first = SIGNS.includes(text[at]!) ? head(text.slice(0, at)) : null;
    const rest = first === null ? null : parts(text.slice(at));
    if (rest !== null) return first + rest;
  }
  return null;
}

/** A value or a sentence, with parts after it. */
function followed(text: string): string | null {
  return once("followed", text, () => {
    const all = whole(text) ?? (SIGNS.includes(text[0]!) ? parts(text) : null);
    return all ?? split(text, (head) => whole(head) ?? head);
  });
}

/** A sentence, and sentences after it. */
function sentence(text: string): string | null {
  const all = whole(text);
  if (all !== null) return all;
  for (let at = text.indexOf("; "); at > 0; at = text.indexOf("; ", at + 1)) {
    const first = whole(text.slice(0, at));
    const rest = first === null ? null : sentence(text.slice(at + 2));
    if (rest !== null) return `${first}；${rest}`;
  }
  return null;
}

/** After words of ours only: a time in a program's own words is the program's. */
const TIME =
  /(?<=until |ended, at |began running at |最迟到 |最迟在 |Job 于 )(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z| UTC)/g;

function inZone(text: string): string {
  return text.replace(TIME, (_, day: string, time: string) => exact(Date.parse(`${day}T${time}Z`)));
}

const KNOWN = 500;
const LONGEST = 2_000; // what is longer is no sentence of ours
const said = new Map<string, string>();

export function say(message: string, lang: "zh" | "en"): string {
  return inZone(lang === "zh" ? inChinese(message) : message);
}

function inChinese(message: string): string {
  const before = said.get(message);
  if (before !== undefined) return before;
  if (said.size >= KNOWN) said.clear();
  looked.clear();
  const now = (message.length > LONGEST ? null : sentence(message)) ?? message;
  said.set(message, now);
  return now;
}

/** For a hover over what may be cut: the sentence, and as the controller wrote it. */
export function sayBoth(message: string, lang: "zh" | "en"): string {
  const now = say(message, lang);
  return now === message ? message : `${now}\n${message}`;
}
