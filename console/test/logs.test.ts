import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../src/data/types.ts";
import { spansOf } from "../src/logs/ansi.ts";
import {
  afterReturns,
  comparePlaces,
  levelOf,
  Lines,
  matcher,
  matches,
  ranges,
  Reader,
  rowAt,
  latestOf,
  rowsOf,
  nextRanks,
} from "../src/logs/lines.ts";
import { linksIn, looksLikeJson, prettyJson } from "../src/logs/pieces.ts";
import { attemptOf, gonePod, shortName } from "../src/logs/sources.ts";
import { setLang } from "../src/i18n/index.ts";
import { questionOf, searchProblem } from "../src/logs/search.ts";
import { crc32, zip } from "../src/logs/zip.ts";

const at = (n: number): string => `2026-01-01T00:00:0${n}.000000000Z`;

test("pieces cut anywhere become lines", () => {
  const reader = new Reader(0);
  const whole = `${at(1)} one\n${at(2)} zwei ü\n${at(3)} three`;
  const texts = [...whole].flatMap((c) => reader.take(c)).map((line) => line.text);
  assert.deepEqual(texts, ["one", "zwei ü"], "a line that is not finished waits");
  assert.deepEqual(
    reader.take("\n").map((line) => line.text),
    ["three"],
  );
});

test("after a break nothing is doubled and nothing lost", () => {
  const reader = new Reader(0);
  reader.take(`${at(1)} a\n${at(2)} b\n${at(2)} c\n${at(3)} half`);
  assert.equal(reader.last, at(2));
  reader.restart();
  const again = reader
    .take(`${at(2)} b\n${at(2)} c\n${at(2)} d\n${at(3)} half\n`)
    .map((line) => line.text);
  assert.deepEqual(again, ["d", "half"]);
  reader.restart();
  assert.deepEqual(
    reader.take(`${at(1)} a\n${at(3)} half\n${at(4)} e\n`).map((line) => line.text),
    ["e"],
  );
});

test("replicas are merged by time", () => {
  const lines = new Lines();
  lines.add(new Reader(0).take(`${at(1)} a1\n${at(4)} a4\n`));
  lines.add(new Reader(1).take(`${at(2)} b2\n${at(3)} b3\n${at(5)} b5\n`));
  assert.deepEqual(
    lines.all.map((line) => line.text),
    ["a1", "b2", "b3", "a4", "b5"],
  );
});

test("memory is bounded, at either end", () => {
  const lines = new Lines(1_000);
  const reader = new Reader(0);
  for (let i = 0; i < 1_010; i++) lines.add(reader.take(`0.${i} ${at(1)} ${i}\n`));
  const old = lines.trimOld();
  assert.equal(old.length, 110);
  assert.equal(lines.all.length, 900);
  assert.equal(lines.firstOf(0)?.at, "0.110");
  lines.addOld(old);
  assert.equal(lines.firstOf(0)?.at, "0.0");
  assert.equal(lines.trimNew()[0]?.at, "0.900");
  assert.equal(lines.lastOf(0)?.at, "0.899");
  assert.deepEqual(lines.trimOld(), []);
});

test("older lines go before what is there, by time", () => {
  const lines = new Lines();
  lines.add(new Reader(0).take(`${at(5)} a5\n`));
  lines.add(new Reader(1).take(`${at(4)} b4\n`));
  lines.addOld(new Reader(0).take(`${at(2)} a2\n${at(3)} a3\n`));
  lines.addOld(new Reader(1).take(`${at(1)} b1\n${at(3)} b3\n`));
  assert.deepEqual(
    lines.all.map((line) => line.text),
    ["b1", "a2", "b3", "a3", "b4", "a5"],
  );
});

test("a line knows its place, and whether it was cut", () => {
  const [line] = new Reader(0).take(`3.4711 ${at(1)} 0.5 2026 ${"x".repeat(9_000)}\n`);
  assert.equal(line?.at, "3.4711");
  assert.equal(line?.time, at(1));
  assert.ok(line?.cut);
  assert.ok(line.text.startsWith("0.5 2026 x"));
  assert.ok(comparePlaces("9.0", "10.5") < 0);
  assert.ok(comparePlaces("1.100", "1.20") > 0);
});

