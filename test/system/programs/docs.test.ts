import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { useProduct } from "../../support/programs/product.ts";

/** The API reference page in Debian's Chromium, served by the whole product. */
const product = useProduct();
const SWITCHES = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let profile: string;
let browser: BrowserContext;
/** The URL of every request that a page made, answered or not. */
const requested: string[] = [];
const messages: string[] = [];

before(async () => {
  profile = mkdtempSync(join(tmpdir(), "assay-browser-"));
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    args: SWITCHES,
    headless: true,
    // The certificate is not under test.
    ignoreHTTPSErrors: true,
  });
  browser.on("request", (request) => requested.push(request.url()));
});

after(async () => {
  await browser.close();
  rmSync(profile, { recursive: true });
});

async function open(): Promise<Page> {
  const page = await browser.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") messages.push(message.text());
  });
  page.on("pageerror", (error) => messages.push(String(error)));
  await page.goto(`https://127.0.0.1:${product().service.port}/docs`);
  return page;
}

test("sending the example with a key shows the record of a real run", async () => {
  const page = await open();
  await page.getByLabel("API key", { exact: true }).fill(product().key);
  const form = page.getByRole("form", { name: "Try it" }).first();
  await form.getByLabel("wait").selectOption("true");
  await form.getByRole("button", { name: "New" }).click();
  await form.locator("[data-name=code]").fill('print("Hello, world")');
  await form.getByRole("button", { name: "Send" }).click();
  const answer = form.getByRole("status", { name: "Response" });
  await answer.filter({ hasText: "schema_version" }).waitFor();
  const record = JSON.parse((await answer.textContent()) ?? "");
  assert.equal(record.result.verdict, "AC");
  assert.equal(record.output.stdout, "Hello, world\n");
  const sent = await form.locator(".sent").textContent();
  assert.match(sent ?? "", /^curl 'https:\/\/127\.0\.0\.1:\d+\/api\/submit\?wait=true'/);
  assert.equal(sent?.includes(product().key), false, "the displayed command does not contain the key");

  const read = page.locator("#result form");
  await read.getByLabel("id").fill(record.id);
  await read.getByLabel("id").press("Enter");
  const again = read.getByRole("status", { name: "Response" });
  await again.filter({ hasText: "schema_version" }).waitFor();
  assert.deepEqual(JSON.parse((await again.textContent()) ?? ""), record);
  await page.close();
});

test("shows errors of the service verbatim, and reports missing input before it sends a request", async () => {
  const page = await open();
  const form = page.locator("#submit form");
  const before = requested.length;
  await form.getByRole("button", { name: "Send" }).click();
  assert.equal(await form.getByRole("alert").textContent(), "Enter an API key first.");
  assert.equal(requested.length, before);
  await page.getByLabel("API key", { exact: true }).fill(`assay_live_${"0".repeat(32)}`);
  await form.getByRole("button", { name: "Send" }).click();
  const answer = form.getByRole("status", { name: "Response" });
  await answer.filter({ hasText: "unauthorized" }).waitFor();
  assert.equal(await form.locator(".reply .status").textContent(), "401");
  // Chromium logs a line for each error response.
  const own = messages.splice(0).filter((text) => !/status of 401/.test(text));
  assert.deepEqual(own, []);
  await page.close();
});

test("every control is reachable by keyboard, and every field has a label", async () => {
  const page = await open();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Skip to the endpoints");
  const unlabelled = await page.evaluate(
    "[...document.querySelectorAll('input, textarea, select')].filter((field) => field.labels.length === 0).length",
  );
  assert.equal(unlabelled, 0);
  const unreachable = await page.evaluate(
    "[...document.querySelectorAll('a, button, input, textarea, select, summary')].filter((one) => one.tabIndex < 0).length",
  );
  assert.equal(unreachable, 0);
  await page.close();
});

test("text has enough contrast in light and dark mode", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await open();
    await page.emulateMedia({ colorScheme });
    const colours = (await page.evaluate(COLOURS)) as [string, [number, number, number], [number, number, number]][];
    assert.ok(colours.length > 10);
    for (const [text, foreground, background] of colours) {
      assert.ok(contrast(foreground, background) >= 4.5, `${colorScheme}: ${text} ${foreground} on ${background}`);
    }
    await page.close();
  }
});

test("makes no request to another origin and does not violate its content security policy", () => {
  const origin = `https://127.0.0.1:${product().service.port}/`;
  assert.ok(requested.length > 10);
  assert.deepEqual(
    requested.filter((url) => !url.startsWith(origin)),
    [],
  );
  assert.deepEqual(messages, []);
});

/** Text, its colour and its background colour, for each kind of element. */
const COLOURS = `(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return rgb(colour);
    }
    return [255, 255, 255];
  };
  const kinds = ["h1", "h2", "p", ".lead", ".note", ".type", ".optional", ".method", ".status", "nav a", "nav small",
    "nav h2", "label", "small", "button", "button[type=submit]", "code", "input", "select", "textarea", "main a"];
  return kinds.flatMap((kind) => [...document.querySelectorAll(kind)].slice(0, 40)).map((element) =>
    [element.outerHTML.slice(0, 80), rgb(getComputedStyle(element).color), behind(element)]);
})()`;

/** The contrast ratio that WCAG 2 defines. */
function contrast(one: readonly number[], other: readonly number[]): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
