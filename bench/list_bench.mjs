// list_bench.mjs - 20,000 jobs in the console's list: how long each action takes until it is drawn, in
// Chromium, and what it costs the page's main thread.
//
//   node bench/list_bench.mjs [JOBS]
//
// The jobs are made through the API and told that they are over: nothing of them runs.
import fs from "node:fs";
import http from "node:http";
import { Browser, Daemon, JOBS, figure, job } from "../tests/e2e/console/harness.mjs";

const MANY = Number(process.argv[2] ?? 20_000);
const TIMES = 7;
const daemon = new Daemon();
daemon.overcommit = false;
const browser = new Browser();
const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });

function send(method, path, body, type = "application/json") {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${daemon.token}`,
      "Content-Type": type,
      "Content-Length": Buffer.byteLength(text),
    };
    http
      .request({ host: "127.0.0.1", port: daemon.port, agent, method, path, headers }, (answer) =>
        answer
          .resume()
          .on("end", () =>
            answer.statusCode < 300
              ? resolve()
              : reject(new Error(`${method} ${path} gave ${answer.statusCode}`)),
          ),
      )
      .on("error", reject)
      .end(text);
  });
}

/** Of ten, seven succeeded, two failed, one is paused. */
async function make(i) {
  const name = `sweep-lr-${i % 100}-seed-${i}`;
  const begun = Date.UTC(2026, 0, 1) + i * 60_000;
  const phase = i % 10 < 7 ? "Succeeded" : i % 10 < 9 ? "Failed" : "Paused";
  const made = job(name, "true", {
    replicas: 1 + (i % 4),
    labels: { team: i % 10 ? "vision" : "speech", lr: String(i % 100) },
  });
  made.spec.runMode = { pause: { enabled: true } }; // nothing of it runs
  await send("POST", JOBS, made);
  await send(
    "PATCH",
    `${JOBS}/${name}/status`,
    {
      status: {
        phase,
        reason: phase === "Failed" ? "ReplicaFailed" : "Done",
        message: phase === "Failed" ? `${name}-worker-0 failed with exit code 1` : "",
        startTime: new Date(begun).toISOString(),
        completionTime: new Date(begun + (i % 977) * 1000).toISOString(),
        tasks: [{ type: "worker", replicas: [{ name: `${name}-worker-0`, phase }] }],
      },
    },
    "application/merge-patch+json",
  );
}

async function makeAll() {
  const begun = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (next < MANY) await make(next++);
    }),
  );
  agent.destroy();
  figure(`${MANY} jobs made in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
}

/** In the page: does it, and answers after how many ms it is drawn. */
const timed = (page, act, isSo) =>
  page.evaluate(`(async () => {
    const begun = performance.now();
    (${act})();
    do await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    while (!(${isSo})());
    return performance.now() - begun;
  })()`);

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
const shown = (n) =>
  `() => document.querySelector(".page-head [role=status]")?.textContent.match(/\\d+/)?.[0] === "${n}"`;
const first = (name) =>
  `() => document.querySelector(".job-rows .row .cell-name a")?.textContent === "${name}"`;
const type = (text) =>
  `() => { const box = document.getElementById("search"); box.value = "${text}"; box.dispatchEvent(new Event("input", { bubbles: true })); }`;
const click = (selector) => `() => document.querySelector(${JSON.stringify(selector)}).click()`;

const complete = (page) =>
  page.waitForFunction(
    (n) => document.querySelector(".page-head [role=status]")?.textContent.includes(`of ${n}`),
    MANY,
  );

async function measure(page, what, steps) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () =>
    1000 *
    (await session.send("Performance.getMetrics")).metrics.find(
      (one) => one.name === "TaskDuration",
    ).value;
  const times = [];
  const costs = [];
  for (let i = 0; i < TIMES; i++)
    for (const [act, isSo] of steps) {
      const before = await spent();
      times.push(await timed(page, act, isSo));
      costs.push((await spent()) - before);
    }
  await session.detach();
  figure(
    `${what}: ${middle(times).toFixed(0)} ms (worst ${Math.max(...times).toFixed(0)}), processor time ${middle(costs).toFixed(0)} ms (worst ${Math.max(...costs).toFixed(0)})`,
  );
}

