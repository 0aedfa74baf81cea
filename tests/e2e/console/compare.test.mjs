// Runs compared: ticked in the list or chosen by a label; curves by tag, a table of what differs in
// any order, parameters against a metric, means with their band. The address holds it all.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { Events } from "./events.mjs";
import { JOBS, axe, job, row, shot, testNoComplaints, withConsole } from "./harness.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "muster-compare-"));
const shared = withConsole([], prepare);
after(() => fs.rmSync(folder, { recursive: true }));

const RUNS = 8;
const STEPS = 300;
const name = (i) => `sweep-${i}`;
const rate = (i) => [0.001, 0.01, 0.1, 1][i % 4];

async function prepare(daemon) {
  for (let i = 0; i < RUNS; i++) {
    const events = new Events(path.join(folder, name(i)));
    events.hparams({ lr: rate(i), optimizer: i < 4 ? "adam" : "sgd", epochs: 3 });
    for (let step = i % 2; step < STEPS; step += 1 + (i % 2)) {
      events.scalar("train/loss", step, 1 + i + 2 * Math.exp(-step / 60));
      events.scalar("val/accuracy", step, 1 - (i + 1) / 20 - Math.exp(-step / 50) / 2);
    }
    events.write();
    const body = job(name(i), "true", {
      labels: { sweep: "rates", optimizer: i < 4 ? "adam" : "sgd" },
      container: { command: ["python", "train.py", `--lr=${rate(i)}`, "--epochs", "3"] },
      spec: { runMode: { pause: { enabled: true } } },
    });
    body.metadata.annotations = { "muster.dev/log-dir": path.join(folder, name(i)) };
    await daemon.api("POST", JOBS, body);
  }
  const other = job("other", "true", { spec: { runMode: { pause: { enabled: true } } } });
  await daemon.api("POST", JOBS, other);
}

const names = (page) => page.locator(".compare-table tbody .fixed a").allTextContents();
const heads = (page) => page.locator(".compare-table thead tr:last-child th").allTextContents();
/** All of the runs' figures are there. */
const whole = (page, runs = RUNS) =>
  page.waitForFunction(
    (n) => document.querySelectorAll(".compare-table tbody td.num").length >= n * 4,
    runs,
  );

test("a job's own page has its hyperparameters, of event files and command", async () => {
  const page = await shared.browser.page(shared.daemon, { lang: "en" });
  await page.goto(`/jobs/default/PyTorchTrainingJob/${name(2)}`);
  const part = page.locator("#parameters");
  await part.getByText("lr = 0.1").waitFor();
  await part.getByRole("heading", { name: "Hyperparameters" }).click();
  // The command's parameters are there at once; those of event files come with an answer.
  await part.locator("dt", { hasText: "optimizer" }).waitFor();
  assert.deepEqual((await part.locator("dt").allTextContents()).sort(), [
    "epochs",
    "lr",
    "optimizer",
  ]);
  await page.context().close();
});

test("ticked in the list, sorted by any metric, the same again by its address", async () => {
  const page = await shared.browser.page(shared.daemon, { lang: "en" });
  await page.goto("/jobs?q=sweep&sort=name");
  for (const i of [0, 1, 2, 3]) await row(page, name(i)).getByRole("checkbox").check();
  await page.getByRole("link", { name: "Compare", exact: true }).click();
  await whole(page, 4);
  assert.deepEqual(await names(page), [0, 1, 2, 3].map(name)); // the lowest loss first
  const titles = (await heads(page)).map((one) => one.replace(/[▲▼]/, "").trim());
  assert.deepEqual(titles, [
    "Name",
    "State",
    "lr", // and no --lr beside it that says the same
    "train/loss last",
    "train/loss best",
    "val/accuracy last",
    "val/accuracy best",
  ]);
  assert.equal(await page.locator(".chart canvas").count(), 2);
  // Each chart names its lines with their values.
  const last = page.locator(".chart-legend").first().locator("li");
  await page.waitForFunction(
    () => document.querySelector(".chart-legend")?.querySelectorAll("li").length === 4,
  );
  for (const text of await last.allTextContents()) assert.match(text, /sweep-\d[\d.]+$/);
  const sortBy = page.getByRole("button", { name: /^val\/accuracy last/ });
  await sortBy.click();
  await page.waitForFunction(() => location.search.includes("sort"));
  assert.deepEqual(await names(page), [3, 2, 1, 0].map(name));
  await page
    .locator(".compare-table")
    .getByRole("checkbox", { name: /sweep-2/ })
    .uncheck();
  await page.getByLabel("Show all columns").check();
  await page.getByRole("columnheader", { name: "--epochs" }).waitFor();
  const again = await shared.browser.page(shared.daemon, { lang: "en" });
  await again.goto(page.url());
  await whole(again, 4);
  assert.deepEqual(await names(again), [3, 2, 1, 0].map(name));
  assert.ok(!(await again.getByRole("checkbox", { name: /sweep-2/ }).isChecked()));
  await again.getByRole("columnheader", { name: "--epochs" }).waitFor();
  await again.context().close();
  await page.context().close();
});

test("all of a label: parallel axes, dots, means with a band", async () => {
  const page = await shared.browser.page(shared.daemon, { lang: "en" });
  await page.goto("/compare");
  await page.getByText("Nothing to compare").waitFor();
  await page.getByLabel("All jobs with label").selectOption("sweep=rates");
  await whole(page);
  assert.equal((await names(page)).length, RUNS);
  assert.equal(await page.locator(".picture .run").count(), RUNS);
  assert.equal(await page.locator(".picture .dot").count(), RUNS);
  await page.getByLabel("Metric").selectOption("last:val/accuracy");
  await page.getByLabel("Parameter").selectOption("hparams:optimizer");
  await page.locator(".scatter .axis-name", { hasText: "optimizer" }).waitFor();
  const dots = await page
    .locator(".picture .dot")
    .evaluateAll((all) => new Set(all.map((one) => one.getAttribute("cx"))).size);
  assert.equal(dots, 2);
  await shot(page, "compare-en-light");
  await page.getByLabel("Average by label").selectOption("optimizer");
  const legend = page.locator(".chart-legend").first();
  await legend.waitFor();
  assert.match(await legend.textContent(), /optimizer=adam \(4\)[\d.]+optimizer=sgd \(4\)[\d.]+$/);
  await page.waitForFunction(() => {
    const canvas = document.querySelector(".chart canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let pale = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 25 && data[i] < 60) pale++;
    return pale > 3000; // the band
  });
  await shot(page, "compare-group");
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

test("a part is asked of the server in full", async () => {
  const page = await shared.browser.page(shared.daemon, { lang: "en" });
  const asked = [];
  page.on("request", (one) => one.url().includes("/lines.bin?") && asked.push(one.url()));
  await page.goto("/compare?label=sweep=rates&zoom=100~150");
  await whole(page);
  await page.waitForFunction(
    () =>
      performance.getEntriesByType("resource").filter((one) => one.name.includes("&from="))
        .length >= 2,
  );
  assert.ok(asked.every((one) => one.includes("width=300&from=100&to=150")));
  await page.context().close();
});

test("on a telephone, dark, in Chinese", async () => {
  const page = await shared.browser.page(shared.daemon, { dark: true, width: 360, height: 780 });
  await page.goto("/compare?label=sweep=rates");
  await whole(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 360, `${wide} px wide`);
  await shot(page, "compare-zh-dark-360");
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

testNoComplaints(shared);
