// Curves as they are drawn: the canvas itself is looked at. Runs with steps of their own are whole
// lines on every axis, a single point is seen, what is smoothed has what it was behind it.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { after, test } from "node:test";
import { Events } from "./events.mjs";
import {
  Gate,
  JOBS,
  ROOT,
  axe,
  job,
  row,
  shot,
  testNoComplaints,
  withConsole,
} from "./harness.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "muster-curves-"));
const shared = withConsole([], prepare);
after(() => fs.rmSync(folder, { recursive: true }));
const at = (name, tab) => `/jobs/default/PyTorchTrainingJob/${name}/${tab}`;

/** A picture of one colour with a diagonal. */
function png(width, height, red) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (__, x) => (x === y ? [255, 255, 255] : [red, 90, 160])),
  ]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("IDAT", zlib.deflateSync(Buffer.from(rows.flat(2)))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function crc32(data) {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

async function create(daemon, name) {
  const body = job(name, "true", {
    spec: { runMode: { pause: { enabled: true } } },
  });
  body.metadata.annotations = { "muster.dev/log-dir": path.join(folder, name) };
  await daemon.api("POST", JOBS, body);
}

async function prepare(daemon) {
  const noise = (i) => Math.sin(i * 12.9898) * 0.05;
  // Two runs of 20,000 points whose steps never meet.
  for (const [run, odd] of [
    ["even", 0],
    ["odd", 1],
  ]) {
    const events = new Events(path.join(folder, "two", run));
    for (let i = 0; i < 20_000; i++)
      events.scalar("loss", 2 * i + odd, 5 + odd + Math.exp(-i / 5000) + noise(i));
    events.write();
  }
  const short = new Events(path.join(folder, "short"));
  for (let i = 0; i < 3; i++) short.scalar("loss", i, 0.12345 + i * 0.00001, 1.7e9 + i * 0.1);
  short.scalar("once", 7, 3).write();
  const many = path.join(folder, "many");
  for (let run = 0; run < 14; run++) {
    const events = new Events(path.join(many, `run-${String(run).padStart(2, "0")}`));
    for (let i = 0; i < 50; i++) events.scalar("loss", i, 1 + run + noise(i));
    events.write();
  }
  const trains = new Events(path.join(folder, "trains"));
  for (let i = 0; i < 100; i++) trains.scalar("train/loss", i, 1 / (1 + i));
  for (let i = 0; i < 1500; i++) trains.scalar("noisy", i, i % 2 ? 1 : -1);
  trains.write();
  const media = new Events(path.join(folder, "media"));
  for (let step = 0; step < 50; step++) {
    const counts = Array.from({ length: 30 }, (_, k) =>
      Math.round(1000 * Math.exp(-((k - 15 - step / 10) ** 2) / (8 + step / 5))),
    );
    const limits = counts.map((_, k) => (k + 1) / 15 - 1);
    media.histogram("layer1/weights", step, limits, counts);
    media.histogram("layer2/weights", step, limits, [...counts].reverse());
    if (step % 10 === 0) media.image("samples", step, png(32, 24, step * 5));
    media.scalar("loss", step, 1 / (1 + step));
  }
  media.text("notes", 3, "<b>not bold</b>\nsecond line").text("notes", 7, "newer");
  media.image("evil", 1, "<svg onload='alert(1)'>").write();
  for (const name of ["two", "short", "many", "trains", "media"]) await create(daemon, name);
}

const CHART = (tag) => `.chart:has(.chart-title:text-is("${tag}"))`;

/** Of the chart's columns of pixels, the share that has a pixel of this colour of curves. */
function coverage(page, tag, colour) {
  return page.locator(CHART(tag)).evaluate((figure, name) => {
    const canvas = figure.querySelector("canvas");
    const over = figure.querySelector(".u-over").getBoundingClientRect();
    const box = canvas.getBoundingClientRect();
    const ratio = canvas.width / box.width;
    const [left, width] = [(over.left - box.left) * ratio, over.width * ratio];
    const probe = document.createElement("canvas").getContext("2d");
    probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
    const { data } = canvas
      .getContext("2d")
      .getImageData(left, (over.top - box.top) * ratio, width, over.height * ratio);
    const columns = Math.floor(width);
    const seen = new Uint8Array(columns);
    for (let i = 0; i < data.length; i += 4)
      if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 60)
        seen[(i / 4) % columns] = 1;
    return seen.reduce((sum, one) => sum + one, 0) / columns;
  }, colour);
}

/** From now on each canvas knows the words that stand on it. */
const listen = (page) =>
  page.addInitScript(() => {
    const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clearRect = function (...where) {
      this.canvas.said = [];
      return clearRect.apply(this, where);
    };
    CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
      const { e, f } = this.getTransform();
      (this.canvas.said ??= []).push({
        text,
        x: where[0] + e,
        y: where[1] + f,
      });
      return fillText.call(this, text, ...where);
    };
  });

