// JupyterLab itself in Chromium. Tutorial 003 from its first sentence to its last: a Notebook, a Python
// file written in it, the job made in the console from its YAML, which trains, Done, the files moved;
// and kubectl in the Notebook's terminal, as tutorials 000 to 002 have it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { JOBS, PODS, ROOT, row, shot, testNoComplaints, within, withConsole } from "./harness.mjs";
import { openLab } from "./lab.mjs";

const JUPYTER = path.join(ROOT, "build/jupyter/bin");
process.env.PATH = `${JUPYTER}:${ROOT}/build/bin:${process.env.PATH}`;

const PROGRAMS = path.join(ROOT, "tests/e2e/programs");
const PROGRAM = fs.readFileSync(path.join(PROGRAMS, "torch_mnist_trainingjob.py"), "utf8");
const MPI = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/mpijobs";

// The tutorial's job (facts 7.4) for a machine without GPUs.
const YAML = `apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: mnist
spec:
  # 训练日志的可视化
  tensorboardSpec:
    resources:
      limits:
        cpu: 1
        memory: 1Gi
    logDir:
      pvc:
        - name: mnist
          subPath: ["./log"]
    image: tensorflow/tensorflow:2.14.0
  torchrunConfig:
    enabled: true
    maxRestarts: 3
    procPerNode: "4"
    rdzvBackend: c10d
    extraOptions: []
  replicaSpecs:
    - type: node
      replicas: 1
      restartPolicy: ExitCode
      template:
        spec:
          securityContext:
            runAsUser: 1000
          containers:
            - name: pytorch
              image: t9kpublic/pytorch-1.13.0:sdk-0.5.2
              workingDir: /t9k/mnt
              args:
                - torch_mnist_trainingjob.py
                - "--log_dir"
                - "log"
                - "--save_path"
                - "./model_state_dict.pt"
                - "--backend"
                - "gloo"
                - "--no_cuda"
              resources:
                requests: {cpu: 4, memory: 8Gi}
                limits: {cpu: 8, memory: 16Gi}
              volumeMounts:
                - mountPath: /t9k/mnt
                  name: data
                - mountPath: /dev/shm
                  name: dshm
          volumes:
            - name: data
              persistentVolumeClaim:
                claimName: mnist
            - name: dshm
              emptyDir:
                medium: Memory
`;

const pod = (command) =>
  `{spec: {containers: [{name: main, image: none, command: ${command}, resources: {requests: {cpu: 10m, memory: 16Mi}}}]}}`;
