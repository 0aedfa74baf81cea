// Form and YAML are two views of one document: what the form does not know stays, and what is wrong
// is said at its line, in the reader's language.
import assert from "node:assert/strict";
import { test } from "node:test";
import { JOBS, testNoComplaints, withConsole } from "./harness.mjs";

const shared = withConsole();

const TEXT = `# kept: who asked for this
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: two-views # kept: beside a value the form changes
  namespace: default
  annotations:
    example.com/note: "kept" # kept: not in the form
spec:
  runMode: {pause: {enabled: true}}
  replicaSpecs:
    # kept: before the workers
    - type: worker
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          nodeSelector: {disk: fast} # kept: not in the form either
          containers:
            - name: pytorch
              image: none
              command: ["sh", "-c", "sleep 5"] # kept: a list in one line
              resources: {limits: {cpu: 100m, memory: 64Mi}}
`;

async function open(lang) {
  const page = await shared.browser.page(shared.daemon, { lang, allow: [/422/, /409/] });
  await page.goto("/jobs/new?kind=PyTorchTrainingJob");
  await page.locator(".create-form").waitFor();
  return page;
}

async function load(page, text) {
  await page.locator(".page-head button").first().click();
  await page.getByRole("dialog").getByRole("textbox").last().fill(text);
  await page.getByRole("dialog").locator("footer button.primary").click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

async function preview(page) {
  await page.locator(".page-head button").nth(1).click();
  await page.locator(".cm-content").waitFor();
}

function editorText(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll(".cm-line")].map((one) => one.textContent).join("\n"),
  );
}

/** Which lines of the editor are marked, by their numbers. */
async function markedLines(page, count) {
  await page.waitForFunction(
    (n) => document.querySelectorAll(".cm-lint-marker-error").length >= n,
    count,
  );
  return page.evaluate(() => {
    const numbers = [...document.querySelectorAll(".cm-lineNumbers .cm-gutterElement")];
    return [...document.querySelectorAll(".cm-lint-marker-error")].map((marker) => {
      const { top, height } = marker.closest(".cm-gutterElement").getBoundingClientRect();
      return Number(
        numbers.find((one) => {
          const r = one.getBoundingClientRect();
          return Math.abs(r.top - top) < height / 2 && r.height > 0;
        })?.textContent,
      );
    });
  });
}

