// A job's page in the order people ask: state and why, progress, loss, last lines; then what is closed
// until it is opened, and stays as it was left.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Gate, JOBS, PODS, axe, job, shot, testNoComplaints, withConsole } from "./harness.mjs";

const shared = withConsole();
const at = (name, tab = "") => `/jobs/default/PyTorchTrainingJob/${name}${tab && `/${tab}`}`;
const top = (locator) => locator.evaluate((element) => element.getBoundingClientRect().top);
const section = (page, name) =>
  page.locator("details.section", {
    has: page.getByRole("heading", { name, exact: true }),
  });

test("state, progress and last lines first; details, conditions and events below, closed", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "ordered");
  await daemon.api(
    "POST",
    JOBS,
    job("ordered", `for i in 1 2 3; do echo "step $i/10 loss 0.$i"; done; ${gate.wait}; echo bye`),
  );
  await daemon.until(
    JOBS,
    (jobs) => jobs.get("ordered")?.status?.progress?.fraction,
    "progress to be told",
  );
  const page = await shared.browser.page(daemon);
  await page.goto(at("ordered"));
  const facts = page.locator(".facts");
  await facts.getByText("Running").waitFor();
  await facts.getByText("1 个副本中有 1 个在运行").waitFor();
  await facts.getByText("30%").waitFor();
  const lines = page.getByRole("region", { name: "最新日志" });
  await lines.getByText("step 3/10").waitFor();
  const places = [facts, lines];
  for (const name of ["副本概况", "时间线", "基本信息", "状况", "事件"])
    places.push(page.getByRole("heading", { name, exact: true }));
  const tops = await Promise.all(places.map(top));
  assert.deepEqual(
    [...tops].sort((a, b) => a - b),
    tops,
  );
  for (const name of ["基本信息", "状况", "事件"])
    assert.equal(await section(page, name).getAttribute("open"), null, name);
  // What is closed says in a few words what is in it.
  assert.match(await section(page, "基本信息").locator("summary").textContent(), /worker: 1/);
  assert.match(await section(page, "状况").locator("summary").textContent(), /Running · /);

  // Once it is over the last lines stay.
  gate.open();
  await facts.getByText("Done：已成功完成").waitFor();
  await section(page, "状况")
    .getByText(/^Completed · /)
    .waitFor(); // what is, not "Failed = False"
  await lines.getByText("bye").waitFor();
  await page.context().close();
});

test("the last lines of a failure open at the line that says why; by keyboard they scroll", async () => {
  const { daemon } = shared;
  await daemon.api(
    "POST",
    JOBS,
    job(
      "breaks",
      `for i in $(seq 15); do printf "frame $i%0900d\\n" 0; done; echo "RuntimeError: shapes differ" >&2; exit 1`,
    ),
  );
  await daemon.phase("breaks", "Failed");
  const page = await shared.browser.page(daemon);
  await page.goto(at("breaks"));
  const lines = page.getByRole("region", { name: "最后几行日志" });
  const telling = lines.getByText("RuntimeError: shapes differ");
  await telling.waitFor();
  const [box, line] = [await lines.boundingBox(), await telling.boundingBox()];
  assert.ok(line.y >= box.y && line.y + line.height <= box.y + box.height, "it is in view");
  await lines.focus();
  await page.keyboard.press("Home");
  await page.waitForFunction(() => document.querySelector(".tail").scrollTop === 0);
  assert.deepEqual(await axe(page), []);
  await shot(page, "job-last-lines");
  await page.context().close();
});

test("paused, its last lines stay; debug mode is said", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "halts");
  await daemon.api("POST", JOBS, job("halts", `echo before the pause; ${gate.wait}`));
  const page = await shared.browser.page(daemon);
  await page.goto(at("halts"));
  await page.getByRole("region", { name: "最新日志" }).getByText("before the pause").waitFor();
  const change = (name, runMode) =>
    daemon.api(
      "PATCH",
      `${JOBS}/${name}`,
      { spec: { runMode } },
      { type: "application/merge-patch+json" },
    );
  await change("halts", { pause: { enabled: true } });
  await daemon.phase("halts", "Paused");
  await daemon.until(PODS, (pods) => ![...pods.keys()].some((one) => one.startsWith("halts-")), "no pod"); // prettier-ignore
  await page.reload();
  await page.getByRole("heading", { name: "最后几行日志" }).waitFor();
  await page.getByText("before the pause").waitFor();
  await daemon.api(
    "POST",
    JOBS,
    job("debugged", "true", {
      spec: { runMode: { debug: { enabled: true } } },
    }),
  );
  await daemon.phase("debugged", "Running");
  await page.goto(at("debugged"));
  await page
    .locator(".facts")
    .getByText(/副本空转/)
    .waitFor();
  gate.open();
  await page.context().close();
});

test("what was opened stays open, on every job and after a reload; by keyboard too", async () => {
  const { daemon } = shared;
  await daemon.api("POST", JOBS, job("other", "true"));
  await daemon.phase("other", "Succeeded");
  const page = await shared.browser.page(daemon);
  await page.goto(at("ordered"));
  await section(page, "状况").locator("summary").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("cell", { name: "Initialized", exact: true }).waitFor();
  await section(page, "时间线").locator("summary").click();
  await page.goto(at("other"));
  await page.getByRole("cell", { name: "Initialized", exact: true }).waitFor();
  assert.equal(await section(page, "时间线").getAttribute("open"), null);
  await page.reload();
  await page.getByRole("cell", { name: "Initialized", exact: true }).waitFor();
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

test("an address that names an event opens the events", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  await page.goto(`${at("other")}?detailed=1`);
  await page.locator("td.message").first().waitFor();
  await page.getByRole("checkbox", { name: "详细事件" }).waitFor();
  await shot(page, "job-events");
  await page.context().close();
});

testNoComplaints(shared);