// What tutorials 000 to 002 start, in their shapes, with nothing to compute.
const OTHERS = [
  {
    name: "torch-mnist-trainingjob-ps",
    plural: "pytorchtrainingjobs",
    at: JOBS,
    pods: /-ps-0[\s\S]*-worker-3/,
    spec: `{replicaSpecs: [{type: ps, replicas: 1, restartPolicy: OnFailure, template: ${pod("[echo, hello]")}},
  {type: worker, replicas: 4, restartPolicy: OnFailure, template: ${pod("[echo, hello]")}}]}`,
  },
  {
    name: "torch-mnist-trainingjob",
    plural: "pytorchtrainingjobs",
    at: JOBS,
    pods: /-worker-0[\s\S]*-worker-1/,
    spec: `{replicaSpecs: [{type: worker, replicas: 2, restartPolicy: OnFailure, template: ${pod("[echo, hello]")}}]}`,
  },
  {
    name: "torch-mnist-mpijob",
    plural: "mpijobs",
    at: MPI,
    pods: /-launcher/,
    spec: `{mpiConfig: {script: [echo, hello]}, replicaSpecs: [{type: launcher, template: {}},
  {type: worker, replicas: 2, template: ${pod("[sleep, inf]")}}]}`,
  },
];

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
  // The tutorial's images come from the network; here a few of Debian's lie there already.
  const some = spawnSync("/usr/bin/python3", [
    path.join(PROGRAMS, "small_dataset.py"),
    path.join(home(), "data"),
    "640",
  ]);
  assert.equal(some.status, 0, String(some.stderr));

  // 点击 Other 下的 Python File，复制以下代码，并将其命名为 torch_mnist_trainingjob.py
  const lab = await openLab(page);
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
  await holds("torch_mnist_trainingjob.py", /destroy_process_group/);
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
      new ClipboardEvent("paste", {
        clipboardData,
        bubbles: true,
        cancelable: true,
      }),
    );
  }, YAML);
  await page.getByRole("dialog").getByRole("button", { name: "应用到表单" }).click();
  await page.getByRole("button", { name: "创建", exact: true }).click();

  // 待 Job 开始运行之后，点击其名称进入详情页面；副本的日志；TensorBoard 右侧的 Running
  await row(page, "mnist").getByText("Running").waitFor();
  await row(page, "mnist").getByRole("link", { name: "mnist", exact: true }).click();
  const field = page.locator(".facts > div, .basics > div", {
    hasText: "TensorBoard",
  });
  await field.getByRole("link", { name: "Running" }).waitFor();
  await page.locator(".tabs").getByRole("link", { name: "副本", exact: true }).click();
  await page.getByRole("button", { name: /^更多信息 mnist-.*-node-0$/ }).click();
  await page.getByRole("menuitem", { name: "日志", exact: true }).click();
  await page
    .getByText(/epoch \d+\/10 with val loss/)
    .first()
    .waitFor();
  await shot(page, "tutorial-003-log");
  await page.goto("/jobs/default/PyTorchTrainingJob/mnist");
  const [board] = await Promise.all([
    page.waitForEvent("popup"),
    field.getByRole("link", { name: "Running" }).click(),
  ]);
  await board.getByText("/accuracy").first().waitFor(); // TensorBoard draws val and /accuracy apart
  await shot(board, "tutorial-003-tensorboard");
  await board.close();

  // 一段时间之后，Job 的状态变为 Done
  await daemon.phase("mnist", "Succeeded", JOBS);
  await page.getByText("Done").first().waitFor();
  const pods = await daemon.api("GET", PODS);
  const trained = pods.items.find((one) => one.metadata.name.endsWith("-node-0"));
  const log = await daemon.ask("GET", `${PODS}/${trained.metadata.name}/log`, {
    Authorization: `Bearer ${daemon.token}`,
  });
  assert.equal([...log.text.matchAll(/rank \d of 4 as user 1000 in \/t9k\/mnt/g)].length, 4);
  const accuracies = [...log.text.matchAll(/test accuracy: ([0-9.]+)/g)].map((one) =>
    Number(one[1]),
  );
  assert.equal(accuracies.length, 4);
  for (const one of accuracies) assert.ok(one > 0.4, `accuracy ${one}`); // guessing: 0.1

  // kubectl in the Notebook's terminal, as 000 to 002 have it: state, details, events and logs of job and pods
  const again = await openLab(page);
  const type = await terminal(again);
  let n = 0;
  const typed = async (line, wanted) => {
    const file = `answer-${(n += 1)}.txt`;
    await type(`${line} > ${file} 2>&1`);
    await holds(file, wanted);
  };
  for (const { name, plural, at, pods, spec } of OTHERS) {
    const kind = plural === "mpijobs" ? "MPIJob" : "PyTorchTrainingJob";
    fs.writeFileSync(
      path.join(home(), "job.yaml"),
      `apiVersion: batch.tensorstack.dev/v1beta1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`,
    );
    await typed("kubectl create -f job.yaml", new RegExp(`${name} created`));
    await daemon.phase(name, "Succeeded", at);
    await typed(`kubectl get ${plural}`, new RegExp(`${name} .*Succeeded`));
    await typed(`kubectl get ${plural} ${name} -o yaml`, /phase: Succeeded/);
    await typed(`kubectl describe ${plural} ${name}`, /Events:[\s\S]*Normal/);
    await typed("kubectl get pods", pods);
    await typed(`kubectl get events --field-selector involvedObject.name=${name}`, /Normal/);
    const log = `kubectl logs $(kubectl get pods -o name | grep ${name} | grep -e -0 -e launcher | head -1)`;
    await typed(log, /hello/);
    await typed("kubectl delete -f job.yaml", new RegExp(`${name}" deleted`));
  }

  // 将当前教程产生的所有文件移动到名为 parallel-training 的新文件夹下
  await type(
    "mkdir parallel-training && mv torch_mnist_trainingjob.py log data model_state_dict.pt parallel-training/ && ls parallel-training > moved.txt",
  );
  await holds("moved.txt", /torch_mnist_trainingjob\.py/);
  const moved = path.join(home(), "parallel-training");
  assert.deepEqual(fs.readdirSync(moved).sort(), [
    "data",
    "log",
    "model_state_dict.pt",
    "torch_mnist_trainingjob.py",
  ]);
  assert.match(fs.readdirSync(path.join(moved, "log")).join(), /^events\.out\.tfevents\./);
  // It is a model: torch reads it, and it has the network's ten classes.
  const read = spawnSync(path.join(ROOT, "build/venv/bin/python"), [
    "-c",
    `import torch; print(torch.load("${moved}/model_state_dict.pt")["dense2.weight"].shape[0])`,
  ]);
  assert.equal(String(read.stdout), "10\n", String(read.stderr));
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
