// The list of jobs: names that can be told apart, order, columns, search, filters with counts; and
// deleting with an undo that the server keeps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { JOBS, axe, job, row, testNoComplaints, withConsole } from "./harness.mjs";

const NAMES = ["adam", "sgd"].flatMap((optimizer) =>
  ["0.1", "0.01", "0.001"].map(
    (lr) => `imagenet-resnet50-sweep-${optimizer}-learning-rate-${lr.replace(".", "-")}`,
  ),
);
const paused = { runMode: { pause: { enabled: true } } };
const shared = withConsole([], async (daemon) => {
  for (const [i, name] of NAMES.entries())
    await daemon.api(
      "POST",
      JOBS,
      job(name, "true", { spec: paused, labels: { lr: String(i % 3), team: "vision" } }),
    );
  await daemon.api(
    "POST",
    JOBS,
    job("short", "true", { labels: { lr: "9", "tag.muster.dev/baseline": "" } }),
  );
  await daemon.phase("short", "Succeeded");
  for (const name of NAMES) await daemon.phase(name, "Paused");
});

const shownNames = (page) => page.locator(".row .cell-name a").allTextContents();
const opened = async (options) => {
  const page = await shared.browser.page(shared.daemon, options);
  await page.goto("/jobs");
  await row(page, "short").waitFor();
  return page;
};

test("names of a sweep can be told apart at 1440 pixels, and are read whole on focus", async () => {
  const page = await opened();
  const cut = () =>
    page
      .locator(".row:not(.head) .cell-name")
      .evaluateAll((cells) =>
        cells.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent),
      );
  assert.deepEqual(await cut(), []);
  await row(page, NAMES[0]).getByText("PyTorch", { exact: true }).waitFor();
  await page.setViewportSize({ width: 560, height: 800 });
  await page.waitForFunction(() => !document.querySelector(".row .cell-progress"));
  assert.notDeepEqual(await cut(), []);
  const link = row(page, NAMES[0]).getByRole("link", { name: NAMES[0] });
  assert.ok((await link.getAttribute("title")).startsWith(NAMES[0]));
  await link.focus();
  // Nothing lies over its end.
  assert.ok(
    await link.evaluate((one) => {
      const at = one.getBoundingClientRect();
      return document.elementFromPoint(at.right - 4, at.top + at.height / 2) === one;
    }),
  );
  await page.context().close();
});

test("a click on a head sorts, another the other way round; the address has it", async () => {
  const page = await opened();
  const head = page.getByRole("columnheader", { name: "名称" });
  await head.getByRole("button").click();
  assert.equal(new URL(page.url()).searchParams.get("sort"), "name");
  const up = await shownNames(page);
  assert.deepEqual(up, [...up].sort());
  await page.locator('[role=columnheader][aria-sort="ascending"]').getByText("名称").waitFor();
  await head.getByRole("button").click();
  await page.locator('[role=columnheader][aria-sort="descending"]').waitFor();
  assert.deepEqual(await shownNames(page), up.reverse());
  await page.context().close();
});

test("columns that were chosen are shown, whatever room there is", async () => {
  const page = await opened();
  const columns = page.getByRole("button", { name: "显示", exact: true });
  await columns.click();
  const panel = page.getByRole("dialog", { name: "显示" });
  const boxes = () =>
    panel.getByRole("checkbox").evaluateAll((all) => all.map((one) => one.checked));
  const heads = () => page.locator(".row.head [role=columnheader]").count();
  // What is ticked is what is there: box, state, name and menu are always.
  assert.equal((await boxes()).filter(Boolean).length + 4, await heads());
  for (const name of ["标签", "项目"]) {
    const box = panel.getByRole("checkbox", { name });
    if (!(await box.isChecked())) await box.check();
  }
  await page.getByRole("columnheader", { name: "标签" }).waitFor();
  await page.getByRole("columnheader", { name: "项目" }).waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await page.setViewportSize({ width: 900, height: 800 });
  await page.reload();
  await row(page, "short").waitFor();
  assert.ok(await row(page, "short").locator(".cell-labels").isVisible());
  // The table scrolls, the page does not.
  const [table, page_] = await page.evaluate(() =>
    [document.querySelector(".job-table"), document.documentElement].map(
      (one) => one.scrollWidth - one.clientWidth,
    ),
  );
  assert.ok(table > 0 && page_ <= 0, `the table scrolls by ${table}, the page by ${page_}`);
  await page.context().close();
});

