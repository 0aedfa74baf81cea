// What the console's browser tests share: a private daemon, its API, a browser. The daemon is the
// real binary (MUSTER_BIN) on a data folder of its own; the browser is Debian's Chromium, driven by
// playwright-core. Everything is waited for by an event: a line the daemon prints, a message of a
// watch, a selector of the page. What was started is ended by its process id, and a test fails when
// a pod's process is left or the page broke its own policy.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, test } from "node:test";

export const ROOT = path.resolve(path.dirname(new URL(import.meta.url).pathname), "../../..");
const BIN = path.resolve(process.env.MUSTER_BIN ?? path.join(ROOT, "build/muster"));
/** After so long a wait is taken for one in vain. Nothing is measured by it: a slow machine that does other things too, and
 *  imports torch in three processes beside a browser, must be far from it. */
export const PATIENCE_MS = 1000 * Number(process.env.MUSTER_TEST_PATIENCE ?? 180);
export const SHOTS = path.join(ROOT, "build/console-shots");
const require = createRequire(path.join(ROOT, "console/package.json"));
const { chromium } = require("playwright-core");
export const AXE = require.resolve("axe-core/axe.min.js");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

const BATCH = "/apis/batch.tensorstack.dev/v1beta1";
export const JOBS = `${BATCH}/namespaces/default/pytorchtrainingjobs`;
export const MPI_JOBS = `${BATCH}/namespaces/default/mpijobs`;
export const PODS = "/api/v1/namespaces/default/pods";

/** One data folder and, most of the time, one `muster up` on it. Pods do not see it, but the folder
 * around it. */
