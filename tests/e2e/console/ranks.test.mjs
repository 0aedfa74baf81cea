// The resources of all ranks: lines in which the straggler stands out, a map where there are many, what
// is trained on the same axis, and what the machine did when the pace fell.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { Events } from "./events.mjs";
import { Gate, JOBS, axe, figure, job, shot, testNoComplaints, withConsole } from "./harness.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "muster-ranks-"));
const shared = withConsole(["--volume", `ranks=${folder}`]);
after(() => fs.rmSync(folder, { recursive: true }));
const at = (name, tab = "metrics") => `/jobs/default/PyTorchTrainingJob/${name}/${tab}`;
const chart = (page, name) => page.getByRole("img", { name });

test("all ranks on one chart; the one that is not like the others stands out", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "ranks");
  // Memory, which is the same on a busy machine: rank 1 holds 150 MB, as tail does of a line without end.
  const hold = `if [ $RANK = 1 ]; then (head -c 150000000 /dev/zero; ${gate.wait}) | tail >/dev/null; fi`;
  await daemon.api("POST", JOBS, job("uneven", `${hold}; ${gate.wait}`, { replicas: 3 }));
  const page = await shared.browser.page(daemon);
  await daemon.phase("uneven", "Running");
  await page.goto(at("uneven"));
  // Beside the sum of all, too, where its line would be lost.
  await page.getByText(/内存 worker-1 为 1\d\d.* MiB，其它副本的中位数为/).waitFor();
  await page.getByRole("button", { name: "逐个副本查看" }).click();
  await page
    .getByText(/worker-1 为 .*其它副本的中位数为/)
    .first()
    .waitFor();
  const legend = page.locator(".chart", { has: chart(page, /^内存/) }).locator(".chart-name");
  assert.deepEqual((await legend.allTextContents()).sort(), ["worker-0", "worker-1", "worker-2"]);
  assert.equal(new URL(page.url()).searchParams.get("replica"), "*", "the address holds it");
  await shot(page, "ranks-lines");
  await page.locator(".metrics select").nth(1).selectOption({ label: "热力图" });
  const map = chart(page, /^内存.*3 个副本随时间的热力图/);
  await map.waitFor();
  await map.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowDown");
  await page
    .locator(".heat", { has: map })
    .getByText(/^worker-1: /)
    .waitFor();
  assert.deepEqual(await axe(page), []);
  await shot(page, "ranks-map");
  gate.open();
  await page.context().close();
});

/** Answers of the API for a job that never ran so: ranks and hours by number. since: what times are
 * counted from. */
async function pretend(page, { seconds, cpu, since = Date.now(), gpus = 0 }) {
  await page.route(/\/samples\?/, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const rank = Number(/worker-(\d+)\/samples/.exec(route.request().url())?.[1] ?? 0);
    const step = Number(query.get("step")) * 1000;
    const now = Date.now();
    const time = [];
    for (let t = Math.max(now - seconds * 1000, Number(query.get("since")) + 1); t < now; t += step)
      time.push(Math.floor(t / step) * step);
    const values = time.map((t) => cpu(rank, (t - since) / 1000));
    const bytes = time.map(() => 1e9 + rank * 1e6);
    const busy = (share) => ({ unit: "ratio", values: time.map(() => share) });
    const each = Array.from({ length: gpus }, (_, i) => [`gpu.${i}`, busy(i === 1 ? 0.1 : 0.9)]);
    await route.fulfill({
      json: {
        time,
        columns: {
          cpu: { unit: "cores", values },
          memory: { unit: "bytes", values: bytes },
          ...(gpus ? { gpu: busy(0.7), ...Object.fromEntries(each) } : {}),
        },
      },
    });
  });
}

