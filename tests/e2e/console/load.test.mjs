// Much of everything: 5,000 jobs, a log of 1 GB, 20,000 lines a second, and a daemon that is killed
// while a log is followed.
//
// What is promised is promised of a machine like the one it was measured on, and of the page, not
// of what else that machine does. So what is asserted to the letter is what a busy machine does not
// change: the processor time that was spent (a fixed piece of work is timed beside it: on a slower
// processor both take longer), how many frames were drawn, how many bytes were read. Times on the
// wall, which would tell of a page that only waits, are printed and have room.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { test } from "node:test";
import { Gate, JOBS, PODS, figure, job, row, testNoComplaints, withConsole } from "./harness.mjs";

const MANY = 5_000;
const WORK_MS = 35; // processor time of work() where the promises were made
const FRAMES = 6; // in 100 ms
const READ_LIMIT_BYTES = 32e6; // of the log's 1e9
const SLACK = 5; // times what is promised, on the wall
const shared = withConsole([], makeMany);
const at = (name, tab) => `/jobs/default/PyTorchTrainingJob/${name}/${tab}`;

/** Paused, so that nothing runs. */
async function makeMany(daemon) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
  const create = (i) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify(
        job(`many-${i}`, "true", {
          labels: { team: i % 10 ? "vision" : "speech" },
          spec: { runMode: { pause: { enabled: true } } },
        }),
      );
      const request = http.request(
        {
          host: "127.0.0.1",
          port: daemon.port,
          agent,
          method: "POST",
          path: JOBS,
          headers: {
            Authorization: `Bearer ${daemon.token}`,
            "Content-Type": "application/json",
            "Content-Length": Buffer.byteLength(body),
          },
        },
        (answer) => {
          answer
            .resume()
            .on("end", () =>
              answer.statusCode === 201
                ? resolve()
                : reject(new Error(`creating gave ${answer.statusCode}`)),
            );
        },
      );
      request.on("error", reject).end(body);
    });
  let next = 0;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (next < MANY) await create(next++);
    }),
  );
  agent.destroy();
  figure(`${MANY} jobs created in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
}

/** In the page: does it, and answers after how many ms, and at which frame, it is so. */
function timed(page, act, isSo, argument) {
  return page.evaluate(`(async () => {
    const act = ${act}, isSo = ${isSo}, argument = ${JSON.stringify(argument ?? null)};
    const begun = performance.now();
    let frames = 0;
    act(argument);
    do {
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      frames++;
    } while (!isSo(argument));
    return { ms: performance.now() - begun, frames };
  })()`);
}

const total =
  "(n) => document.querySelector('.page-head [role=status]').textContent.match(/\\d+/)[0] === String(n)";
const type = (text) =>
  `() => { const box = document.getElementById("search"); box.value = "${text}"; box.dispatchEvent(new Event("input", { bubbles: true })); }`;

/** Processor time of all of the browser's processes so far, in ms: what others do on the machine is
 * not in it. */
async function processorTime() {
  const session = await shared.browser.browser.newBrowserCDPSession();
  return async () =>
    1000 *
    (await session.send("SystemInfo.getProcessInfo")).processInfo.reduce(
      (sum, one) => sum + one.cpuTime,
      0,
    );
}

/** Processor time of the page's main thread alone. */
async function mainThreadTime(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () =>
    1000 *
    (await session.send("Performance.getMetrics")).metrics.find(
      (one) => one.name === "TaskDuration",
    ).value;
}

/** What pages do all the time: objects, texts, sorting. */
const work = () => {
  let x = 1;
  const rows = Array.from({ length: 40_000 }, () => {
    x = (x * 48271) % 2147483647;
    return { x, text: `row ${x}` };
  });
  return JSON.parse(JSON.stringify(rows)).sort((a, b) => a.x - b.x).length;
};

/** How many times as much processor time as promised a page may take here: 1, or more where the
 * processor is slower. */
async function allowance(page) {
  const spent = await mainThreadTime(page);
  const costs = [];
  for (let i = 0; i < 5; i++) {
    const before = await spent();
    await page.evaluate(work);
    costs.push((await spent()) - before);
  }
  figure(
    `the work that takes ${WORK_MS} ms of processor time elsewhere takes ${middle(costs).toFixed(0)} ms here`,
  );
  return Math.max(1, middle(costs) / WORK_MS);
}

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

/** Under 100 ms: the middle of five keeps the page's main thread busy for less, two processors together too, and is drawn in one
 *  of the frames of that time. undo: between two of them, not measured. */
async function asPromised(page, what, limit, measure, undo = async () => undefined) {
  const thread = await mainThreadTime(page),
    all = await processorTime();
  const costs = [],
    sums = [],
    times = [],
    frames = [];
  for (let i = 0; i < 5; i++) {
    if (i) await undo();
    const before = [await all(), await thread()];
    const seen = await measure(i);
    costs.push((await thread()) - before[1]);
    sums.push((await all()) - before[0]);
    times.push(seen.ms);
    frames.push(seen.frames);
  }
  figure(
    `${what} in ${MANY} jobs: ${middle(times).toFixed(0)} ms, drawn in frame ${middle(frames)}; processor time of the page ${middle(costs).toFixed(0)} ms (promised: 100, allowed here: ${limit.toFixed(0)}), of the whole browser ${middle(sums).toFixed(0)} ms`,
  );
  assert.ok(middle(costs) < limit, `${what} took ${costs} ms of the page's processor time`);
  assert.ok(middle(sums) < 2 * limit, `${what} took ${sums} ms of the browser's processor time`);
  assert.ok(middle(frames) <= FRAMES, `${what} was drawn in frame ${frames}`);
  assert.ok(middle(times) < 100 * SLACK, `${what} took ${times} ms`);
}