test("the row of a place: exact, of a collapsed line, or the next", () => {
  const lines = new Lines();
  for (const i of [0, 1])
    lines.add(new Reader(i).take(`0.0 ${at(1)} same\n0.50 ${at(2)} rank ${i}\n`));
  const rows = rowsOf(lines.all, { sources: null, levels: null, collapse: true });
  assert.equal(rowAt(rows, { source: 1, at: "0.0", time: "" }, false), 0);
  assert.equal(rowAt(rows, { source: 1, at: "0.50", time: "" }, false), 2);
  assert.equal(rowAt(rows, { source: 0, at: "0.30", time: "" }, false), -1);
  assert.equal(rowAt(rows, { source: 0, at: "0.30", time: "" }, true), 1);
  assert.equal(rowAt(rows, { source: 0, at: "", time: at(2) }, false), 1);
});

test("a pod that is gone has the name it had", () => {
  const kept = {
    pod: "mnist-de309-parameter-server-12",
    uid: "u",
    owner: "o",
    attempt: 2,
    leftMs: 0,
    bytes: 1,
    containers: ["main"],
  };
  const job = {
    metadata: { name: "mnist" },
    spec: { replicaSpecs: [{ type: "server" }, { type: "parameter-server" }] },
  } as Job;
  const pod = gonePod(kept, "default", job);
  assert.equal(shortName(pod), "parameter-server-12");
  assert.equal(attemptOf(pod), 2);
  assert.equal(shortName(gonePod(kept, "default", null)), kept.pod);
});

test("what is typed becomes a question", () => {
  assert.deepEqual(questionOf("Loss ("), { search: "Loss (", ignoreCase: true });
  assert.deepEqual(questionOf("/a|b/"), { search: "a|b", regex: true, ignoreCase: false });
  assert.deepEqual(questionOf("/a/i"), { search: "a", regex: true, ignoreCase: true });
});

test("equal lines of several ranks are one row", () => {
  const lines = new Lines();
  for (const i of [0, 1, 2, 3])
    lines.add(new Reader(i).take(`${at(1)} hello\n${at(2)} rank ${i}\n`));
  const rows = rowsOf(lines.all, { sources: null, levels: null, collapse: true });
  assert.deepEqual(rows[0]?.sources, [0, 1, 2, 3]);
  assert.equal(rows.length, 5);
  assert.equal(
    rowsOf(lines.all, { sources: new Set([1]), levels: null, collapse: true }).length,
    2,
  );
  assert.equal(
    rowsOf(lines.all, { sources: null, levels: new Set(["error"]), collapse: true }).length,
    0,
  );
});

test("the latest line of each of many ranks: the one that hangs is first", () => {
  const lines = new Lines(10);
  for (let second = 1; second < 9; second++)
    for (const i of [0, 1, 2, 3, 4, 5])
      if (i !== 4 || second < 3) lines.add(new Reader(i).take(`${at(second)} step ${second}\n`));
  const rows = latestOf(lines.all, 16);
  assert.deepEqual(
    rows.map((row) => [row.line.text, row.sources]),
    [
      ["step 2", [4]],
      ["step 8", [0, 1, 2, 3, 5]],
    ],
  );
  // Its line stays though newer ones took its place in what is kept.
  lines.trimOld();
  const kept = rows.flatMap((row) => [row.line, ...row.others]);
  assert.equal(latestOf([...kept, ...lines.all], 16)[0]?.line.text, "step 2");
  const many = new Lines();
  for (let i = 0; i < 40; i++) many.add(new Reader(i).take(`${at(10 + i)} rank ${i}\n`));
  assert.deepEqual(
    latestOf(many.all, 4).map((row) => row.line.source),
    [0, 1, 38, 39],
  );
});

test("the same line twice of one rank stays two", () => {
  const lines = new Lines();
  lines.add(new Reader(0).take(`${at(1)} x\n${at(1)} x\n`));
  assert.equal(rowsOf(lines.all, { sources: null, levels: null, collapse: true }).length, 2);
});

test("progress bars become one line", () => {
  assert.deepEqual(afterReturns("  1%|#  | 1/100\r  2%|#  | 2/100\r"), {
    text: "  2%|#  | 2/100",
    progress: true,
  });
  const lines = new Lines();
  lines.add(
    new Reader(0).take(`${at(1)} 10%|#    | 10/100\n${at(2)} 20%|##   | 20/100\n${at(3)} done\n`),
  );
  assert.deepEqual(
    lines.all.map((line) => line.text),
    ["20%|##   | 20/100", "done"],
  );
});

