// Every page in both languages and both themes: a picture for the reviewer (build/console-shots),
// and axe-core without a serious finding. Then the tour by keyboard alone, and on a telephone's 360
// pixels.
//
// That a foreign Origin, a missing token and a forged Host are refused, tests/api/login_test.py
// tells of the server itself.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { JOBS, ROOT, axe, job, row, shot, testNoComplaints, withConsole } from "./harness.mjs";

const curves = fs.mkdtempSync(path.join(os.tmpdir(), "muster-curves-"));
const shared = withConsole(["--volume", `curves=${curves}`], prepare);
after(() => fs.rmSync(curves, { recursive: true }));
const at = (name, tab = "") => `/jobs/default/PyTorchTrainingJob/${name}${tab && `/${tab}`}`;
const NOISE = `i=0; while :; do i=$((i+1)); echo "epoch $((i/10))/30 step $i loss 0.$((1000-i))"; [ $((i%7)) = 0 ] && echo "WARNING: learning rate is small"; printf '\\033[32mok\\033[0m \\033[1mbold\\033[0m\\n'; sleep 0.3; done`;

async function prepare(daemon) {
  execFileSync("/usr/bin/python3", [
    "-c",
    "import sys; sys.path.insert(0, sys.argv[1]); from eventfile import EventWriter\nw = EventWriter(sys.argv[2])\nfor i in range(200):\n  w.add_scalar('train/loss', 2 / (1 + i / 20), i); w.add_scalar('train/accuracy', 1 - 1 / (1 + i / 20), i); w.add_scalar('test/loss', 2.2 / (1 + i / 25), i)\nw.close()",
    path.join(ROOT, "examples/ddp"),
    path.join(curves, "run"),
  ]);
  await daemon.api(
    "POST",
    JOBS,
    job("trains", NOISE, {
      replicas: 2,
      labels: { team: "vision", "example.com/long-label-name": "a-long-value" },
      spec: { tensorboardSpec: { trainingLogFilesets: ["t9k://pvc/curves/"] } },
    }),
  );
  await daemon.api(
    "POST",
    JOBS,
    job(
      "fails",
      "echo loading; echo 'ModuleNotFoundError: No module named \"horovod\"' >&2; exit 1",
    ),
  );
  await daemon.api("POST", JOBS, job("a-rather-long-name-as-people-give", "echo done"));
  await daemon.api(
    "POST",
    JOBS,
    job("rests", "sleep 600", {
      spec: { runMode: { pause: { enabled: true } } },
    }),
  );
  const waits = job("no-folder-yet", "sleep 600", {
    spec: { tensorboardSpec: { trainingLogFilesets: ["t9k://pvc/curves/not-there-yet"] } },
  });
  await daemon.api("POST", JOBS, waits); // its board waits for a minute before it says so
  await daemon.phase("trains", "Running");
  await daemon.phase("fails", "Failed");
  await daemon.phase("rests", "Paused");
  await daemon.phase("a-rather-long-name-as-people-give", "Succeeded");
}

/** So many seconds from now, for an address. */
const moment = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();

