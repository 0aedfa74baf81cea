import assert from "node:assert/strict";
import { test } from "node:test";
import { inline, markdown, safeHref } from "../src/lib/markdown.ts";

test("blocks: headings, lists in lists, quotes, code, tables, rules", () => {
  const text = [
    "# Plan",
    "first line",
    "second line",
    "",
    "- one",
    "  - inner",
    "- two",
    "",
    "3. three",
    "4. four",
    "> said",
    "```py",
    "x = *1*",
    "",
    "```",
    "| lr | loss |",
    "|----|-----:|",
    "| 0.1 | **2** |",
    "---",
  ].join("\n");
  assert.deepEqual(markdown(text), [
    { kind: "heading", level: 1, of: ["Plan"] },
    { kind: "text", of: ["first line\nsecond line"] },
    {
      kind: "list",
      start: null,
      items: [
        [
          { kind: "text", of: ["one"] },
          { kind: "list", start: null, items: [[{ kind: "text", of: ["inner"] }]] },
        ],
        [{ kind: "text", of: ["two"] }],
      ],
    },
    {
      kind: "list",
      start: 3,
      items: [[{ kind: "text", of: ["three"] }], [{ kind: "text", of: ["four"] }]],
    },
    { kind: "quote", of: [{ kind: "text", of: ["said"] }] },
    { kind: "code", text: "x = *1*\n" },
    {
      kind: "table",
      rows: [
        [["lr"], ["loss"]],
        [["0.1"], [{ mark: "strong", of: ["2"] }]],
      ],
    },
    { kind: "rule" },
  ]);
});

test("words: emphasis, code, links; names with underscores and sums stay as they are", () => {
  assert.deepEqual(inline("a **b *c*** ~~d~~ `e*f*`"), [
    "a ",
    { mark: "strong", of: ["b ", { mark: "em", of: ["c"] }] },
    " ",
    { mark: "del", of: ["d"] },
    " ",
    { mark: "code", of: ["e*f*"] },
  ]);
  assert.deepEqual(inline("batch_size_per_gpu 2 * 3 * 4 \\*x\\*"), [
    "batch_size_per_gpu 2 * 3 * 4 *x*",
  ]);
  assert.deepEqual(inline("see [the run](https://x.test/a) or https://y.test/b?c=1."), [
    "see ",
    { href: "https://x.test/a", of: ["the run"] },
    " or ",
    { href: "https://y.test/b?c=1", of: ["https://y.test/b?c=1"] },
    ".",
  ]);
});

test("nothing of it becomes code: schemes, HTML, images", () => {
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "//evil"])
    assert.equal(safeHref(bad), null);
  assert.deepEqual(inline("[x](javascript:alert(1))"), ["[x](javascript:alert(1))"]);
  assert.deepEqual(markdown("<img src=x onerror=alert(1)>"), [
    { kind: "text", of: ["<img src=x onerror=alert(1)>"] },
  ]);
  assert.deepEqual(inline("![plot](https://x.test/p.png)"), [
    { href: "https://x.test/p.png", of: ["plot"] },
  ]);
});

test("every text ends up on the page, however it is nested or cut", () => {
  const plain = (value: unknown): string =>
    typeof value === "string"
      ? value
      : Array.isArray(value)
        ? value.map(plain).join("")
        : value && typeof value === "object"
          ? plain(Object.entries(value).flatMap(([name, one]) => (name === "mark" || name === "href" || name === "kind" ? [] : [one]))) // prettier-ignore
          : "";
  const letters = (text: string): string => text.replace(/[^a-z]/g, "");
  for (const text of [
    "*".repeat(5000) + "a",
    "[".repeat(5000) + "a",
    "> ".repeat(50) + "a",
    "**a _b ~~c",
    "`a ``b",
    "- a\n      - b\n c\n\n\n  d",
    "*a ".repeat(3000),
  ])
    assert.equal(letters(plain(markdown(text))), letters(text), text.slice(0, 30));
});
