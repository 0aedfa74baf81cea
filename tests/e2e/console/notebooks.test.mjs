// Notebooks in the console: made, opened at an origin of their own with a WebSocket, paused, resumed,
// deleted.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { testNoComplaints, withConsole } from "./harness.mjs";

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
http.server.ThreadingHTTPServer((options["ServerApp.ip"], int(options["ServerApp.port"])), Handler).serve_forever()
`;

const shared = withConsole([], async (daemon) => {
  const program = path.join(daemon.folder, "bin/jupyter-lab");
  fs.mkdirSync(path.dirname(program));
  fs.writeFileSync(program, LAB, { mode: 0o755 });
});

test("made, opened, paused, resumed, deleted", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon);
  await page.goto("/notebooks");
  await page.getByRole("button", { name: "创建 Notebook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("名称").fill("mnist");
  await dialog.getByLabel("CPU 上限").fill("100m");
  await dialog.getByLabel("内存上限").fill("256Mi");
  await dialog.getByRole("button", { name: "创建", exact: true }).click();
  const row = page.locator("tbody tr");
  await row.getByText("Running").waitFor();
  const made = await daemon.api("GET", `${NOTEBOOKS}/mnist`);
  const claim = made.spec.template.spec.volumes[0].persistentVolumeClaim.claimName;
  assert.equal(claim, "mnist");
  const [popup] = await Promise.all([
    page.waitForEvent("popup"),
    row.getByRole("link", { name: "打开" }).click(),
  ]);
  await popup.waitForFunction(() => document.title === "hello");
  assert.match(new URL(popup.url()).host, /^app-[0-9a-f]{32}\.localhost:/);
  await popup.close();
  await row.getByRole("button", { name: "暂停" }).click();
  await row.getByText("Paused").waitFor();
  await row.getByRole("button", { name: "恢复" }).click();
  await row.getByText("Running").waitFor();
  await row.getByRole("button", { name: "更多 mnist" }).click();
  await page.getByRole("menuitem", { name: "删除" }).click();
  await page.getByText("还没有 Notebook").waitFor();
  await page.context().close();
});

testNoComplaints(shared);
