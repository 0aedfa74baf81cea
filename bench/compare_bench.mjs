// compare_bench.mjs - 100 runs of 20 tags of 100,000 points compared in Chromium: how long until the first picture, until all
// files are read, until a part that is dragged over is drawn, and how much memory the page and the daemon have.
//
//   node bench/compare_bench.mjs [RUNS TAGS POINTS]
//
// Files of ten different runs are written (build/bench/board_files) and linked: every job reads its own all the same.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Browser, Daemon, JOBS, ROOT, figure, job } from "../tests/e2e/console/harness.mjs";

const [RUNS, TAGS, POINTS] = [100, 20, 100_000].map((n, i) => Number(process.argv[2 + i] ?? n));
const DIFFERENT = 10;
const folder = fs.mkdtempSync(path.join(process.env.TMPDIR ?? os.tmpdir(), "muster-compare-"));
const daemon = new Daemon();
const browser = new Browser();

function makeFiles() {
  for (let i = 0; i < Math.min(RUNS, DIFFERENT); i++)
    execFileSync(path.join(ROOT, "build/bench/board_files"), [
      path.join(folder, `run-${i}`),
      "run",
      String(i),
      String(TAGS),
      String(POINTS),
    ]);
  for (let i = DIFFERENT; i < RUNS; i++) {
    fs.mkdirSync(path.join(folder, `run-${i}`));
    for (const name of fs.readdirSync(path.join(folder, `run-${i % DIFFERENT}`)))
      fs.linkSync(
        path.join(folder, `run-${i % DIFFERENT}`, name),
        path.join(folder, `run-${i}`, name),
      );
  }
}

function daemonMemory() {
  const status = fs.readFileSync(`/proc/${daemon.process.pid}/status`, "utf8");
  const kib = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)[1]);
  return `${(kib("VmRSS") / 1024).toFixed(0)} MB now, ${(kib("VmHWM") / 1024).toFixed(0)} MB at most`;
}

async function pageMemory(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  return (await session.send("Runtime.getHeapUsage")).usedSize / 1e6;
}

/** Processor time so far, in ms, which other work on the machine is not in: of the page's main thread, of the daemon. */
async function spending(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const stat = fs.readFileSync(`/proc/${daemon.process.pid}/stat`, "utf8");
    const [user, system] = stat.replace(/.*\) /, "").split(" ").slice(11, 13).map(Number);
    return {
      page: 1000 * metrics.find((one) => one.name === "TaskDuration").value,
      daemon: 10 * (user + system),
    };
  };
}

const spent = (before, after) =>
  `processor time: page ${(after.page - before.page).toFixed(0)} ms, daemon ${after.daemon - before.daemon} ms`;

/** In the page: after how long the first chart has lines of all runs. */
const drawn = (page, since) =>
  page.evaluate(
    async ([runs, begun]) => {
      const asked = () =>
        performance
          .getEntriesByType("resource")
          .filter((one) => one.name.includes("/lines.bin?") && one.responseEnd).length;
      while (asked() < Math.ceil(runs / 50))
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      const label = () => document.querySelector(".chart [role=img]")?.getAttribute("aria-label");
      while (!/run-0 -?[\d.]+/.test(label() ?? ""))
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      return performance.now() - begun;
    },
    [RUNS, since],
  );

async function open(what) {
  const page = await browser.page(daemon, { lang: "en" });
  await page.addInitScript(() => performance.setResourceTimingBufferSize(100_000));
  await page.goto("/jobs?sort=name");
  await page.getByText("run-0", { exact: true }).first().waitFor();
  await page.evaluate(() => performance.clearResourceTimings());
  const look = await spending(page);
  const before = await look();
  const begun = await page.evaluate(() => {
    const link = document.createElement("a");
    link.href = "/compare?label=sweep=big";
    document.querySelector("main").append(link);
    const now = performance.now();
    link.click();
    return now;
  });
  const ms = await drawn(page, begun);
  figure(
    `${what}: all ${RUNS} runs drawn after ${ms.toFixed(0)} ms; ${spent(before, await look())}`,
  );
  await page.getByText("Reading event files").waitFor({ state: "detached" });
  const whole = await page.evaluate((t) => performance.now() - t, begun);
  figure(`${what}: everything read after ${(whole / 1000).toFixed(1)} s`);
  return page;
}

async function zoom(page, look) {
  const over = page.locator(".chart .u-over").first();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 3 });
  await page.evaluate(() => {
    window.zoomed = new Promise((resolve) => {
      document.addEventListener(
        "mouseup",
        () => {
          const begun = performance.now();
          const look = () =>
            location.search.includes("zoom")
              ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)))
              : setTimeout(look);
          look();
        },
        { once: true, capture: true },
      );
    });
  });
  const before = await look();
  await page.mouse.up();
  const ms = await page.evaluate(() => window.zoomed);
  return `${ms.toFixed(0)} ms; ${spent(before, await look())}`;
}

try {
  makeFiles();
  const [name] = fs.readdirSync(path.join(folder, "run-0"));
  const { size } = fs.statSync(path.join(folder, "run-0", name));
  figure(`${RUNS} event files of ${(size / 1e6).toFixed(0)} MB`);
  await daemon.start();
  await browser.start();
  for (let i = 0; i < RUNS; i++) {
    const body = job(`run-${i}`, "true", {
      labels: { sweep: "big", group: String(i % 4) },
      container: { command: ["python", "train.py", `--lr=${(i + 1) / 1000}`] },
      spec: { runMode: { pause: { enabled: true } } },
    });
    body.metadata.annotations = { "muster.dev/log-dir": path.join(folder, `run-${i}`) };
    await daemon.api("POST", JOBS, body);
  }
  const cold = await open("first time");
  await cold.context().close();
  const page = await open("again");
  const look = await spending(page);
  for (let i = 0; i < 3; i++) {
    figure(`a part dragged over, drawn after ${await zoom(page, look)}`);
    await page.waitForTimeout(2000);
    await page.getByRole("button", { name: "Show all" }).click();
  }
  for (let at = 0; at < 12; at++) {
    await page.mouse.wheel(0, 600);
    await page.waitForTimeout(400);
  }
  figure(
    `page after all charts were seen: ${(await pageMemory(page)).toFixed(0)} MB of JavaScript`,
  );
  figure(`daemon: ${daemonMemory()}`);
} finally {
  await browser.close();
  await daemon.close();
  fs.rmSync(folder, { recursive: true });
}