/** The words at an axis. */
const marks = (page, tag, axis) =>
  page.locator(CHART(tag)).evaluate((figure, which) => {
    const canvas = figure.querySelector("canvas");
    const over = figure.querySelector(".u-over").getBoundingClientRect();
    const box = canvas.getBoundingClientRect();
    const left = ((over.left - box.left) * canvas.width) / box.width;
    return canvas.said
      .filter(({ x }) => (which === "y" ? x < left - 2 : x >= left - 2))
      .map(({ text }) => text);
  }, axis);

test("two runs of 20,000 points are whole lines, on each axis", async () => {
  const page = await shared.browser.page(shared.daemon);
  for (const axis of ["step", "relative", "wall"]) {
    await page.goto(`${at("two", "training")}?axis=${axis}`);
    await page.locator(`${CHART("loss")} canvas`).waitFor();
    for (const colour of ["--curve-1", "--curve-2"]) {
      const share = await coverage(page, "loss", colour);
      assert.ok(share > 0.97, `${colour} on ${axis} covers ${share} of the chart`);
    }
  }
  const legend = page.locator(`${CHART("loss")} .chart-legend`);
  assert.match(await legend.textContent(), /two\/even\s*4\.968.*two\/odd\s*5\.968/);
  await shot(page, "curves-two");
  await page.context().close();
});

test("the y axis goes over what there is, marks differ, a single point is seen", async () => {
  const page = await shared.browser.page(shared.daemon);
  await listen(page);
  for (const axis of ["step", "relative", "wall"]) {
    await page.goto(`${at("short", "training")}?axis=${axis}`);
    await page.locator(`${CHART("once")} canvas`).waitFor();
    for (const which of ["x", "y"]) {
      const texts = (await marks(page, "loss", which)).filter(Boolean);
      assert.ok(texts.length >= 2, `${which} on ${axis}: ${texts}`);
      assert.equal(new Set(texts).size, texts.length, `${which} on ${axis}: ${texts}`);
    }
    assert.ok(Math.min(...(await marks(page, "loss", "y")).map(Number)) > 0.12);
    assert.ok((await coverage(page, "once", "--curve-1")) > 0, `the point on ${axis}`);
  }
  await shot(page, "curves-short");
  await page.context().close();
});

test("what is smoothed has what it was, pale, behind it", async () => {
  const page = await shared.browser.page(shared.daemon);
  await page.goto(`${at("trains", "training")}?smooth=0.9`);
  await page.locator(`${CHART("noisy")} canvas`).waitFor();
  const plain = await coverage(page, "noisy", "--curve-1");
  assert.ok(plain > 0.9, String(plain));
  const colours = await page.locator(CHART("noisy")).evaluate((figure) => {
    const canvas = figure.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let pale = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 40 && data[i + 3] < 110 && data[i + 2] > data[i] + 60) pale++;
    return pale;
  });
  assert.ok(colours > 200, `${colours} pale pixels`);
  const legend = await page.locator(`${CHART("noisy")} .chart-legend`).textContent();
  assert.match(legend, /[\d.]+ \(平滑后 [\d.]+\)$/, "what was measured, and smoothed");
  await page.context().close();
});

test("dragging magnifies all charts, and the address says so", async () => {
  const page = await shared.browser.page(shared.daemon, { lang: "en" });
  await page.goto(at("two", "training"));
  const over = page.locator(`${CHART("loss")} .u-over`);
  await over.waitFor();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("zoom"));
  const [from, to] = new URL(page.url()).searchParams.get("zoom").split("~").map(Number);
  assert.ok(from > 9_000 && from < 11_000 && to > 19_000 && to < 21_000, `${from} ${to}`);
  assert.ok((await coverage(page, "loss", "--curve-1")) > 0.97);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("zoom"));
  await page.context().close();
});

