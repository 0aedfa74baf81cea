// The tutorials' tour in Chinese, by the words of their texts, on real training jobs; then what can
// go wrong, debug mode with the terminal, pause and resume, delete and undo.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, beforeEach, test } from "node:test";
import { Gate, JOBS, ROOT, job, row, testNoComplaints, withConsole } from "./harness.mjs";

const claim = fs.mkdtempSync(path.join(os.tmpdir(), "muster-claim-"));
const shared = withConsole(["--volume", `tutorial=${claim}`]);
const programs = path.join(ROOT, "tests/e2e/console/programs");
after(() => fs.rmSync(claim, { recursive: true }));

/** A page that each step goes on with. */
let page;
const tab = (name) => page.locator(".tabs").getByRole("link", { name, exact: true });
const heading = (name) => page.getByRole("heading", { name, exact: true });
const field = (name) =>
  page
    .locator(".facts > div, .basics > div")
    .filter({ has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) })
    .locator("dd");

function ddp(name, gate, head = "") {
  return `apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: ${name}
spec:
${head}  tensorboardSpec:
    trainingLogFilesets: ["t9k://pvc/tutorial/${name}"]
  replicaSpecs:
    - type: worker
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: pytorch/pytorch
              command: [python, ${programs}/train.py, --log_dir, ${claim}/${name}, --until, ${gate.file}]
              resources: {requests: {cpu: 100m, memory: 256Mi}, limits: {cpu: "1", memory: 1Gi}}
`;
}

async function pasteYaml(text) {
  const editor = page.getByRole("textbox", { name: "YAML" });
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate((yaml) => navigator.clipboard.writeText(yaml), text);
  await page.keyboard.press("Control+V");
}

async function openList() {
  await page
    .getByRole("navigation", { name: "muster 控制台" })
    .getByRole("link", { name: "Job", exact: true })
    .click();
  await heading("Job").waitFor();
}

// Every part begins at the list, whatever became of the one before.
beforeEach(async () => {
  if (page) await page.goto("/jobs");
});

async function createMenu(kind) {
  await page.getByRole("button", { name: "创建 Job" }).click();
  await page.getByRole("menuitem", { name: kind, exact: true }).click();
}

async function runsInList(name) {
  await row(page, name).getByText("Running").waitFor();
}

async function openDetails(name) {
  await row(page, name).getByRole("link", { name, exact: true }).click();
  for (const title of ["基本信息", "状况", "事件"]) {
    await heading(title).waitFor();
    const closed = page.locator("details.section:not([open])", { has: heading(title) });
    if (await closed.count()) await heading(title).click(); // it stays open for the next job
  }
  assert.equal(await field("名称").textContent(), name);
  assert.match(await field("UID").textContent(), /^[0-9a-f-]{36}$/);
  await tab("概览").waitFor();
  await page.getByRole("cell", { name: "Initialized", exact: true }).waitFor();
}

/** 副本, then 更多信息 > 日志 of a pod. */
async function openLogOf(pod) {
  await tab("副本").click();
  await page.getByRole("columnheader", { name: "更多信息" }).waitFor();
  await page.getByRole("button", { name: `更多信息 ${pod}` }).click();
  await page.getByRole("menu").waitFor();
  for (const item of ["YAML", "状况", "事件", "指标", "终端"])
    assert.ok(await page.getByRole("menuitem", { name: item, exact: true }).isVisible(), item);
  await page.getByRole("menuitem", { name: "日志", exact: true }).click();
  await page.getByRole("region", { name: "日志" }).waitFor();
}

async function podNames(name) {
  const pods = await shared.daemon.api(
    "GET",
    `/api/v1/namespaces/default/pods?labelSelector=tensorstack.dev%2Fowner-name%3D${name}`,
  );
  return pods.items.map((one) => one.metadata.name).sort();
}

/** Until the chart has been drawn anew twice, with new samples: its lines move. The canvas may be
 * another each time. */