test("what the form changes, and what it does not know, are both in the YAML; and back", async () => {
  const page = await open("zh");
  await load(page, TEXT);
  await page.getByRole("textbox", { name: "名称" }).first().fill("two-views-2");
  await page.getByRole("textbox", { name: "副本数量" }).fill("3");
  await page.getByRole("switch", { name: "使用 TorchRun" }).check();
  await page.getByRole("switch", { name: "使用 TorchRun" }).uncheck();
  await preview(page);
  const text = await editorText(page);
  for (const comment of TEXT.match(/# kept.*/g))
    assert.ok(text.includes(comment), `${comment} is lost:\n${text}`);
  for (const part of [
    "name: two-views-2 #",
    "replicas: 3",
    "nodeSelector:",
    "disk: fast",
    'example.com/note: "kept"',
  ])
    assert.ok(text.includes(part), `${part} is not there:\n${text}`);
  assert.ok(!text.includes("torchrunConfig"), "what was switched off leaves nothing behind");
  // The other way: the editor's text is the form's.
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("# typed by hand\n");
  const line = page.locator(".cm-line", { hasText: "replicas: 3" });
  await line.click();
  await page.keyboard.press("End");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("2");
  await page.getByRole("dialog").getByRole("button", { name: "应用到表单" }).click();
  assert.equal(await page.getByRole("textbox", { name: "副本数量" }).inputValue(), "2");
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await page.getByRole("heading", { name: "Job", exact: true }).waitFor();
  const made = await shared.daemon.api("GET", `${JOBS}/two-views-2`);
  assert.equal(made.spec.replicaSpecs[0].replicas, 2);
  assert.equal(made.metadata.annotations["example.com/note"], "kept");
  assert.deepEqual(made.spec.replicaSpecs[0].template.spec.nodeSelector, { disk: "fast" });
  await page.context().close();
});

const WRONG = TEXT.replace("replicas: 1", "replicas: four")
  .replace("restartPolicy: Never", "restartPolicy: Sometimes")
  .replace("replicaSpecs:", "replicaSpec:\n  - {}\n  replicaSpecs:");
const WORDS = {
  zh: ["应为 整数，而不是 字符串", "应为以下之一", "是否指 replicaSpecs？"],
  en: ["must be a whole number, not a string", "must be one of", "did you mean replicaSpecs?"],
};

for (const lang of ["zh", "en"]) {
  test(`schema errors stand at their lines, in ${lang}`, async () => {
    const page = await open(lang);
    await load(page, WRONG);
    await preview(page);
    const lines = WRONG.split("\n");
    const at = (text) => lines.findIndex((one) => one.includes(text)) + 1;
    const wrong = [at("replicas: four"), at("Sometimes"), at("replicaSpec:")];
    assert.deepEqual(
      (await markedLines(page, 3)).sort((a, b) => a - b),
      wrong.sort((a, b) => a - b),
    );
    const said = [];
    for (const marker of await page.locator(".cm-lint-marker-error").all()) {
      await marker.hover();
      said.push(await page.locator(".cm-tooltip-lint").textContent());
      await page.locator(".dialog header").hover();
      await page.locator(".cm-tooltip-lint").waitFor({ state: "detached" });
    }
    for (const words of WORDS[lang])
      assert.ok(
        said.some((one) => one.includes(words)),
        `${words} is not in ${said.join(" | ")}`,
      );
    await page.getByRole("dialog").locator("footer [role=status]").getByText("3").waitFor();
    await page.context().close();
  });
}

test("a schema that comes late is applied to the text that is there", async () => {
  const page = await shared.browser.page(shared.daemon);
  let answer;
  const asked = new Promise((resolve) => {
    answer = resolve;
  });
  await page.route(/\/openapi\//, async (route) => {
    await asked;
    await route.continue();
  });
  await page.goto("/jobs/new?kind=PyTorchTrainingJob");
  await page.locator(".create-form").waitFor();
  await load(page, `${WRONG}x: [`);
  await preview(page);
  const marked = (n) =>
    page.waitForFunction(
      (count) => document.querySelectorAll(".cm-lint-marker-error").length === count,
      n,
    );
  await marked(1); // it is no YAML: so it was checked
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  for (let i = 0; i < 4; i++) await page.keyboard.press("Backspace");
  await marked(0); // and again, as far as it can be without a schema
  answer();
  await marked(3);
  await page.context().close();
});

test("a bad name is not sent; what only the server can know is shown too, and nothing typed is lost", async () => {
  const page = await open("zh");
  let sent = 0;
  page.on("request", (one) => (sent += one.method() === "POST" && /jobs\?/.test(one.url())));
  await load(page, TEXT.replace("name: two-views", "name: Two_Views"));
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await page.getByRole("alert").getByText("有 1 处错误需要修改").waitFor();
  const name = page.getByRole("textbox", { name: "名称" }).first();
  assert.equal(await name.getAttribute("aria-invalid"), "true");
  assert.ok(await name.evaluate((one) => one === document.activeElement));
  assert.doesNotMatch(await page.locator("main").innerText(), /a-z0-9|RFC/);
  assert.equal(sent, 0);
  // A job may have neither limit.
  assert.equal(await page.locator("label", { hasText: /上限.*\*/ }).count(), 0);
  await preview(page);
  await page.getByRole("dialog").getByRole("button", { name: "创建", exact: true }).click();
  const wrong = TEXT.split("\n").findIndex((one) => one.includes("name: two-views")) + 1;
  assert.deepEqual(await markedLines(page, 1), [wrong]);
  await page.getByRole("dialog").getByRole("button", { name: "取消" }).click();
  await page.getByRole("textbox", { name: "名称" }).first().fill("two-views-2"); // which is there already
  await page.getByRole("alert").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await page
    .getByRole("alert")
    .getByText("PyTorchTrainingJob “two-views-2”已存在，请换一个名称")
    .waitFor();
  await page.context().close();
});

test("cancel of the preview discards what was typed there", async () => {
  const page = await open("zh");
  await load(page, TEXT);
  await preview(page);
  await page.locator(".cm-line", { hasText: "replicas: 1" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("7");
  await page.waitForFunction(() =>
    document.querySelector(".cm-content").textContent.includes("replicas: 17"),
  );
  await page.getByRole("dialog").getByRole("button", { name: "取消" }).click();
  assert.equal(await page.getByRole("textbox", { name: "副本数量" }).inputValue(), "1");
  await preview(page);
  assert.ok(!(await editorText(page)).includes("replicas: 17"));
  await page.keyboard.press("Escape"); // as cancel does
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.context().close();
});

test("an empty name is not an error until the job is submitted", async () => {
  const page = await shared.browser.page(shared.daemon);
  await page.goto("/jobs/new?kind=MPIJob");
  const name = page.getByRole("textbox", { name: "名称" }).first();
  await name.waitFor();
  assert.notEqual(await name.getAttribute("aria-invalid"), "true");
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await page.getByRole("alert").first().waitFor();
  assert.equal(await name.getAttribute("aria-invalid"), "true");
  await page.context().close();
});

test("a draft survives leaving the page, until it is sent or given up", async () => {
  const page = await open("zh");
  const name = page.getByRole("textbox", { name: "名称" }).first();
  const first = await name.inputValue();
  await name.fill("half-written");
  await page.getByRole("link", { name: "回到列表" }).click();
  await page.getByRole("heading", { name: "Job", exact: true }).waitFor();
  await page.goBack();
  await page.getByText("已恢复未提交的草稿").waitFor();
  assert.equal(await name.inputValue(), "half-written");
  await page.reload();
  await page.getByText("已恢复未提交的草稿").waitFor();
  assert.equal(await name.inputValue(), "half-written");
  await page.getByRole("button", { name: "重新开始" }).click();
  await page.waitForFunction(
    (text) => document.querySelector(".create-form input").value === text,
    first,
  );
  await page.reload();
  await page.locator(".create-form").waitFor();
  assert.equal(await page.getByText("已恢复未提交的草稿").count(), 0);
  await page.context().close();
});

test("--overcommit is known: more CPU than there is will run, more GPUs will not", async () => {
  const page = await open("zh"); // the daemon of these tests runs with it
  await page.getByRole("textbox", { name: "CPU 请求值" }).fill("4000");
  await page.getByText("muster 以 --overcommit 启动，仍会运行").waitFor();
  assert.equal(await page.getByText("将一直等待").count(), 0);
  await load(page, TEXT.replace("cpu: 100m,", 'cpu: "4000", nvidia.com/gpu: "64",'));
  await page.getByText("无法调度：资源不足").waitFor();
  await page.context().close();
});

testNoComplaints(shared);
