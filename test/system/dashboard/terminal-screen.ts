import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { HANGS_MS } from "./browser.ts";

/** What the terminal of the page shows, as lines without trailing spaces. */
export async function screen(page: Page): Promise<string> {
  // Out of sight, it draws nothing.
  await page.locator(".xterm").scrollIntoViewIfNeeded();
  const rows = await page.locator(".xterm-rows > div").allTextContents();
  return rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n");
}

/** Waits until the terminal shows this. */
export async function untilScreen(page: Page, wanted: string | RegExp): Promise<void> {
  const until = performance.now() + HANGS_MS;
  for (;;) {
    const shown = await screen(page);
    if (typeof wanted === "string" ? shown.includes(wanted) : wanted.test(shown)) return;
    assert.ok(performance.now() < until, `no ${wanted} in:\n${shown}`);
    await page.waitForTimeout(50);
  }
}
