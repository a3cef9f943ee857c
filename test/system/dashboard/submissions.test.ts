import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Outcome } from "../../../src/domain/outcome.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending } from "../../support/http/running.ts";
import { report, signalled } from "../../support/verdict/reports.ts";
import { assertOnlyStatus, violations } from "./browser.ts";
import { inside } from "./inside.ts";

import { DESK, filter, linesOf, PHONE } from "./page-actions.ts";

const SUBMISSIONS = "/submissions";
const SOURCE = "def main():\n    print('é')  # a note\n\nmain()\n";
/** Output that would colour a terminal, and reverse the direction of the text that follows. */
const WRITTEN = "red \x1b[31m and \u202eback \x1b[2J\n";

/** The part of the browser's window that tests of colours use. */
interface Styled {
  readonly getComputedStyle: (element: unknown) => { readonly color: string };
}

const OUT_OF_MEMORY: Outcome = {
  ...buildOutcome({ execute: signalled(9, { oomKills: 1, stdout: Buffer.from(WRITTEN), stdoutSeen: 999_999 }) }),
  runStats: {
    compileMs: 120,
    execute: {
      ...{ runMs: 20, teardownMs: 2, processesPeak: 3, stdoutBytes: 999_999, stderrBytes: 0 },
      limits: { wallMs: 10_000, cpuMs: 4_000, stdoutBytes: 100, stderrBytes: 100 },
    },
  },
};

