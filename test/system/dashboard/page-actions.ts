import type { Page } from "playwright-core";

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
