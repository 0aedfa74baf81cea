// Programs of others in the user's browser: what a hostile one can reach, and that it is opened and
// closed with the session.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { test } from "node:test";
import { PODS, shot, testNoComplaints, within, withConsole } from "./harness.mjs";
import { openApp } from "./lab.mjs";

const BOARDS = "/apis/tensorstack.dev/v1beta1/namespaces/default/tensorboards";

// Stands in for tensorboard. Its page tries whatever a page can, and writes down what came of it.
const EVIL = `#!/usr/bin/python3
import http.server, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
prefix = options["--path_prefix"]
PAGE = b"""<!doctype html><title>evil</title><pre id=out></pre><script>
const api = "http://127.0.0.1:" + location.port, found = {};
const tried = (name, what) => Promise.resolve().then(what).then((value) => { found[name] = String(value); }, (error) => { found[name] = "failed: " + error.name; });
const frame = (at) => new Promise((resolve) => {
  const one = document.body.appendChild(Object.assign(document.createElement("iframe"), { src: at }));
  one.onload = () => { try { resolve("read: " + one.contentDocument.body.textContent.slice(0, 40)); } catch (error) { resolve("closed"); } };
});
(async () => {
  await tried("api", async () => (await fetch(api + "/api/v1/secrets", { credentials: "include" })).status);
  await tried("blind", async () => (await fetch(api + "/api/v1/namespaces", { method: "POST", mode: "no-cors", credentials: "include", body: JSON.stringify({ metadata: { name: "forged" } }) })).type);
  await tried("own", async () => (await fetch("/api/v1/secrets")).status);
  await tried("redirect", async () => (await fetch("redirect")).status);
  await tried("frame", () => frame(api + "/jobs"));
  await tried("opener", () => window.opener);
  await tried("popup", () => window.open(api + "/jobs"));
  await tried("storage", () => JSON.stringify(localStorage));
  await tried("cookie", () => document.cookie);
  await tried("worker", async () => (await navigator.serviceWorker.register("worker.js")).scope);
  await tried("socket", () => new Promise((resolve, reject) => {
    const one = new WebSocket(api.replace("http", "ws") + "/console/v1/stream");
    one.onopen = () => resolve("open");
    one.onerror = () => reject(new TypeError());
  }));
  await tried("socket of its own origin", () => new Promise((resolve, reject) => {
    const one = new WebSocket(location.origin.replace("http", "ws") + "/console/v1/stream");
    one.onopen = () => resolve("open");
    one.onerror = () => reject(new TypeError());
  }));
  await tried("beacon", () => navigator.sendBeacon(api + "/api/v1/namespaces", JSON.stringify({ metadata: { name: "forged" } })));
  await tried("script", () => new Promise((resolve, reject) => { // its errors would tell what is in it
    const one = document.body.appendChild(Object.assign(document.createElement("script"), { src: api + "/api/v1/secrets" }));
    one.onload = () => resolve("loaded");
    one.onerror = () => reject(new TypeError());
  }));
  await tried("wide worker", async () => (await navigator.serviceWorker.register("worker.js", { scope: "/" })).scope);
  await tried("shared worker", () => new Promise((resolve, reject) => { // other than a service worker it is its own page's
    const one = new SharedWorker(api + "/assets/app.js");
    one.onerror = () => reject(new TypeError());
    setTimeout(() => resolve("runs"), 5000);
  }));
  await tried("form", () => { // navigations of its own tab are its own affair; a form's is refused
    const form = document.body.appendChild(Object.assign(document.createElement("form"), { action: api + "/api/v1/namespaces", method: "post" }));
    form.submit();
    return "sent";
  });
  await tried("parent", async () => { // neither a page nor a program sets cookies for its parents
    await fetch("cookie");
    document.cookie = "muster_app=forged; path=/";
    return document.cookie;
  });
  await tried("domain", () => { document.cookie = "muster-session=x; domain=localhost"; document.domain = "localhost"; return document.domain; });
  document.getElementById("out").textContent = JSON.stringify(found);
  document.title = "tried";
})();
</script>"""
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        what = self.path[len(prefix):].split("?")[0]
        self.send_response(302 if what == "/redirect" else 200)
        if what == "/redirect":
            self.send_header("Location", prefix + "/../../../api/v1/secrets")
        self.send_header("Content-Type", "text/javascript" if what == "/worker.js" else "text/html")
        self.send_header("Set-Cookie", "muster_app=x")
        self.send_header("Set-Cookie", "muster_parent=x; Domain=localhost; Path=/")
        self.send_header("Service-Worker-Allowed", "/")
        self.end_headers()
        self.wfile.write(b"" if what == "/worker.js" else PAGE)
http.server.ThreadingHTTPServer((options["--host"], int(options["--port"])), Handler).serve_forever()
`;

