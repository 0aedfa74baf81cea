// Opening what the console lists, and JupyterLab's own parts.

/** The program of the only row, in its own window. */
export async function openApp(page, list) {
  await page.goto(list);
  const [popup] = await Promise.all([
    page.waitForEvent("popup"),
    page.locator("tbody tr").getByRole("link", { name: "打开" }).click(),
  ]);
  return popup;
}

/** JupyterLab with a new launcher. */
export async function openLab(page) {
  const lab = await openApp(page, "/notebooks");
  // 点击左上角的 +: what was open the last time is open again
  await lab.locator('[data-jp-item-name="new-launcher"] >> visible=true').first().click();
  await lab.locator(".jp-LauncherCard >> visible=true").first().waitFor();
  return lab;
}
