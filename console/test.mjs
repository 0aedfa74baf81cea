// test.mjs - runs test/*.test.ts with node's own runner: bundled first, so that any node that
// builds the console will do.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";

const here = path.dirname(new URL(import.meta.url).pathname);
const tests = readdirSync(path.join(here, "test")).filter((name) => name.endsWith(".test.ts"));
const out = mkdtempSync(path.join(tmpdir(), "muster-console-test-"));
try {
  await build({
    absWorkingDir: here,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: out,
    bundle: true,
    platform: "browser",
    external: ["node:*"],
    format: "esm",
    target: "es2022",
    outExtension: { ".js": ".mjs" },
    inject: ["test/browser.ts"],
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".css": "empty" },
    logLevel: "warning",
  });
  const run = spawnSync(
    process.execPath,
    ["--test", ...tests.map((name) => path.join(out, name.replace(/\.ts$/, ".mjs")))],
    { stdio: "inherit", cwd: here },
  );
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