test("5,000 jobs: search, filter and scroll", async () => {
  const page = await shared.browser.page(shared.daemon);
  const begun = performance.now();
  await page.goto("/jobs");
  await page.waitForFunction(
    (n) => document.querySelector(".page-head [role=status]")?.textContent.includes(`共 ${n} 个`),
    MANY,
  );
  figure(
    `list of ${MANY} complete ${((performance.now() - begun) / 1000).toFixed(2)} s after its address was opened`,
  );
  const limit = 100 * (await allowance(page));
  const clear = () => timed(page, type(""), total, MANY);
  await asPromised(page, "search", limit, () => timed(page, type("many-4999"), total, 1), clear);
  await clear();
  await asPromised(page, "scroll", limit, (i) =>
    timed(
      page,
      "(top) => { document.querySelector('.job-rows').scrollTop = top; }",
      "(top) => [...document.querySelectorAll('.job-rows .row')].some((one) => { const r = one.getBoundingClientRect(), b = document.querySelector('.job-rows').getBoundingClientRect(); return r.top <= b.top + 40 && r.bottom > b.top; })",
      ((i % 8) + 1) * 20_000,
    ),
  );
  await page.getByRole("button", { name: "标签", exact: true }).click();
  const speech = `() => [...document.querySelectorAll("[role=dialog] label")].find((one) => one.textContent.includes("speech")).querySelector("input").click()`;
  await asPromised(page, "filter (on, off)", limit, async (i) =>
    timed(page, speech, total, i % 2 ? MANY : MANY / 10),
  );
  await page.context().close();
});

/** The folder of a pod that is over, with its log. */
async function logFile(name) {
  const pods = await shared.daemon.api(
    "GET",
    `${PODS}?labelSelector=tensorstack.dev%2Fowner-name%3D${name}`,
  );
  const folder = path.join(shared.daemon.data, "pods", pods.items[0].metadata.uid);
  return path.join(
    folder,
    fs.readdirSync(folder).find((one) => one.startsWith("pytorch.")),
  );
}

/** What the daemon has used and read so far. */
function daemonUse() {
  const { pid } = shared.daemon.process;
  const [user, system] = fs
    .readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/.*\) /, "")
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return {
    ms: (user + system) * 10,
    bytes: Number(/^rchar: (\d+)/.exec(fs.readFileSync(`/proc/${pid}/io`, "utf8"))[1]),
  };
}

