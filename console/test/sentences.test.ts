// The table of sentences against the C source that writes them: every sentence is in the table, and
// every row of the table is written somewhere.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { SENTENCES } from "../src/i18n/sentences.ts";
import { say } from "../src/lib/say.ts";

const SRC = "../src"; // test.mjs runs in the console's folder
const read = (file: string): string => readFileSync(path.join(SRC, file), "utf8");
const inFolder = (folder: string, ext: string): string[] =>
  readdirSync(path.join(SRC, folder))
    .filter((name) => name.endsWith(ext))
    .map((name) => `${folder}/${name}`);

/** Where sentences are written. Of agent and runtime not what err_set says: those are details inside
 * sentences, or for the log. */
const FILES = [
  ...inFolder("core", ".c"),
  ...inFolder("agent", ".c"),
  ...["worker", "launch", "oom"].map((name) => `runtime/${name}.c`),
];
const OTHERS = ["server/quota.c", "server/limit_range.c", "agent/volumes.c"]; // rows may be from there
const ASIDE = [/^popen$/, /^log_/, /^err_/, /^complain$/, /^strn?cmp$/, /^strlen$/, /^strstr$/, /^fprintf$/, /^buf_add/]; // prettier-ignore

/** Of two words or more, but no sentences. */
const NO_SENTENCES = [
  '" is forbidden: ', // core/job_why.c looks for it
  '" is invalid: ',
  "can never fit",
  " GPU shares", // a unit
  " GPU share",
  "out of memory", // for the log
  "not measured", // agent/node.c: conditions of nodes, as the kubelet has them
  "muster runs pods on this machine",
  "character device", // inside an err_set
  "block device",
  'LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=libcurl-gnutls.so.4 "$MUSTER_LISTED" 2>/dev/null',
];

/** What job_why.c says of failures the console says from status.failure (lib/failure.ts). */
const FROM_DATA = [
  "{} ended with exit code 0 while {} still needed it",
  "{}, and with it {}",
  "{} {} has failed: {}; restartPolicy {} does not restart it",
  "{} {} has failed: {}; no restart is allowed (backoffLimit 0)",
  "{} {} has failed: {}; the restart budget is spent ({} of {})",
  "{} {} has failed: it ran longer than activeDeadlineSeconds ({} s)",
  "{}; {} more failed",
  "at once",
  "after {} s",
  "{}; restart {} of {} follows {}",
];

interface Literal {
  text: string;
  calls: string[];
}

/** The string literals of a C file, joined as the compiler does. */
function literalsOf(source: string, macros: Map<string, string>): Literal[] {
  const found: Literal[] = [];
  const calls: string[] = [];
  let open: Literal | null = null;
  let word = "";
  const take = (text: string): void => {
    open ??= { text: "", calls: [...calls] };
    open.text += text;
  };
  const token =
    /\/\*[^]*?\*\/|^#define[^\n]*(?:\\\n[^\n]*)*|^#include[^\n]*|'(?:\\.|[^'\\])*'|"((?:\\.|[^"\\])*)"|([A-Za-z_]\w*)|\s+|[^]/gm;
  for (const [all, literal, name] of source.matchAll(token)) {
    if (all.startsWith("/*") || all.startsWith("#") || !all.trim()) continue;
    if (literal !== undefined)
      take(literal.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c)));
    else if (name !== undefined && macros.has(name)) take(macros.get(name)!);
    else {
      if (open) found.push(open);
      open = null;
      if (all === "(") calls.push(word);
      if (all === ")") calls.pop();
      word = name ?? "";
    }
  }
  return open ? [...found, open] : found;
}

/** {} for each value; values that follow each other are one. */
function rowOf(format: string): string {
  return format
    .replace(/%%/g, "\0")
    .replace(/%[-0-9.*]*(?:ll|[lzh])*[a-zA-Z]/g, "{}")
    .replace(/(\{\})+/g, "{}")
    .replace(/\0/g, "%");
}

function formatsOf(file: string): (Literal & { row: string })[] {
  const macros = new Map([
    ["PRId64", "d"],
    ["PRIu64", "u"],
  ]);
  const own = read(file);
  const headers = file.startsWith("core/") ? inFolder("core", ".h").map(read) : [];
  if (own.includes("ANNOTATION_WRITER_ENTERS")) headers.push(read("api/object.h"));
  for (const source of [...headers, own])
    for (const [, name, text] of source.matchAll(/^#define (\w+)\s+"((?:\\.|[^"\\])*)"/gm))
      macros.set(name!, text!);
  if (own.includes("THREADS_VARIABLE")) macros.set("THREADS_VARIABLE", "%s");
  return literalsOf(own, macros).map((one) => ({ ...one, row: rowOf(one.text) }));
}

test("every sentence of the source has its Chinese", () => {
  const missing = FILES.flatMap((file) =>
    formatsOf(file)
      .filter(({ text, row, calls }) => {
        const words = row.replaceAll("{}", "").match(/[A-Za-z']+/g) ?? [];
        const sentence = words.length >= 2 && row.includes(" ") && !row.includes("\n");
        const aside = calls.some((call) => ASIDE.some((one) => one.test(call)));
        const none = NO_SENTENCES.includes(text) || /^PATH=|(?<!kubectl )\bexec \w/.test(text); // a shell script
        return sentence && !aside && !none && !(row in SENTENCES) && !FROM_DATA.includes(row);
      })
      .map(({ row }) => `${file}: ${row}`),
  );
  assert.deepEqual(missing, []);
});

test("every row is a sentence of the source", () => {
  const rows = new Set(
    [...FILES, ...OTHERS].flatMap((file) => formatsOf(file).map((one) => one.row)),
  );
  // What the API refuses with is cut at "is forbidden: " before it gets into a sentence.
  const cut = [...rows].map((row) => row.slice(row.indexOf(" is forbidden: ") + 15));
  const known = new Set([...rows, ...cut]);
  assert.deepEqual(
    [...Object.keys(SENTENCES), ...FROM_DATA].filter((row) => !known.has(row)),
    [],
  );
});

test("every row's Chinese has its values, and no others", () => {
  for (const [row, zh] of Object.entries(SENTENCES)) {
    const values = row.split("{}").length - 1;
    const used = [...zh.matchAll(/\{(\d+)\+?\}/g)].map(([, n]) => Number(n));
    assert.ok(
      used.every((n) => n >= 1 && n <= values),
      row,
    );
    assert.doesNotMatch(zh.replace(/\{\d+\+?\}/g, ""), /[{}]/, row);
    const text = row.split("{}").reduce((all, piece, i) => `${all}v${i}${piece}`);
    if (/^[A-Za-z]/.test(row)) assert.notEqual(say(text, "zh"), text, row);
  }
});
