// 存储 > 持久卷: made, its files gone through, put in and taken out, and deleted with a word on who uses
// it; in both languages and themes, wide and on a telephone.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { JOBS, axe, job, shot, testNoComplaints, withConsole } from "./harness.mjs";

const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";

const shared = withConsole([], async (daemon) => {
  const uses = job("trains", "sleep 600");
  const pod = uses.spec.replicaSpecs[0].template.spec;
  pod.volumes = [{ name: "w", persistentVolumeClaim: { claimName: "datasets" } }];
  await daemon.api("POST", CLAIMS, {
    metadata: { name: "datasets" },
    spec: {
      accessModes: ["ReadWriteMany"],
      resources: { requests: { storage: "1Ti" } },
    },
  });
  await daemon.api("POST", JOBS, uses);
  await daemon.phase("trains", "Running");
});

const folder = (claim) => path.join(shared.daemon.data, "volumes/default", claim);

test("made, files put in and taken out", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon, { allow: [/409/] }); // it asks whether to replace
  await page.goto("/volumes");
  await page.getByRole("button", { name: "创建 PVC" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("名称").fill("mnist");
  await dialog.getByLabel("存储").fill("ten");
  await dialog.getByText("ten 不是有效的大小").waitFor();
  await dialog.getByLabel("存储").fill("5Gi");
  await dialog.getByRole("button", { name: "创建", exact: true }).click();
  const row = page.locator("tbody tr", { hasText: "mnist" });
  await row.getByText("Bound").waitFor();
  await row.getByText("5Gi").waitFor();
  await row.getByRole("link", { name: "浏览文件" }).click();
  await page.getByText("此文件夹是空的").waitFor();
  await page.getByRole("button", { name: "新建文件夹" }).click();
  await dialog.getByLabel("文件夹名称").fill("数据 集");
  await dialog.getByRole("button", { name: "创建", exact: true }).click();
  await page.getByRole("link", { name: "数据 集/" }).click();
  await page.getByText("此文件夹是空的").waitFor();
  const put = (text) =>
    page.locator('input[type="file"]').setInputFiles({
      name: "a b#.txt",
      mimeType: "text/plain",
      buffer: Buffer.from(text),
    });
  await put("hello");
  const file = page.locator("tbody tr", { hasText: "a b#.txt" });
  await file.waitFor();
  await put("hello again");
  await dialog.getByText("a b#.txt 已存在").waitFor();
  await dialog.getByRole("button", { name: "覆盖" }).click();
  await file.getByText("11 B").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    file.getByRole("button", { name: "下载" }).click(),
  ]);
  assert.equal(download.suggestedFilename(), "a b#.txt");
  assert.equal(fs.readFileSync(await download.path(), "utf8"), "hello again");
  assert.equal(
    fs.readFileSync(path.join(folder("mnist"), "数据 集/a b#.txt"), "utf8"),
    "hello again",
  );
  await page.reload();
  await file.waitFor();
  await page.context().close();
});

test("deleting says who uses it, and keeps the files", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  await page.goto("/volumes");
  const dialog = page.getByRole("dialog");
  const used = page.locator("tbody tr", { hasText: "datasets" });
  await used.getByText("PyTorchTrainingJob trains").waitFor();
  await used.getByRole("button", { name: "删除" }).click();
  await dialog.getByRole("alert").getByText("PyTorchTrainingJob trains").waitFor();
  await shot(page, "volumes-delete.zh.light");
  await dialog.getByRole("button", { name: "取消" }).click();
  const row = page.locator("tbody tr", { hasText: "mnist" });
  await row.getByRole("button", { name: "删除" }).click();
  await dialog.getByText("没有正在使用它的对象").waitFor();
  await dialog.getByRole("button", { name: "删除" }).click();
  await row.waitFor({ state: "detached" });
  assert.ok(fs.existsSync(path.join(folder("mnist"), "数据 集/a b#.txt")));
  await page.context().close();
});

test("a viewer without write access sees why there are no files", async () => {
  const { daemon } = shared;
  const base = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  await daemon.api("POST", "/api/v1/namespaces/default/serviceaccounts", {
    metadata: { name: "looks" },
  });
  await daemon.api("POST", `${base}/rolebindings`, {
    metadata: { name: "looks" },
    subjects: [{ kind: "ServiceAccount", name: "looks", namespace: "default" }],
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "view",
    },
  });
  const { status } = await daemon.api(
    "POST",
    "/api/v1/namespaces/default/serviceaccounts/looks/token",
    {},
  );
  const page = await shared.browser.page(daemon, {
    signIn: false,
    allow: [/403/],
  });
  await page.goto("/volumes/default/datasets");
  await page.getByLabel("令牌").fill(status.token);
  await page.getByRole("button", { name: "登录" }).click();
  const told = page.getByRole("alert").locator("p[title]");
  assert.match(await told.getAttribute("title"), /persistentvolumeclaims\/files/);
  await page.context().close();
});

test("looks right in both languages and themes, and at 360 pixels", async () => {
  const { daemon } = shared;
  fs.mkdirSync(path.join(folder("datasets"), "checkpoints"), {
    recursive: true,
  });
  fs.writeFileSync(
    path.join(folder("datasets"), "train-images-idx3-ubyte.gz"),
    Buffer.alloc(3 << 20),
  );
  fs.writeFileSync(path.join(folder("datasets"), "notes.md"), "# notes\n");
  fs.symlinkSync("/etc", path.join(folder("datasets"), "elsewhere"));
  for (const lang of ["zh", "en"])
    for (const dark of [false, true])
      for (const width of [1440, 360]) {
        const page = await shared.browser.page(daemon, { lang, dark, width });
        for (const [name, at, word] of [
          ["volumes", "/volumes", "datasets"],
          ["volume-files", "/volumes/default/datasets", "notes.md"],
        ]) {
          await page.goto(at);
          await page.locator("tbody").getByText(word, { exact: true }).waitFor();
          if (name === "volumes") await page.locator("tbody").getByText("3.0").first().waitFor();
          const over = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          assert.ok(over <= 0, `${name} is ${over} pixels wider than ${width}`);
          assert.deepEqual(await axe(page), []);
          await shot(page, `${name}-${width}.${lang}.${dark ? "dark" : "light"}`);
        }
        await page.context().close();
      }
});

testNoComplaints(shared);
