// Logs as long as they come: searched and read anywhere on the server, linked, kept after their pods;
// and the terminal beside them.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import {
  axe,
  figure,
  Gate,
  job,
  JOBS,
  PODS,
  shot,
  testNoComplaints,
  withConsole,
} from "./harness.mjs";

const LINES = 100_000;
const at = (name, rest) => `/jobs/default/PyTorchTrainingJob/${name}/${rest}`;
const shared = withConsole([], async (daemon) => {
  await daemon.api(
    "POST",
    JOBS,
    job(
      "long",
      `echo 'the very first'; seq -f 'step %.0f of many' 1 50000; echo 'ERROR: in the middle of it'; seq -f 'step %.0f of many' 50001 ${LINES}`,
    ),
  );
  await daemon.phase("long", "Succeeded");
});

const status = (page) => page.locator(".log-search [role=status]");
const search = (page) => page.getByRole("searchbox", { name: "搜索日志（/正则/）" });

/** The line that was found is in sight. */
async function inSight(page, text) {
  await page.waitForFunction((wanted) => {
    const line = document.querySelector(".log-line.found");
    const box = document.querySelector(".log-rows")?.getBoundingClientRect();
    const place = line?.getBoundingClientRect();
    return (
      line?.querySelector(".log-text").textContent === wanted &&
      place.top >= box.top - 1 &&
      place.bottom <= box.bottom + 1
    );
  }, text);
}

async function openLog(name, rest = "logs") {
  const page = await shared.browser.page(shared.daemon);
  await page.goto(at(name, rest));
  await page.locator(".log-line").first().waitFor();
  return page;
}

