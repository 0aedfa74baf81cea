// Notebooks in the console: made, opened at an origin of their own with a WebSocket, paused, resumed,
// deleted.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { axe, PODS, shot, testNoComplaints, withConsole } from "./harness.mjs";
import { openApp } from "./lab.mjs";

const NOTEBOOKS = "/apis/tensorstack.dev/v1beta1/namespaces/default/notebooks";

// Stands in for JupyterLab: a page whose title is what came back through a WebSocket.
const LAB = `#!/usr/bin/python3
import base64, hashlib, http.server, sys
options = dict(a.lstrip("-").split("=", 1) for a in sys.argv[1:] if "=" in a)
PAGE = b"""<!doctype html><title>lab</title><script>
const socket = new WebSocket(location.href.replace("http", "ws") + "ws");
socket.onmessage = (event) => { document.title = event.data; };
</script>"""
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def do_GET(self):
        if not self.headers.get("Upgrade"):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)
            return
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.wfile.write(bytes([0x81, 5]) + b"hello")
        self.wfile.flush()
        self.rfile.read(1)
        self.close_connection = True
print("the lab says hello", flush=True)
http.server.ThreadingHTTPServer((options["ServerApp.ip"], int(options["ServerApp.port"])), Handler).serve_forever()
`;

const shared = withConsole(["--idle-after", "2s"], async (daemon) => {
  const program = path.join(daemon.folder, "bin/jupyter-lab");
  fs.mkdirSync(path.dirname(program));
  fs.writeFileSync(program, LAB, { mode: 0o755 });
  await daemon.api("POST", "/api/v1/namespaces/default/secrets", {
    metadata: { name: "my-key" },
    stringData: { "ssh-publickey": `ssh-ed25519 ${"A".repeat(68)}` },
  });
});

test("made, opened, paused, resumed, deleted", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  await page.goto("/notebooks");
  await page.getByRole("button", { name: "创建 Notebook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("名称").fill("mnist");
  const more = dialog.getByLabel("更多存储卷");
  await more.fill("datasets:/t9k/mnt");
  await dialog.getByText("每个路径只能用一次").waitFor();
  await more.fill("datasets:/data");
  await dialog.getByLabel("SSH 公钥").fill("my-key");
  await dialog.getByLabel("CPU 上限").fill("100m");
  await dialog.getByLabel("内存上限").fill("256Mi");
  await dialog.getByRole("button", { name: "创建", exact: true }).click();
  const row = page.locator("tbody tr");
  await row.getByText("Running").waitFor();
  const made = await daemon.api("GET", `${NOTEBOOKS}/mnist`);
  const { volumes, containers } = made.spec.template.spec;
  assert.deepEqual(
    volumes.map((one, i) => [
      one.persistentVolumeClaim.claimName,
      containers[0].volumeMounts[i].mountPath,
    ]),
    [
      ["mnist", "/t9k/mnt"],
      ["datasets", "/data"],
    ],
  );
  const popup = await openApp(page, "/notebooks");
  await popup.waitForFunction(() => document.title === "hello");
  assert.match(new URL(popup.url()).host, /^app-[0-9a-f]{32}\.localhost:/);
  await popup.close();
  // 状况、事件、日志；SSH
  await row.getByRole("button", { name: "更多 mnist" }).click();
  await page.getByRole("menuitem", { name: "状况与事件" }).click();
  await page.getByRole("cell", { name: "Ready", exact: true }).waitFor();
  await page.getByText("Notebook/mnist").first().waitFor();
  await page.getByText("Pod/mnist-nb").first().waitFor();
  const { port } = made.status.ssh;
  await page.getByText(`ssh -p ${port} t9kuser@127.0.0.1`, { exact: true }).waitFor();
  const forward = `kubectl -n default port-forward service/managed-notebook-ssh-mnist ${port}`;
  await page.getByText(forward, { exact: true }).waitFor();
  await page.locator(".tabs").getByRole("link", { name: "日志" }).click();
  await page.getByText("the lab says hello").waitFor();
  await page.getByRole("link", { name: "Notebook", exact: true }).first().click();
  await row.getByRole("button", { name: "暂停" }).click();
  await row.getByText("Paused").waitFor();
  await row.getByRole("button", { name: "恢复" }).click();
  await row.getByText("Running").waitFor();
  await row.getByRole("button", { name: "更多 mnist" }).click();
  await page.getByRole("menuitem", { name: "删除" }).click();
  await page.getByText("还没有 Notebook").waitFor();
  await page.context().close();
});

test("GPUs of the form are asked for, and that there are none is said", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  await page.goto("/notebooks");
  await page.getByRole("button", { name: "创建 Notebook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("名称").fill("large");
  await dialog.getByLabel("GPU").fill("99");
  await dialog.getByRole("button", { name: "创建", exact: true }).click();
  await page.locator("tbody tr").getByText(/GPU/).waitFor();
  const pod = await daemon.api("GET", `${PODS}/large-nb`);
  assert.equal(pod.spec.containers[0].resources.limits["nvidia.com/gpu"], "99");
  await shot(page, "notebook-without-gpu");
  await daemon.api("DELETE", `${NOTEBOOKS}/large`);
  await page.context().close();
});

test("looks right in both languages and themes, and at 360 pixels", async () => {
  const { daemon } = shared;
  for (const name of ["mnist", "speech"])
    await daemon.api("POST", NOTEBOOKS, {
      apiVersion: "tensorstack.dev/v1beta1",
      kind: "Notebook",
      metadata: { name },
      spec: {
        suspend: name === "speech",
        template: {
          spec: {
            containers: [{ name: "notebook", image: "none" }],
            volumes: [{ name: "w", persistentVolumeClaim: { claimName: name } }],
          },
        },
      },
    });
  await daemon.phase("mnist", "Running", NOTEBOOKS);
  // Two seconds without a request are idle here.
  await daemon.until(
    NOTEBOOKS,
    (all) =>
      all
        .get("mnist")
        .status.conditions.some((one) => one.type === "Idle" && one.status === "True"),
    "mnist to be idle",
  );
  for (const [lang, dark, width] of [
    ["zh", false, 1440],
    ["en", false, 1440],
    ["zh", true, 360],
    ["en", false, 360],
  ]) {
    const page = await shared.browser.page(daemon, { lang, dark, width });
    const looks = async (name) => {
      const over = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(over <= 0, `${name} is ${over} pixels wider than ${width}`);
      assert.deepEqual(await axe(page), []);
      await shot(page, `${name}-${width}.${lang}.${dark ? "dark" : "light"}`);
    };
    await page.goto("/notebooks");
    await page.getByText(lang === "zh" ? "空闲" : "Idle", { exact: true }).waitFor();
    await looks("notebooks");
    await page.getByRole("button", { name: /创建|Create/ }).click();
    await page
      .getByRole("dialog")
      .getByLabel(/名称|Name/)
      .fill("new");
    await looks("notebook-dialog");
    await page.goto("/notebooks/default/mnist");
    await page.getByText("Notebook/mnist").first().waitFor();
    await looks("notebook");
    await page.goto("/notebooks/default/mnist/logs");
    await page.getByText("the lab says hello").waitFor();
    await looks("notebook-logs");
    await page.context().close();
  }
  for (const name of ["mnist", "speech"]) await daemon.api("DELETE", `${NOTEBOOKS}/${name}`);
});

testNoComplaints(shared);
