// console_pages.mjs ADDRESS JOB   opens the console at an address that signs in, goes through its pages, and prints what it saw.
import { Browser } from "../e2e/console/harness.mjs";

const [address, job] = process.argv.slice(2);
const origin = new URL(address).origin;
const browser = await new Browser().start();
try {
  const page = await browser.page({ url: origin }, { lang: "en", signIn: false, allow: [/404 .*\/samples\?/] }); // only our own server has samples
  await page.goto(address);
  await page.getByRole("link", { name: job }).first().waitFor();
  const seen = { jobs: await page.getByText(job).count() };
  await page.goto(`${origin}/jobs/default/PyTorchTrainingJob/${job}`);
  await page.getByText("Succeeded").first().waitFor();
  await page.goto(`${origin}/queues`);
  await page.getByText("default").first().waitFor();
  await page.goto(`${origin}/nodes`);
  await page.getByText("box").first().waitFor();
  console.log(JSON.stringify({ ...seen, complaints: browser.complaints }));
} finally {
  await browser.close();
}
