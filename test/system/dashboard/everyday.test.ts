import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { runPending } from "../../support/http/running.ts";
import { assertOnlyStatus, HANGS_MS } from "./browser.ts";
import { inside } from "./inside.ts";
import { DESK, looksGood, PHONE } from "./page-actions.ts";

const TABLET = { width: 820, height: 1180 };
const WRITTEN = 'print("not lost")\n';

test("a draft, keys and the audit trail in daily use", async (t) => {
  const { page, club, go, become, clipboard, origin, complaints } = await inside(t, { ownAuthority: true });
  const { running, ada, eve, root, projectId } = club;
  const { store } = running;
  running.clock.nowMs = Date.now();
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const program = page.getByRole("textbox", { name: "Program" });
  const source = async () => {
    await program.waitFor();
    return (await program.locator(".cm-line").allTextContents()).join("\n");
  };

  await t.test("the draft of the playground stays over a reload and the end of the session", async () => {
    await go("/playground");
    await program.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(WRITTEN);
    await page.getByLabel("Standard input").fill("kept\n");
    await page.getByText("tests", { exact: true }).click();
    await page.getByLabel("Expected").fill("4\n");
    await page.reload();
    assert.equal(await source(), WRITTEN);
    assert.equal(await page.getByLabel("Expected").inputValue(), "4\n");
    await page.context().clearCookies();
    // Unless the page has noticed by itself meanwhile, and the button is gone.
    await button("Run tests")
      .click({ timeout: 5_000 })
      .catch(() => {});
    await page.getByText("Your session ended.").waitFor();
    await looksGood(page, "session-ended");
    await become(ada.person);
    await go("/playground");
    assert.equal(await source(), WRITTEN);
    await page.getByText("one run", { exact: true }).click();
    assert.equal(await page.getByLabel("Standard input").inputValue(), "kept\n");
    assertOnlyStatus(complaints, "401");
  });

  await t.test("another person in the same browser never sees the draft, in any tab", async () => {
    const other = await page.context().newPage();
    await become(eve.person);
    await other.goto(`${origin}/dashboard/projects`);
    await other.getByRole("heading", { level: 1, name: "Projects" }).waitFor();
    // The first tab loads again, because its session is now that of another person.
    await program.getByText("not lost").waitFor({ state: "detached" });
    assert.notEqual(await source(), WRITTEN);
    assert.ok(!(await page.evaluate<string>("JSON.stringify({ ...sessionStorage })")).includes("not lost"));
    await other.close();
  });

  const signOutForgetsDraft = async (person: typeof eve.person, signOut: () => Promise<void>) => {
    await become(person);
    await go("/playground");
    await program.click();
    await page.keyboard.insertText("# secret\n");
    await sleep(500);
    assert.match(await page.evaluate<string>("JSON.stringify({ ...sessionStorage })"), /secret/);
    await page.getByRole("heading", { level: 1 }).click();
    await signOut();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    assert.equal(await page.getByText("Your session ended.").count(), 0);
    assert.ok(!(await page.evaluate<string>("JSON.stringify({ ...sessionStorage })")).includes("secret"));
  };

  await t.test("a sign-out by the person's menu forgets the draft, and is no ended session", async () => {
    await signOutForgetsDraft(eve.person, async () => {
      await button("eve").click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
    });
  });

  await t.test("a key needs no project; its curl line works as copied", async () => {
    await become(root.person);
    await go("/keys");
    await button("New key").click();
    await page.getByRole("textbox", { name: "Name" }).fill("bot");
    await page.getByLabel("Project", { exact: true }).selectOption({ label: "No project" });
    await page.getByLabel("Account", { exact: true }).selectOption({ label: "club" });
    await looksGood(page, "new-key");
    await button("Create key").click();
    await page.getByRole("dialog", { name: "Key created" }).waitFor();
    await button("Copy curl command").click();
    const copied = page.getByRole("status").getByText("Copied", { exact: true });
    await copied.waitFor();
    await isNear(page, "Copied", await button("Copy curl command").boundingBox());
    const ran = shell(await clipboard());
    while ((await runPending(store)) === 0) await sleep(20);
    assert.match(await ran, /"verdict":\s*"AC"/);
    await looksGood(page, "key-created");
    await button("Done").click();
    const row = page.getByRole("row").filter({ hasText: "bot" });
    await row.getByText("no project").waitFor();
    await row.getByRole("cell", { name: "club" }).waitFor();
  });

  await t.test("keys are found by name, and lead to their submissions", async () => {
    for (const name of ["forum", "grader"]) await ada("POST", "/keys", { name, projectId });
    await page.getByPlaceholder("Name or beginning of the key").fill("BO");
    await page.waitForURL(`${origin}/dashboard/keys?name=BO`);
    await page.getByRole("row").filter({ hasText: "forum" }).waitFor({ state: "detached" });
    const row = page.getByRole("row").filter({ hasText: "bot" });
    await row.getByRole("link", { name: "Submissions" }).click();
    await page.getByRole("heading", { level: 1, name: "Submissions" }).waitFor();
    await page.waitForURL(/\/submissions\?key=/);
    await page.getByRole("row").nth(1).waitFor();
    assert.equal(await page.getByRole("row").count(), 2);
    await go("/keys?name=nothing-has-this-name");
    await page.getByRole("link", { name: "show all keys" }).waitFor();
  });

  await t.test("the audit trail reads as sentences with names, and is filtered by each field", async () => {
    await ada("PATCH", `/projects/${projectId}`, { name: "web shop" });
    await go("/audit");
    const row = (text: string | RegExp) => page.getByRole("row").filter({ hasText: text });
    await row("renamed the project web shop from shop to web shop").waitFor();
    await row("created the key bot without a project").getByRole("link", { name: "bot" }).waitFor();
    await row("created the key grader in the project web shop").getByRole("link", { name: "grader" }).waitFor();
    assert.equal(await page.getByText(/null|projectId/).count(), 0);
    await looksGood(page, "audit");
    await row("renamed the project").getByRole("link", { name: "ada@example.com" }).click();
    await page.waitForURL(/actor=ada/);
    await row("created the key bot").waitFor({ state: "detached" });
    await page.getByLabel("Action").selectOption("project.rename");
    await row("created the key grader").waitFor({ state: "detached" });
    await row("renamed the project").waitFor();
    assert.equal(await page.getByRole("row").count(), 2);
    await page.goBack();
    await row("created the key grader").waitFor();
    await button("Clear").click();
    await row("created the key grader").getByRole("link", { name: "History" }).click();
    await row("renamed the project").waitFor({ state: "detached" });
    await row("created the key grader").waitFor();
    assert.equal(await page.getByRole("row").count(), 2);
    await button("Clear").click();
    await page.getByLabel("Until").fill("2020-01-01T00:00");
    await page.getByRole("link", { name: "Show all entries" }).click();
    await row("created the key grader").getByRole("link", { name: "web shop" }).click();
    await page.getByRole("heading", { level: 1, name: "web shop" }).waitFor();
  });

  await t.test("the backdrop of a dialog covers the page to its edge", async () => {
    await button("Rename").click();
    await page.getByRole("dialog").waitFor();
    await sleep(400); // until the backdrop has its colour
    const strip = await page.evaluate<string>("getComputedStyle(document.documentElement).backgroundColor");
    const [red = 1] = (/srgb ([\d.]+)/.exec(strip) ?? []).slice(1).map(Number);
    assert.ok(red < 0.45, `the place of the scroll bar is ${strip}`);
    await page.keyboard.press("Escape");
  });

  await t.test("a page that does not exist offers no other try", async () => {
    for (const path of [
      "/playground?from=none",
      "/projects/none",
      "/webhooks/none",
      "/judgements/none",
      "/problems/none",
    ]) {
      await go(path);
      await page
        .getByText(/[Nn]ot found/)
        .first()
        .waitFor();
      for (const name of ["Try again", "Run again", "Judge again"]) assert.equal(await button(name).count(), 0, path);
    }
    assertOnlyStatus(complaints, "404");
  });

  await t.test("fingers have targets of 44 pixels, and nothing scrolls to the side", async () => {
    for (const path of [
      "/keys",
      `/projects/${projectId}`,
      "/webhooks",
      "/audit",
      "/members",
      "/settings",
      "/playground",
    ]) {
      for (const size of [TABLET, PHONE]) {
        await page.setViewportSize(size);
        await go(path);
        const wide = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
        assert.ok(wide <= 0, `${path} is ${wide} pixels too wide at ${size.width}`);
        assert.deepEqual(await page.evaluate(SMALL), [], `${path} at ${size.width}`);
      }
    }
    await page.setViewportSize(DESK);
  });

  await t.test("a sign-out by the command palette forgets the draft as well", async () => {
    await signOutForgetsDraft(ada.person, async () => {
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Go to" });
      await palette.getByRole("combobox").fill("sign out");
      await palette.getByRole("option", { name: "Sign out" }).click();
    });
  });

  assert.deepEqual(complaints, []);
});

/** Visible controls of the content that are lower than 44 pixels; links within sentences are text. */
const SMALL = `[...document.querySelectorAll("main :is(button, select, summary, [role=tab], [class*=SegmentedControl-label], td > a, input:not([type=checkbox], [type=radio]))")]
  .filter((each) => {
    const { width, height } = each.getBoundingClientRect();
    return width > 0 && height < 43.5;
  })
  .map(({ tagName, textContent, ariaLabel }) => tagName + " " + (ariaLabel ?? textContent))`;

async function isNear(page: Page, text: string, box: { x: number; y: number; width: number } | null): Promise<void> {
  const bubble = await page.getByRole("status").getByText(text, { exact: true }).boundingBox();
  assert.ok(box && bubble);
  assert.ok(Math.abs(bubble.x + bubble.width / 2 - box.x - box.width / 2) < 60, "not at its button");
  assert.ok(box.y - bubble.y < 60 && bubble.y < box.y, "not above its button");
}

/** Runs a snippet as a user pastes it, without settings of the environment. */
function shell(line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile("sh", ["-c", line], { env: { PATH: process.env.PATH }, timeout: HANGS_MS }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}: ${stderr}`)) : resolve(stdout),
    );
  });
}
