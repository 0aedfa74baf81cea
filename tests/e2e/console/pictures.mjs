// pictures.mjs - a picture of every page with real work on it: zh and en, light and dark, 1440 and 360
// pixels wide, in build/console-shots/real. axe looks at each. Not a test: the pictures are for people to look at.
//
//   node tests/e2e/console/pictures.mjs [PAGE...]
//
// What runs: examples/ddp (build/venv) twice to its end and once for long, an MPI job, one that fails, one
// that waits, one that is paused, one that succeeded though a replica failed.
import fs from "node:fs";
import path from "node:path";
import { AXE, Browser, Daemon, JOBS, MPI_JOBS, ROOT, SHOTS, job } from "./harness.mjs";

const OUT = path.join(SHOTS, "real");
const wanted = process.argv.slice(2);
const daemon = new Daemon();
daemon.overcommit = false; // so that something waits
const browser = new Browser();
const at = (name, tab = "", kind = "PyTorchTrainingJob") =>
  `/jobs/default/${kind}/${name}${tab && `/${tab}`}`;

function training(name, replicas, more, resources = { cpu: "250m", memory: "512Mi" }) {
  const made = job(name, "", { replicas, labels: { team: "vision", model: "cnn" } });
  Object.assign(made.spec.replicaSpecs[0].template.spec.containers[0], {
    image: "pytorch/pytorch",
    command: [path.join(ROOT, "build/venv/bin/python"), "train.py"],
    args: ["--out", path.join(daemon.folder, "curves", name), "--limit", "6000", ...more],
    workingDir: path.join(ROOT, "examples/ddp"),
    env: [{ name: "PYTHONDONTWRITEBYTECODE", value: "1" }],
    resources: { requests: resources },
  });
  made.spec.tensorboardSpec = { trainingLogFilesets: [`t9k://pvc/curves/${name}/log`] };
  return made;
}

/** What a week leaves behind: a sweep, failures of every kind, other people's projects, queues, notes. */
async function mess(make) {
  await daemon.api("POST", "/api/v1/namespaces", { metadata: { name: "speech-team" } });
  const elsewhere = JOBS.replace("/default/", "/speech-team/");
  const failing = {
    "bert-oom":
      "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB' >&2; exit 1",
    "llama-7b-sft-bad-args":
      "echo 'train.py: error: unrecognized arguments: --learning-rate' >&2; exit 2",
    "no-such-program": "exec trian.py",
    "killed-by-somebody": "kill -9 $$$$",
    "segfault-in-loader": "kill -SEGV $$$$",
    "loss-is-nan": "echo 'step 120 loss: nan'; echo 'ValueError: loss is nan' >&2; exit 1",
    "disk-full": "echo 'OSError: [Errno 28] No space left on device' >&2; exit 1",
  };
  for (const [name, script] of Object.entries(failing))
    await make(job(name, script, { labels: { team: name.length % 2 ? "nlp" : "vision" } }));
  for (const lr of ["1e-5", "3e-5", "1e-4", "3e-4", "1e-3"])
    for (const [wd, seed] of [
      ["0", 1],
      ["0.01", 2],
      ["0.1", 3],
    ])
      await make(
        job(`sweep-lr-${lr}-weight-decay-${wd.replace(".", "-")}-seed-${seed}`, "sleep 0.1", {
          labels: { sweep: "rates", lr, "weight-decay": wd, seed: String(seed) },
          container: { resources: { requests: { cpu: "10m" } } },
        }),
      );
  const noted = job("baseline-with-a-note", "sleep 1");
  noted.metadata.labels = { ...noted.metadata.labels, "tag.muster.dev/baseline": "", team: "nlp" };
  noted.metadata.annotations = {
    "muster.dev/note":
      "## 结论\n\n- 学习率 **0.1** 太高，`loss` 在第 3 轮发散\n- 下次用 0.01，见 [讨论](https://example.test/42)\n\n| lr | loss |\n|---|---|\n| 0.1 | 2.31 |\n| 0.01 | 0.42 |",
  };
  await make(noted);
  const retried = job("flaky-network", 'echo "RuntimeError: Connection reset by peer" >&2; exit 1');
  retried.spec.runPolicy = { backoffLimit: 2 };
  await make(retried);
  const wide = job("ranks-16-straggler", RANKS, {
    replicas: 16,
    container: { resources: { requests: { cpu: "10m" } } },
  });
  await make(wide);
  for (let i = 0; i < 4; i++) {
    const theirs = job(`asr-conformer-${i}`, "sleep 2");
    theirs.metadata.namespace = "speech-team";
    await make(theirs, elsewhere);
  }
  const queues = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues";
  await daemon.api("POST", queues, {
    apiVersion: "scheduler.tensorstack.dev/v1beta1",
    kind: "Queue",
    metadata: { name: "research", namespace: "t9k-system" },
    spec: {
      priority: 20,
      quota: { requests: { cpu: "1" } },
      namespaceSelector: {
        matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "Exists" }],
      },
    },
  });
  for (let i = 0; i < 4; i++)
    await make(
      job(`queued-ablation-${i}`, "sleep 600", {
        container: { resources: { requests: { cpu: "600m" } } },
        spec: { scheduler: { t9kScheduler: { queue: "research", priority: i * 10 } } },
      }),
    );
  await daemon.phase("flaky-network", "Failed");
  await daemon.phase("killed-by-somebody", "Failed");
}

