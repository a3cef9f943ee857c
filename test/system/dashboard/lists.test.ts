import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { seed } from "../../../bench/load/seed.ts";
import type { Outcome } from "../../../src/domain/outcome.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { startProxy } from "../../support/client/cutting-proxy.ts";
import { runPending } from "../../support/http/running.ts";
import { report } from "../../support/verdict/reports.ts";
import { pageCpuMs, violations } from "./browser.ts";
import { inside } from "./inside.ts";
import { looksGood } from "./page-actions.ts";

const SUBMISSIONS = "/submissions";
const WIDE = { width: 1_440, height: 900 };
/** The rows of the longest list, and the most elements of a page that shows a part of this list. */
const LONG = 50_000;
const MOST_NODES = 2_500;

test("lists: found, followed, and quick to move in", async (t) => {
  const { page, club, go, asked, complaints, origin } = await inside(t);
  const { submit, store, database } = club.running;
  const key = await club.running.key({ project: "shop", name: "=grader", concurrency: 1000 });
  const run = async (outcome: Outcome) => {
    const { id } = (await submit({ language: "python", code: "1" }, { key })).json;
    await runPending(store, () => outcome);
    return id as string;
  };
  const compiled = await run(buildOutcome({ compile: report({ exitCode: 1 }) }));
  const failed = await run(buildOutcome({ execute: report({ exitCode: 1 }) }));
  const passed = await run(buildOutcome({ execute: report() }));
  const table = page.getByRole("table", { name: "Submissions" });
  const row = (id: string) => table.getByRole("row").filter({ hasText: id.slice(0, 8) });
  const shows = (count: number) => page.locator(`table[aria-rowcount="${count + 1}"]`).waitFor();
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const focused = (what: string) => page.evaluate<string>(`document.activeElement?.${what}`);
  const requests = (part: string) => asked.filter((address) => address.includes(`/dashboard/api/submissions${part}`));

  await t.test(
    "the rows begin near the top, a few Tabs after the heading, and no column repeats a verdict",
    async () => {
      await page.setViewportSize(WIDE);
      await go(SUBMISSIONS);
      const box = await row(passed).boundingBox();
      assert.ok(box && box.y < 260, `y = ${box?.y}`);
      const heads = await table.getByRole("columnheader").allTextContents();
      assert.ok(heads.some((head) => head.startsWith("Submitted")) && !heads.includes("Accepted"), heads.join());
      await page.getByRole("heading", { level: 1 }).focus();
      let tabs = 0;
      for (; (await focused("dataset.row")) === undefined && tabs < 12; tabs++) await page.keyboard.press("Tab");
      assert.equal(await focused("dataset.row"), passed);
      assert.ok(tabs <= 8, `${tabs} Tabs`);
    },
  );

  await t.test("the first page is requested once, and an idle list requests nothing", async () => {
    asked.splice(0);
    await go(SUBMISSIONS);
    await page.waitForTimeout(4_500);
    assert.equal(requests("?").length, 1, requests("").join("\n"));
    assert.equal(requests("/live").length, 1);
    assert.ok(asked.length < 60, "nothing else is polled");
    const before = asked.length;
    await page.waitForTimeout(4_500);
    assert.equal(asked.length, before, asked.slice(before).join("\n"));
  });

  await t.test("a compilation error is no other runtime error, in words and as a filter that Back undoes", async () => {
    await row(compiled).getByText("compilation error").waitFor();
    await row(failed).getByText("runtime error").waitFor();
    await button("Filter").click();
    await page.getByLabel("Cause").selectOption("compile_error");
    await shows(1);
    await page.keyboard.press("Escape");
    await row(compiled).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("cause"), "compile_error");
    await page.goBack();
    await shows(3);
  });

  await t.test("the 8 characters that a list shows find the submission", async () => {
    await page.keyboard.press("/");
    assert.equal(await focused("name"), "id");
    await page.keyboard.type(failed.slice(0, 8));
    await page.keyboard.press("Enter");
    await shows(1);
    await row(failed).waitFor();
    await button("Clear").click();
    await shows(3);
  });

  await t.test("time ranges, sorting, and saved views", async () => {
    await page.getByLabel("Time range").selectOption("15m");
    await shows(3);
    assert.equal(new URL(page.url()).searchParams.get("range"), "15m");
    await button("Views").click();
    await page.getByRole("menuitem", { name: "Save these filters as a view" }).click();
    await page.getByLabel("Name").fill("<b>recent</b>");
    await button("Save view").click();
    await button("Clear").click();
    await page.getByRole("button", { name: "Submitted" }).click();
    await page.locator('th[aria-sort="ascending"]').waitFor();
    await page.getByText("3 submissions, oldest first", { exact: true }).waitFor();
    assert.equal(await table.getByRole("row").nth(1).locator("[data-row]").getAttribute("data-row"), compiled);
    await page.reload();
    await page.locator('th[aria-sort="ascending"]').waitFor();
    await button("Views").click();
    await page.getByRole("menuitem", { name: "<b>recent</b>", exact: true }).click();
    await button("<b>recent</b>").waitFor();
    assert.equal(new URL(page.url()).search, "?range=15m");
    await page.getByText("3 submissions, newest first", { exact: true }).waitFor();
    assert.equal(await table.locator("th button").count(), 1, "no column sorts the loaded rows alone");
    await button("Clear").click();
  });

  await t.test("the list as CSV, without formulas", async () => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "CSV" }).click(),
    ]);
    const lines = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\r\n");
    assert.equal(lines.length, 4);
    assert.match(lines[1] ?? "", new RegExp(`^${passed},completed,AC,normal_exit,python,judge,club,shop,'=grader,`));
  });

  await t.test("Ctrl+K finds runs by the beginning of their id, pages, keys and actions", async () => {
    await go("/projects");
    const palette = page.getByRole("dialog", { name: "Go to" });
    const choose = async (text: string, option: string | RegExp) => {
      await page.keyboard.press("Control+k");
      await palette.getByRole("combobox").fill(text);
      await palette.getByRole("option", { name: option }).waitFor();
      await page.keyboard.press("Enter");
      await palette.waitFor({ state: "detached" });
    };
    await page.keyboard.press("Control+k");
    await palette.waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
    await choose(compiled.slice(0, 6), /compilation error/);
    await page.waitForURL(`**/submissions/${compiled}`);
    await choose("judgem", "Judgements");
    await page.getByRole("heading", { level: 1, name: "Judgements" }).waitFor();
    await choose("=grad", "=grader");
    await page.waitForURL("**/submissions?key=*");
    await choose("new proj", "New project");
    await page.getByRole("dialog", { name: "New project" }).waitFor();
    await page.keyboard.press("Escape");
    await choose("dark", "Dark theme");
    assert.equal(await page.evaluate("document.documentElement.dataset.mantineColorScheme"), "dark");
    await choose("light", "Light theme");
  });

  await t.test(
    "j, k and Enter move in a list; no key acts in a text field; single keys can be switched off",
    async () => {
      await go(SUBMISSIONS);
      for (const [press, id] of [
        ["j", passed],
        ["j", failed],
        ["j", compiled],
        ["k", failed],
      ] as const) {
        await page.keyboard.press(press);
        await page.locator(`[data-row="${id}"]:focus`).waitFor();
      }
      await page.getByLabel("Id", { exact: true }).focus();
      for (const press of ["j", "?", "/", "Control+k"]) await page.keyboard.press(press);
      assert.equal(await page.getByRole("dialog").count(), 0);
      assert.equal(await page.getByLabel("Id", { exact: true }).inputValue(), "j?/");
      await page.getByRole("heading", { level: 1 }).click();
      await page.keyboard.press("?");
      const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" });
      await shortcuts.getByText("Next and previous row").waitFor();
      assert.deepEqual(await violations(page), []);
      await shortcuts.getByLabel("Single-key shortcuts").click();
      await page.keyboard.press("Escape");
      await shortcuts.waitFor({ state: "detached" });
      await page.keyboard.press("?");
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Go to" }).waitFor();
      assert.equal(await page.getByRole("dialog").count(), 1);
      await page.keyboard.press("Escape");
      await page.evaluate("localStorage.clear()");
    },
  );

  await t.test("a run opens next to the list, and j, k, Back and Esc move through them", async () => {
    await go(SUBMISSIONS);
    await row(passed).click();
    const panel = (id: string) => page.getByRole("complementary", { name: `Submission ${id.slice(0, 8)}` });
    await panel(passed).getByRole("heading", { name: "Accepted" }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("open"), passed);
    await row(compiled).waitFor();
    await page.keyboard.press("j");
    await panel(failed).waitFor();
    await panel(failed).getByRole("button", { name: "Next" }).click();
    await panel(compiled).getByRole("heading", { name: "Compilation failed" }).waitFor();
    await page.keyboard.press("k");
    await panel(failed).waitFor();
    await page.reload();
    await panel(failed).getByRole("heading", { name: "Runtime error" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    await panel(failed).waitFor({ state: "detached" });
    await page.goBack();
    asked.splice(0);
    await row(passed).click();
    await panel(passed).getByRole("heading", { name: "Accepted" }).waitFor();
    await page.goBack();
    await panel(passed).waitFor({ state: "detached" });
    await row(passed).click();
    await panel(passed).getByRole("heading", { name: "Accepted" }).waitFor();
    assert.equal(requests(`/${passed}`).length, 1, "a run that has ended is loaded once");
    await page.keyboard.press("Escape");
  });

  await t.test("without a connection, every live page shows it with the time, and recovers by itself", async (part) => {
    assert.deepEqual(complaints, []);
    part.after(async () => {
      // Complaints about the connection are no fault of the next tests.
      await page.goto("about:blank");
      complaints.splice(0);
    });
    const proxy = await startProxy(t, club.running.port);
    const context = page.context();
    const [cookie] = await context.cookies(origin);
    assert.ok(cookie);
    const here = `https://127.0.0.1:${proxy.port}`;
    for (const path of [SUBMISSIONS, "/"]) {
      proxy.restore();
      const streaming = page.waitForResponse((answer) => answer.url().endsWith("/dashboard/api/changes"));
      await page.goto(`${here}/dashboard${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
      await streaming;
      proxy.refuse();
      const notice = page.getByRole("alert").filter({ hasText: "No answer from the service since" });
      await notice.waitFor();
      assert.match((await notice.textContent()) ?? "", /since \d\d:\d\d:\d\d\. Last update: \d\d:\d\d:\d\d\./);
      const late = path === SUBMISSIONS ? await run(buildOutcome({ execute: report() })) : null;
      proxy.restore();
      await notice.waitFor({ state: "detached" });
      if (late) await row(late).waitFor();
    }
  });

  await t.test("50,000 rows scroll like 50", async () => {
    assert.equal(await seed({ kind: database.kind as "sqlite", database }, LONG), LONG);
    await go(SUBMISSIONS);
    await page.getByText("10,000+ submissions, newest first").waitFor();
    const cpuMs = await pageCpuMs(page);
    const times: number[] = [];
    let nodes = 0;
    for (;;) {
      const before = await cpuMs();
      const loaded = await page.evaluate<number>(`new Promise((resolve) => {
        const rows = () => Number(document.querySelector("tbody tr:nth-last-child(1)").previousElementSibling?.ariaRowIndex ?? 0);
        scrollTo(0, document.documentElement.scrollHeight);
        setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => resolve(
          Math.max(...[...document.querySelectorAll("tr[aria-rowindex]")].map((row) => row.ariaRowIndex))))), 0);
      })`);
      times.push((await cpuMs()) - before);
      nodes = Math.max(nodes, await page.evaluate<number>("document.querySelectorAll('*').length"));
      if (loaded >= LONG) break;
      assert.ok(times.length < 5_000, `${loaded} rows after ${times.length} steps`);
    }
    assert.ok(nodes < MOST_NODES, `${nodes} elements`);
    const median = (some: readonly number[]) => some.toSorted((a, b) => a - b)[some.length >> 1] ?? 0;
    const [first, last] = [median(times.slice(0, 40)), median(times.slice(-40))];
    assert.ok(
      first > 0 && last < 3 * first + 50,
      `${first} ms of CPU time for a step at the start, ${last} ms at the end`,
    );
  });

  await t.test("both themes, a desk, a tablet and a phone", async () => {
    await go(`${SUBMISSIONS}?range=30d`);
    await looksGood(page, "submissions");
    await page.setViewportSize({ width: 820, height: 1_180 });
    const wide = await page.evaluate<number>(
      "Math.max(...[...document.querySelectorAll('table')].map((table) => table.scrollWidth - table.parentElement.clientWidth))",
    );
    assert.ok(wide <= 0, `the table is ${wide} pixels too wide for a tablet`);
    assert.deepEqual(complaints, []);
  });
});