export class Daemon {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "muster-console-"));
  data = path.join(this.folder, "data");
  port = 0;
  token = "";
  loginPath = "";
  overcommit = true;
  process = null;

  async start(...options) {
    const said = fs.openSync(path.join(this.folder, "daemon.txt"), "a");
    // A shell in a pod must not read what the machine's user has in his ~/.bashrc.
    const env = {
      ...process.env,
      HOME: this.folder,
      MUSTER_HOME: this.data,
      PATH: `${this.folder}/bin:${ROOT}/build/venv/bin:${process.env.PATH}`,
    };
    delete env.KUBECONFIG;
    this.process = spawn(
      BIN,
      [
        "up",
        "--listen",
        `127.0.0.1:${this.port}`,
        ...(this.overcommit ? ["--overcommit"] : []),
        ...options,
      ],
      { env, stdio: ["ignore", "pipe", said] },
    );
    fs.closeSync(said);
    const lines = readline.createInterface({ input: this.process.stdout });
    const ready = new Promise((resolve, reject) => {
      lines.on("line", (line) => {
        const found = /console: http:\/\/127\.0\.0\.1:(\d+)(\/login\?code=\S+)/.exec(line);
        if (!found) return;
        this.port = Number(found[1]);
        this.loginPath = found[2];
        resolve();
      });
      this.process.once("error", reject);
      this.process.once("exit", (code) =>
        reject(new Error(`muster up ended with ${code}: ${this.said()}`)),
      );
    });
    await within(ready, "muster up to be ready");
    this.token = fs.readFileSync(path.join(this.data, "token"), "utf8").trim();
    return this;
  }

  said() {
    return fs.readFileSync(path.join(this.folder, "daemon.txt"), "utf8").slice(-3000);
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async kill(signal = "SIGKILL") {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = once(this.process, "exit");
    this.process.kill(signal);
    await within(gone, "the daemon to end");
  }

  /** Deletes every job (but those that never run: `many-…`), waits until their pods are gone, stops; what is left then is a
   *  failure. */
  async close() {
    if (!this.token) return fs.rmSync(this.folder, { recursive: true, force: true }); // it never was up
    try {
      for (const at of [JOBS, MPI_JOBS])
        for (const {
          metadata: { name },
        } of (await this.api("GET", at)).items)
          if (!name.startsWith("many-"))
            await this.api("DELETE", `${at}/${name}`, { propagationPolicy: "Background" });
      await this.until(PODS, (pods) => pods.size === 0, "pods to be gone");
      await this.processesEnded();
    } finally {
      await this.kill("SIGTERM");
      const left = this.leftProcesses();
      for (const { pid } of left)
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          /* it went by itself */
        }
      fs.rmSync(this.folder, { recursive: true, force: true });
      assert.deepEqual(left, [], "processes left behind");
    }
  }

  /** A pod that is gone from the API has ended; its supervisors may still be on their way out. */
  async processesEnded() {
    for (const begun = Date.now(); this.leftProcesses().length && Date.now() - begun < PATIENCE_MS;)
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  leftProcesses() {
    return fs
      .readdirSync("/proc")
      .filter((one) => /^\d+$/.test(one))
      .flatMap((pid) => {
        try {
          const line = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
          return line.includes(this.folder) && line.includes("supervise")
            ? [{ pid: Number(pid), line }]
            : [];
        } catch {
          return [];
        }
      });
  }

  /** One request with the owner's token (or another); answers the object. */
  async api(method, at, body, { type = "application/json", token = this.token, raw = false } = {}) {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "Content-Type": type }),
    };
    const answer = await this.ask(
      method,
      at,
      headers,
      body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    );
    assert.ok(answer.status < 300, `${method} ${at} gave ${answer.status}: ${answer.text}`);
    return raw ? answer.text : answer.text ? JSON.parse(answer.text) : null;
  }

  ask(method, at, headers, body) {
    return new Promise((resolve, reject) => {
      const request = http.request(
        { host: "127.0.0.1", port: this.port, method, path: at, headers, agent: false },
        (answer) => {
          const parts = [];
          answer
            .on("data", (part) => parts.push(part))
            .on("end", () =>
              resolve({
                status: answer.statusCode,
                headers: answer.headers,
                text: Buffer.concat(parts).toString(),
              }),
            )
            .on("error", reject);
        },
      );
      request.on("error", reject).end(body);
    });
  }

  /** Until wanted(Map of objects by name) is true of a collection, by list and watch; answers its
   * value. */
  async until(at, wanted, what) {
    const listed = await this.api("GET", at);
    const objects = new Map(listed.items.map((one) => [one.metadata.name, one]));
    const first = wanted(objects);
    if (first) return first;
    return within(
      new Promise((resolve, reject) => {
        const request = http.request(
          {
            host: "127.0.0.1",
            port: this.port,
            path: `${at}?watch=true&resourceVersion=${listed.metadata.resourceVersion}`,
            headers: { Authorization: `Bearer ${this.token}` },
            agent: false,
          },
          (answer) => {
            const lines = readline.createInterface({ input: answer });
            lines.on("line", (line) => {
              const event = JSON.parse(line);
              if (event.type === "DELETED") objects.delete(event.object.metadata.name);
              else if (event.type !== "BOOKMARK" && event.type !== "ERROR")
                objects.set(event.object.metadata.name, event.object);
              const value = wanted(objects);
              if (!value) return;
              request.destroy();
              resolve(value);
            });
            answer.on("error", reject); // also what follows our own destroy, when it no longer counts
            lines
              .on("error", reject)
              .on("close", () => reject(new Error(`the watch for ${what} ended`)));
          },
        );
        request.on("error", reject).end();
      }),
      what,
    );
  }

  phase(name, phase, at = JOBS) {
    return this.until(
      at,
      (jobs) => jobs.get(name)?.status?.phase === phase && jobs.get(name),
      `${name} to be ${phase}`,
    );
  }
}