const shared = withConsole([], async (daemon) => {
  const program = path.join(daemon.folder, "bin/tensorboard");
  fs.mkdirSync(path.dirname(program));
  fs.writeFileSync(program, EVIL, { mode: 0o755 });
  await daemon.api("POST", "/api/v1/namespaces/default/secrets", {
    metadata: { name: "treasure" },
    stringData: { a: "b" },
  });
  await daemon.api("POST", BOARDS, {
    apiVersion: "tensorstack.dev/v1beta1",
    kind: "TensorBoard",
    metadata: { name: "evil" },
    spec: { logDir: { pvc: [{ name: "curves" }] } },
  });
  await daemon.phase("evil", "Running", BOARDS);
});

const openBoard = (page) => openApp(page, "/tensorboards");

test("a hostile program sees nothing but itself", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  const popup = await openBoard(page);
  await popup.waitForFunction(() => document.title === "tried");
  const at = new URL(popup.url());
  assert.match(at.host, new RegExp(`^app-[0-9a-f]{32}\\.localhost:${daemon.port}$`));
  assert.equal(at.pathname, "/tensorboard/default/evil/");
  const found = JSON.parse(await popup.locator("#out").textContent());
  assert.deepEqual(found, {
    api: "failed: TypeError",
    blind: "failed: TypeError",
    own: "404",
    redirect: "302",
    frame: "closed",
    opener: "null",
    popup: "null",
    storage: "{}",
    cookie: "",
    worker: "failed: TypeError",
    socket: "failed: TypeError",
    "socket of its own origin": "failed: TypeError",
    beacon: "true", // it is queued; what came of it is looked for below
    script: "failed: TypeError",
    "wide worker": "failed: TypeError",
    "shared worker": "failed: SecurityError",
    form: "sent",
    parent: "",
    domain: "failed: SecurityError",
  });
  // The same without its policy, which is the browser's: the server itself gives such a page
  // nothing.
  const bare = await popup.context().newPage();
  await bare.route("**/*", async (route) => {
    if (!route.request().isNavigationRequest()) return route.continue();
    await route.fulfill({
      status: 200,
      contentType: "text/html",
      body: "<!doctype html><title>bare</title>",
    });
  });
  await bare.goto(popup.url());
  const tried = await bare.evaluate(async (api) => {
    const out = [];
    for (const init of [
      { credentials: "include" },
      {
        credentials: "include",
        mode: "no-cors",
        method: "POST",
        body: '{"metadata":{"name":"forged"}}',
      },
    ]) {
      try {
        out.push((await fetch(`${api}/api/v1/namespaces`, init)).type);
      } catch (error) {
        out.push(error.name);
      }
    }
    out.push(
      await new Promise((resolve) => {
        const one = new WebSocket(`${api.replace("http", "ws")}/console/v1/stream`);
        one.onopen = () => resolve("open");
        one.onerror = () => resolve("TypeError");
      }),
    );
    return out;
  }, daemon.url);
  for (const one of tried) assert.match(one, /^(TypeError|opaque)$/);
  // Whatever the program set, the browser has our own cookie for that one host and no other.
  const cookies = (await popup.context().cookies()).filter((one) => one.name.startsWith("muster"));
  assert.deepEqual(
    cookies.map((one) => [one.name, one.domain, one.httpOnly]),
    [["muster_app", at.hostname, true]],
  );
  assert.notEqual(cookies[0].value, "x");
  const names = (await daemon.api("GET", "/api/v1/namespaces")).items.map(
    (one) => one.metadata.name,
  );
  assert.ok(!names.includes("forged"));
  await page.context().close();
});

