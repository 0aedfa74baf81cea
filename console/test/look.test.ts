// The design system, measured: every colour of a text on every ground it stands on, states that
// colour-blind people tell apart.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { STATE_ICON, WARN_ICON } from "../src/ui/state-icons.ts";
import { contrast, distance, KINDS, THEMES } from "./colours.ts";

const GROUNDS = ["--bg", "--bg-soft", "--bg-raised"];
const STATES = ["--info", "--ok", "--bad", "--warn"];
/** Which colours stand on which grounds. */
const PAIRS: [text: string, grounds: string[]][] = [
  ["--text", [...GROUNDS, "--accent-soft", ...STATES.map((one) => `${one}-soft`)]],
  ["--dim", [...GROUNDS, "--accent-soft", ...STATES.map((one) => `${one}-soft`)]],
  ["--accent", [...GROUNDS, "--accent-soft", ...STATES.map((one) => `${one}-soft`)]],
  ["--accent-text", ["--accent"]],
  ...STATES.map((one): [string, string[]] => [one, [...GROUNDS, `${one}-soft`, "--accent-soft"]]),
  ["--bg", ["--text", "--bad"]],
  ["--chrome-text", ["--chrome", "--chrome-on"]],
  ["--chrome-dim", ["--chrome", "--chrome-on"]],
  ["--chrome-accent", ["--chrome", "--chrome-on"]],
  ["--chrome-ok", ["--chrome"]],
  ["--chrome-warn", ["--chrome"]],
  ["--chrome-bad", ["--chrome"]],
];

test("texts are read in both themes: 4.5:1 at least", () => {
  for (const [theme, colours] of THEMES.entries())
    for (const [text, grounds] of PAIRS)
      for (const ground of grounds) {
        const ratio = contrast(colours.get(text)!, colours.get(ground)!);
        assert.ok(ratio >= 4.5, `theme ${theme}: ${text} on ${ground} has ${ratio.toFixed(2)}`);
      }
});

test("edges of what one can type into: 3:1", () => {
  for (const colours of THEMES)
    for (const ground of GROUNDS)
      assert.ok(contrast(colours.get("--edge")!, colours.get(ground)!) >= 3, ground);
});

test("states are told apart by shape, and by colour where that is possible", () => {
  const shapes = [...Object.values(STATE_ICON), WARN_ICON].map((one) => JSON.stringify(one));
  assert.equal(new Set(shapes).size, shapes.length);
  for (const [theme, colours] of THEMES.entries())
    for (const kind of KINDS)
      for (const [i, one] of STATES.entries())
        for (const other of STATES.slice(0, i)) {
          const apart = distance(kind, colours.get(one)!, colours.get(other)!);
          assert.ok(
            apart >= 0.06,
            `${kind}, theme ${theme}: ${one} and ${other}: ${apart.toFixed(3)}`,
          );
        }
});

// Curves and the ranks of a log have palettes of their own.
test("all other style sheets name colours, they do not have their own", () => {
  const own = readdirSync("src/style")
    .filter((name) => !["tokens.css", "charts.css", "logs.css"].includes(name))
    .flatMap((name) =>
      [...readFileSync(`src/style/${name}`, "utf8").matchAll(/#[0-9a-f]{3,8}\b/gi)].map(
        (one) => `${name}: ${one[0]}`,
      ),
    );
  assert.deepEqual(own, []);
});
