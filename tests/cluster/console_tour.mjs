// console_tour.mjs ADMIN USER GATE   the console of a cluster, at two addresses that sign in: what an administrator of it sees,
// and what a user of the namespace team does - makes a job that waits for the file GATE, goes through its pages, ends it from
// its terminal, and reads why another failed. Prints what the pages complained of.
import { Browser, row } from "../e2e/console/harness.mjs";

const [admin, user, gate] = process.argv.slice(2);
// What a user of one namespace may not see, what only our own server has, and what metrics-server
// has not measured yet.
const REFUSED = [
  /404 .*\/samples\?/,
  /403 .*\/(queues|nodes|namespaces|samples)\b/,
  /(404|503) .*\/metrics\.k8s\.io\//,
];
const browser = await new Browser().start();

async function open(address) {
  const page = await browser.page(
    { url: new URL(address).origin },
    {
      lang: "en",
      signIn: false,
      allow: REFUSED,
    },
  );
  await page.goto(address);
  await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
  return page;
}

const JOB = `apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata:
  name: made-here
spec:
  scheduler: {t9kScheduler: {queue: default}}
  replicaSpecs:
    - type: worker
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          automountServiceAccountToken: false
          containers:
            - name: pytorch
              image: none
              command: [sh, -c, "echo rank $RANK waits; while [ ! -e ${gate} ]; do sleep 0.1; done; echo rank $RANK ends"]
              resources: {limits: {cpu: 500m, memory: 256Mi}}
`;

try {
  const all = await open(admin);
  for (const [path, word] of [
    ["/jobs", "fails"],
    ["/queues", "default"],
    ["/nodes", "box"],
  ]) {
    await all.goto(path);
    await all.getByText(word).first().waitFor();
  }
  await all.context().close();

  const page = await open(user);
  const tab = (name) => page.locator(".tabs").getByRole("link", { name, exact: true });
  const log = page.getByRole("region", { name: "Log", exact: true });
  const head = page.locator(".page-head");

  await row(page, "fails").getByRole("link", { name: "fails", exact: true }).click();
  await head.getByText("Error", { exact: true }).waitFor();
  await page.getByText("no data left").first().waitFor();

  await page.goto("/jobs/new?kind=PyTorchTrainingJob");
  await page.getByRole("button", { name: "Import PyTorchTrainingJob" }).click();
  await page.getByRole("dialog").getByRole("textbox").last().fill(JOB);
  await page.getByRole("dialog").locator("footer button.primary").click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await row(page, "made-here").getByText("Running").waitFor();
  await row(page, "made-here").getByRole("link", { name: "made-here", exact: true }).click();
  for (const title of ["Details", "Conditions", "Events"])
    await page.getByRole("heading", { name: title, exact: true }).click();
  await page.getByText("NewReplica").first().waitFor();
  await tab("Logs").click();
  for (const rank of [0, 1]) await log.getByText(`rank ${rank} waits`).waitFor();
  await tab("Resources").click();
  await page.getByRole("img", { name: /^CPU/ }).locator("canvas").first().waitFor();
  await tab("Terminal").click();
  await page.waitForFunction(() =>
    document.activeElement?.classList.contains("xterm-helper-textarea"),
  );
  await page.keyboard.type("echo in $RANK with $((6*7))\n");
  await page
    .locator(".xterm-accessibility")
    .getByText(/in [01] with 42/)
    .first()
    .waitFor({ state: "attached" });
  await page.keyboard.type(`touch ${gate}\n`);
  await head.getByText("Succeeded").waitFor();
  await tab("Logs").click();
  for (const rank of [0, 1]) await log.getByText(`rank ${rank} ends`).waitFor();
  console.log(JSON.stringify(browser.complaints));
} finally {
  await browser.close();
}