test("training on the same axis, and what the machine did when the pace fell", async () => {
  const { daemon } = shared;
  const events = new Events(path.join(folder, "slowed"));
  const now = Date.now() / 1000;
  let step = 0;
  for (let t = -1200; t < 0; t += 2) {
    step += t < -600 ? 16 : 6; // eight steps a second, then three
    events.scalar("train/loss", step, 1 / step, now + t);
  }
  events.write();
  const gate = new Gate(daemon, "slowed");
  await daemon.api(
    "POST",
    JOBS,
    job("slowed", gate.wait, {
      replicas: 3,
      spec: { tensorboardSpec: { trainingLogFilesets: ["t9k://pvc/ranks/slowed"] } },
    }),
  );
  await daemon.phase("slowed", "Running");
  const page = await shared.browser.page(daemon);
  await pretend(page, {
    seconds: 1200,
    since: now * 1000,
    cpu: (rank, t) => (rank === 2 && t > -600 ? 0.2 : 0.9),
  });
  await page.goto(at("slowed"));
  const note = page.getByRole("note");
  await note.getByText(/训练速度从 8 步\/秒降到 3 步\/秒（-6[23]%）/).waitFor();
  await note.getByText(/worker-2 的CPU（核）从 900m 降到 200m/).waitFor();
  assert.doesNotMatch(await note.textContent(), /内存/, "what did not change is not said");
  // One cursor over all of them.
  await chart(page, /^train\/loss/)
    .locator(".u-over")
    .hover({ position: { x: 100, y: 50 } });
  const times = () => page.locator(".chart-at").allTextContents();
  const [first, ...others] = (await times()).filter(Boolean);
  assert.ok(others.length >= 2, "the charts of resources have the cursor too");
  for (const one of others) assert.equal(one, first);
  await shot(page, "ranks-fall");

  const english = await shared.browser.page(daemon, { lang: "en", dark: true });
  await pretend(english, { seconds: 1200, cpu: () => 0.9 });
  await english.goto(at("slowed"));
  await english
    .getByRole("note")
    .getByText(/slowed from 8 to 3 steps per second/)
    .waitFor();
  await english.getByText("The replicas’ samples show no clear change at that time.").waitFor();
  await shot(english, "ranks-fall-en");
  await english.context().close();

  // A steady run says nothing.
  const steady = new Events(path.join(folder, "steady"));
  for (let t = -600; t < 0; t += 2) steady.scalar("train/loss", (600 + t) * 4, 1, now + t);
  steady.write();
  const body = job("steady", gate.wait);
  body.metadata.annotations = { "muster.dev/log-dir": path.join(folder, "steady") }; // no board
  await daemon.api("POST", JOBS, body);
  await daemon.phase("steady", "Running");
  await page.goto(at("steady"));
  await chart(page, /^步\/秒/).waitFor();
  assert.equal(await page.getByRole("note").count(), 0);
  gate.open();
  await page.context().close();
});

test("each GPU of a replica is a line of its own, and the idle one is named", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "gpus");
  await daemon.api("POST", JOBS, job("devices", gate.wait));
  await daemon.phase("devices", "Running");
  const page = await shared.browser.page(daemon);
  await pretend(page, { seconds: 600, cpu: () => 0.5, gpus: 4 });
  await page.goto(at("devices"));
  const use = page.locator(".chart", { has: chart(page, /^GPU 利用率/) });
  await use.locator(".chart-name").nth(3).waitFor();
  assert.deepEqual(
    (await use.locator(".chart-name").allTextContents()).sort(),
    [0, 1, 2, 3].map((i) => `worker-0 GPU ${i}`),
  );
  await page
    .getByText(/worker-0 GPU 1 为 10%，其它副本的中位数为 90%/)
    .first()
    .waitFor();
  gate.open();
  await page.context().close();
});

test("64 ranks over 24 hours: a map, drawn and pointed at quickly, asked for with bounds", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "wide");
  await daemon.api("POST", JOBS, job("wide", gate.wait, { replicas: 64 }));
  await daemon.phase("wide", "Running");
  const page = await shared.browser.page(daemon);
  let asked = 0;
  let most = 0;
  let open = 0;
  page.on("request", (one) => {
    if (!one.url().includes("/samples?")) return;
    asked++;
    most = Math.max(most, ++open);
  });
  for (const end of ["requestfinished", "requestfailed"])
    page.on(end, (one) => void (one.url().includes("/samples?") && open--));
  await pretend(page, {
    seconds: 86_400,
    cpu: (rank, t) => (rank === 17 ? 0.2 : 0.8 + 0.1 * Math.sin(t / 1000 + rank)),
  });
  const begun = Date.now();
  await page.goto(`${at("wide")}?replica=*&range=24h`);
  const map = chart(page, /^CPU.*64 个副本随时间的热力图/);
  await map.waitFor();
  await page
    .getByText(/worker-17 为 200m|worker-17 为 0\.2/)
    .first()
    .waitFor();
  const shown = Date.now() - begun;
  assert.equal(asked, 64, "one request for each rank");
  assert.ok(most <= 4, `${most} requests at once`);
  const moved = await map.evaluate(async (canvas) => {
    const box = canvas.getBoundingClientRect();
    const took = [];
    for (let i = 0; i < 40; i++) {
      const from = performance.now();
      canvas.dispatchEvent(
        new window.MouseEvent("mousemove", {
          bubbles: true,
          clientX: box.left + 120 + i * 5,
          clientY: box.top + 10 + i * 3,
        }),
      );
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      took.push(performance.now() - from);
    }
    return took.sort((a, b) => a - b)[20];
  });
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  figure(
    `64 ranks x 24 h: shown after ${shown} ms, a move of the cursor ${moved.toFixed(0)} ms, heap ${(usedSize / 1e6).toFixed(1)} MB`,
  );
  assert.ok(usedSize < 100e6, `${usedSize} bytes of heap`);
  assert.ok(moved < 400, `${moved} ms for a move`);
  await shot(page, "ranks-64");
  gate.open();
  await page.context().close();
});

testNoComplaints(shared);