const RANKS =
  'i=0; while :; do i=$((i+1)); echo "epoch 1/9 step $i loss 0.$((9000-i)) throughput $((400-RANK))/s"; [ "$RANK" = 5 ] && sleep 1.7; sleep 0.6; done';

async function prepare() {
  const make = (made, where = JOBS) => daemon.api("POST", where, made);
  fs.mkdirSync(path.join(daemon.folder, "curves"));
  await daemon.start(
    "--cpus",
    "4",
    "--memory",
    "8Gi",
    "--volume",
    `curves=${daemon.folder}/curves`,
  );
  await make(training("mnist-lr-005", 2, ["--epochs", "2", "--lr", "0.05"]));
  await make(training("mnist-lr-010", 2, ["--epochs", "2", "--lr", "0.1"]));
  await make(
    job(
      "resnet50-imagenet-256px-warmup-5-epochs",
      'echo loading; echo "Traceback (most recent call last):" >&2; echo "ModuleNotFoundError: No module named \'horovod\'" >&2; exit 1',
      { labels: { team: "vision" } },
    ),
  );
  const mpi = {
    apiVersion: "batch.tensorstack.dev/v1beta1",
    kind: "MPIJob",
    metadata: { name: "allreduce", namespace: "default", labels: { team: "infra" } },
    spec: {
      mpiConfig: {
        script: ["/usr/bin/python3", path.join(ROOT, "examples/mpi/allreduce.py")],
        extraArgs: ["-N", "2"],
      },
      runPolicy: { cleanUpWorkers: true },
      replicaSpecs: [
        { type: "launcher", template: {} },
        {
          type: "worker",
          replicas: 3,
          template: {
            spec: {
              containers: [
                {
                  name: "worker",
                  image: "openmpi",
                  resources: { requests: { cpu: "100m", memory: "128Mi" } },
                },
              ],
            },
          },
        },
      ],
    },
  };
  await make(mpi, MPI_JOBS);
  await daemon.phase("allreduce", "Succeeded", MPI_JOBS);
  await daemon.phase("mnist-lr-005", "Succeeded");
  await daemon.phase("mnist-lr-010", "Succeeded");
  await daemon.phase("resnet50-imagenet-256px-warmup-5-epochs", "Failed");
  await make(
    training("fashion-mnist-ddp", 2, [
      "--epochs",
      "400",
      "--step-delay-ms",
      "120",
      "--log-every",
      "2",
    ]),
  );
  await make(job("tokenizer-bpe-32k", "while :; do :; done", { labels: { team: "speech" } }));
  await make(
    job("paused-overnight", "sleep 600", { spec: { runMode: { pause: { enabled: true } } } }),
  );
  await daemon.phase("fashion-mnist-ddp", "Running");
  const partly = job("ablation-no-dropout", '[ "$RANK" = 1 ] && exit 3; exit 0', { replicas: 2 });
  partly.spec.runPolicy = { cleanUpPolicy: "All" };
  await make(partly);
  await mess(make);
  await make(training("bert-base-finetune", 2, ["--epochs", "3"], { cpu: "2", memory: "1Gi" }));
  await make(training("gpt2-small", 4, ["--epochs", "1"], { cpu: "1500m", memory: "1Gi" }));
  await daemon.until(
    JOBS,
    (jobs) => (jobs.get("fashion-mnist-ddp")?.status?.progress?.step ?? 0) > 60,
    "the training to have trained",
  );
}

