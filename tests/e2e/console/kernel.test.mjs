// JupyterLab in Chromium: the daemon is killed while a kernel runs, which goes on; the page connects again.
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { ROOT, shot, within, withConsole } from "./harness.mjs";
import { openLab } from "./lab.mjs";

process.env.PATH = `${ROOT}/build/jupyter/bin:${process.env.PATH}`;

const NOTEBOOKS = "/apis/tensorstack.dev/v1beta1/namespaces/default/notebooks";

const shared = withConsole([], async (daemon) => {
  await daemon.api("POST", NOTEBOOKS, {
    apiVersion: "tensorstack.dev/v1beta1",
    kind: "Notebook",
    metadata: { name: "kept" },
    spec: {
      template: {
        spec: {
          containers: [
            { name: "notebook", image: "none", args: ["--LabApp.expose_app_in_browser=True"] },
          ],
          volumes: [{ name: "w", persistentVolumeClaim: { claimName: "kept" } }],
        },
      },
    },
  });
  await daemon.phase("kept", "Running", NOTEBOOKS);
});

/** Until the page has sent something over a connection to its kernel that was not there before. */
function reconnected(lab) {
  return within(
    new Promise((resolve) => {
      lab.on("websocket", (socket) => {
        if (socket.url().includes("/channels")) socket.on("framesent", resolve);
      });
    }),
    "the page to connect to its kernel again",
  );
}

test("a kernel outlives the daemon, and the page connects again by itself", async () => {
  const { daemon } = shared;
  const page = await shared.browser.page(daemon, { allow: [/./] }); // it misses the daemon too
  const lab = await openLab(page);
  // That the server was away, which may be said at any time.
  await lab.addLocatorHandler(lab.locator(".jp-Dialog"), () =>
    lab.locator(".jp-Dialog .jp-mod-accept").click(),
  );
  await lab.locator('.jp-LauncherCard[data-category="Notebook"]:visible').first().click();
  await lab.waitForFunction(() => window.jupyterapp.shell.currentWidget?.sessionContext);
  await lab.evaluate(() => window.jupyterapp.shell.currentWidget.sessionContext.ready);
  const panel = lab.locator(".jp-NotebookPanel:not(.lm-mod-hidden)");
  // What is run before the page has heard of its kernel is forgotten.
  const idle = () =>
    lab.waitForFunction(() => {
      const kernel = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
      return kernel?.connectionStatus === "connected" && kernel.status === "idle";
    });
  const run = async (code) => {
    await idle();
    const cell = panel.locator(".jp-Cell.jp-mod-active .cm-content");
    await cell.click();
    await lab.keyboard.insertText(code);
    await cell.filter({ hasText: code.split("\n")[0] }).waitFor();
    await lab.keyboard.press("Shift+Enter");
  };
  const says = (text) => panel.locator(".jp-OutputArea-output", { hasText: text }).waitFor();
  await run(
    [
      "import os, time",
      "answer = 6",
      "print('waiting as', os.getpid())",
      "while not os.path.exists('/t9k/mnt/go'): time.sleep(.05)",
      "answer *= 7",
      "print('the answer is', answer)",
    ].join("\n"),
  );
  await says("waiting as");
  const again = reconnected(lab);
  await daemon.kill();
  await daemon.start();
  await again;
  fs.writeFileSync(path.join(daemon.data, "volumes/default/kept/go"), "");
  await says("the answer is 42");
  await run("print('still', answer)");
  await says("still 42");
  await shot(lab, "jupyterlab-after-kill");
  await page.context().close();
  await daemon.api("DELETE", `${NOTEBOOKS}/kept`);
});
