// The page one leaves open: what runs and how it goes, what waits and why, what failed since somebody
// looked, how busy the machine is; and how dense lists are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Gate, JOBS, axe, job, row, testNoComplaints, withConsole } from "./harness.mjs";

const shared = withConsole();

test("what runs, what waits and why, how busy the machine is", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "learns");
  const line = 'for i in 1 2 3; do echo "step $i/10 loss 0.$i"; done';
  await daemon.api("POST", JOBS, job("learns", `${line}; ${gate.wait}`));
  const resources = { limits: { "nvidia.com/gpu": "64" } };
  await daemon.api("POST", JOBS, job("wants-gpus", "true", { container: { resources } }));
  const page = await shared.browser.page(daemon);
  await page.goto("/overview");
  const learns = page.locator(".running tr", { hasText: "learns" });
  await learns.getByText("30%").waitFor(); // live: nobody loads the page again
  await learns.getByText("0.3", { exact: true }).waitFor();
  await learns.getByRole("meter", { name: /CPU/ }).waitFor();
  const waits = page.locator(".items li", { hasText: "wants-gpus" });
  await waits.getByText(/无法调度：资源不足/).waitFor();
  await page.getByRole("meter", { name: /^CPU: 已使用/ }).waitFor();
  await page.getByRole("meter", { name: /^内存: 已使用/ }).waitFor();
  await page.waitForFunction(() => document.title.startsWith("▶ 1 · "));
  assert.deepEqual(await axe(page), []);
  gate.open();
  await learns.waitFor({ state: "detached" });
  await page.context().close();
});

test("what failed since somebody looked is new, in the tab too, until it is marked", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  await page.goto("/overview");
  await page.getByText("没有失败的 Job").waitFor();
  const calm = await page.locator("link[rel=icon]").getAttribute("href");
  // Times are whole seconds: it fails in a later one than that of the visit.
  for (const name of ["breaks", "breaks-too"])
    await daemon.api("POST", JOBS, job(name, "sleep 1.5; echo 'ValueError: no' >&2; exit 1"));
  const item = (name) =>
    page.locator(".items li", { has: page.getByRole("link", { name, exact: true }) });
  for (const name of ["breaks", "breaks-too"]) {
    await item(name).getByText("新", { exact: true }).waitFor();
    await item(name).getByText("退出码 1：ValueError: no").waitFor();
  }
  await page.waitForFunction(() => document.title.startsWith("✕ "));
  assert.notEqual(await page.locator("link[rel=icon]").getAttribute("href"), calm);
  await page.getByRole("button", { name: "全部标为已读" }).click();
  await page.getByText(/以来没有新的失败/).waitFor();
  await item("breaks").waitFor(); // it stays, and is no news
  assert.equal(await page.getByText("新", { exact: true }).count(), 0);
  await page.reload();
  await page.getByText(/以来没有新的失败/).waitFor();
  await page.context().close();
});

test("lists are as dense as was chosen, after a reload too", async () => {
  const page = await shared.browser.page(shared.daemon);
  const height = async () => (await row(page, "breaks").boundingBox()).height;
  await page.goto("/jobs");
  assert.equal(await height(), 36);
  await page.goto("/settings");
  await page.getByRole("radio", { name: "紧凑" }).check();
  await page.goto("/jobs");
  assert.equal(await height(), 28);
  await page.context().close();
});

testNoComplaints(shared);
