// What the console says: the tutorials' words, amber for a success with a failed replica, what ran
// and what was paused, times in either zone, settings, nodes; and what a user of one project sees.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import {
  Gate,
  JOBS,
  MPI_JOBS,
  ROOT,
  job,
  row,
  shot,
  testNoComplaints,
  withConsole,
} from "./harness.mjs";
import path from "node:path";

const shared = withConsole();
const BIN = path.resolve(process.env.MUSTER_BIN ?? path.join(ROOT, "build/muster"));
const at = (name, tab = "") => `/jobs/default/PyTorchTrainingJob/${name}${tab && `/${tab}`}`;
const tab = (page, name) => page.locator(".tabs").getByRole("link", { name, exact: true });

test("Error where the phase is Failed; Succeeded, Done in its explanation", async () => {
  const { daemon } = shared;
  await daemon.api("POST", JOBS, job("fails", "exit 3"));
  await daemon.api("POST", JOBS, job("works", "true"));
  await daemon.phase("fails", "Failed");
  await daemon.phase("works", "Succeeded");
  const page = await shared.browser.page(daemon);
  await page.goto("/jobs");
  await row(page, "fails").getByText("Error", { exact: true }).waitFor();
  await page.getByRole("button", { name: "阶段" }).click();
  await page.getByRole("dialog", { name: "阶段" }).getByText("Error").click();
  await row(page, "works").waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).searchParams.get("phase"), "Failed", "the API's own word");
  await page.goto(at("fails"));
  await page.getByRole("region", { name: "失败原因" }).waitFor();
  // The reason in the reader's language, from status.failure: in the box, the conditions, the list.
  const failed = await daemon.phase("fails", "Failed");
  assert.equal(failed.status.failure.exitCode, 3);
  await page.getByText("重启策略 Never 不会重启它", { exact: true }).waitFor();
  await page.locator("#conditions summary").click();
  await page
    .locator("#conditions")
    .getByText(`${failed.status.failure.replica}：退出码 3；重启策略 Never 不会重启它`)
    .first()
    .waitFor();
  await page.goto("/jobs?q=fails");
  await row(page, "fails").getByText("退出码 3", { exact: true }).waitFor();
  await page.goto(at("fails"));
  await page.getByRole("heading", { name: "副本概况" }).waitFor();
  await page.goto(at("works"));
  await page.locator(".facts").getByText("Done：已成功完成").waitFor();
  await page.goto("/jobs/new?kind=PyTorchTrainingJob");
  await page.getByRole("button", { name: "添加副本类型" }).waitFor();
  await page.context().close();
});

test("the resource tab is 资源监测 for PyTorch and 指标 for MPI", async () => {
  const { daemon } = shared;
  await daemon.api("POST", MPI_JOBS, {
    apiVersion: "batch.tensorstack.dev/v1beta1",
    kind: "MPIJob",
    metadata: { name: "mpi" },
    spec: {
      runMode: { pause: { enabled: true } },
      mpiConfig: { script: ["true"] },
      replicaSpecs: [
        { type: "launcher", template: {} },
        { type: "worker", template: { spec: { containers: [{ name: "w", image: "none" }] } } },
      ],
    },
  });
  const page = await shared.browser.page(daemon);
  await page.goto("/jobs/default/MPIJob/mpi");
  await tab(page, "指标").waitFor();
  await page.goto(at("works"));
  await tab(page, "资源监测").waitFor();
  await page.context().close();
});

test("a success with a failed replica is amber, and names it", async () => {
  const { daemon } = shared;
  // Rank 0 decides; the other has failed before it ends.
  const gate = new Gate(daemon, "partly");
  await daemon.api(
    "POST",
    JOBS,
    job("partly", `if [ $RANK = 1 ]; then exit 7; fi; ${gate.wait}`, { replicas: 2 }),
  );
  await daemon.until(
    JOBS,
    (jobs) => jobs.get("partly")?.status?.aggregate?.failed === 1,
    "one replica to fail",
  );
  gate.open();
  await daemon.phase("partly", "Succeeded");
  const page = await shared.browser.page(daemon);
  await page.goto("/jobs");
  const mark = row(page, "partly").locator(".state-warned");
  await mark.getByText("Succeeded").waitFor();
  assert.match(await mark.getAttribute("title"), /^已成功，但有 1 个副本失败/);
  await page.goto(at("partly"));
  const box = page.getByRole("region", { name: "已成功，但有副本失败" });
  await box.getByRole("link", { name: /partly-.*worker-1$/ }).waitFor();
  await box.getByText("退出码 7").waitFor();
  await page.context().close();
});

test("after pause and resume the time line tells what ran and what was paused", async () => {
  const { daemon } = shared;
  await daemon.api("POST", JOBS, job("rests", "while :; do sleep 0.1; done"));
  await daemon.phase("rests", "Running");
  const pause = (enabled) =>
    daemon.api(
      "PATCH",
      `${JOBS}/rests`,
      { spec: { runMode: { pause: { enabled } } } },
      { type: "application/merge-patch+json" },
    );
  await pause(true);
  await daemon.phase("rests", "Paused");
  await pause(false);
  await daemon.phase("rests", "Running");
  const page = await shared.browser.page(daemon);
  await page.goto(at("rests"));
  const bars = page.locator("#timeline .lane").first().getByRole("img");
  const words = await bars.getAttribute("aria-label");
  assert.match(words, /运行 .*, 暂停 .*, 运行 /);
  await page.locator("#timeline .span-paused").first().waitFor();
  await page.context().close();
});