test("search without case and by several words; filters drop down with counts", async () => {
  const page = await opened();
  const shown = (n) =>
    page.waitForFunction(
      (count) => document.querySelectorAll(".row:not(.head)").length === count,
      n,
    );
  await page.getByRole("searchbox").fill("SGD 0-01");
  await shown(1);
  assert.deepEqual(await shownNames(page), [NAMES[4]]);
  await page.getByRole("searchbox").fill("");
  await shown(7);
  // What is chosen less often is behind one button: the lists that divide what there is.
  assert.equal(await page.locator(".filters > button, .filters > .dropdown").count(), 6);
  await page.getByRole("button", { name: "更多筛选" }).click();
  const more = page.getByRole("dialog", { name: "更多筛选" });
  assert.deepEqual(await more.locator("legend").allTextContents(), ["Tag"]);
  await more.getByRole("checkbox", { name: "#baseline" }).check();
  await shown(1);
  assert.equal(new URL(page.url()).searchParams.get("tag"), "baseline");
  await more.getByRole("checkbox", { name: "#baseline" }).uncheck();
  await shown(7);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "标签" }).click();
  const panel = page.getByRole("dialog", { name: "标签" });
  const value = (name) => panel.locator("label", { hasText: name });
  assert.match(await value("team=vision").textContent(), /6$/);
  await value("lr=0").getByRole("checkbox").check();
  await shown(2);
  await value("lr=1").getByRole("checkbox").check();
  await shown(4); // of one key, either
  await value("team=vision").getByRole("checkbox").check();
  await shown(4); // of another key, too
  assert.deepEqual(await axe(page), []);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "阶段" }).click();
  const phases = page.getByRole("dialog", { name: "阶段" });
  assert.match(await phases.textContent(), /Paused4/);
  await page.context().close();
});

test("刷新 lists anew; 创建 Job and it are at the right, 构建 > Job is in the menu", async () => {
  const page = await opened();
  const relisted = page.evaluate(
    () =>
      new Promise((resolve) => {
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (text) {
          const { op, path, from } = JSON.parse(text);
          if (op === "watch" && path.endsWith("/pytorchtrainingjobs") && !from) resolve(true);
          return send.call(this, text);
        };
      }),
  );
  await page.getByRole("button", { name: "刷新" }).click();
  assert.ok(await relisted);
  assert.ok(await row(page, "short").isVisible());
  for (const name of ["刷新", "创建 Job"]) {
    const { x, y } = await page.getByRole("button", { name }).boundingBox();
    assert.ok(x > 1200 && y < 120, `${name} is at ${x}, ${y}`);
  }
  await page
    .getByRole("navigation", { name: "muster 控制台" })
    .getByRole("group", { name: "构建" })
    .getByRole("link", { name: "Job", exact: true })
    .click();
  await page.context().close();
});

const leavesAt = (object) => object.metadata.annotations?.["muster.dev/delete-at"];

async function remove(page, names) {
  for (const name of names) await page.getByRole("checkbox", { name: `选择 ${name}` }).check();
  await page.locator(".page-head").getByRole("button", { name: "删除" }).click();
  const dialog = page.getByRole("dialog");
  const button = dialog.getByRole("button", { name: "删除" });
  await dialog.getByText("日志会保留").waitFor();
  assert.doesNotMatch(await dialog.innerText(), /正在运行/, "they are paused");
  assert.equal(await dialog.getByRole("textbox").count(), 0, "so nothing needs typing");
  // Red, as what cannot be taken back for ever.
  assert.match(await button.getAttribute("class"), /danger/);
  await button.click();
  await page.getByText(`即将删除 ${names.length} 个 Job`).waitFor();
}

