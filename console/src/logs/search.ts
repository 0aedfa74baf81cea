// What the server finds in a log (docs/logs.md): lines from a place on or back, and how many there
// are. A server that is not ours answers with the log itself: then there is no search.
import { Failure, get, request } from "../data/api.ts";
import { lang, translator } from "../i18n/index.ts";
import { logsTexts } from "../i18n/logs.ts";
import { logPath, type Source } from "./follow.ts";

const t = translator(logsTexts);

export interface Found {
  at: string;
  time: string;
  text: string;
  cut?: boolean;
  from?: number; // of the line's bytes, the first that text has
  length?: number;
}

export interface Progress {
  scanned: number;
  total: number;
  count: number;
}

export interface SearchEnd extends Progress {
  all: boolean;
  began: string;
  next: string;
}

export interface Question {
  search: string; // "": every line
  regex?: boolean;
  ignoreCase?: boolean;
  levels?: readonly string[] | null;
  from?: string;
  back?: boolean;
  lines: number;
  count?: boolean;
}

export class NoSearch extends Error {}

/** What PCRE2 says of a pattern, by how it begins. */
const WRONG: readonly [begins: string, zh: string, en: string][] = [
  ["missing closing parenthesis", "缺少“)”", 'missing ")"'],
  ["unmatched closing parenthesis", "多了“)”", 'unmatched ")"'],
  ["missing terminating ]", "缺少“]”", 'missing "]"'],
  ["quantifier does not follow", "量词前没有可重复的内容", "nothing to repeat"],
  ["\\ at end of pattern", "末尾多了“\\”", '"\\" without a character after it'],
  ["range out of order", "字符范围的次序颠倒", "range out of order"],
  ["numbers out of order", "{} 中的次数颠倒", "numbers out of order in {}"],
  ["unrecognized character follows", "“\\”后的字符无法识别", 'unknown character after "\\"'],
];

/** Why there is no search: what is wrong with the pattern, or as the server says it. */
export function searchProblem(message: string): string {
  const [, why, at] = /not a regular expression: (.+), at character (\d+) of "/.exec(message) ?? [];
  if (why === undefined || at === undefined) return t("searchFailed", { message });
  const known = WRONG.find(([begins]) => why.startsWith(begins));
  return t("invalidPattern", { at, why: known?.[lang.value === "zh" ? 1 : 2] ?? why });
}

/** What was typed: a text in any case, or /an expression/, or /one in any case/i. */
export function questionOf(query: string): Pick<Question, "search" | "regex" | "ignoreCase"> {
  const pattern = /^\/(.+)\/(i?)$/.exec(query);
  return pattern
    ? { search: pattern[1]!, regex: true, ignoreCase: pattern[2] === "i" }
    : { search: query, ignoreCase: true };
}

function optionsOf(q: Question): Record<string, string> {
  return {
    search: q.search,
    lines: String(q.lines),
    ...(q.regex ? { regex: "true" } : {}),
    ...(q.ignoreCase ? { ignoreCase: "true" } : {}),
    ...(q.levels ? { level: q.levels.map((one) => (one === "none" ? "other" : one)).join() } : {}),
    ...(q.from ? { from: q.from } : {}),
    ...(q.back ? { back: "true" } : {}),
    ...(q.count ? { count: "true" } : {}),
  };
}

/** The objects of an answer that is one a line, as they come. */
async function eachObject(answer: Response, take: (object: unknown) => void): Promise<void> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part) take(JSON.parse(part));
    if (done) return;
  }
}

async function askJsonLines(path: string, signal: AbortSignal): Promise<Response> {
  const own = new AbortController();
  const stop = (): void => own.abort();
  signal.addEventListener("abort", stop);
  const answer = await request(path, { signal: own.signal, headers: { Accept: "*/*" } });
  if (answer.headers.get("Content-Type")?.startsWith("application/jsonl")) return answer;
  stop(); // the whole log would come
  throw new NoSearch();
}

// A browser has six connections for all tabs of a server.
const AT_ONCE = 3;
let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  while (running >= AT_ONCE) await new Promise<void>((go) => waiting.push(go));
  running++;
  try {
    return await work();
  } finally {
    running--;
    waiting.shift()?.();
  }
}

export function searchLog(
  source: Source,
  question: Question,
  signal: AbortSignal,
  onFound: (found: Found) => void,
  onProgress?: (progress: Progress) => void,
): Promise<SearchEnd> {
  return inTurn(async () => {
    signal.throwIfAborted();
    const answer = await askJsonLines(logPath(source, optionsOf(question)), signal);
    let end: SearchEnd | undefined;
    let why = "the search was broken off";
    await eachObject(answer, (object) => {
      const one = object as Partial<Found & SearchEnd & { error: string; end: boolean }>;
      if (one.text !== undefined) onFound(one as Found);
      else if (one.error !== undefined) why = one.error;
      else if (one.end) end = one as SearchEnd;
      else onProgress?.(one as Progress);
    });
    if (!end) throw new Failure(why, 400, "BadRequest");
    onProgress?.(end);
    return end;
  });
}

export interface PodLog {
  pod: string;
  uid: string;
  owner: string; // its job's UID
  attempt: number;
  leftMs: number;
  bytes: number;
  containers: string[];
}

// A server that is not ours has not the group: it is not asked for what it cannot know.
const GROUP = "muster.dev";
let known: Promise<boolean> | undefined;

function isOurs(): Promise<boolean> {
  known ??= get<{ groups: { name: string }[] }>("/apis").then(
    (all) => all.groups.some((one) => one.name === GROUP),
    () => {
      known = undefined;
      return false;
    },
  );
  return known;
}

/** Also of pods that are gone, each once; none where the server does not know. */
export async function podLogs(ns: string, signal: AbortSignal): Promise<PodLog[]> {
  const found: PodLog[] = [];
  if (!(await isOurs())) return found;
  try {
    const path = `/apis/${GROUP}/v1/namespaces/${encodeURIComponent(ns)}/podlogs`;
    await eachObject(await askJsonLines(path, signal), (object) => {
      const one = object as PodLog;
      if (one.pod && !found.some((other) => other.uid === one.uid)) found.push(one);
    });
  } catch (error) {
    if (!(error instanceof Failure || error instanceof NoSearch)) throw error;
  }
  return found.sort((a, b) => b.leftMs - a.leftMs);
}
