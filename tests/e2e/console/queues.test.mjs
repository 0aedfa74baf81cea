// The page of queues: what each holds, who runs and who waits, and what those who may can change.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { JOBS, SHOTS, axe, job, testNoComplaints, withConsole } from "./harness.mjs";

const shared = withConsole();
const QUEUES = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues";
const everybody = {
  matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "Exists" }],
};

function queued(name, queue, priority) {
  const made = job(name, "sleep 1000");
  made.spec.scheduler = { t9kScheduler: { queue, priority } };
  made.spec.replicaSpecs[0].template.spec.containers[0].resources = {
    requests: { cpu: "1", memory: "1Mi" },
  };
  return made;
}

test("quota, who runs, who waits and why; close, edit, make", async () => {
  const { daemon } = shared;
  await daemon.api("POST", QUEUES, {
    apiVersion: "scheduler.tensorstack.dev/v1beta1",
    kind: "Queue",
    metadata: { name: "day" },
    spec: {
      priority: 5,
      quota: { requests: { cpu: "1", memory: "1Gi" } },
      namespaceSelector: everybody,
    },
  });
  await daemon.api("POST", JOBS, queued("first", "day", 50));
  await daemon.phase("first", "Running");
  await daemon.api("POST", JOBS, queued("second", "day", 50));
  await daemon.api("POST", JOBS, queued("urgent", "day", 90));
  const page = await shared.browser.page(daemon);
  await page.goto("/queues");
  const card = page.getByRole("article", { name: "day" });
  await card.getByRole("heading", { name: "运行中 (1)" }).waitFor();
  await card.getByRole("heading", { name: "等待中 (2)" }).waitFor();
  await card.getByRole("meter", { name: "cpu 已分配" }).waitFor();
  const waiting = card.locator("table").last().locator("tbody tr");
  await waiting.filter({ hasText: "urgent" }).filter({ hasText: /\S/ }).first().waitFor();
  assert.deepEqual(await waiting.locator("td:nth-child(2)").allTextContents(), [
    "default/urgent",
    "default/second",
  ]);
  const quota = "等待队列“day”的配额：需要 1 CPU，共 1 CPU，已用 1；“first”占用 1 CPU";
  await waiting.filter({ hasText: "urgent" }).getByText(quota).waitFor();
  await waiting.filter({ hasText: "second" }).getByText(`${quota}；排第 2 位`).waitFor();
  assert.deepEqual(await axe(page), []);
  await page.screenshot({ path: path.join(SHOTS, "queues.zh.light.png"), fullPage: true });
  await page.setViewportSize({ width: 360, height: 740 });
  await page.waitForFunction(
    (link) => new Set([...link.getClientRects()].map((part) => part.top)).size === 1,
    await waiting.first().getByRole("link").elementHandle(),
  );
  assert.ok(
    await page.evaluate(
      () => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
    ),
  );
  await page.screenshot({ path: path.join(SHOTS, "queues-360.zh.light.png"), fullPage: true });
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto("/overview"); // where places are those in the line of all queues
  await page.getByText("队列 day · 排第 2 位").waitFor();
  await page.goto("/queues");
  await card.getByRole("button", { name: "关闭" }).click();
  await card.getByText("已关闭", { exact: true }).waitFor();
  assert.equal((await daemon.api("GET", `${QUEUES}/day`)).spec.closed, true);
  await card.getByRole("button", { name: "开放" }).click();
  await card.getByRole("button", { name: "关闭" }).waitFor();
  await card.getByRole("button", { name: "编辑" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("优先级").fill("101");
  await dialog.getByText("优先级为 0 至 100 的整数").waitFor();
  await dialog.getByLabel("优先级").fill("7");
  await dialog.getByLabel("内存配额").fill("");
  await dialog.getByLabel("最长运行时间").fill("12h");
  await dialog.getByRole("button", { name: "保存" }).click();
  await card.getByText("优先级 7").waitFor();
  await card.getByText("最长 12h").waitFor();
  assert.deepEqual((await daemon.api("GET", `${QUEUES}/day`)).spec.quota, {
    requests: { cpu: "1" },
  });
  await page.getByRole("button", { name: "新建队列" }).click();
  await dialog.getByLabel("名称").fill("night");
  await dialog.getByLabel("可使用的项目").fill("default");
  await dialog.getByRole("button", { name: "保存" }).click();
  await page.getByRole("article", { name: "night" }).waitFor();
  await page.goto("/jobs/new?kind=PyTorchTrainingJob");
  await page.getByLabel("调度器").selectOption("t9k");
  const choice = page.getByLabel("队列", { exact: true });
  await choice.locator("option", { hasText: "night" }).waitFor({ state: "attached" });
  assert.deepEqual(await choice.locator("option").allTextContents(), ["day", "default", "night"]);
  await page.goto("/jobs/default/PyTorchTrainingJob/second");
  await page.getByRole("region", { name: "等待原因" }).waitFor();
  await page.context().close();
});

test("who ran too long is paused, does not wait, and says why", async () => {
  const { daemon } = shared;
  await daemon.api("POST", QUEUES, {
    apiVersion: "scheduler.tensorstack.dev/v1beta1",
    kind: "Queue",
    metadata: { name: "brief" },
    spec: { maxDuration: "1s", namespaceSelector: everybody },
  });
  await daemon.api("POST", JOBS, queued("long", "brief", 0));
  const page = await shared.browser.page(daemon);
  await page.goto("/queues/nosuch");
  await page.getByText("没有名为 nosuch 的队列").waitFor();
  await page.goto("/queues/brief");
  const card = page.getByRole("article", { name: "brief" });
  await card.getByRole("heading", { name: "未排队 (1)" }).waitFor();
  await card.getByRole("heading", { name: "等待中 (0)" }).waitFor();
  await card.getByText("运行时间超过了队列“brief”的 maxDuration（1s）").waitFor();
  await card.getByRole("link", { name: "default/long" }).click();
  await page
    .locator(".box")
    .getByText("Job 已暂停：运行时间超过了队列“brief”的 maxDuration（1s）")
    .waitFor();
  await page.context().close();
});

test("those who may only look are shown no buttons", async () => {
  const { daemon } = shared;
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  await daemon.api("POST", "/api/v1/namespaces/default/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "looker" },
  });
  await daemon.api("POST", `${rbac}/clusterroles`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "look" },
    rules: [{ verbs: ["get", "list", "watch"], apiGroups: ["*"], resources: ["*"] }],
  });
  await daemon.api("POST", `${rbac}/clusterrolebindings`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "look" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "look" },
    subjects: [{ kind: "ServiceAccount", namespace: "default", name: "looker" }],
  });
  const { status } = await daemon.api(
    "POST",
    "/api/v1/namespaces/default/serviceaccounts/looker/token",
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  );
  const page = await shared.browser.page(daemon, { token: status.token });
  await page.goto("/queues/day");
  await page.getByRole("article", { name: "day" }).waitFor();
  await page.waitForLoadState("networkidle");
  assert.equal(await page.getByRole("button", { name: "编辑" }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "新建队列" }).count(), 0);
  await page.context().close();
});

testNoComplaints(shared);