test("its address at the console signs in first, and leads there; signing out ends it", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon, {
    signIn: false,
    allow: [/./],
  }); // the program complains of what it may not
  await page.goto("/tensorboard/default/evil/");
  await page.getByLabel("令牌").fill(daemon.token);
  await page.getByRole("button", { name: "登录" }).click();
  await page.waitForURL(/app-[0-9a-f]+\.localhost/);
  await page.waitForFunction(() => document.title === "tried");
  await page.reload();
  await page.waitForFunction(() => document.title === "tried");
  const console_ = await page.context().newPage();
  await console_.goto("/jobs");
  await console_.getByRole("button", { name: "owner" }).click();
  await console_.getByRole("menuitem", { name: "退出登录" }).click();
  await console_.getByLabel("令牌").waitFor();
  await page.reload();
  await page.locator("#open").click(); // another page led to the console: it asks first
  await page.getByLabel("令牌").waitFor();
  assert.equal(new URL(page.url()).host, `127.0.0.1:${daemon.port}`);
  await page.context().close();
});

test("a page at another port neither steers the console nor opens programs", async () => {
  const { daemon } = shared;
  const server = http.createServer((_, answer) => {
    answer.setHeader("Content-Type", "text/html");
    answer.end("<!doctype html><title>elsewhere</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const signedIn = await shared.browser.page(daemon, { allow: [/./] });
  await signedIn.goto("/jobs");
  const page = await signedIn.context().newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const reach = async (at) => {
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      page.evaluate((url) => void (window.opened = window.open(url)), daemon.url + at),
    ]);
    await popup.waitForLoadState();
    return popup;
  };
  const steered = await reach("/jobs");
  await page.waitForFunction(() => window.opened.closed); // as far as this page can tell
  assert.equal(await steered.evaluate(() => window.opener), null);
  const led = await reach("/tensorboard/default/evil/?side=effect");
  assert.equal(await led.locator("script").count(), 0);
  await led.locator("#open").click();
  await led.waitForURL(/app-[0-9a-f]+\.localhost/);
  await signedIn.context().close();
  server.close();
});

// Binds what it is told to and says what it was asked.
const STRANGER = `
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        print("asked", self.path, flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>stranger</title>give me your password")
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("bound", flush=True)
server.serve_forever()
`;

test("another user of the machine who takes its port first is never shown, and the program moves", async () => {
  const { daemon } = shared;
  const at = `${BOARDS}/evil`;
  const patch = (suspend) =>
    daemon.api("PATCH", at, { spec: { suspend } }, { type: "application/merge-patch+json" });
  const { port } = (await daemon.api("GET", at)).status;
  await patch(true);
  await daemon.until(PODS, (pods) => pods.size === 0, "its pod to be gone");
  const nobody = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {};
  const stranger = spawn("/usr/bin/python3", ["-c", STRANGER, String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
    ...nobody,
  });
  let said = "";
  stranger.stdout.on("data", (part) => (said += part));
  await within(once(stranger.stdout, "data"), "the port to be taken");
  await patch(false);
  const page = await shared.browser.page(daemon, { allow: [/./] });
  const popup = await openBoard(page);
  try {
    // It finds its port taken and starts on another one; the page that waited for it shows it there.
    await popup.waitForFunction(() => document.title === "tried");
    const host = new RegExp(`^app-[0-9a-f]{32}\\.localhost:${daemon.port}$`);
    assert.match(new URL(popup.url()).host, host);
    const { status } = await daemon.api("GET", at);
    assert.equal(status.phase, "Running");
    assert.notEqual(status.port, port);
    await shot(popup, "app-port-taken");
    assert.equal(said, "bound\n", "the stranger was asked");
  } finally {
    stranger.kill();
    await once(stranger, "exit");
  }
  await page.context().close();
});

test("gone", async () => {
  await shared.daemon.api("DELETE", `${BOARDS}/evil`);
});

testNoComplaints(shared);