test("删除 of several: one undo for all; and the server deletes though the page is gone", async () => {
  const { daemon } = shared;
  const page = await opened();
  const names = NAMES.slice(0, 3);
  const each = (wanted) =>
    daemon.until(JOBS, (jobs) => names.every((one) => wanted(jobs.get(one))), "three jobs");
  await remove(page, names);
  await each((one) => leavesAt(one));
  await page.locator(".toasts").getByRole("button", { name: "撤销" }).click();
  await each((one) => one && !leavesAt(one));
  for (const name of names) await page.getByRole("checkbox", { name: `选择 ${name}` }).check();
  await page.reload();
  await row(page, names[0]).waitFor();
  await remove(page, names);
  // The row itself can be kept, also after the message is gone.
  await row(page, names[0]).getByRole("button", { name: "撤销" }).click();
  await daemon.until(JOBS, (jobs) => !leavesAt(jobs.get(names[0])), "the first to be kept");
  await page.context().close();
  const left = await daemon.until(
    JOBS,
    (jobs) => !jobs.has(names[1]) && !jobs.has(names[2]) && [...jobs.keys()],
    "the others to be deleted",
  );
  assert.ok(left.includes(names[0]) && left.includes("short"));
});

test("删除 of a TensorBoard can be undone too, and is done by the server", async () => {
  const { daemon } = shared;
  const boards = "/apis/tensorstack.dev/v1beta1/namespaces/default/tensorboards";
  await daemon.api("POST", boards, {
    apiVersion: "tensorstack.dev/v1beta1",
    kind: "TensorBoard",
    metadata: { name: "curves" },
    spec: { suspend: true, trainingLogFilesets: ["t9k://pvc/data/log"] },
  });
  const page = await shared.browser.page(daemon);
  await page.goto("/tensorboards");
  const begin = async () => {
    await page.getByRole("button", { name: "更多 curves" }).click();
    await page.getByRole("menuitem", { name: "删除" }).click();
    await page.getByText("即将删除 TensorBoard curves").waitFor();
    await daemon.until(boards, (all) => leavesAt(all.get("curves")), "the board to say when");
  };
  await begin();
  await page.locator(".toasts").getByRole("button", { name: "撤销" }).click();
  await daemon.until(boards, (all) => !leavesAt(all.get("curves")), "the board to be kept");
  await begin();
  await page.context().close();
  await daemon.until(boards, (all) => !all.has("curves"), "the board to be deleted");
});

test("Back, and the way up, keep filters and the place in the list", async () => {
  for (let i = 0; i < 40; i++)
    await shared.daemon.api("POST", JOBS, job(`many-${i}`, "true", { spec: paused }));
  const page = await shared.browser.page(shared.daemon);
  await page.goto("/jobs");
  await page.getByRole("searchbox").fill("many");
  const list = page.locator(".job-rows");
  await page.waitForFunction(() => document.querySelector(".job-rows")?.scrollHeight >= 40 * 36);
  await list.evaluate((one) => {
    one.scrollTop = 360;
  });
  const address = page.url();
  const open = async () => {
    // One in sight: a click on another would scroll.
    const href = await list.evaluate((box) => {
      const middle = box.getBoundingClientRect().top + box.clientHeight / 2;
      return [...box.querySelectorAll(".cell-name a")]
        .find((one) => one.getBoundingClientRect().top > middle)
        .getAttribute("href");
    });
    await page.locator(`.row .cell-name a[href="${href}"]`).click();
    await page.getByRole("heading", { name: "基本信息" }).waitFor();
  };
  const asLeft = async () => {
    await page.waitForFunction(() => document.querySelector(".job-rows")?.scrollTop === 360);
    assert.equal(page.url(), address);
    assert.equal(await page.getByRole("searchbox").inputValue(), "many");
  };
  await open();
  await page.goBack();
  await asLeft();
  await open();
  await page.getByRole("navigation", { name: "breadcrumb" }).getByRole("link").click();
  await asLeft();
  await page.context().close();
});

testNoComplaints(shared);
