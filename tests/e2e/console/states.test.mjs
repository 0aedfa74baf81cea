// What each page shows when there is nothing to show: loading, empty, an error, not found, not
// allowed, offline.
import assert from "node:assert/strict";
import { test } from "node:test";
import { JOBS, axe, job, testNoComplaints, withConsole } from "./harness.mjs";

const shared = withConsole();
const JOB = "/jobs/default/PyTorchTrainingJob/quiet";
const LIVE = ["/jobs", "/queues", "/nodes", "/tensorboards", JOB];

test("empty: what to do next", async () => {
  const page = await shared.browser.page(shared.daemon, { allow: [/board\/api/] }); // a job without curves has none to give
  await page.goto("/jobs");
  await page.getByText("还没有 Job").waitFor();
  await page.getByRole("link", { name: "PyTorch 示例" }).click();
  await page.waitForFunction(() =>
    [...document.querySelectorAll("input")].some((one) => one.value === "first-look"),
  );
  await page.goto("/tensorboards");
  await page.getByText("还没有 TensorBoard").waitFor();
  await shared.daemon.api("POST", JOBS, job("quiet", "true"));
  await shared.daemon.phase("quiet", "Succeeded");
  await page.goto(`${JOB}/logs`);
  await page.locator(".empty").waitFor();
  await page.goto(`${JOB}/training`);
  await page.locator(".empty").waitFor();
  await page.goto(`${JOB}/terminal`);
  await page.getByText("没有正在运行的副本").waitFor();
  await page.context().close();
});

test("loading: until the first answer comes", async () => {
  const page = await shared.browser.page(shared.daemon);
  await page.routeWebSocket(/\/console\/v1\/stream/, () => undefined); // it opens, and says nothing
  for (const where of LIVE) {
    await page.goto(where);
    await page.locator("main [aria-busy=true]").first().waitFor();
    assert.equal(await page.getByText("共 0 个").count(), 0, "nothing is counted yet");
    assert.deepEqual(await axe(page), [], where);
  }
  await page.context().close();
});

test("an error: its sentence, and another try where one helps", async () => {
  const page = await shared.browser.page(shared.daemon, {
    lang: "en",
    allow: [/500/, /Failed to load resource/],
  });
  await page.routeWebSocket(/\/console\/v1\/stream/, (socket) => {
    socket.onMessage((text) => {
      const { id, op } = JSON.parse(text);
      if (op === "watch")
        socket.send(
          JSON.stringify({
            id,
            t: "error",
            code: 500,
            reason: "InternalError",
            message: "the disk is full",
          }),
        );
    });
  });
  for (const where of LIVE) {
    await page.goto(where);
    await page.locator("main").getByRole("alert").getByText("the disk is full").first().waitFor();
  }
  await page.route("**/console/v1/session", (route) =>
    route.fulfill({ status: 500, body: "no session today" }),
  );
  await page.goto("/settings");
  await page.getByText("no session today").waitFor();
  await page.unroute("**/console/v1/session");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  await page.context().close();
});

test("not found: a page, a tab and a job that are not there", async () => {
  const page = await shared.browser.page(shared.daemon);
  await page.goto("/nowhere");
  await page.getByText("页面不存在").waitFor();
  await page.getByRole("link", { name: "返回 Job 列表" }).waitFor();
  for (const where of [`${JOB}/nothing`, "/jobs/default/PyTorchTrainingJob/nobody"]) {
    await page.goto(where);
    await page.locator("main").getByText("未找到").waitFor();
  }
  await page.getByText("nobody 不存在").waitFor();
  await page.getByRole("link", { name: "回到列表" }).click();
  await page.getByRole("heading", { name: "Job", exact: true }).waitFor();
  await page.context().close();
});

test("not allowed: a service account without rights sees that, and no more", async () => {
  const { daemon } = shared;
  await daemon.api("POST", "/api/v1/namespaces/default/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "nobody" },
  });
  const { status } = await daemon.api(
    "POST",
    "/api/v1/namespaces/default/serviceaccounts/nobody/token",
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  );
  const page = await shared.browser.page(daemon, { token: status.token, allow: [/403/] });
  for (const where of LIVE.filter((one) => one !== "/queues")) {
    await page.goto(where);
    await page.locator("main").getByText("没有权限").first().waitFor();
    assert.equal(await page.locator("main").getByText("quiet", { exact: true }).count(), 0, where);
    assert.deepEqual(await axe(page), [], where);
  }
  await page.goto("/nodes");
  await page.getByRole("alert").getByText("没有查看节点的权限，请联系管理员").waitFor();
  await page.goto("/jobs/new?kind=PyTorchTrainingJob&example=1");
  await page.getByRole("alert").getByText("没有在项目 default 中创建 Job 的权限").waitFor();
  assert.equal(await page.locator(".create-form").count(), 0);
  const nodes = page.locator("nav.side").getByRole("link", { name: "节点" });
  assert.equal(await nodes.count(), 0);
  await page.context().close();
});