test("a log of 1 GB opens at its end", async () => {
  await shared.daemon.api("POST", JOBS, job("gigabyte", "echo begin"));
  await shared.daemon.phase("gigabyte", "Succeeded");
  const file = await logFile("gigabyte");
  const one = `${fs
    .readFileSync(file, "utf8")
    .split("\n")[0]
    .replace("begin", `step loss ${"x".repeat(80)}`)}\n`;
  const block = Buffer.from(one.repeat(Math.floor((1 << 24) / one.length)));
  const out = fs.openSync(file, "w");
  for (let n = 0; n < 1e9; n += block.length) fs.writeSync(out, block);
  fs.writeSync(out, one.replace(/step loss x+/, "this is the end"));
  fs.closeSync(out);
  const page = await shared.browser.page(shared.daemon);
  await page.goto(at("gigabyte", "yaml")); // the frame and the job are there
  await page.locator(".cm-line").first().waitFor();
  const limit = 1000 * (await allowance(page));
  const spent = await processorTime();
  const before = { browser: await spent(), daemon: daemonUse() };
  const { ms } = await timed(
    page,
    `() => [...document.querySelectorAll(".tabs a")].find((one) => one.textContent === "日志").click()`,
    `() => [...document.querySelectorAll(".log-line")].some((one) => one.textContent.includes("this is the end"))`,
  );
  const after = { browser: await spent(), daemon: daemonUse() };
  const cost = after.browser - before.browser + after.daemon.ms - before.daemon.ms,
    read = after.daemon.bytes - before.daemon.bytes;
  figure(
    `log of ${(fs.statSync(file).size / 1e9).toFixed(2)} GB shown at its end after ${ms.toFixed(0)} ms (promised: 1000), ${cost.toFixed(0)} ms of processor time (allowed here: ${limit.toFixed(0)}), ${(read / 1e6).toFixed(1)} MB read`,
  );
  assert.ok(cost < limit, `it took ${cost} ms of processor time`);
  assert.ok(read < READ_LIMIT_BYTES, `${read} bytes were read`);
  assert.ok(ms < 1000 * SLACK, `it took ${ms} ms`);
  fs.truncateSync(file, 0);
  await page.context().close();
});

test("20,000 lines a second are followed without freezing", async () => {
  const gate = new Gate(shared.daemon, "flood");
  const program = `import sys, time, os
while not os.path.exists(${JSON.stringify(gate.file)}): time.sleep(0.02)
begun = time.time()
for batch in range(80):
    sys.stdout.write("".join("line %d of the flood, loss 0.1234 accuracy 0.5678\\n" % (batch * 1000 + i) for i in range(1000)))
    sys.stdout.flush()
    time.sleep(max(0, begun + (batch + 1) * 0.05 - time.time()))
print("the flood is over after %.1f s" % (time.time() - begun), flush=True)`;
  await shared.daemon.api(
    "POST",
    JOBS,
    job("flood", "", { container: { command: ["/usr/bin/python3", "-c", program] } }),
  );
  await shared.daemon.phase("flood", "Running");
  const page = await shared.browser.page(shared.daemon);
  await page.goto(at("flood", "logs"));
  await page.getByRole("toolbar", { name: "日志" }).waitFor();
  const limit = 500 * (await allowance(page));
  const spent = await mainThreadTime(page);
  let over = false,
    most = 0,
    last = await spent();
  const watching = page.evaluate(
    () =>
      new Promise((resolve) => {
        const frames = [];
        let last = performance.now(),
          begun = 0;
        const tick = () => {
          const now = performance.now();
          const lines = document.querySelectorAll(".log-line");
          if (lines.length && !begun) begun = now;
          if (begun) frames.push(now - last);
          last = now;
          const end = lines[lines.length - 1]?.textContent ?? "";
          if (end.includes("the flood is over"))
            resolve({ frames, seconds: (now - begun) / 1000, end });
          else requestAnimationFrame(tick);
        };
        tick();
      }),
  );
  gate.open();
  // The main thread answers between two pieces of its work: none of them is longer than what it
  // spent from answer to answer.
  const asking = (async () => {
    while (!over) {
      const now = await spent();
      most = Math.max(most, now - last);
      last = now;
    }
  })();
  const { frames, seconds, end } = await watching;
  over = true;
  await asking;
  await page.context().close();
  const sorted = [...frames].sort((a, b) => a - b);
  figure(
    `80,000 lines, ${end.trim().replace(/.*the flood/, "the flood")}: followed in ${seconds.toFixed(1)} s, at most ${most.toFixed(0)} ms of processor time at a stretch (allowed here: ${limit.toFixed(0)}), longest frame ${sorted.at(-1).toFixed(0)} ms, 95th of 100 ${sorted[Math.floor(0.95 * sorted.length)].toFixed(0)} ms, ${(frames.length / seconds).toFixed(0)} frames a second`,
  );
  assert.ok(most < limit, `the page was busy for ${most} ms`);
  assert.ok(sorted.at(-1) < 500 * SLACK, "the page froze");
});