test("submissions: search and detail pages", async (t) => {
  const { page, club, origin, go, clipboard, complaints, asked } = await inside(t);
  const { store, submit } = club.running;
  const key = await club.running.key({ project: "shop", name: "grader", concurrency: 1000 });
  const send = async (body: object = {}) =>
    (await submit({ language: "python", code: SOURCE, stdin: "a line\n", ...body }, { key })).json.id as string;
  const end = (outcome: Outcome) => runPending(store, () => outcome);
  const table = page.getByRole("table", { name: "Submissions" });
  const rows = table.getByRole("row");
  const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
  /** Only the visible rows exist; the table has their number, with its head. */
  const shows = (count: number) => page.locator(`table[aria-rowcount="${count + 1}"]`).waitFor();
  /** The next page is loaded near the end of the first. */
  const showsAll = async () => {
    await rows.nth(1).waitFor();
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    await shows(52);
    await page.evaluate("scrollTo(0, 0)");
  };
  const choose = (label: string, value: string | { label: string }) => filter(page, label, value);

  await t.test("an empty list explains how to submit", async () => {
    await go(SUBMISSIONS);
    await page.getByText("No submissions yet").waitFor();
    await page.getByRole("link", { name: "playground", exact: true }).waitFor();
  });

  for (let i = 0; i < 49; i++) await send({ language: "c" });
  await end(buildOutcome({ execute: report() }));
  const exceeded = await send();
  await end(OUT_OF_MEMORY);
  await send();
  await end(buildOutcome({ execute: report({ exitCode: 7 }) }));
  const pending = await send();

  await t.test("lists submissions with their verdicts in words, newest first, and loads older ones", async () => {
    await go(SUBMISSIONS);
    const begins = async (row: number) => (await rows.nth(row).getByRole("cell").allTextContents()).join(" ");
    assert.match(await begins(1), new RegExp(`^pending ${pending.slice(0, 8)} python judge shop grader`));
    assert.match(await begins(2), /^RE runtime error /);
    assert.match(await begins(3), new RegExp(`^MLE memory limit ${exceeded.slice(0, 8)} `));
    assert.match(await begins(4), /^AC accepted /);
    await showsAll();
    assert.equal(await button("Show more").count(), 0);
    await page.getByText("52 submissions, newest first", { exact: true }).waitFor();
  });

  await t.test("filters are in the address and are restored from it", async () => {
    await choose("Verdict", "MLE");
    await shows(1);
    assert.equal(new URL(page.url()).search, "?verdict=MLE");
    await page.reload();
    await shows(1);
    await button("Remove MLE memory limit").waitFor();
    await choose("Language", "c");
    await page.getByText("No match", { exact: true }).waitFor();
    await page.goBack();
    await shows(1);
    assert.equal(new URL(page.url()).search, "?verdict=MLE");
    await button("Clear").click();
    await showsAll();
    await choose("Project", { label: "shop" });
    await choose("Key", { label: "grader" });
    await page.getByLabel("Id", { exact: true }).fill(exceeded);
    await page.getByLabel("Id", { exact: true }).press("Enter");
    await shows(1);
    await page.getByLabel("Time range").selectOption("custom");
    await page.getByLabel("From").fill("2001-01-01T00:00");
    await page.getByLabel("Until").fill("2001-01-02T00:00");
    await page.keyboard.press("Escape");
    const search = new URL(page.url()).searchParams;
    assert.equal(search.get("id"), exceeded);
    assert.equal(Date.parse(search.get("until") ?? "") - Date.parse(search.get("since") ?? ""), 86_400_000);
    await button("Clear").click();
    await showsAll();
  });

  await t.test("updates changed rows in place, and announces new ones", async () => {
    await choose("Status", "pending");
    await shows(1);
    await rows.nth(1).hover();
    const place = await rows.nth(1).boundingBox();
    await end(buildOutcome({ execute: report() }));
    await rows.nth(1).getByText("accepted").waitFor();
    const newer = await send();
    await button("Show 1 new").waitFor();
    assert.deepEqual(await rows.nth(1).boundingBox(), place);
    await shows(1);
    await button("Show 1 new").click();
    await shows(2);
    assert.match((await rows.nth(1).textContent()) ?? "", new RegExp(newer.slice(0, 8)));
    await page.mouse.move(0, 0);
    await page.getByRole("heading", { level: 1 }).focus();
    await send();
    await shows(3);
    await button("Clear").click();
  });

  await t.test("keyboard: moves between rows and opens one", async () => {
    await go(`${SUBMISSIONS}?verdict=MLE`);
    await go(SUBMISSIONS);
    await rows.nth(1).getByRole("link").focus();
    // The events come within one frame, like those of a key that repeats.
    await page.evaluate(`for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"])
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))`);
    const link = rows.nth(2).getByRole("link");
    await page.waitForFunction(`document.activeElement?.textContent === "${await link.textContent()}"`);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/submissions\?open=[0-9a-f-]{36}$/);
  });

  await t.test("explains why a run is MLE and not RE, with the evidence", async () => {
    await go(`${SUBMISSIONS}/${exceeded}`);
    await page.getByRole("heading", { name: "Memory limit exceeded" }).waitFor();
    const why = page.getByText("Why not RE?").locator("..");
    assert.match((await why.textContent()) ?? "", /The program did not exit, so it has no exit code/);
    const memory = page.getByRole("listitem").filter({ hasText: /^Memory/ });
    assert.match((await memory.textContent()) ?? "", /limit reached/);
    await page.getByRole("tab", { name: "Evidence" }).click();
    const { json } = await club.ada("GET", `${SUBMISSIONS}/${exceeded}`);
    const evidence = page.getByRole("table", { name: "Evidence" }).getByRole("row");
    assert.equal((await evidence.count()) - 1, json.proofs.length);
    assert.match(
      (await evidence.filter({ hasText: "oom_kill_events" }).textContent()) ?? "",
      /MLE is based on this counter/,
    );
  });

  await t.test("shows output without effect on the page, and marks it as truncated", async () => {
    const output = page.getByRole("textbox", { name: "Standard output" });
    assert.equal(await linesOf(output), "red  and U+202Eback ESC[2J\n");
    assert.equal(await output.getByTitle("U+202E").textContent(), "U+202E");
    await page.getByText("Cut off: the rest of the output is not stored.").waitFor();
    await page.getByRole("button", { name: "Copy Standard output" }).click();
    assert.equal(await clipboard(), WRITTEN);
    await page.getByText("stdin 7 B").click();
    assert.equal(await linesOf(page.getByRole("textbox", { name: "Standard input" })), "a line\n");
    await page.getByText("main.py", { exact: true }).click();
  });

  await t.test("shows highlighted source, without styles of the page", async () => {
    const source = page.getByRole("textbox", { name: "Source of the program" });
    await source.locator(".cm-line span").first().waitFor();
    assert.equal(await linesOf(source), SOURCE);
    const colour = (text: string) =>
      source
        .getByText(text, { exact: true })
        .evaluate((element) => (globalThis as unknown as Styled).getComputedStyle(element).color);
    assert.notEqual(await colour("def"), await colour("# a note"));
    assert.equal(await page.evaluate("document.querySelectorAll('style').length"), 0);
    await source.focus();
    await page.keyboard.type("x");
    assert.equal(await linesOf(source), SOURCE);
  });

  await t.test("copies and downloads the raw record as clients receive it", async () => {
    const record = (await club.running.ask({ path: `/api/result/${exceeded}`, key })).json;
    await page.getByRole("tab", { name: "Raw record" }).click();
    await button("Copy record").click();
    assert.deepEqual(JSON.parse(await clipboard()), record);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download", exact: true }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `${exceeded}.json`);
    assert.deepEqual(JSON.parse(readFileSync(await download.path(), "utf8")), record);
  });

  for (const scheme of ["light", "dark"] as const) {
    await t.test(`${scheme}: axe finds nothing, and a phone needs no horizontal scrolling`, async () => {
      await page.emulateMedia({ colorScheme: scheme });
      for (const path of [SUBMISSIONS, `${SUBMISSIONS}?verdict=FSE`, `${SUBMISSIONS}/${exceeded}`]) {
        await go(path);
        assert.deepEqual(await violations(page, scheme === "dark" ? ["color-contrast"] : undefined), [], path);
        await page.setViewportSize(PHONE);
        assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${path} on a phone`);
        await page.setViewportSize(DESK);
      }
    });
  }

  await t.test("run again, it shows output before the run has ended", async () => {
    await end(buildOutcome({ execute: report() }));
    await button("Run again").click();
    await page.getByText("Waiting for a worker.").waitFor();
    await page.getByRole("link", { name: exceeded.slice(0, 8) }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1);
    assert.notEqual(id, exceeded);
    const [claim] = await store.submissions.claim("w", 60_000);
    assert.ok(claim);
    assert.deepEqual([claim.submission.id, String(claim.program.code)], [id, SOURCE]);
    await page.getByText("Running in a sandbox.").waitFor();
    await store.live.append(claim.lease, 0, [{ stream: "stdout", at: 0, bytes: Buffer.from("one\n") }]);
    const output = page.getByRole("textbox", { name: "Standard output" });
    await output.getByText("one").waitFor();
    await store.live.append(claim.lease, 1, [{ stream: "stdout", at: 4, bytes: Buffer.from("two\n") }]);
    await output.getByText("two").waitFor();
    assert.equal(await linesOf(output), "one\ntwo\n");
    await store.submissions.finish(
      claim.lease,
      buildOutcome({ execute: report({ stdout: Buffer.from("one\ntwo\n") }) }),
    );
    await page.getByRole("heading", { name: "Accepted", exact: true }).waitFor();
    assert.equal(await linesOf(output), "one\ntwo\n");
  });

  await t.test("shows the service's message for a submission of another account", async () => {
    assert.equal(complaints.join("\n"), "");
    const { json } = await club.eve("POST", SUBMISSIONS, {
      ...{ accountId: club.other.accountId, language: "python", code: "1", stdin: "", profile: "judge" },
    });
    await go(`${SUBMISSIONS}/${json.id}`);
    await page.getByText("not found, or you have no access to it").waitFor();
    assertOnlyStatus(complaints, "404");
  });

  await t.test("sends no request to another host", () => {
    assert.ok(asked.length > 50);
    assert.deepEqual(
      asked.filter((address) => !address.startsWith(`${origin}/`) && address !== "about:blank"),
      [],
    );
  });
});
