import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { PACKAGES } from "../../support/problems/packages.ts";
import { zipOf } from "../../support/problems/zip.ts";

/** Imports the package `sum` on the page of problems, and waits until all its submissions have ended as expected. */
export async function verifyPackage(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Import a package" }).click();
  const dialog = page.getByRole("dialog");
  const members = Object.entries(PACKAGES.sum).map(([path, data]) => ({ name: `sum/${path}`, data }));
  await dialog
    .getByLabel("ZIP archive")
    .setInputFiles({ name: "sum.zip", mimeType: "application/zip", buffer: zipOf(members) });
  await dialog.getByLabel("CPU time limit in seconds").fill("0.5");
  await dialog.getByLabel("Verify the submissions of the package").check();
  await dialog.getByRole("button", { name: "Import package", exact: true }).click();
  const fault = dialog.getByRole("alert");
  await page.getByRole("heading", { level: 1, name: "Sum of two" }).or(fault).waitFor();
  assert.equal(await fault.count(), 0, (await fault.allTextContents()).join());
  const ended = page.getByRole("status").getByText(/^(\d+) of \1 submissions ended, \1 as expected$/);
  await ended.waitFor();
  const row = async (path: string) => {
    const table = page.getByRole("table", { name: "Submissions of the package" });
    const cells = table.getByRole("row").filter({ hasText: path }).getByRole("cell");
    return (await cells.allTextContents()).join(" ");
  };
  assert.match(await row("accepted/sum.py"), /AC accepted 3 of 3 .*as expected/);
  assert.match(await row("wrong_answer/overflow.c"), /WA wrong answer 3 of 3 .*as expected/);
  assert.match(await row("time_limit_exceeded/waits.py"), /TLE time limit 3 of 3 .*as expected/);
  assert.match(await row("accepted/sum.cob"), /skipped/);
}
