// Being told: by webhooks the server sends, and by the browser, which is asked for on a click only.
import assert from "node:assert/strict";
import http from "node:http";
import { after, test } from "node:test";
import {
  Gate,
  JOBS,
  axe,
  job,
  row,
  shot,
  testNoComplaints,
  within,
  withConsole,
} from "./harness.mjs";

const NOTIFICATIONS = "/apis/muster.dev/v1beta1/namespaces/default/notifications";
const got = [];
const waiting = [];
let answer = 200;
const receiver = http.createServer((request, reply) => {
  const parts = [];
  request
    .on("data", (part) => parts.push(part))
    .on("end", () => {
      const body = JSON.parse(Buffer.concat(parts).toString());
      reply.writeHead(answer).end();
      const next = waiting.shift();
      if (next) next(body);
      else got.push(body);
    });
});
const nextPost = () =>
  got.length
    ? Promise.resolve(got.shift())
    : within(new Promise((resolve) => waiting.push(resolve)), "a post");

const shared = withConsole(
  ["--notify-local"],
  () => new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve)),
);
after(() => receiver.close());

test("a notification is made, tested, suspended and deleted in the settings", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  await page.goto("/settings");
  await page.getByRole("button", { name: "创建通知" }).click();
  const dialog = page.getByRole("dialog");
  const create = dialog.getByRole("button", { name: "创建", exact: true });
  await dialog.getByLabel("名称").fill("组");
  await dialog.locator("input[type=url]").fill("file:///etc/passwd");
  assert.ok(await create.isDisabled());
  await dialog.getByLabel("名称").fill("team");
  await dialog
    .locator("input[type=url]")
    .fill(`http://127.0.0.1:${receiver.address().port}/secret-path`);
  await dialog.getByPlaceholder("team=nlp").fill("team=nlp");
  assert.deepEqual(await axe(page), []);
  await shot(page, "notifications-dialog-zh");
  await create.click();
  const line = page.locator("#notifications tbody tr", { hasText: "team" });
  await line.waitFor();
  const made = await daemon.api("GET", `${NOTIFICATIONS}/team`);
  assert.deepEqual(made.spec.selector, { matchLabels: { team: "nlp" } });
  assert.equal(made.spec.url, undefined);
  assert.ok(!(await page.content()).includes("secret-path"));

  await line.getByRole("button", { name: "发送测试" }).click();
  assert.equal((await nextPost()).type, "test");
  await line.getByText("已送达 1，放弃 0").waitFor();
  answer = 404;
  await line.getByRole("button", { name: "发送测试" }).click();
  await nextPost();
  await line.getByText("接收方返回 404").waitFor();
  answer = 200;
  await shot(page, "notifications-list-zh");
  assert.deepEqual(await axe(page), []);

  await daemon.api("POST", JOBS, job("bad", "exit 3", { labels: { team: "nlp" } }));
  const told = await nextPost();
  assert.deepEqual([told.job.name, told.phase], ["bad", "Failed"]);
  await line.getByText("已送达 2，放弃 1").waitFor();
  await line.getByRole("button", { name: "暂停" }).click();
  await line.getByText("已暂停").waitFor();
  assert.ok(await line.getByRole("button", { name: "发送测试" }).isDisabled());
  await line.getByRole("button", { name: "删除" }).click();
  await page.getByText("还没有通知。").waitFor();
  await daemon.until(
    "/api/v1/namespaces/default/secrets",
    (all) => !all.has("notification-team"),
    "the Secret to go with it",
  );
  await page.context().close();
});

test("the browser is asked on a click, and tells of what ends and only of favourites if wanted", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon, { lang: "en" });
  await page.addInitScript(() => {
    window.asked = 0;
    window.told = [];
    window.Notification = class {
      static permission = "default";
      static requestPermission() {
        window.asked++;
        this.permission = "granted";
        return Promise.resolve("granted");
      }
      constructor(text, options) {
        window.told.push({ text, ...options });
      }
    };
    Object.defineProperty(document, "hidden", { get: () => true });
  });
  const gates = ["first", "second", "third"].map((name) => new Gate(daemon, name));
  for (const [i, name] of ["first", "second", "third"].entries())
    await daemon.api("POST", JOBS, job(name, gates[i].wait));
  await page.goto("/jobs");
  await page.getByRole("link", { name: "third" }).waitFor();
  assert.equal(await page.evaluate(() => window.asked), 0);
  const bell = page.getByRole("button", { name: "Notifications" });
  await bell.click();
  await page.getByRole("menuitemradio", { name: "Browser notifications" }).click();
  assert.equal(await page.evaluate(() => window.asked), 1);
  const told = async (count) => {
    await page.waitForFunction((n) => window.told.length >= n, count);
    return page.evaluate(() => window.told.map((one) => one.text));
  };
  // Watching begins when the page has what it shows: until it does, the end is no news.
  await page.waitForFunction(() => performance.now() > 4_000);
  gates[0].open();
  assert.match((await told(1))[0], /first.*Succeeded/);
  await bell.click();
  await page.getByRole("menuitemradio", { name: "Only my favourites" }).click();
  await row(page, "third")
    .getByRole("button", { name: /Favourite/ })
    .click();
  gates[1].open();
  await daemon.phase("second", "Succeeded");
  await row(page, "second").getByText("Succeeded").waitFor();
  gates[2].open();
  const all = await told(2);
  assert.equal(all.length, 2);
  assert.match(all[1], /third.*Succeeded/);
  await page.context().close();
});

testNoComplaints(shared);