/** Each page: where it is, and what is on it when it is there. */
const PAGES = [
  ["overview", "/overview", (p) => p.locator(".running .spark").first()],
  ["jobs", "/jobs", (p) => row(p, "trains").locator(".state-running")],
  [
    "jobs-open",
    "/jobs",
    async (p) => {
      await row(p, "fails").locator("button[aria-expanded]").first().click();
      await row(p, "trains").locator(".menu-button").click();
      return p.getByRole("menu");
    },
  ],
  [
    "jobs-filter",
    "/jobs?phase=Failed&sort=name",
    async (p) => {
      await p.locator(".filters button").nth(1).click();
      return p.getByRole("dialog");
    },
  ],
  ["jobs-none", "/jobs?q=nothing-like-this", (p) => p.locator(".empty")],
  ["create", "/jobs/new?kind=PyTorchTrainingJob&example=1", (p) => p.locator(".create-form")],
  ["create-mpi", "/jobs/new?kind=MPIJob", (p) => p.locator(".create-form")],
  [
    "create-yaml",
    "/jobs/new?kind=PyTorchTrainingJob",
    async (p) => {
      await p.locator(".page-head button").nth(1).click();
      return p.locator(".cm-content");
    },
  ],
  ["job", at("trains"), (p) => p.locator(".alive .log-line").first()],
  [
    "job-open",
    `${at("trains")}?detailed=1`,
    async (p) => {
      for (const id of ["basic", "conditions"])
        if (!(await p.locator(`#${id}[open]`).count())) await p.locator(`#${id} summary`).click();
      await p.locator("#basic").scrollIntoViewIfNeeded();
      return p.getByText("NewReplica").first();
    },
  ],
  ["job-failed", at("fails"), (p) => p.locator(".box.bad pre")],
  ["job-paused", at("rests"), (p) => p.locator(".box.warn")],
  ["replicas", at("trains", "replicas"), (p) => p.locator(".replicas tbody tr").nth(1)],
  ["logs", at("trains", "logs?times=1&q=loss"), (p) => p.locator(".log-line mark").first()],
  ["logs-wrapped", at("trains", "logs?wrap=1"), (p) => p.locator(".log-line").nth(5)],
  ["metrics", at("trains", "metrics"), (p) => p.locator(".chart canvas").nth(1)],
  [
    "metrics-range",
    at("trains", `metrics?from=${moment(-10)}&to=${moment(600)}`),
    (p) => p.locator(".chart canvas").nth(1),
  ],
  ["training", at("trains", "training"), (p) => p.locator(".chart canvas").nth(2)],
  ["yaml", at("trains", "yaml"), (p) => p.locator(".cm-line").nth(5)],
  ["terminal", at("trains", "terminal"), (p) => p.locator(".xterm-rows").getByText(/[#$]/).first()],
  ["compare", "/compare?jobs=default/PyTorchTrainingJob/trains,fails", (p) => p.locator(".chart canvas").first()], // prettier-ignore
  ["log-search", "/logs?q=loading", (p) => p.locator(".found-line").first()],
  ["queues", "/queues", (p) => p.locator("article").first()],
  ["nodes", "/nodes", (p) => p.locator("meter").first()],
  ["tensorboards", "/tensorboards", (p) => p.locator("tbody tr").first()],
  ["settings", "/settings", (p) => p.locator("input[type=radio]").first()],
  ["design", "/design", (p) => p.locator("main h1")],
  [
    "palette",
    "/settings",
    async (p) => {
      await p.locator("main h1").waitFor();
      await p.keyboard.press("Control+k");
      return p.getByRole("dialog");
    },
  ],
  ["not-found", "/nowhere", (p) => p.locator(".empty")],
];

for (const lang of ["zh", "en"]) {
  test(`every page in ${lang}, light and dark`, async () => {
    const findings = [];
    const page = await shared.browser.page(shared.daemon, {
      lang,
      allow: [/401/],
    }); // at the login
    const look = async (name, theme) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.locator(`html[data-theme="${theme}"]`).waitFor({ state: "attached" });
      await shot(page, `${name}-${lang}-${theme}`);
      // Colours are the same in both languages, words in both themes.
      if ((lang === "zh") === (theme === "light"))
        for (const one of await axe(page)) findings.push(`${name} ${theme}: ${one}`);
    };
    for (const [name, where, there] of PAGES) {
      await page.emulateMedia({ colorScheme: "light" });
      await page.goto(where);
      await (await there(page)).waitFor();
      await look(name, "light");
      await look(name, "dark");
    }
    await page.evaluate(() => localStorage.removeItem("muster-session"));
    await page.goto("/jobs");
    await page.locator(".login form").waitFor();
    await look("login", "light");
    await look("login", "dark");
    assert.deepEqual(findings, []);
  });
}

test("the whole tour by keyboard alone", async () => {
  const page = await shared.browser.page(shared.daemon, { allow: [/401/] });
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  /** Tab until the focus is on what is wanted. */
  const tabTo = async (locator) => {
    await locator.first().waitFor();
    for (let i = 0; i < 80; i++) {
      if (await locator.first().evaluate((element) => element === document.activeElement)) return;
      await press("Tab");
    }
    assert.fail(`the focus never came to ${locator}`);
  };
  /** Enter on a menu's button; its first entry then has the focus. */
  const openMenu = async () => {
    await press("Enter");
    await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "menuitem");
  };
  await page.goto("/jobs");
  await row(page, "trains").waitFor();
  await tabTo(page.getByRole("button", { name: "创建 Job" }));
  await openMenu();
  await press("ArrowDown", "ArrowUp", "Enter");
  await page.getByRole("heading", { name: "创建 PyTorchTrainingJob" }).waitFor();
  await tabTo(page.getByRole("textbox", { name: "名称" }));
  await page.keyboard.type("by-keys");
  await tabTo(page.getByLabel(/^运行命令/));
  await press("Control+a");
  await page.keyboard.type("sh\n-c\nwhile echo tick; do sleep 0.2; done");
  await tabTo(page.getByRole("textbox", { name: "CPU 请求值" }));
  await press("Control+a");
  await page.keyboard.type("10m");
  await press("Home");
  for (
    let i = 0;
    i < 60 &&
    !(await page
      .getByRole("button", { name: "创建", exact: true })
      .evaluate((element) => element === document.activeElement));
    i++
  )
    await press("Shift+Tab");
  await press("Enter");
  await row(page, "by-keys").getByText("Running").waitFor();
  await press("/");
  await page.keyboard.type("by-k");
  await row(page, "trains").waitFor({ state: "detached" });
  await tabTo(page.getByRole("link", { name: "by-keys", exact: true }));
  await press("Enter");
  await page.getByRole("heading", { name: "基本信息" }).waitFor();
  await press("r");
  await tabTo(page.getByRole("button", { name: /^更多信息/ }));
  await openMenu();
  await press("Enter");
  await page.getByRole("region", { name: "日志" }).getByText("tick").first().waitFor();
  await press("m");
  await page.getByRole("heading", { name: "集群资源" }).waitFor();
  await press("y");
  await page.locator(".cm-line").first().waitFor();
  await press("t");
  await page.waitForFunction(() =>
    document.activeElement?.classList.contains("xterm-helper-textarea"),
  );
  await page.keyboard.type("echo from $((40+2)) keys\n");
  await page
    .locator(".xterm-accessibility")
    .getByText("from 42 keys")
    .first()
    .waitFor({ state: "attached" });
  await press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("by-keys");
  await page.getByRole("option", { name: /by-keys$/, selected: true }).waitFor(); // the list of jobs may still be on its way
  await press("Enter");
  await page.getByRole("heading", { name: "基本信息" }).waitFor();
  await tabTo(page.getByRole("button", { name: "更多操作" }));
  await openMenu();
  await press("End", "Enter");
  await page.getByRole("dialog").waitFor();
  await tabTo(page.getByRole("dialog").getByRole("textbox"));
  await page.keyboard.type("by-keys");
  await tabTo(page.getByRole("dialog").getByRole("button", { name: "删除" }));
  await press("Enter");
  await page.getByRole("heading", { name: "Job", exact: true }).waitFor();
  await shared.daemon.until(JOBS, (jobs) => !jobs.has("by-keys"), "the job to be deleted by keys");
});

test("a sentence is said once, in the reader's language, and a row's buttons are in one line", async () => {
  const page = await shared.browser.page(shared.daemon);
  await page.goto("/tensorboards");
  const board = page.locator("tbody tr", { hasText: "no-folder-yet" });
  await board.getByText(/日志目录不存在/).waitFor();
  assert.doesNotMatch(await board.textContent(), /does not exist/);
  const tops = await board
    .locator(".row-actions > .button, .row-actions > button")
    .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
  assert.equal(new Set(tops).size, 1, `buttons at ${tops}`);
  await page.context().close();
  for (const lang of ["zh", "en"]) {
    const other = await shared.browser.page(shared.daemon, { lang });
    await other.goto(at("trains", "logs?times=1&q=loss"));
    await other.locator(".log-line mark").first().waitFor();
    const { height } = await other.getByRole("toolbar").boundingBox();
    assert.ok(height < 48, `the row above the log is ${height} px high in ${lang}`);
    await other.context().close();
  }
});

test("360 pixels wide: list, state, log, stop, and no page scrolls sideways", async () => {
  const page = await shared.browser.page(shared.daemon, {
    width: 360,
    height: 740,
  });
  const english = await shared.browser.page(shared.daemon, {
    lang: "en",
    width: 360,
    height: 740,
  });
  const wide = [];
  for (const [name, where, there] of PAGES) {
    if (name === "jobs-open" || name === "palette") continue;
    for (const one of [page, english]) {
      await one.goto(where);
      await (await there(one)).waitFor();
      if (one === page) await shot(page, `${name}-360`);
      const [have, room] = await one.evaluate(() => [
        document.documentElement.scrollWidth,
        document.documentElement.clientWidth,
      ]);
      if (have > room) wide.push(`${name}: ${have} > ${room}`);
    }
  }
  assert.deepEqual(wide, []);
  // What is searched for, and the marks of the time line.
  for (const [where, what] of [
    [at("trains", "logs"), "#search"],
    ["/logs?q=loading", "[role=search] button"],
  ]) {
    await page.goto(where);
    const box = await page.locator(what).boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 360, `${what} is out of view at ${box.x}`);
  }
  await page.goto(at("rests"));
  await page.locator(".axis .tick").first().waitFor();
  const marks = await page
    .locator(".axis .tick")
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).filter((one) => one.width));
  for (const [i, one] of marks.entries())
    if (i) assert.ok(marks[i - 1].right < one.left, "marks of the axis overlap");
  await page.goto("/jobs");
  await row(page, "trains").locator(".state-running").waitFor();
  await row(page, "trains").getByRole("link", { name: "trains", exact: true }).click();
  await page.locator(".page-head").getByText("Running").waitFor();
  await page.locator(".tabs").getByRole("link", { name: "日志" }).click();
  await page.locator(".log-line").first().waitFor();
  await page.getByRole("button", { name: "暂停" }).click();
  await page.locator(".page-head").getByText("Paused").waitFor();
});

testNoComplaints(shared);