const LONG = "resnet50-imagenet-256px-warmup-5-epochs";
const chart = (p) => p.locator(".chart canvas").first();
/** Each page: where it is, and what is on it when it is there. */
export const PAGES = [
  ["overview", "/overview", (p) => p.locator(".spark").first()],
  ["jobs", "/jobs", (p) => p.locator(".row .state-running").first()],
  [
    "jobs-open",
    "/jobs",
    async (p) => {
      if (p.viewportSize().width > 720)
        await p.locator(".row:not(.head) button[aria-expanded]").first().click();
      await p.locator(".row:not(.head) .menu-button").first().click();
      return p.getByRole("menu");
    },
  ],
  [
    "jobs-selected",
    "/jobs?phase=Succeeded&sort=name",
    async (p) => {
      await p.locator(".row.head input").click();
      await p.locator(".filters .dropdown button").nth(1).click();
      return p.getByRole("dialog");
    },
  ],
  ["jobs-none", "/jobs?q=nothing-like-this", (p) => p.locator(".empty")],
  ["create", "/jobs/new?kind=PyTorchTrainingJob&example=1", (p) => p.locator(".create-form")],
  ["create-mpi", "/jobs/new?kind=MPIJob", (p) => p.locator(".create-form")],
  ["job", at("fashion-mnist-ddp"), (p) => p.locator(".log-line").first()],
  ["job-done", at("mnist-lr-005"), (p) => p.locator("main h1")],
  ["job-note", at("baseline-with-a-note"), (p) => p.locator(".note table")],
  ["job-queued", at("queued-ablation-1"), (p) => p.locator(".box.warn")],
  ["job-killed", at("killed-by-somebody"), (p) => p.locator(".box.bad")],
  ["job-retried", at("flaky-network"), (p) => p.locator(".box.bad pre")],
  ["ranks", at("ranks-16-straggler", "metrics"), chart],
  ["ranks-logs", at("ranks-16-straggler", "logs"), (p) => p.locator(".log-line").nth(3)],
  [
    "jobs-more",
    "/jobs",
    async (p) => {
      await p.locator(".filters .dropdown button").nth(2).click();
      return p.getByRole("dialog");
    },
  ],
  [
    "jobs-display",
    "/jobs",
    async (p) => {
      await p.locator(".filters .dropdown button").nth(3).click();
      return p.getByRole("dialog");
    },
  ],
  ["notebooks", "/notebooks", (p) => p.locator("main h1")],
  [
    "notebook-new",
    "/notebooks",
    async (p) => {
      await p.locator(".page-head button.primary").click();
      return p.getByRole("dialog");
    },
  ],
  ["job-partly", at("ablation-no-dropout"), (p) => p.locator("main h1")],
  ["job-mpi", at("allreduce", "", "MPIJob"), (p) => p.locator("main h1")],
  ["job-failed", at(LONG), (p) => p.locator(".box.bad pre")],
  ["job-waiting", at("gpt2-small"), (p) => p.locator(".box.warn")],
  ["job-paused", at("paused-overnight"), (p) => p.locator(".box.warn")],
  ["replicas", at("fashion-mnist-ddp", "replicas"), (p) => p.locator("tbody tr").nth(1)],
  ["logs", at("fashion-mnist-ddp", "logs?times=1&q=loss"), (p) => p.locator("mark").first()],
  ["metrics", at("fashion-mnist-ddp", "metrics"), chart],
  ["training", at("fashion-mnist-ddp", "training"), chart],
  ["yaml", at("fashion-mnist-ddp", "yaml"), (p) => p.locator(".cm-line").nth(5)],
  [
    "terminal",
    at("fashion-mnist-ddp", "terminal"),
    (p) => p.locator(".xterm-rows").getByText(/[#$]/).first(),
  ],
  [
    "compare",
    "/compare?jobs=default/PyTorchTrainingJob/mnist-lr-005,mnist-lr-010",
    (p) => p.locator("main h1"),
  ],
  ["log-search", "/logs?q=loss", (p) => p.locator("main h1")],
  ["queues", "/queues", (p) => p.locator("article").first()],
  ["nodes", "/nodes", chart],
  ["tensorboards", "/tensorboards", (p) => p.locator("tbody tr").first()],
  ["settings", "/settings", (p) => p.locator("input[type=radio]").first()],
  ["design", "/design", (p) => p.locator("main h1")],
  [
    "palette",
    "/settings",
    async (p) => {
      await p.locator("main h1").waitFor();
      await p.keyboard.press("Control+k");
      return p.getByRole("option").first();
    },
  ],
  ["not-found", "/nowhere", (p) => p.locator(".empty")],
];

async function take(page, name) {
  fs.mkdirSync(OUT, { recursive: true });
  await page.screenshot({ path: path.join(OUT, `${name}.png`) });
}

async function findings(page) {
  if (!(await page.evaluate(() => "axe" in window)))
    await page.evaluate(fs.readFileSync(AXE, "utf8"));
  return page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ["violations"] })).violations
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .flatMap((one) =>
        one.nodes.map((node) => `${one.id}: ${node.target} ${node.html.slice(0, 200)}`),
      ),
  );
}

try {
  await prepare();
  await browser.start();
  for (const lang of ["zh", "en"])
    for (const [width, height] of [
      [1440, 900],
      [360, 740],
    ]) {
      const page = await browser.page(daemon, { lang, width, height });
      page.setDefaultTimeout(20_000);
      for (const [name, where, there] of PAGES) {
        if (wanted.length && !wanted.includes(name)) continue;
        try {
          await page.emulateMedia({ colorScheme: "light" });
          await page.goto(where);
          await (await there(page)).waitFor();
          await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
          const wide = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          if (wide > 0) console.log(`${name} ${lang} ${width}: ${wide} px too wide`);
          for (const theme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme: theme });
            await page.locator(`html[data-theme="${theme}"]`).waitFor({ state: "attached" });
            await take(page, `${name}-${lang}-${theme}-${width}`);
            for (const one of await findings(page))
              console.log(`${name} ${lang} ${theme} ${width}: ${one}`);
          }
        } catch (error) {
          console.log(`${name} ${lang} ${width}: ${String(error).split("\n")[0]}`);
        }
      }
      await page.context().close();
    }
  for (const one of browser.complaints) console.log(`complaint: ${one}`);
} finally {
  await browser.close();
  await daemon.close();
}