test("levels, ranges, searches", () => {
  assert.equal(levelOf("ValueError: no"), "error");
  assert.equal(levelOf("UserWarning: hm"), "warn");
  assert.equal(levelOf("step 1"), "none");
  assert.equal(ranges([3, 0, 1, 2, 7]), "0–3, 7");
  assert.equal(ranges([1, 0]), "0, 1");
  assert.ok(matcher("a(b")?.test("xA(B"), "plain text is not a pattern");
  assert.equal(matcher("/(/"), null);
  const lines = new Lines();
  lines.add(new Reader(0).take(`${at(1)} loss 1\n${at(2)} nothing\n${at(3)} LOSS 2\n`));
  const rows = rowsOf(lines.all, { sources: null, levels: null, collapse: false });
  assert.deepEqual(matches(rows, matcher("loss")), [0, 2]);
  assert.deepEqual(matches(rows, matcher("/^loss \\d/")), [0]);
});

test("colours become spans, everything else of a terminal goes", () => {
  assert.deepEqual(spansOf("plain"), [{ text: "plain", classes: "" }]);
  assert.deepEqual(spansOf("\x1b[1;31mred\x1b[0m no"), [
    { text: "red", classes: "fg-red bold" },
    { text: " no", classes: "" },
  ]);
  assert.deepEqual(
    spansOf("\x1b]0;title\x07a\x1b[2Kb\x00c")
      .map((span) => span.text)
      .join(""),
    "abc",
  );
  assert.equal(spansOf("\x1b[38;5;196mx")[0]?.classes, "fg-bright-red");
  const shown = spansOf("a\x9b2J\u202eevil\u2069").map((one) => one.text);
  assert.equal(shown.join(""), "a2Jevil", "shown as it is");
  assert.equal(spansOf("\x1b[38;2;0;255;0mx")[0]?.classes, "fg-bright-green");
  assert.equal(spansOf("<script>\x1b[31m<b>")[1]?.text, "<b>", "markup stays text");
});

test("zip archives are what unzip expects", async () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
  const bytes = new Uint8Array(
    await zip([
      { name: "a.log", data: new TextEncoder().encode("hello") },
      { name: "b.log", data: new Uint8Array() },
    ]).arrayBuffer(),
  );
  const view = new DataView(bytes.buffer);
  assert.equal(view.getUint32(0, true), 0x04034b50);
  assert.equal(view.getUint32(bytes.length - 22, true), 0x06054b50);
  assert.equal(view.getUint16(bytes.length - 12, true), 2);
  const directory = view.getUint32(bytes.length - 6, true);
  assert.equal(view.getUint32(directory, true), 0x02014b50);
});

test("links are http only, without the punctuation after them", () => {
  assert.deepEqual(linksIn("see https://a.b/c?d=1, or javascript:alert(1)"), [
    { text: "see " },
    { text: "https://a.b/c?d=1", href: "https://a.b/c?d=1" },
    { text: ", or javascript:alert(1)" },
  ]);
  assert.deepEqual(linksIn("ftp://x data://y"), [{ text: "ftp://x data://y" }]);
  assert.deepEqual(linksIn("(http://x/)"), [
    { text: "(" },
    { text: "http://x/", href: "http://x/" },
    { text: ")" },
  ]);
});

test("lines that are JSON", () => {
  assert.equal(prettyJson('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(prettyJson("{'a': 1}"), null);
  assert.equal(prettyJson("[1]"), null);
  assert.ok(looksLikeJson('{"a":1}'));
  assert.ok(!looksLikeJson("{1..3}"));
});

test("ranks are switched one by one", () => {
  const all = ["w-0", "w-1", "w-2"];
  assert.equal(nextRanks(all, [], "w-1"), "w-0,w-2", "all were shown");
  assert.equal(nextRanks(all, ["w-0", "w-2"], "w-1"), null, "all again");
  assert.equal(nextRanks(all, ["w-0"], "w-0"), null, "none is none left: all");
});

test("what is wrong with a pattern is told in the reader's language", () => {
  const said = (why: string): string =>
    searchProblem(`search: not a regular expression: ${why}, at character 7 of "loss=(["`);
  setLang("zh");
  assert.equal(said("missing closing parenthesis"), "正则表达式有误：第 7 个字符处缺少“)”");
  assert.equal(searchProblem("the disk is full"), "无法搜索：the disk is full");
  setLang("en");
  assert.equal(said("missing closing parenthesis"), 'Invalid pattern: missing ")" at character 7');
  assert.equal(said("something rare"), "Invalid pattern: something rare at character 7");
});
