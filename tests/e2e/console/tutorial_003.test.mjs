// Tutorial 003 from its first sentence to its last, in JupyterLab itself: a Notebook, a Python file
// written in it, the job made in the console from its YAML, Done, the files moved. And kubectl in the
// Notebook's terminal, as tutorials 000 to 002 type it.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { JOBS, ROOT, shot, testNoComplaints, within, withConsole } from "./harness.mjs";

const JUPYTER = path.join(ROOT, "build/jupyter/bin");
process.env.PATH = `${JUPYTER}:${ROOT}/build/bin:${process.env.PATH}`;

const PROGRAM = `import os
os.makedirs("log", exist_ok=True)
rank = os.environ["RANK"]
print("epoch 1 rank", rank, "of", os.environ["WORLD_SIZE"], flush=True)
open(f"log/rank-{rank}", "w").write("trained")
`;

const YAML = `apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: torch-mnist-trainingjob
spec:
  replicaSpecs:
    - type: worker
      replicas: 4
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - command: [python3, torch_mnist_trainingjob.py]
              workingDir: /t9k/mnt
              image: none
              name: pytorch
              resources:
                limits: {cpu: 100m, memory: 128Mi}
              volumeMounts:
                - {mountPath: /t9k/mnt, name: data}
          volumes:
            - name: data
              persistentVolumeClaim: {claimName: mnist}
`;

const shared = withConsole();
const home = () => path.join(shared.daemon.data, "volumes/default/mnist");

/** Until a file of the Notebook's home holds this. */
async function holds(name, wanted) {
  const at = path.join(home(), name);
  const right = () => fs.existsSync(at) && wanted.test(fs.readFileSync(at, "utf8"));
  const watcher = fs.watch(home());
  try {
    await within(
      (async () => {
        while (!right()) await new Promise((resolve) => watcher.once("change", resolve));
      })(),
      `${name} to hold ${wanted}`,
    );
  } finally {
    watcher.close();
  }
}

async function openNotebook(page) {
  await page.goto("/notebooks");
  const [lab] = await Promise.all([
    page.waitForEvent("popup"),
    page.locator("tbody tr").getByRole("link", { name: "打开" }).click(),
  ]);
  // 点击左上角的 +: what was open the last time is open again
  await lab.locator('[data-jp-item-name="new-launcher"] >> visible=true').first().click();
  await lab.locator(".jp-LauncherCard >> visible=true").first().waitFor();
  return lab;
}

async function terminal(lab) {
  await lab
    .locator('.jp-LauncherCard[data-category="Other"]:visible', {
      hasText: "Terminal",
    })
    .click();
  await lab.locator(".jp-Terminal .xterm-helper-textarea").waitFor({ state: "attached" });
  return async (line) => {
    await lab.locator(".jp-Terminal .xterm-screen").click();
    await lab.keyboard.type(`${line}\n`);
  };
}

test("from the Notebook to the trained model", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  await page.goto("/notebooks");
  await page.getByRole("button", { name: "创建 Notebook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("名称").fill("mnist");
  await dialog.getByLabel("CPU 上限").fill("500m");
  await dialog.getByLabel("内存上限").fill("1Gi");
  await dialog.getByRole("button", { name: "创建", exact: true }).click();
  await page.locator("tbody tr").getByText("Running").waitFor();

  // 点击 Other 下的 Python File，复制以下代码，并将其命名为 torch_mnist_trainingjob.py
  const lab = await openNotebook(page);
  await lab
    .locator('.jp-LauncherCard[data-category="Other"]:visible', {
      hasText: "Python File",
    })
    .click();
  await lab.locator(".jp-FileEditor .cm-content").click();
  await lab.keyboard.insertText(PROGRAM);
  await lab.keyboard.press("Control+s");
  const name = lab.locator("#jp-dialog-input-id");
  await name.fill("torch_mnist_trainingjob.py");
  await lab.locator(".jp-Dialog .jp-mod-accept").click();
  await holds("torch_mnist_trainingjob.py", /rank/);
  assert.equal(fs.readFileSync(path.join(home(), "torch_mnist_trainingjob.py"), "utf8"), PROGRAM);
  await shot(lab, "tutorial-003-jupyterlab");

  // 创建 Job > PyTorch，点击预览 YAML，粘贴，创建
  await page.goto("/jobs");
  await page.getByRole("button", { name: "创建 Job" }).click();
  await page.getByRole("menuitem", { name: "PyTorch" }).click();
  await page.getByRole("button", { name: "预览 YAML" }).click();
  const editor = page.getByRole("dialog").locator(".cm-content");
  await editor.click();
  await page.keyboard.press("Control+a");
  await editor.evaluate((node, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    node.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
    );
  }, YAML);
  await page.getByRole("dialog").getByRole("button", { name: "应用到表单" }).click();
  await page.getByRole("button", { name: "创建", exact: true }).click();
  await daemon.phase("torch-mnist-trainingjob", "Succeeded", JOBS);
  await page.goto("/jobs/default/PyTorchTrainingJob/torch-mnist-trainingjob");
  await page.getByText("Done").first().waitFor();

  // kubectl in the Notebook's terminal: 000 to 002
  const again = await openNotebook(page);
  const type = await terminal(again);
  fs.writeFileSync(
    path.join(home(), "job.yaml"),
    YAML.replaceAll("torch-mnist-trainingjob", "second").replace(
      "[python3, torch_mnist_trainingjob.py]",
      "[echo, hello]",
    ),
  );
  await type("kubectl create -f job.yaml > created.txt 2>&1");
  await holds("created.txt", /second created/);
  await type("kubectl get pytorchtrainingjobs > jobs.txt 2>&1");
  await holds("jobs.txt", /torch-mnist-trainingjob/);
  await daemon.phase("second", "Succeeded", JOBS);
  await type("kubectl get pods > pods.txt 2>&1");
  await holds("pods.txt", /mnist-nb.*Running/);
  await type(
    "kubectl logs -l scheduler.tensorstack.dev/group-name --tail 5 > logs.txt 2>&1; echo >> logs.txt over",
  );
  await holds("logs.txt", /over/);
  await type("kubectl delete -f job.yaml > deleted.txt 2>&1");
  await holds("deleted.txt", /second" deleted/);

  // 将当前教程产生的所有文件移动到名为 parallel-training 的新文件夹下
  await type(
    "mkdir parallel-training && mv torch_mnist_trainingjob.py log parallel-training/ && ls parallel-training > moved.txt",
  );
  await holds("moved.txt", /torch_mnist_trainingjob\.py/);
  assert.deepEqual(fs.readdirSync(path.join(home(), "parallel-training/log")).sort(), [
    "rank-0",
    "rank-1",
    "rank-2",
    "rank-3",
  ]);
  await shot(again, "tutorial-003-terminal");
  await page.context().close();
});

test("gone", async () => {
  await shared.daemon.api(
    "DELETE",
    "/apis/tensorstack.dev/v1beta1/namespaces/default/notebooks/mnist",
  );
});

testNoComplaints(shared);
