// build.mjs - makes the console: types checked, bundled, split, compressed, measured.
//
//   node build.mjs [--watch] [--no-check]
//
// Writes dist/: index.html, assets/NAME.HASH.js|css with .br and .gz beside each,
// assets/THIRD_PARTY.txt. What the binary embeds is exactly this folder. Fails on a type error,
// which includes a text that one of the languages lacks, and when the first load or the whole is
// larger than promised.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync, existsSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, context } from "esbuild";

const here = path.dirname(new URL(import.meta.url).pathname);
const dist = path.join(here, "dist");
const FIRST_LOAD_LIMIT = 80 * 1024; // brotli, JS and CSS
const WHOLE_LIMIT = 450 * 1024;

const watch = process.argv.includes("--watch");
const check = !process.argv.includes("--no-check");

const options = {
  absWorkingDir: here,
  entryPoints: { main: "src/main.tsx" },
  outdir: "dist/assets",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: !watch,
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name].[hash]",
  chunkNames: "[name].[hash]",
  assetNames: "[name].[hash]",
  loader: { ".svg": "text" },
  metafile: true,
  legalComments: "none",
  logLevel: "warning",
};

function brotli(data) {
  return brotliCompressSync(data, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: data.length,
    },
  });
}

// What a page needs before anything shows: the entry, what it imports at once, its style sheet.
function firstLoad(meta) {
  const entry = Object.keys(meta.outputs).find(
    (name) => meta.outputs[name].entryPoint === "src/main.tsx",
  );
  const needed = new Set();
  const take = (name) => {
    if (needed.has(name)) return;
    needed.add(name);
    for (const one of meta.outputs[name].imports)
      if (one.kind === "import-statement") take(one.path);
  };
  take(entry);
  const css = meta.outputs[entry].cssBundle;
  if (css) needed.add(css);
  return { entry, css, needed: [...needed] };
}

function writeIndex({ entry, css, needed }) {
  const href = (name) => "/" + path.relative("dist", name);
  const preload = needed
    .filter((name) => name.endsWith(".js") && name !== entry)
    .map((name) => `<link rel="modulepreload" href="${href(name)}">`)
    .join("\n");
  const page = readFileSync(path.join(here, "src/index.html"), "utf8")
    .replace("<!--preload-->", preload)
    .replace("<!--style-->", css ? `<link rel="stylesheet" href="${href(css)}">` : "")
    .replace("<!--script-->", `<script type="module" src="${href(entry)}"></script>`);
  writeFileSync(path.join(dist, "index.html"), page);
}

// Licences of everything that is in the bundle.
function writeThirdParty(meta) {
  const names = new Set();
  for (const input of Object.keys(meta.inputs)) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (found) names.add(found[1]);
  }
  const parts = [...names].sort().map((name) => {
    const folder = path.join(here, "node_modules", name);
    const about = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file
      ? readFileSync(path.join(folder, file), "utf8").trim()
      : `Licence: ${about.license}`;
    return `${name} ${about.version} (${about.license})\n\n${text}\n`;
  });
  writeFileSync(path.join(dist, "assets/THIRD_PARTY.txt"), parts.join(`\n${"-".repeat(80)}\n\n`));
  return names.size;
}

function compressAll() {
  const files = [
    "index.html",
    ...readdirSync(path.join(dist, "assets")).map((one) => `assets/${one}`),
  ];
  const sizes = {};
  for (const name of files) {
    const data = readFileSync(path.join(dist, name));
    const small = brotli(data);
    sizes[`dist/${name}`] = small.length;
    if (name === "index.html") continue; // gets a nonce when it is served
    writeFileSync(path.join(dist, `${name}.br`), small);
    writeFileSync(path.join(dist, `${name}.gz`), gzipSync(data, { level: 9 }));
  }
  return sizes;
}

function measure(sizes, first) {
  const kib = (n) => `${(n / 1024).toFixed(1)} KiB`;
  const sum = (names) => names.reduce((total, name) => total + (sizes[name] ?? 0), 0);
  const initial = sum(first.needed);
  const whole = sum(Object.keys(sizes).filter((name) => name.startsWith("dist/assets/")));
  console.log(`console: first load ${kib(initial)}, all ${kib(whole)} (brotli)`);
  if (initial > FIRST_LOAD_LIMIT || whole > WHOLE_LIMIT)
    throw new Error(`too large: the limits are ${kib(FIRST_LOAD_LIMIT)} and ${kib(WHOLE_LIMIT)}`);
}

function hashOfAll() {
  const hash = createHash("sha256");
  const files = [
    "index.html",
    ...readdirSync(path.join(dist, "assets"))
      .sort()
      .map((one) => `assets/${one}`),
  ];
  for (const name of files) hash.update(name).update(readFileSync(path.join(dist, name)));
  writeFileSync(path.join(dist, "HASH"), hash.digest("hex").slice(0, 16) + "\n");
}

function finish(meta) {
  const first = firstLoad(meta);
  writeIndex(first);
  const packages = writeThirdParty(meta);
  if (!watch) measure(compressAll(), first);
  hashOfAll();
  return packages;
}

if (check)
  execFileSync(path.join(here, "node_modules/.bin/tsc"), ["--noEmit"], {
    cwd: here,
    stdio: "inherit",
  });
if (existsSync(dist)) rmSync(dist, { recursive: true });
mkdirSync(path.join(dist, "assets"), { recursive: true });
if (watch) {
  const again = {
    name: "finish",
    setup(b) {
      b.onEnd((result) => {
        if (result.metafile) finish(result.metafile);
      });
    },
  };
  const running = await context({ ...options, plugins: [again] });
  await running.watch();
} else {
  finish((await build(options)).metafile);
}
