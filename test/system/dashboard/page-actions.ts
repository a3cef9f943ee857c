import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { screenshot, violations } from "./browser.ts";

/** Actions of a user on any page. */
export interface PageActions {
  /** Waits for the page with that heading. */
  readonly heading: (name: string | RegExp) => Promise<void>;
  /** Waits until nothing is loading. */
  readonly settled: () => Promise<void>;
  readonly button: (name: string) => ReturnType<Page["getByRole"]>;
  /** Follows the link to a page, and waits until it is complete. */
  readonly go: (name: string) => Promise<void>;
}

export const PASSWORD = "a long sentence that nobody guesses";
export const DESK = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

export function pageActions(page: Page): PageActions {
  const heading = (name: string | RegExp) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  const settled = () => page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const go = async (name: string) => {
    await page.getByRole("link", { name, exact: true }).click();
    await heading(name);
    await settled();
  };
  return { heading, settled, button, go };
}

/** Chooses a filter of a list. */
export async function filter(page: Page, label: string, value: string | { readonly label: string }): Promise<void> {
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByLabel(label, { exact: true }).selectOption(value);
  await page.keyboard.press("Escape");
  await page.getByLabel(label, { exact: true }).waitFor({ state: "detached" });
}

/** The lines that a viewer or editor shows. */
export async function linesOf(box: ReturnType<Page["getByRole"]>): Promise<string> {
  return (await box.locator(".cm-line").allTextContents()).join("\n");
}

/** Both themes and the width of a phone, with pictures for people to look at. */
export async function looksGood(page: Page, what: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(page), [], `${what}, ${colorScheme}`);
    await screenshot(page, `${what}-${colorScheme}`, true);
  }
  await page.emulateMedia({ colorScheme: "light" });
  for (const [name, size] of [
    ["phone", PHONE],
    ["wide", { width: 1_600, height: 1_000 }],
  ] as const) {
    await page.setViewportSize(size);
    const wide = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
    assert.ok(wide <= 0, `${what} is ${wide} pixels too wide for a ${name}`);
    await screenshot(page, `${what}-${name}`, true);
  }
  await page.setViewportSize(DESK);
}