test("fourteen runs, named, told apart, and put out of sight", async () => {
  const page = await shared.browser.page(shared.daemon, {
    lang: "en",
    dark: true,
  });
  await page.goto(at("many", "training"));
  const legend = page.locator(`${CHART("loss")} .chart-legend`);
  await legend.waitFor();
  assert.equal(await legend.locator("li").count(), 14);
  await shot(page, "curves-many-dark");
  const first = legend.getByRole("button", { name: /run-02/ });
  assert.ok((await coverage(page, "loss", "--curve-3")) > 0.9);
  await first.click();
  assert.equal(await first.getAttribute("aria-pressed"), "false");
  assert.ok((await coverage(page, "loss", "--curve-3")) < 0.2);
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

test("the loss stays when another data's loss appears", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "learns");
  const program = `import os, sys, time
sys.path.insert(0, ${JSON.stringify(path.join(ROOT, "examples/ddp"))})
from eventfile import EventWriter
w = EventWriter(".")
for i in range(100): w.add_scalar("train/loss", 1 / (1 + i), i)
w.flush()
while not os.path.exists(${JSON.stringify(gate.file)}): time.sleep(0.05)
for i in range(200): w.add_scalar("test/loss", 50 - i, i)
w.add_scalar("loss_test", 9, 1)
w.close()
time.sleep(600)`;
  const body = job("learns", "", {
    container: {
      command: ["/usr/bin/python3", "-c", program],
      workingDir: path.join(daemon.folder, "learns"),
    },
  });
  fs.mkdirSync(path.join(daemon.folder, "learns"));
  await daemon.api("POST", JOBS, body);
  const page = await shared.browser.page(daemon);
  await page.goto("/jobs?q=learns");
  const spark = row(page, "learns").locator(".spark path");
  const before = await spark.getAttribute("d");
  gate.open();
  await page.goto(at("learns", "training"));
  await page.locator(CHART("test/loss")).waitFor();
  await page.goto("/jobs?q=learns");
  assert.equal(await spark.getAttribute("d"), before);
  await page.goto(at("learns", ""));
  await page.locator(CHART("train/loss")).waitFor();
  await shot(page, "curves-loss");
  await page.context().close();
});

test("images, histograms and texts beside the curves", async () => {
  const page = await shared.browser.page(shared.daemon, { lang: "en" });
  await page.goto(at("media", "training"));
  const image = page.locator(`${CHART("samples")} img`);
  await image.waitFor();
  const red = () =>
    image.evaluate(async (one) => {
      await one.decode();
      const canvas = document.createElement("canvas").getContext("2d");
      canvas.drawImage(one, 0, 0);
      return canvas.getImageData(5, 1, 1, 1).data[0];
    });
  assert.equal(await image.getAttribute("alt"), "samples, Step 40");
  assert.equal(await red(), 200);
  await page.locator(`${CHART("samples")} input[type=range]`).fill("1");
  await page.locator(`${CHART("samples")} img[alt="samples, Step 10"]`).waitFor();
  await page.waitForFunction(async () => {
    const one = document.querySelector('img[alt="samples, Step 10"]');
    await one.decode();
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.drawImage(one, 0, 0);
    return canvas.getImageData(5, 1, 1, 1).data[0] === 50;
  });
  await page.locator(CHART("evil")).getByText("Nothing to show: only PNG and JPEG").waitFor();
  const ridges = page.locator(`${CHART("layer1/weights")} .ridges path`);
  await ridges.first().waitFor();
  assert.ok((await ridges.count()) >= 16 && (await ridges.count()) <= 32);
  const texts = page.locator(`${CHART("notes")} dd`);
  await texts.first().scrollIntoViewIfNeeded();
  assert.deepEqual(await texts.allTextContents(), ["newer", "<b>not bold</b>\nsecond line"]);
  assert.equal(await page.locator(".texts b").count(), 0);
  assert.deepEqual(await axe(page), []);
  await shot(page, "curves-media");
  await page.context().close();
});

testNoComplaints(shared);