async function linesMove(label) {
  const picture = ([name, before]) => {
    const chart = [...document.querySelectorAll("[role=img]")].find((one) =>
      one.getAttribute("aria-label").startsWith(name),
    );
    const drawn = chart?.querySelector("canvas")?.toDataURL();
    return drawn !== before && drawn;
  };
  let drawn;
  for (let i = 0; i < 3; i++) {
    const sampled = page.waitForResponse(
      async (one) =>
        one.url().includes("/samples?") &&
        one.status() === 200 &&
        (await one.json()).time.length > 0,
    );
    const seen = await page.waitForFunction(picture, [label, drawn], { polling: 100 });
    drawn = await seen.jsonValue();
    await sampled;
  }
}

/** A part of a chart is chosen by dragging over it, stays in the address, and is given up again. */
async function chooseRange() {
  const chart = page.getByRole("img", { name: /^CPU/ }).locator(".u-over");
  const reset = page.getByRole("button", { name: "重置" });
  const fields = () =>
    Promise.all(["从", "到"].map((one) => page.getByLabel(one, { exact: true }).inputValue()));
  await chart.hover({ position: { x: 60, y: 40 } });
  await page.mouse.down();
  await chart.hover({ position: { x: 240, y: 60 } });
  await page.mouse.up();
  await reset.waitFor();
  const chosen = await fields();
  const address = new URL(page.url()).searchParams;
  assert.ok(Date.parse(address.get("from")) < Date.parse(address.get("to")), page.url());
  await page.reload();
  await chart.waitFor();
  assert.deepEqual(await fields(), chosen);
  await reset.click();
  await reset.waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).search, "");
}

test("signing in with the address that muster up prints", async () => {
  page = await shared.browser.page(shared.daemon, { signIn: false });
  await page.goto(shared.daemon.loginPath);
  await page.getByText("还没有 Job").waitFor();
});

