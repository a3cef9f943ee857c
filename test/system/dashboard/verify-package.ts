import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { PACKAGES } from "../../support/problems/packages.ts";
import { zipOf } from "../../support/problems/zip.ts";

/** Imports the package `factors` on the page of problems, and waits until its submissions have ended as expected. */
export async function verifyPackage(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Import a package" }).click();
  const dialog = page.getByRole("dialog");
  const members = Object.entries(PACKAGES.factors).map(([path, data]) => ({ name: `factors/${path}`, data }));
  const archive = { name: "factors.zip", mimeType: "application/zip", buffer: zipOf(members) };
  await dialog.getByLabel("ZIP archive").setInputFiles(archive);
  await dialog.getByLabel("Verify its submissions").check();
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Factors" }).waitFor();
  const ended = page.getByRole("status").getByText("3 of 3 submissions ended, 3 as expected");
  await ended.waitFor({ timeout: 90_000 });
  const rows = page.getByRole("table", { name: "Submissions of the package" }).getByRole("row");
  assert.match((await rows.nth(2).allInnerTexts()).join(), /half\/one\.py.*AC.*5 of 5.*50.*as expected/s);
}