test("times are local, or UTC once that is chosen", async () => {
  const context = { timezoneId: "Asia/Shanghai" };
  const page = await shared.browser.page(shared.daemon, { context });
  await page.goto(at("works"));
  await page.getByRole("heading", { name: "基本信息" }).click();
  const created = page.locator(".basics dd .dim").getByText(/UTC/);
  const local = await created.textContent();
  assert.match(local, /UTC\+8$/);
  await page.goto("/settings");
  await page.getByRole("radio", { name: "UTC" }).check();
  await page.goto(at("works"));
  await created.getByText(/UTC$/).waitFor();
  const utc = await created.textContent();
  const ms = (text) => Date.parse(text.replace(/ UTC.*/, "Z").replace(" ", "T"));
  assert.equal(ms(local) - ms(utc), 8 * 3600 * 1000);
  await page.context().close();
});

test("settings: muster's own version, and a command that works", async () => {
  const page = await shared.browser.page(shared.daemon, { lang: "en" });
  await page.goto("/settings");
  const version = execFileSync(BIN, ["version"], { encoding: "utf8" }).split("\n")[0];
  await page.getByRole("cell", { name: version, exact: true }).waitFor();
  const line = await page.locator("code", { hasText: "KUBECONFIG" }).textContent();
  // In a terminal that knows nothing of the daemon's folder, which is not the default one.
  const file = execFileSync("sh", ["-c", `${line}; echo $KUBECONFIG; test -s "$KUBECONFIG"`], {
    encoding: "utf8",
  });
  assert.equal(file.trim(), path.join(shared.daemon.data, "kubeconfig"));
  await page.getByText("Follow system").waitFor();
  await page.context().close();
});

test("nodes: nothing of what there is none of, and a line for what is allocated", async () => {
  const page = await shared.browser.page(shared.daemon);
  await page.goto("/nodes");
  await page.getByRole("rowheader", { name: "cpu" }).waitFor();
  assert.equal(await page.getByRole("rowheader", { name: /gpu/ }).count(), 0);
  await page.locator(".node-charts").getByText("已分配").first().waitFor();
  await page.goto("/overview");
  await page.getByRole("meter", { name: /^CPU: 已使用/ }).waitFor();
  await page.locator(".items").getByRole("link", { name: "fails", exact: true }).waitFor();
  assert.equal(await page.getByText("以来没有新的失败").count(), 0, "it is the first visit");
  assert.equal(await page.getByRole("meter", { name: /GPU/ }).count(), 0);
  await page.context().close();
});

test("360 pixels: the tab one is on is in view, and so is the page in the menu", async () => {
  const page = await shared.browser.page(shared.daemon, { width: 360, height: 740 });
  await page.goto(at("works", "yaml"));
  await page.locator(".tabs [aria-current=page]").waitFor();
  for (const box of [".tabs", "nav.side"])
    await page.waitForFunction((which) => {
      const outer = document.querySelector(which).getBoundingClientRect();
      const inner = document.querySelector(`${which} [aria-current=page]`).getBoundingClientRect();
      return inner.left >= outer.left && inner.right <= outer.right;
    }, box);
  await page.locator(".cm-line", { hasText: "metadata:" }).first().waitFor();
  assert.doesNotMatch(await page.locator(".cm-content").textContent(), /managedFields/);
  await shot(page, "tabs-360");
  // No word is broken in two.
  const high = await page
    .locator("nav.side a, nav.side .side-title")
    .evaluateAll((all) => all.filter((one) => one.clientHeight > 36).map((one) => one.textContent));
  assert.deepEqual(high, []);
  await page.goto("/settings");
  await page.locator("nav.side [aria-current=page]").waitFor();
  await page.waitForFunction(() => {
    const inner = document.querySelector("nav.side [aria-current=page]").getBoundingClientRect();
    return inner.left >= 0 && inner.right <= 360;
  });
  await page.context().close();
});

test("a user of one project: lists of it alone, and nothing offered that is refused", async () => {
  const { daemon } = shared;
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/team";
  const make = (where, kind, metadata, more = {}, apiVersion = "v1") =>
    daemon.api("POST", where, { apiVersion, kind, metadata, ...more });
  const v1 = "rbac.authorization.k8s.io/v1";
  await make("/api/v1/namespaces", "Namespace", { name: "team" });
  await make("/api/v1/namespaces/team/serviceaccounts", "ServiceAccount", { name: "reader" });
  const rules = [{ verbs: ["get", "list", "watch"], apiGroups: ["*"], resources: ["*"] }];
  await make(`${rbac}/roles`, "Role", { name: "read" }, { rules }, v1);
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "read" };
  const subjects = [{ kind: "ServiceAccount", name: "reader", namespace: "team" }];
  await make(`${rbac}/rolebindings`, "RoleBinding", { name: "read" }, { roleRef, subjects }, v1);
  const theirs = job("theirs", "true", { spec: { runMode: { pause: { enabled: true } } } });
  theirs.metadata.namespace = "team";
  await daemon.api("POST", JOBS.replace("default", "team"), theirs);
  const { status } = await daemon.api(
    "POST",
    "/api/v1/namespaces/team/serviceaccounts/reader/token",
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  );
  const page = await shared.browser.page(daemon, { token: status.token, allow: [/403/] });
  await page.goto("/jobs");
  await row(page, "theirs").waitFor();
  assert.equal(await page.locator("main").getByText("没有权限").count(), 0);
  await page.getByRole("button", { name: "创建 Job" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "操作 theirs" }).click();
  await page.getByRole("menuitem", { name: "日志" }).waitFor();
  for (const name of ["删除", "恢复", "复制为新 Job"])
    assert.equal(await page.getByRole("menuitem", { name }).count(), 0, name);
  await page.keyboard.press("Escape");
  await row(page, "theirs").getByRole("link", { name: "theirs" }).click();
  await page.getByRole("heading", { name: "基本信息" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "恢复" }).count(), 0);
  await page.context().close();
});

testNoComplaints(shared);