test("a user of one project begins there", async () => {
  const { daemon } = shared;
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/team";
  await daemon.api("POST", "/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "team" },
  });
  await daemon.api("POST", "/api/v1/namespaces/team/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "member" },
  });
  await daemon.api("POST", `${rbac}/roles`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "all" },
    rules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  });
  await daemon.api("POST", `${rbac}/rolebindings`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "all" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "all" },
    subjects: [{ kind: "ServiceAccount", name: "member", namespace: "team" }],
  });
  const { status } = await daemon.api(
    "POST",
    "/api/v1/namespaces/team/serviceaccounts/member/token",
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  );
  const page = await shared.browser.page(daemon, { token: status.token, allow: [/403/] });
  await page.goto("/jobs");
  await page.locator("main .empty").waitFor();
  assert.equal(new URL(page.url()).searchParams.get("project"), "team");
  assert.equal(await page.locator("main").getByText("没有权限").count(), 0);
  // The queues are everybody's to see, what waits in them only of one's own project.
  await page.locator("nav.side").getByRole("link", { name: "队列" }).click();
  await page.getByText("仅显示项目 team 的 Job").waitFor();
  await page.getByRole("article", { name: "default" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "编辑" }).count(), 0);
  await page.context().close();
});

test("signed out: a wrong token is told so, the right one lets in", async () => {
  const page = await shared.browser.page(shared.daemon, { signIn: false, allow: [/401/] });
  await page.goto("/jobs");
  await page.getByLabel("令牌").fill("not-a-token");
  await page.getByRole("button", { name: "登录" }).click();
  await page.getByText("令牌不正确").waitFor();
  await page.getByLabel("令牌").fill(shared.daemon.token);
  await page.getByRole("button", { name: "登录" }).click();
  await page.getByRole("link", { name: "quiet", exact: true }).waitFor();
  await page.context().close();
});

test("signed out in one tab, signed out in all; who signs in next sees nothing of what was there", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon, { allow: [/401/, /403/] });
  const other = await page.context().newPage();
  for (const one of [page, other]) {
    await one.goto("/jobs");
    await one.getByRole("link", { name: "quiet", exact: true }).waitFor();
  }
  await page.getByRole("button", { name: "owner" }).click();
  await page.getByRole("menuitem", { name: "退出登录" }).click();
  for (const one of [page, other]) await one.getByLabel("令牌").waitFor();
  const { status } = await daemon.api(
    "POST",
    "/api/v1/namespaces/default/serviceaccounts/nobody/token",
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  );
  await other.getByLabel("令牌").fill(status.token);
  await other.getByRole("button", { name: "登录" }).click();
  await other.locator("main").getByText("没有权限").first().waitFor();
  assert.equal(await other.getByRole("link", { name: "quiet", exact: true }).count(), 0);
  await page.context().close();
});

test("offline: the banner comes and goes by itself, and what was shown stays", async () => {
  const page = await shared.browser.page(shared.daemon, {
    allow: [/ERR_CONNECTION|WebSocket|Failed to load resource/],
  });
  await page.goto("/jobs");
  await page.getByRole("link", { name: "quiet", exact: true }).waitFor();
  await shared.daemon.kill("SIGKILL");
  await page.getByRole("alert").getByText("无法连接到 muster").waitFor();
  assert.ok(await page.getByRole("link", { name: "quiet", exact: true }).isVisible());
  // A page that was never opened cannot come now, and does when the connection is back.
  const menu = page.locator("nav.side");
  await menu.getByRole("link", { name: "队列" }).click();
  await page.locator("main").getByRole("alert").getByText("无法连接到 muster").waitFor();
  await shared.daemon.start();
  await page.getByRole("heading", { name: "队列", exact: true }).waitFor();
  await menu.getByRole("link", { name: "Job", exact: true }).click();
  await shared.daemon.api("POST", JOBS, job("later", "true"));
  await page.getByRole("link", { name: "later", exact: true }).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.context().close();
});

testNoComplaints(shared);
