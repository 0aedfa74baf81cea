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
const NOTEBOOKS = "/apis/tensorstack.dev/v1beta1/namespaces/default/notebooks";

// Stands in for tensorboard. Its page tries whatever a page can, and writes down what came of it.
const EVIL = `#!/usr/bin/python3
import http.server, json, sys, threading
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
  await tried("popup", async () => {
    const one = window.open(api + "/jobs");
    for (; one && !one.closed; await new Promise((resolve) => setTimeout(resolve, 50)))
      try { if (one.location.href !== "about:blank") return "read: " + one.document.body.textContent; } catch { return "closed"; }
    return one ? "closed" : one;
  });
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
BREACH = b"""<!doctype html><script>
addEventListener("securitypolicyviolation", () => { document.title = "breached"; });
</script><img src=x.png>"""
lock, seen, waiting = threading.Lock(), 0, 0
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def answer(self, body, **headers):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
    def wait(self):
        global seen, waiting
        with lock: seen, waiting = seen + 1, waiting + 1
        self.connection.recv(1) # until it is hung up
        with lock: waiting -= 1
    def do_GET(self):
        what, _, query = self.path[len(prefix):].partition("?")
        if what == "/never":
            return self.wait()
        if what == "/waiting":
            return self.answer(json.dumps({"seen": seen, "waiting": waiting}).encode())
        if what == "/cached":
            return self.answer(b"<!doctype html><title>cached</title>", Cache_Control="max-age=3600, immutable", ETag='"1"')
        if what == "/breach":
            return self.answer(BREACH, Content_Security_Policy="img-src 'none'; report-uri " + query)
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

async function makeBoard(daemon) {
  await daemon.api("POST", BOARDS, {
    apiVersion: "tensorstack.dev/v1beta1",
    kind: "TensorBoard",
    metadata: { name: "evil" },
    spec: { logDir: { pvc: [{ name: "curves" }] } },
  });
  await daemon.phase("evil", "Running", BOARDS);
}

const shared = withConsole([], async (daemon) => {
  const program = path.join(daemon.folder, "bin/tensorboard");
  fs.mkdirSync(path.dirname(program));
  fs.writeFileSync(program, EVIL, { mode: 0o755 });
  await daemon.api("POST", "/api/v1/namespaces/default/secrets", {
    metadata: { name: "treasure" },
    stringData: { a: "b" },
  });
  await makeBoard(daemon);
});

const openBoard = (page) => openApp(page, "/tensorboards");

/** Opens it and has its page try everything. */
async function seesNothingButItself(list, pathname, otherwise) {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  const popup = await openApp(page, list);
  await popup.waitForFunction(() => document.title === "tried");
  const at = new URL(popup.url());
  assert.match(at.host, new RegExp(`^app-[0-9a-f]{32}\\.localhost:${daemon.port}$`));
  assert.equal(at.pathname, pathname);
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
    ...otherwise,
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
}

test("a hostile program sees nothing but itself", () =>
  seesNothingButItself("/tensorboards", "/tensorboard/default/evil/", {}));

// Where people work, windows may be opened; what is in them stays out of reach.
test("a hostile Notebook sees nothing but itself", async () => {
  const { daemon } = shared;
  await daemon.api("POST", NOTEBOOKS, {
    apiVersion: "tensorstack.dev/v1beta1",
    kind: "Notebook",
    metadata: { name: "evil" },
    spec: {
      template: {
        spec: {
          containers: [
            {
              name: "notebook",
              image: "none",
              command: [
                "sh",
                "-c",
                'exec tensorboard --path_prefix "$NB_PREFIX" --host 127.0.0.1 --port "$MUSTER_APP_PORT"',
              ],
            },
          ],
        },
      },
    },
  });
  await daemon.phase("evil", "Running", NOTEBOOKS);
  await seesNothingButItself("/notebooks", "/notebook/default/evil/", { popup: "closed" });
  await daemon.api("DELETE", `${NOTEBOOKS}/evil`);
});

test("who begins and breaks off requests without end holds nothing", async () => {
  const page = await shared.browser.page(shared.daemon, { allow: [/./] });
  const popup = await openBoard(page);
  await popup.waitForFunction(() => document.title === "tried");
  // Twice as many as the program may have under way, as many at a time as a browser begins.
  const { seen, waiting } = await popup.evaluate(async () => {
    const state = async () => (await fetch("waiting")).json();
    const until = async (right) => {
      for (;;) {
        const now = await state();
        if (right(now)) return now;
      }
    };
    for (let round = 1; round <= 26; round++) {
      const leave = new AbortController();
      const begun = [1, 2, 3, 4, 5].map((n) =>
        fetch(`never?${round}.${n}`, { signal: leave.signal }).catch((error) => error.name),
      );
      await until(({ seen }) => seen >= 5 * round);
      leave.abort();
      await Promise.all(begun);
    }
    return until(({ waiting }) => waiting === 0);
  });
  assert.deepEqual([seen, waiting], [130, 0]);
  await page.context().close();
});

test("a policy of the program's own reports nowhere", async () => {
  const { daemon } = shared;
  const reports = [];
  let told;
  const collector = http.createServer((request, answer) => {
    if (request.method === "POST") {
      reports.push(request.url);
      told?.();
    }
    answer.setHeader("Content-Type", "text/html");
    answer.setHeader("Content-Security-Policy", "img-src 'none'; report-uri /own");
    answer.end("<!doctype html><img src=x.png>");
  });
  await new Promise((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const at = `http://127.0.0.1:${collector.address().port}`;
  const page = await shared.browser.page(daemon, { allow: [/./] });
  const popup = await openBoard(page);
  await popup.waitForFunction(() => document.title === "tried");
  for (const to of [`${at}/evil`, `${daemon.url}/api/v1/namespaces`]) {
    await popup.goto(new URL(`breach?${to}`, popup.url()).href);
    await popup.waitForFunction(() => document.title === "breached");
  }
  // A page elsewhere, whose breach comes later, is reported.
  const own = new Promise((resolve) => (told = resolve));
  const elsewhere = await page.context().newPage();
  await elsewhere.goto(at);
  await within(own, "a report");
  assert.deepEqual(reports, ["/own"]);
  await page.context().close();
  collector.close();
});

