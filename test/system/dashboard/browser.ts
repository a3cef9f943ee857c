import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { AxeResults } from "axe-core";
import { chromium, type Page } from "playwright-core";
import { PATIENCE } from "../../support/programs/timeouts.ts";

const SWITCHES = [
  "--no-sandbox",
  // This also covers downloads, which the option below does not reach.
  "--ignore-certificate-errors",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const AXE = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/**
 * An action that takes longer hangs. This bound says nothing about speed: these tests run with a low priority next to
 * others (test/runner/plan.ts), where a second of CPU time can take a minute.
 */
export const HANGS_MS = 180_000 * PATIENCE;

export interface Visitor {
  readonly page: Page;
  /** Addresses of all requests, with or without a response. */
  readonly asked: string[];
  /** Errors of the browser, including violations of the content security policy. */
  readonly complaints: string[];
}

/** Debian's browser, with one page. */
export async function visit(t: TestContext): Promise<Visitor> {
  const profile = mkdtempSync(join(tmpdir(), "assay-browser-"));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    args: SWITCHES,
    headless: true,
    // The certificate is not the subject here.
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
  });
  t.after(async () => {
    await browser.close();
    rmSync(profile, { recursive: true });
  });
  browser.setDefaultTimeout(HANGS_MS);
  const asked: string[] = [];
  const complaints: string[] = [];
  browser.on("request", (request) => asked.push(request.url()));
  const page = await browser.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return { page, asked, complaints };
}

/** Asserts that a browser complained only about responses whose status begins with these digits, and forgets the complaints. */
export function assertOnlyStatus(complaints: string[], status: string): void {
  const others = complaints.splice(0).filter((text) => !text.includes(`status of ${status}`));
  assert.deepEqual(others, []);
}

/**
 * Meters the work of the page: the CPU time of its main thread, because wall time would be that of everything on the machine.
 * @returns a function with the milliseconds so far.
 */
export async function pageCpuMs(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const seconds = metrics.find(({ name }) => name === "TaskDuration")?.value;
    if (seconds === undefined) throw new Error("the browser does not meter its tasks");
    return seconds * 1_000;
  };
}

/** Stores a picture of the page as NAME.png in the directory ASSAY_TEST_SCREENSHOTS, if it is set, for people to look at. */
export async function screenshot(page: Page, name: string, fullPage = false): Promise<void> {
  const directory = process.env.ASSAY_TEST_SCREENSHOTS;
  if (directory) await page.screenshot({ path: join(directory, `${name}.png`), fullPage });
}

/** Waits for the end of transitions, because colours are wrong during them. It does not wait for animations without an end. */
const AT_REST = `(async () => {
  for (;;) {
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
    const moving = document.getAnimations().filter(({ playState, effect }) =>
      playState === "running" && Number.isFinite(effect?.getComputedTiming().endTime));
    if (moving.length === 0) return;
    await Promise.allSettled(moving.map(({ finished }) => finished));
  }
})()`;

/** The violations that axe finds in the page once nothing moves. @param rules only these rules; by default all. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(AT_REST);
  await page.evaluate(AXE);
  const results: AxeResults = await page.evaluate(
    (only) =>
      (globalThis as unknown as { axe: { run: (options: object) => Promise<AxeResults> } }).axe.run(
        only ? { runOnly: { type: "rule", values: only } } : {},
      ),
    rules && [...rules],
  );
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
}