export function within(promise, what, ms = PATIENCE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A PyTorchTrainingJob whose replicas all run a shell script. */
export function job(
  name,
  script,
  { replicas = 1, restart = "Never", spec = {}, container = {}, labels } = {},
) {
  return {
    apiVersion: "batch.tensorstack.dev/v1beta1",
    kind: "PyTorchTrainingJob",
    metadata: { name, namespace: "default", ...(labels ? { labels } : {}) },
    spec: {
      ...spec,
      replicaSpecs: [
        {
          type: "worker",
          replicas,
          restartPolicy: restart,
          template: {
            spec: {
              terminationGracePeriodSeconds: 1,
              containers: [
                {
                  name: "pytorch",
                  image: "none",
                  command: ["sh", "-c", script],
                  resources: {
                    requests: { cpu: "10m", memory: "8Mi" },
                    limits: { cpu: "500m", memory: "256Mi" },
                  },
                  ...container,
                },
              ],
            },
          },
        },
      ],
    },
  };
}

/** Says "go" to a script that waits with `read x <gate`: tests end jobs when they have seen enough,
 * not after a time. */
export class Gate {
  constructor(daemon, name) {
    this.file = path.join(daemon.folder, `gate-${name}`);
  }
  /** Shell that waits: the file is looked for by the job, not by the test. */
  get wait() {
    return `while [ ! -e ${this.file} ]; do sleep 0.05; done`;
  }
  open() {
    fs.writeFileSync(this.file, "");
  }
}

/** The browser and what a test file needs of it. */
export class Browser {
  browser = null;
  /** What pages complained of: CSP violations, errors in the console, exceptions. */
  complaints = [];

  async start() {
    this.browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
      timeout: PATIENCE_MS,
    });
    return this;
  }

  async close() {
    await this.browser?.close();
  }

  /** A page of its own session, signed in as the owner unless told otherwise. */
  async page(
    daemon,
    {
      lang = "zh",
      dark = false,
      width = 1440,
      height = 900,
      signIn = true,
      token = daemon.token,
      allow = [],
      context: more = {},
    } = {},
  ) {
    const context = await this.browser.newContext({
      baseURL: daemon.url,
      locale: lang === "zh" ? "zh-CN" : "en-US",
      colorScheme: dark ? "dark" : "light",
      viewport: { width, height },
      reducedMotion: "reduce",
      ...more,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    if (signIn) {
      const answer = await daemon.ask(
        "POST",
        "/console/v1/login",
        { "Content-Type": "application/json" },
        JSON.stringify({ token }),
      );
      assert.equal(answer.status, 201, answer.text);
      const { key } = JSON.parse(answer.text);
      // Once: what the page itself does with it later counts.
      await context.addInitScript(
        ([url, value]) => {
          if (location.origin !== url || localStorage.getItem("given")) return;
          localStorage.setItem("given", "1");
          localStorage.setItem("muster-session", value);
        },
        [daemon.url, key],
      );
    }
    const page = await context.newPage();
    await page.addInitScript(() =>
      document.addEventListener("securitypolicyviolation", (event) =>
        console.error(
          `CSP ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`,
        ),
      ),
    );
    const note = (text) => {
      if (!allow.some((one) => one.test(text))) this.complaints.push(text);
    };
    page.on("console", (message) => {
      if (message.type() === "error") note(`${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => note(String(error.stack ?? error)));
    return page;
  }
}

/** A daemon and a browser for all tests of a file; the tests share them in order. prepare: what
 * must be there first. */
export function withConsole(options = [], prepare = async () => undefined) {
  const shared = { daemon: new Daemon(), browser: new Browser() };
  before(async () => {
    await shared.daemon.start(...options);
    await shared.browser.start();
    await prepare(shared.daemon);
  });
  after(async () => {
    await shared.browser.close();
    await shared.daemon.close();
  });
  return shared;
}

/** Last in each file: nothing the pages did was against their policy, and nothing threw. */
export function testNoComplaints(shared) {
  test("no policy violation, no error in the browser's console", () =>
    assert.deepEqual(shared.browser.complaints, []));
}

/** Serious findings of axe-core, in few words. */
export async function axe(page) {
  // Through the debugger, which the page's policy does not bind.
  if (!(await page.evaluate(() => "axe" in window)))
    await page.evaluate(fs.readFileSync(AXE, "utf8"));
  const found = await page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ["violations"] })).violations
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .flatMap((one) =>
        one.nodes.map(
          (node) =>
            `${one.id}: ${node.target.join(" ")} ${node.html.slice(0, 160)} ${(node.any[0]?.message ?? "").slice(0, 160)}`,
        ),
      ),
  );
  return found;
}

export async function shot(page, name) {
  fs.mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
}

/** The row of the list with this name. */
export function row(page, name) {
  return page.locator(".row", { has: page.getByRole("link", { name, exact: true }) });
}

export function figure(text) {
  process.stderr.write(`figure: ${text}\n`);
}