test("a page it lets the browser keep is not shown after signing out", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon, { allow: [/./] });
  const popup = await openBoard(page);
  await popup.waitForFunction(() => document.title === "tried");
  const kept = new URL("cached", popup.url()).href;
  await popup.goto(kept);
  assert.equal(await popup.title(), "cached");
  await popup.goto("about:blank");
  await page.getByRole("button", { name: "owner" }).click();
  await page.getByRole("menuitem", { name: "退出登录" }).click();
  await page.getByLabel("令牌").waitFor();
  const seen = async (go) => {
    await go();
    await popup.waitForLoadState();
    assert.notEqual(await popup.title(), "cached");
  };
  await seen(() => popup.goBack());
  await seen(() => popup.goto(kept));
  await page.context().close();
});

test("another of the same name finds nothing that the first one left in the browser", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon, { allow: [/./] });
  const first = await openBoard(page);
  await first.waitForFunction(() => document.title === "tried");
  const kept = new URL("cached", first.url()).href;
  await first.goto(kept);
  await first.evaluate(() => localStorage.setItem("left", "here"));
  await daemon.api("DELETE", `${BOARDS}/evil`);
  await daemon.until(BOARDS, (boards) => boards.size === 0, "it to be gone");
  await makeBoard(daemon);
  const second = await openBoard(page);
  await second.waitForFunction(() => document.title === "tried");
  assert.notEqual(new URL(second.url()).host, new URL(kept).host);
  assert.equal(await second.evaluate(() => localStorage.length), 0);
  await first.goto(kept);
  assert.notEqual(await first.title(), "cached");
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

// Binds the given address and prints the requests it gets.
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