test("003: 创建 Job > PyTorch > 预览 YAML > paste > 创建, to Succeeded", async () => {
  const gate = new Gate(shared.daemon, "ddp");
  const name = "torch-mnist-trainingjob";
  await createMenu("PyTorch");
  await heading("创建 PyTorchTrainingJob").waitFor();
  await page.getByRole("button", { name: "预览 YAML" }).click();
  await pasteYaml(ddp(name, gate));
  await page.getByRole("dialog").getByRole("button", { name: "创建", exact: true }).click();
  await runsInList(name);
  await openDetails(name);
  assert.equal(await field("副本").textContent(), "worker: 2");
  assert.equal(await field("CPU 请求量/上限").textContent(), "200m / 2.00");
  await page.getByText("NewReplica").first().waitFor();
  assert.equal(await page.getByText(/^Pod\//).count(), 0);
  await page.getByRole("checkbox", { name: "详细事件" }).check();
  await page
    .getByText(/^Pod\//)
    .first()
    .waitFor();
  // What was said of the job and its pods, in the reader's language; on hover as it was written.
  const said = await page
    .locator("td.message")
    .evaluateAll((cells) =>
      cells.map((one) => [one.textContent, one.querySelector("[title]")?.title]),
    );
  assert.ok(said.length >= 5);
  for (const [text, original] of said) {
    assert.match(text, /[\u4e00-\u9fff]/);
    assert.match(original, /^[\x20-\x7e]+$/);
  }

  const [popup] = await Promise.all([
    page.waitForEvent("popup"),
    field("TensorBoard")
      .getByRole("link", { name: /^Running/ })
      .click(),
  ]);
  await popup.waitForURL(new RegExp(`/tensorboard/default/[^/]+/`));
  await popup.locator("tb-webapp").waitFor();
  await popup.close();

  const [first] = await podNames(name);
  await openLogOf(first);
  await page
    .getByText(/step \d+ loss/)
    .first()
    .waitFor();
  await tab("资源监测").click();
  for (const title of ["集群资源", "网络带宽"]) await heading(title).waitFor();
  await linesMove("CPU");
  await chooseRange();
  await tab("训练曲线").click();
  await page.getByRole("img", { name: /^train\/loss/ }).waitFor();
  gate.open();
  await page.locator(".page-head").getByText("Succeeded").waitFor();
  await openList();
  await row(page, name).getByText("Succeeded").waitFor();
});

test("001: DDP, from the list to Succeeded, all ranks' logs as one", async () => {
  const gate = new Gate(shared.daemon, "ddp-torchrun");
  const name = "ddp";
  const text = ddp(
    name,
    gate,
    '  torchrunConfig: {enabled: true, maxRestarts: 3, procPerNode: "2", rdzvBackend: c10d}\n',
  )
    .replace("replicas: 2", "replicas: 1")
    .replace("type: worker", "type: node")
    .replace("command: [python, ", "args: [");
  await createMenu("PyTorch");
  await page.getByRole("button", { name: "导入 PyTorchTrainingJob" }).click();
  await page.getByRole("textbox", { name: "粘贴 YAML，或选择文件" }).fill(text);
  await page.getByRole("button", { name: "导入", exact: true }).click();
  assert.equal(
    await page.getByRole("textbox", { name: "名称" }).first().inputValue(),
    name,
    "the form shows what was imported",
  );
  assert.ok(await page.getByRole("switch", { name: "使用 TorchRun" }).isChecked());
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await runsInList(name);
  await openDetails(name);
  assert.equal(await field("副本").textContent(), "node: 1");
  await tab("日志").click();
  await page
    .getByText(/step \d+ loss/)
    .first()
    .waitFor();
  await page.getByRole("searchbox").fill("loss");
  await page.locator(".log-line mark").first().waitFor();
  gate.open();
  await page.locator(".page-head").getByText("Succeeded").waitFor();
});

test("000: a parameter server, 副本 by role", async () => {
  const gate = new Gate(shared.daemon, "ps");
  const name = "torch-mnist-trainingjob-ps";
  const replica = (type, replicas) => ({
    type,
    replicas,
    restartPolicy: "OnFailure",
    template: {
      spec: {
        containers: [
          {
            name: "pytorch",
            image: "none",
            command: ["python", `${programs}/parameter_server.py`, "--until", gate.file],
            resources: {
              requests: { cpu: "8", memory: "4Gi" },
              limits: { cpu: "16", memory: "8Gi" },
            },
          },
        ],
      },
    },
  });
  await shared.daemon.api("POST", JOBS, {
    ...job(name, ""),
    spec: {
      runPolicy: { cleanUpPolicy: "Unfinished" },
      replicaSpecs: [replica("ps", 1), replica("worker", 1)],
    },
  });
  await runsInList(name);
  await row(page, name).getByText("16.00 / 32.00").waitFor();
  await row(page, name).getByText("8.00Gi / 16.00Gi").waitFor();
  await openDetails(name);
  assert.equal(await field("副本").textContent(), "ps: 1worker: 1");
  await tab("副本").click();
  await page.getByRole("combobox", { name: "副本类型" }).selectOption("ps");
  await page.locator(".replicas tbody tr").and(page.locator(":only-child")).waitFor();
  const [server] = await podNames(name);
  await openLogOf(server);
  await page.getByText("parameter server is up").waitFor();
  gate.open();
  await page.locator(".page-head").getByText("Succeeded").waitFor();
});

test("002: an MPIJob with launcher: 1 and worker: 2", async () => {
  const gate = new Gate(shared.daemon, "mpi");
  const name = "torch-mnist-mpijob";
  await createMenu("MPI");
  await page.getByRole("button", { name: "导入 MPIJob" }).click();
  await page.getByRole("textbox", { name: "粘贴 YAML，或选择文件" })
    .fill(`apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {name: ${name}}
spec:
  mpiConfig:
    script: [/usr/bin/python3, -c, "from mpi4py import MPI; import os, time; print('rank', MPI.COMM_WORLD.rank, 'of', MPI.COMM_WORLD.size, flush=True)\\nwhile not os.path.exists('${gate.file}'): time.sleep(0.05)"]
  replicaSpecs:
    - {type: launcher, template: {}}
    - type: worker
      replicas: 2
      template: {spec: {containers: [{name: worker, image: horovod/horovod, resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {cpu: "1", memory: 1Gi}}}]}}
`);
  await page.getByRole("button", { name: "导入", exact: true }).click();
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await runsInList(name);
  await row(page, name).getByText("MPI", { exact: true }).waitFor();
  await page.getByRole("button", { name: `展开 ${name}` }).click();
  for (const chip of ["launcher: 1", "worker: 2"])
    await page.getByText(chip, { exact: true }).waitFor();
  await openDetails(name);
  assert.equal(await field("副本").textContent(), "launcher: 1worker: 2");
  const launcher = (await podNames(name)).find((one) => one.includes("launcher"));
  await openLogOf(launcher);
  await page.getByText("services are ready!").waitFor();
  await page
    .getByText(/rank [01] of 2/)
    .first()
    .waitFor();
  await tab("指标").click();
  await heading("集群资源").waitFor();
  gate.open();
  await page.locator(".page-head").getByText("Succeeded").waitFor();
});

test("a job made with the form alone; it fails, and the page says why", async () => {
  await createMenu("PyTorch");
  await page.getByRole("textbox", { name: "名称" }).first().fill("fails");
  await page.getByLabel(/^运行命令/).fill("python\n-c\nimport nothing_of_that_name");
  await page.getByRole("combobox", { name: "重启策略" }).selectOption("Never");
  await page.getByRole("textbox", { name: "CPU 请求值" }).fill("10m");
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await row(page, "fails").getByText("Error", { exact: true }).waitFor();
  await row(page, "fails").getByRole("link", { name: "fails", exact: true }).click();
  const box = page.getByRole("region", { name: "失败原因" });
  await box.getByText("退出码 1：程序报错").waitFor();
  await box.getByText(/安装缺少的 Python 模块/).waitFor();
  await box
    .locator("pre")
    .getByText(/ModuleNotFoundError/)
    .waitFor();
  await page.waitForFunction(() => document.title === "✕ fails");
});

test("删除 can be undone for a while; then the server deletes", async () => {
  const leaves = (jobs) => jobs.get("fails")?.metadata.annotations?.["muster.dev/delete-at"];
  const remove = async () => {
    await page.getByRole("button", { name: "操作 fails" }).click();
    await page.getByRole("menuitem", { name: "删除" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "删除" }).click();
    await page.getByText("即将删除 fails").waitFor();
  };
  await remove();
  await page.locator(".toasts").getByRole("button", { name: "撤销" }).click();
  await page.getByText("即将删除 fails").waitFor({ state: "detached" });
  await shared.daemon.until(JOBS, (jobs) => !leaves(jobs), "fails to be kept");
  await remove();
  await shared.daemon.until(JOBS, (jobs) => !jobs.has("fails"), "fails to be deleted");
  await row(page, "fails").waitFor({ state: "detached" });
});

test("调试模式 with the terminal, 暂停 and 恢复, 删除 by its name", async () => {
  await createMenu("PyTorch");
  await page.getByRole("textbox", { name: "名称" }).first().fill("debugged");
  await page.getByRole("textbox", { name: "CPU 请求值" }).fill("10m");
  await page.getByRole("switch", { name: "调试模式" }).check();
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await runsInList("debugged");
  await openDetails("debugged");
  assert.match(await field("调试模式").textContent(), /^已开启/);
  await tab("终端").click();
  await page.locator(".xterm-helper-textarea").waitFor({ state: "attached" });
  await page.waitForFunction(() =>
    document.activeElement?.classList.contains("xterm-helper-textarea"),
  );
  await page.keyboard.type("echo six times seven is $((6*7))\n");
  await page
    .locator(".xterm-accessibility")
    .getByText("six times seven is 42")
    .first()
    .waitFor({ state: "attached" });

  await page.getByRole("button", { name: "暂停" }).click();
  await page.locator(".page-head").getByText("Paused").waitFor();
  await shared.daemon.until(
    "/api/v1/namespaces/default/pods",
    (pods) => ![...pods.keys()].some((one) => one.startsWith("debugged-")),
    "the paused job's pods to go",
  );
  await page.getByText("没有正在运行的副本").waitFor();
  await page.getByRole("button", { name: "恢复" }).click();
  await page.locator(".page-head").getByText("Running").waitFor();
  await page.locator(".xterm-helper-textarea").waitFor({ state: "attached" });

  await openList();
  await page.getByRole("button", { name: "操作 debugged" }).click();
  await page.getByRole("menuitem", { name: "删除" }).click();
  const dialog = page.getByRole("dialog");
  assert.ok(
    await dialog.getByRole("button", { name: "删除" }).isDisabled(),
    "a running job's name must be typed",
  );
  await dialog.getByRole("textbox").fill("debugged");
  await dialog.getByRole("button", { name: "删除" }).click();
  await row(page, "debugged").waitFor({ state: "detached" });
});

testNoComplaints(shared);
