// What people say of jobs: notes, tags, favourites, saved views; and where a job comes from.
import assert from "node:assert/strict";
import { test } from "node:test";
import { JOBS, axe, job, row, shot, testNoComplaints, withConsole } from "./harness.mjs";

const MERGE = { type: "application/merge-patch+json" };
const paused = { runMode: { pause: { enabled: true } } };
const shared = withConsole([], async (daemon) => {
  for (const name of ["one", "two", "three"])
    await daemon.api("POST", JOBS, job(name, "true", { spec: paused, labels: { team: "nlp" } }));
  await daemon.api("POST", JOBS, {
    ...job("train", "echo --lr 0.1"),
    metadata: {
      name: "train",
      labels: { team: "nlp", "tag.muster.dev/best": "" },
      annotations: { "muster.dev/note": "the old one" },
    },
  });
  await daemon.phase("train", "Succeeded");
});

const opened = async (at = "/jobs", options = {}) => {
  const page = await shared.browser.page(shared.daemon, options);
  await page.goto(at);
  return page;
};
const job_ = (name) => shared.daemon.api("GET", `${JOBS}/${name}`);
const shownNames = (page) => page.locator(".row .cell-name a").allTextContents();

test("a note and tags are written on the job's page and seen in the list", async () => {
  const page = await opened("/jobs/default/PyTorchTrainingJob/one");
  await page.getByRole("button", { name: "添加备注或 Tag" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("textarea").fill("学习率太高\n<b>下次 0.01</b>");
  await dialog.locator("input").fill("baseline 基线");
  await dialog.getByRole("alert").filter({ hasText: "“基线”不能作为 Tag" }).waitFor();
  assert.ok(await dialog.getByRole("button", { name: "保存" }).isDisabled());
  await dialog.locator("input").fill("baseline, lr-0.1");
  assert.deepEqual(await axe(page), []);
  await shot(page, "remarks-dialog-zh");
  await dialog.getByRole("button", { name: "保存" }).click();
  await page.locator(".remarks .note", { hasText: "<b>下次 0.01</b>" }).waitFor(); // text, not markup
  const { labels, annotations } = (await job_("one")).metadata;
  assert.deepEqual(labels, {
    team: "nlp",
    "tag.muster.dev/baseline": "",
    "tag.muster.dev/lr-0.1": "",
  });
  assert.equal(annotations["muster.dev/note"], "学习率太高\n<b>下次 0.01</b>");
  await shot(page, "remarks-job-zh");

  await page.getByRole("link", { name: "#baseline" }).click();
  await row(page, "one").waitFor();
  assert.deepEqual(await shownNames(page), ["one"]);
  assert.match(await row(page, "one").locator(".cell-name a").getAttribute("title"), /学习率太高/);
  await page.getByRole("button", { name: "Tag：#baseline ×" }).click();
  await row(page, "two").waitFor();
  await page.context().close();
});

test("a note's Markdown is shown, and nothing in it runs or leads astray", async () => {
  const note = [
    "## 结论",
    "- **lr 0.1** 太高，见 [曲线](https://example.test/curve)",
    "- `--epochs 3` [不要点](javascript:alert(1)) <img src=x onerror=alert(1)>",
    "",
    "| lr | loss |",
    "|---|---|",
    "| 0.1 | 2.3 |",
  ].join("\n");
  const of = { metadata: { annotations: { "muster.dev/note": note } } };
  await shared.daemon.api("PATCH", `${JOBS}/three`, of, MERGE);
  const page = await opened("/jobs/default/PyTorchTrainingJob/three");
  const shown = page.locator(".remarks .note");
  await shown.getByRole("heading", { name: "结论" }).waitFor();
  assert.equal(await shown.locator("strong").textContent(), "lr 0.1");
  assert.equal(await shown.locator("li code").textContent(), "--epochs 3");
  assert.equal(await shown.getByRole("cell", { name: "2.3" }).count(), 1);
  assert.deepEqual(
    await shown.locator("a").evaluateAll((all) => all.map((one) => [one.href, one.rel])),
    [["https://example.test/curve", "noopener noreferrer nofollow"]],
  );
  assert.equal(await shown.locator("img").count(), 0);
  await shown.getByText("<img src=x onerror=alert(1)>").waitFor();
  assert.deepEqual(await axe(page), []);
  await shared.daemon.api(
    "PATCH",
    `${JOBS}/three`,
    { metadata: { annotations: { "muster.dev/note": null } } },
    MERGE,
  );
  await page.context().close();
});

test("a note changed by another user meanwhile is not overwritten", async () => {
  const page = await opened("/jobs/default/PyTorchTrainingJob/two", { lang: "en" });
  await page.getByRole("button", { name: "Add a note or tags" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("textarea").fill("mine");
  await shared.daemon.api(
    "PATCH",
    `${JOBS}/two`,
    {
      metadata: {
        annotations: { "muster.dev/note": "theirs" },
        labels: { "tag.muster.dev/theirs": "" },
      },
    },
    MERGE,
  );
  await page.locator(".remarks .note", { hasText: "theirs" }).waitFor();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").filter({ hasText: "changed the note to “theirs”" }).waitFor();
  assert.equal((await job_("two")).metadata.annotations["muster.dev/note"], "theirs");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.locator(".remarks .note", { hasText: "mine" }).waitFor();
  await page.context().close();
});

test("who may not change a job sees its note and no button", async () => {
  const { daemon } = shared;
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  await daemon.api("POST", "/api/v1/namespaces/default/serviceaccounts", {
    metadata: { name: "reader" },
  });
  await daemon.api("POST", `${rbac}/roles`, {
    metadata: { name: "reader" },
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }],
  });
  await daemon.api("POST", `${rbac}/rolebindings`, {
    metadata: { name: "reader" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
    subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
  });
  const { status } = await daemon.api(
    "POST",
    "/api/v1/namespaces/default/serviceaccounts/reader/token",
    { spec: {} },
  );
  const page = await opened("/jobs/default/PyTorchTrainingJob/train", {
    token: status.token,
    allow: [/403/],
  });
  await page.locator(".remarks .note", { hasText: "the old one" }).waitFor();
  await page.getByRole("button", { name: "编辑备注和 Tag" }).waitFor({ state: "detached" });
  await page.context().close();
});

test("favourites are of this browser, and stay", async () => {
  const page = await opened();
  const star = (name) => row(page, name).getByRole("button", { name: `收藏 ${name}` });
  await star("three").click();
  assert.equal(await star("three").getAttribute("aria-pressed"), "true");
  await page.getByRole("button", { name: "只显示收藏" }).click();
  assert.equal(new URL(page.url()).searchParams.get("favourites"), "1");
  await row(page, "one").waitFor({ state: "detached" });
  assert.deepEqual(await shownNames(page), ["three"]);
  await page.reload();
  await row(page, "three").waitFor();
  assert.deepEqual(await shownNames(page), ["three"]);
  await shot(page, "remarks-favourites-zh");
  await star("three").click();
  await row(page, "three").waitFor({ state: "detached" });
  await page.context().close();
});

test("a view keeps filters, order and columns under a name, and its link shows them to others", async () => {
  const page = await opened("/jobs?label=team%3Dnlp&sort=name");
  await row(page, "one").waitFor();
  await page.getByRole("button", { name: "显示", exact: true }).click();
  await page.getByRole("dialog", { name: "显示" }).getByLabel("项目").click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "视图" }).click();
  await page.getByLabel("视图名称").fill("组");
  await page.getByLabel("视图名称").press("Enter");
  await page.getByRole("button", { name: "视图：组" }).waitFor();
  assert.deepEqual(await axe(page), []);
  const link = await page.getByRole("link", { name: "组" }).getAttribute("href");
  await page.goto("/jobs");
  await row(page, "one").waitFor();
  await page.getByRole("button", { name: "视图" }).click();
  await page.getByRole("link", { name: "组" }).click();
  assert.equal(new URL(page.url()).searchParams.get("label"), "team=nlp");
  const heads = await page.locator(".row.head [role=columnheader]").allTextContents();
  await page.context().close();

  const other = await opened(link);
  await row(other, "one").waitFor();
  assert.deepEqual(await other.locator(".row.head [role=columnheader]").allTextContents(), heads);
  assert.deepEqual(await shownNames(other), ["one", "three", "train", "two"]);
  await other.getByRole("button", { name: "视图" }).click();
  await other.getByText("还没有保存的视图").waitFor();
  await other.context().close();
});

test("run again: what differs is shown before, and where it comes from afterwards", async () => {
  const page = await opened("/jobs/default/PyTorchTrainingJob/train", { lang: "en" });
  await page.getByRole("link", { name: "Run again" }).click();
  const diff = page.locator(".diff");
  await diff.locator(".diff-new", { hasText: "name: train-2" }).waitFor();
  assert.equal(await diff.getByText("rerun-of").count(), 0); // no change of the user's
  await page.getByRole("button", { name: "Preview YAML" }).click();
  const editor = page.locator(".cm-content");
  await editor.getByText("echo --lr 0.1").waitFor();
  // The editor draws what is in sight; its text is set as a whole.
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  const command = page.getByLabel(/command/i).first();
  await command.fill((await command.inputValue()).replace("0.1", "0.2"));
  await command.blur();
  await diff.locator(".diff-new", { hasText: "--lr 0.2" }).waitFor();
  await diff.locator(".diff-gone", { hasText: "--lr 0.1" }).waitFor();
  await shot(page, "remarks-rerun-en");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await row(page, "train-2").waitFor();
  const [old, made] = [await job_("train"), await job_("train-2")];
  assert.deepEqual(made.metadata.labels, { team: "nlp", "muster.dev/rerun-of": old.metadata.uid });
  assert.equal(made.metadata.annotations["muster.dev/rerun-of"], "train");
  assert.equal(made.metadata.annotations["muster.dev/note"], undefined);

  await page.goto("/jobs/default/PyTorchTrainingJob/train");
  const lineage = page.locator(".lineage");
  await lineage.getByRole("link", { name: "train-2" }).waitFor();
  await lineage
    .getByText(/0\.1.* → .*0\.2/)
    .first()
    .waitFor();
  assert.deepEqual(await axe(page), []);
  await lineage.scrollIntoViewIfNeeded();
  await shot(page, "remarks-lineage-en");
  await lineage.getByRole("link", { name: "Compare all" }).click();
  await page.waitForURL(/\/compare\?jobs=default\/PyTorchTrainingJob\/train,train-2/);
  await shared.daemon.api("DELETE", `${JOBS}/train`);
  await page.goto("/jobs/default/PyTorchTrainingJob/train-2");
  await lineage.getByText("deleted").waitFor();
  await lineage.getByText("train", { exact: true }).waitFor();
  await page.context().close();
});

testNoComplaints(shared);