async function run() {
  const page = await browser.page(daemon, { lang: "en" });
  const begun = performance.now();
  await page.goto("/jobs");
  await complete(page);
  figure(`opened and complete after ${((performance.now() - begun) / 1000).toFixed(2)} s`);
  await page.waitForTimeout(5_000); // what it does afterwards is not an action's
  const last = `sweep-lr-${(MANY - 1) % 100}-seed-${MANY - 1}`;
  await measure(page, "search", [
    [type("seed-777"), `() => !(${shown(MANY)})()`],
    [type(""), shown(MANY)],
  ]);
  await measure(page, "type on", [
    [type("s"), shown(MANY)],
    [type("se"), shown(MANY)],
    [type("seed 7"), `() => !(${shown(MANY)})()`],
    [type(""), shown(MANY)],
  ]);
  await page.getByRole("button", { name: "Labels", exact: true }).click();
  const speech =
    '() => [...document.querySelectorAll("[role=dialog] label")].find((one) => one.textContent.includes("speech")).querySelector("input").click()';
  await measure(page, "filter by label, with all counts shown", [
    [speech, shown(MANY / 10)],
    [speech, shown(MANY)],
  ]);
  await page.keyboard.press("Escape");
  await measure(page, "open a filter's values", [
    [click(".filters .dropdown button"), '() => document.querySelector("[role=dialog]")'],
    [click(".filters .dropdown button"), '() => !document.querySelector("[role=dialog]")'],
  ]);
  await measure(page, "sort by name, up and down", [
    [click(".head .cell-name button"), first("sweep-lr-0-seed-0")],
    [click(".head .cell-name button"), `() => !(${first("sweep-lr-0-seed-0")})()`],
  ]);
  await measure(page, "sort by duration, up and down", [
    [
      click(".head .cell-duration button"),
      '() => document.querySelector(".cell-duration[aria-sort=ascending]")',
    ],
    [
      click(".head .cell-duration button"),
      '() => document.querySelector(".cell-duration[aria-sort=descending]")',
    ],
  ]);
  await page.goto("/jobs?sort=name");
  await complete(page);
  await page.waitForTimeout(5_000);
  const inSight =
    "() => { const box = document.querySelector('.job-rows').getBoundingClientRect(); return [...document.querySelectorAll('.job-rows .row')].some((one) => { const r = one.getBoundingClientRect(); return r.top <= box.top + 40 && r.bottom > box.top; }); }";
  await measure(
    page,
    "scroll far",
    [100_000, 400_000, 0].map((top) => [
      `() => { document.querySelector(".job-rows").scrollTop = ${top}; }`,
      inSight,
    ]),
  );
  await measure(page, "open a job, and back", [
    [
      click(".job-rows .row .cell-name a"),
      '() => document.querySelector(".page-head h1")?.textContent.startsWith("sweep-")',
    ],
    ["() => history.back()", `() => document.querySelector(".job-rows .row")`],
  ]);
  await measure(page, "select all, and none", [
    [click(".row.head input"), '() => document.querySelector(".row.head input").checked'],
    [click(".row.head input"), '() => !document.querySelector(".row.head input").checked'],
  ]);
  await measure(page, "overview, and back", [
    [click("nav.side a[href^='/overview']"), '() => document.querySelector(".counts")'],
    ["() => history.back()", `() => document.querySelector(".job-rows .row")`],
  ]);
  let n = 0;
  const costs = [];
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () =>
    1000 *
    (await session.send("Performance.getMetrics")).metrics.find(
      (one) => one.name === "TaskDuration",
    ).value;
  for (; n < TIMES; n++) {
    const before = await spent();
    await daemon.api(
      "PATCH",
      `${JOBS}/sweep-lr-0-seed-0`,
      { metadata: { labels: { change: `v${n}` } } },
      { type: "application/merge-patch+json" },
    );
    await page.waitForTimeout(300);
    costs.push((await spent()) - before);
  }
  figure(`one change that comes by itself: processor time ${middle(costs).toFixed(0)} ms`);
  await session.send("HeapProfiler.collectGarbage");
  const heap = (await session.send("Runtime.getHeapUsage")).usedSize / 1e6;
  const rss = /VmRSS:\s+(\d+)/.exec(
    fs.readFileSync(`/proc/${daemon.process.pid}/status`, "utf8"),
  )[1];
  figure(`page's heap ${heap.toFixed(0)} MB, daemon ${(rss / 1024).toFixed(0)} MB; last ${last}`);
  await page.context().close();
}

try {
  await daemon.start();
  await makeAll();
  await browser.start();
  await run();
} finally {
  await browser.close();
  await daemon.kill("SIGTERM");
  fs.rmSync(daemon.folder, { recursive: true, force: true });
}