test("the daemon killed while a log is followed: the page catches up, nothing lost, nothing doubled", async () => {
  const { daemon } = shared;
  const gate = new Gate(daemon, "counts");
  const program = `import os, time
i = 0
while not os.path.exists(${JSON.stringify(gate.file)}):
    print("count", i, flush=True)
    i += 1
    time.sleep(0.01)
print("counted", i, flush=True)`;
  await daemon.api(
    "POST",
    JOBS,
    job("counts", "", { container: { command: ["/usr/bin/python3", "-c", program] } }),
  );
  await daemon.phase("counts", "Running");
  const page = await shared.browser.page(daemon, {
    allow: [/ERR_CONNECTION|WebSocket|Failed to load resource/],
  });
  await page.goto(at("counts", "logs"));
  await page
    .getByText(/^count \d+$/)
    .first()
    .waitFor();
  await daemon.kill("SIGKILL");
  await page.getByText("无法连接到 muster").waitFor();
  await daemon.start();
  await page.getByText("无法连接到 muster").waitFor({ state: "detached" });
  const seen = Number((await page.locator(".log-line").last().textContent()).match(/\d+/)[0]);
  await page.waitForFunction(
    (before) =>
      Number([...document.querySelectorAll(".log-line")].at(-1)?.textContent.match(/\d+/)?.[0]) >
      before + 50,
    seen,
  );
  gate.open();
  await page.getByText(/^counted \d+$/).waitFor();
  await daemon.phase("counts", "Succeeded");
  await page.locator(".log-foot").getByText("日志结束").waitFor(); // the page stays at the end of a log that goes on
  const shown = await page.evaluate(async () => {
    const box = document.querySelector(".log-rows");
    const all = new Map();
    for (let top = 0; top < box.scrollHeight; top += box.clientHeight / 2) {
      const want = Math.min(top, box.scrollHeight - box.clientHeight);
      do {
        box.scrollTop = want;
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      } while (Math.abs(box.scrollTop - want) > 1); // the last of its jumps to the end may still be on its way
      const edge = box.getBoundingClientRect().top;
      for (const line of document.querySelectorAll(".log-line"))
        all.set(
          Math.round((line.getBoundingClientRect().top - edge + box.scrollTop) / 18),
          line.textContent.trim(),
        );
    }
    return [...all].sort((a, b) => a[0] - b[0]).map(([, text]) => text);
  });
  const [pod] = (
    await daemon.api("GET", `${PODS}?labelSelector=tensorstack.dev%2Fowner-name%3Dcounts`)
  ).items;
  const written = (
    await daemon.api("GET", `${PODS}/${pod.metadata.name}/log`, undefined, { raw: true })
  )
    .trim()
    .split("\n");
  assert.deepEqual(shown, written);
  assert.deepEqual(
    written.slice(0, -1),
    written.slice(0, -1).map((_, i) => `count ${i}`),
    "the log itself is whole",
  );
  figure(`${written.length} lines over a kill -9: none lost, none doubled`);
  await page.goto("/jobs?q=counts");
  await row(page, "counts").getByText("Succeeded").waitFor();
  await page.context().close();
});

testNoComplaints(shared);