test("all of a long log is searched; the first Enter is hit 1", async () => {
  const page = await openLog("long");
  // The log goes down to the window's edge, and the page itself does not scroll.
  assert.ok(
    await page.evaluate(() => {
      const { bottom } = document.querySelector(".log-rows").getBoundingClientRect();
      const { scrollHeight } = document.documentElement;
      return bottom <= innerHeight && bottom > innerHeight - 80 && scrollHeight <= innerHeight;
    }),
  );
  await search(page).fill("very first");
  await page.keyboard.press("Enter");
  await inSight(page, "the very first");
  await status(page).getByText("1/1", { exact: true }).waitFor();

  await search(page).fill("step 1000");
  await page.keyboard.press("Enter");
  await inSight(page, "step 1000 of many");
  await status(page).getByText("1/12", { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await inSight(page, "step 10000 of many");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Shift+Enter");
  await status(page).getByText("12/12", { exact: true }).waitFor();
  await inSight(page, "step 100000 of many");
  await page.getByRole("button", { name: "下一个" }).click();
  await inSight(page, "step 1000 of many");
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

test("expressions are the server's, and what is wrong with one is said", async () => {
  const page = await openLog("long");
  await search(page).fill("/^step (77|88)777\\b/");
  await page.keyboard.press("Enter");
  await inSight(page, "step 77777 of many");
  await page.keyboard.press("Enter");
  await inSight(page, "step 88777 of many");
  await status(page).getByText("2/2", { exact: true }).waitFor();
  await page.context().close();
  const wrong = await shared.browser.page(shared.daemon, { allow: [/400/] });
  await wrong.goto(at("long", `logs?q=${encodeURIComponent("/a(/")}`));
  await status(wrong)
    .getByText(/missing "\)"|缺少“）”|缺少“\)”/)
    .waitFor();
  await wrong.context().close();
});

test("wrapped rows scroll to hits, too", async () => {
  const page = await openLog("long", "logs?wrap=1");
  await search(page).fill("step 4242 ");
  await page.keyboard.press("Enter");
  await inSight(page, "step 4242 of many");
  assert.ok((await page.locator(".log-line").count()) <= 2_000);
  await page.context().close();
});

test("a link to a line opens there, in another browser too", async () => {
  const page = await openLog("long", "logs?times=1");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await search(page).fill("step 31415 ");
  await page.keyboard.press("Enter");
  await inSight(page, "step 31415 of many");
  await page.locator(".log-line.found").hover();
  await page.locator(".log-line.found .log-link").click();
  const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  assert.match(link.searchParams.get("line"), /^worker-0@0\.\d+$/);
  link.searchParams.delete("q");
  await page.context().close();
  const other = await shared.browser.page(shared.daemon);
  await other.goto(link.pathname + link.search);
  await other.locator(".log-line.linked").getByText("step 31415 of many").waitFor();
  await other.context().close();
});

test("from a hit one reads on, both ways, to the end; the page keeps so many lines", async () => {
  const page = await openLog("long", "logs?q=step+50000+");
  await search(page).press("Enter");
  await inSight(page, "step 50000 of many");
  const rows = page.locator(".log-rows");
  const top = () =>
    page.evaluate(() => Number(/\d+/.exec(document.querySelector(".log-text")?.textContent)?.[0]));
  const first = await top();
  for (let i = 0; i < 3; i++) {
    const before = await top();
    await rows.press("Home");
    await page.waitForFunction(
      (was) => Number(/\d+/.exec(document.querySelector(".log-text").textContent)?.[0]) < was,
      before,
    );
  }
  assert.ok((await top()) < first);
  await page.getByRole("button", { name: "跳到最新" }).click();
  await page.locator(".log-line").getByText(`step ${LINES} of many`).waitFor();
  await page.locator(".log-foot").getByText("日志结束").waitFor();
  await page.context().close();
});

test("a level is looked for by the server: one error of 100,000 lines", async () => {
  const page = await openLog("long", "logs?level=error");
  assert.equal(await page.locator(".log-line").count(), 1);
  await page.locator(".log-line").getByText("ERROR: in the middle of it").waitFor();
  await page.context().close();
});

test("of a paused job the logs are there", async () => {
  const gate = new Gate(shared.daemon, "pausing");
  await shared.daemon.api("POST", JOBS, job("pausing", `echo before the pause; ${gate.wait}`));
  await shared.daemon.phase("pausing", "Running");
  const page = await openLog("pausing");
  await page.getByRole("button", { name: "暂停" }).click();
  await page.locator(".page-head").getByText("Paused").waitFor();
  await page.getByText("这些副本已不在").waitFor();
  await page.locator(".log-line").getByText("before the pause").waitFor();
  await search(page).fill("PAUSE");
  await page.keyboard.press("Enter");
  await inSight(page, "before the pause");
  await shot(page, "logs-kept");
  await page.context().close();
  gate.open();
});

test("one search over all jobs of a project, of deleted ones too", async () => {
  const { daemon } = shared;
  for (const name of ["one", "two", "three"])
    await daemon.api("POST", JOBS, job(name, `echo I am ${name}; echo loss nan at ${name}`));
  for (const name of ["one", "two", "three"]) await daemon.phase(name, "Succeeded");
  await daemon.api("DELETE", `${JOBS}/three`);
  await daemon.until(
    PODS,
    (pods) => ![...pods.keys()].some((one) => one.startsWith("three-")),
    "the deleted job's pod to go",
  );
  const page = await shared.browser.page(daemon);
  await page.goto("/logs");
  const box = page.getByRole("searchbox");
  await box.fill("LOSS NAN");
  await page.getByRole("button", { name: "搜索", exact: true }).click();
  for (const name of ["one", "two", "three"])
    await page.locator(".found-line").getByText(`loss nan at ${name}`).waitFor();
  assert.deepEqual(await axe(page), []);
  await shot(page, "logs-search");
  await page.locator(".found-line").getByText("loss nan at two").click();
  await page.locator(".log-line.linked").getByText("loss nan at two").waitFor();
  assert.match(new URL(page.url()).pathname, /PyTorchTrainingJob\/two\/logs$/);
  await page.goBack();
  await page.locator(".found-line").getByText("loss nan at three").click();
  await page.locator(".log-line.linked").getByText("loss nan at three").waitFor();
  await page.getByRole("heading", { name: /^three-/ }).waitFor();
  await page.context().close();
});

test("replicas' logs are one, however long: hits and older lines by time, equal lines once", async () => {
  const { daemon } = shared;
  const program = `import os, sys, time
rank = int(os.environ["RANK"])
for i in range(6000):
    if i % 1000 == 0:
        print("epoch", i // 1000, flush=True)
    if (i + rank) % 2000 == 1:
        print("found by rank", rank, "in", i)
    print("rank", rank, "step", i)`;
  await daemon.api(
    "POST",
    JOBS,
    job("ranks", "", {
      replicas: 3,
      container: { command: ["/usr/bin/python3", "-c", program] },
    }),
  );
  await daemon.phase("ranks", "Succeeded");
  const page = await openLog("ranks");
  await search(page).fill("found by");
  await page.keyboard.press("Enter");
  await status(page).getByText("1/9", { exact: true }).waitFor();
  const seen = [];
  for (let i = 1; i <= 9; i++) {
    await status(page).getByText(`${i}/9`, { exact: true }).waitFor();
    await page.waitForFunction((before) => {
      const text = document.querySelector(".log-line.found .log-text")?.textContent;
      return text && !before.includes(text);
    }, seen);
    seen.push(await page.locator(".log-line.found .log-text").textContent());
    await page.keyboard.press("Enter");
  }
  assert.equal(new Set(seen).size, 9, seen.join());
  await status(page).getByText("1/9", { exact: true }).waitFor(); // round and round
  // One rank alone: it alone is asked.
  await page.goto(at("ranks", "logs?ranks=worker-1&q=found+by"));
  await status(page).getByText("0/3", { exact: true }).waitFor();
  await page.goto(at("ranks", "logs?q=epoch+0"));
  await search(page).press("Enter");
  await page.locator(".log-line.found").getByText("epoch 0").waitFor();
  await page.context().close();
});

test("before a server that cannot search: in the lines that are here, and it says so", async () => {
  const page = await shared.browser.page(shared.daemon);
  await page.route(/\/log\?.*search=/, (route) =>
    route.fulfill({ contentType: "text/plain", body: "the log itself\n" }),
  );
  await page.goto(at("long", "logs"));
  await page.locator(".log-line").first().waitFor();
  await search(page).fill("step 99999 ");
  await page.keyboard.press("Enter");
  await page.getByText("此服务器不能搜索日志").waitFor();
  await status(page)
    .getByText(/^[01]\/1$/)
    .waitFor();
  await search(page).press("Enter");
  await inSight(page, "step 99999 of many");
  await page.context().close();
});

/** What the page's own memory is, after what is not used any more is gone. */
async function heapMb(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1e6;
}

test("a log of 1 GB: a hit in its middle, and the page's memory", async () => {
  const { daemon } = shared;
  await daemon.api("POST", JOBS, job("gigabyte", "echo begin"));
  await daemon.phase("gigabyte", "Succeeded");
  const pods = await daemon.api(
    "GET",
    `${PODS}?labelSelector=tensorstack.dev%2Fowner-name%3Dgigabyte`,
  );
  const folder = path.join(daemon.data, "pods", pods.items[0].metadata.uid);
  const file = path.join(
    folder,
    fs.readdirSync(folder).find((one) => one.startsWith("pytorch.")),
  );
  const header = fs.readFileSync(file, "utf8").slice(0, 40);
  const line = `${header}step loss ${"x".repeat(80)}\n`;
  const block = Buffer.from(line.repeat(Math.floor((1 << 24) / line.length)));
  const out = fs.openSync(file, "w");
  for (let n = 0; n < 1e9; n += block.length) {
    if (n > 0.7e9 && n <= 0.7e9 + block.length) fs.writeSync(out, `${header}the needle\n`);
    fs.writeSync(out, block);
  }
  fs.closeSync(out);
  const page = await openLog("gigabyte");
  const before = await heapMb(page);
  const begin = Date.now();
  await search(page).fill("the needle");
  await page.keyboard.press("Enter");
  await inSight(page, "the needle");
  const ms = Date.now() - begin;
  await status(page).getByText("1/1", { exact: true }).waitFor();
  const counted = Date.now() - begin;
  const after = await heapMb(page);
  figure(
    `1 GB: a hit at 0.7 GB in sight after ${ms} ms, all counted after ${counted} ms; the page's memory ${before.toFixed(1)} -> ${after.toFixed(1)} MB`,
  );
  assert.ok(after < before + 20, `${before} -> ${after} MB`);
  await page.context().close();
});

test("a terminal knows its size and outlives a change of tab", async () => {
  const gate = new Gate(shared.daemon, "shell");
  await shared.daemon.api("POST", JOBS, job("shell", `echo up; ${gate.wait}`));
  await shared.daemon.phase("shell", "Running");
  const page = await shared.browser.page(shared.daemon);
  await page.goto(at("shell", "terminal"));
  const typed = async (text) => {
    await page.waitForFunction(() =>
      document.activeElement?.classList.contains("xterm-helper-textarea"),
    );
    await page.keyboard.type(`${text}\n`);
  };
  const shown = (text) =>
    page.locator(".xterm-accessibility").getByText(text).first().waitFor({ state: "attached" });
  await shown(/[#$]/);
  await typed("stty size | sed s/^/size=/; kept=yes");
  await shown(/size=[1-9]\d* [1-9]\d*/);
  await page.getByRole("link", { name: "日志", exact: true }).click();
  await page.locator(".log-line").first().waitFor();
  await page.getByRole("link", { name: "终端", exact: true }).click();
  await shown(/size=[1-9]\d* [1-9]\d*/);
  await typed("echo still here: $kept");
  await shown("still here: yes");
  await page.context().close();
  gate.open();
});

test("a user who may not open terminals sees why", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "forbidden");
  await daemon.api("POST", JOBS, job("guarded", gate.wait));
  await daemon.phase("guarded", "Running");
  const RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  await daemon.api("POST", "/api/v1/namespaces/default/serviceaccounts", {
    metadata: { name: "reader" },
  });
  await daemon.api("POST", `${RBAC}/roles`, {
    metadata: { name: "reader" },
    rules: [
      {
        apiGroups: ["", "batch.tensorstack.dev"],
        resources: ["*"],
        verbs: ["get", "list", "watch"],
      },
    ],
  });
  await daemon.api("POST", `${RBAC}/rolebindings`, {
    metadata: { name: "reader" },
    roleRef: { kind: "Role", name: "reader" },
    subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
  });
  const { status: made } = await daemon.api(
    "POST",
    "/api/v1/namespaces/default/serviceaccounts/reader/token",
    { spec: {} },
  );
  const page = await shared.browser.page(daemon, {
    token: made.token,
    allow: [/403/],
  });
  await page.goto(at("guarded", "terminal"));
  await page.getByRole("alert").getByText("你没有在项目 default 中打开终端的权限").waitFor();
  await page.context().close();
  gate.open();
});

testNoComplaints(shared);
