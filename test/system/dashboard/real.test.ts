import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { Webhook } from "standardwebhooks";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { makeCertificates, startReceiver } from "../../support/webhooks/receiver.ts";
import { place, receiverSettings } from "../faults/places.ts";
import { assertOnlyStatus, screenshot, type Visitor, violations, visit } from "./browser.ts";

import { DESK, filter, linesOf, PASSWORD, PHONE, pageActions } from "./page-actions.ts";

import { verifyPackage } from "./verify-package.ts";

/** A program whose second line comes after a pause. */
const pausing = (seconds: number) => `import time\nprint("one", flush=True)\ntime.sleep(${seconds})\nprint("two")\n`;
/** Two slots run the self-test and all programs in this time. */

/** Actions of a new user with a one-time link, who keeps secrets that are displayed once. */
function newcomersHands({ page }: Visitor) {
  const hands = pageActions(page);
  const { heading, button } = hands;
  /** Creates a user by a one-time link. */
  const accept = async (link: string, who: { readonly email?: string; readonly name: string }) => {
    await page.goto(link);
    if (who.email) await page.getByLabel("E-mail").fill(who.email);
    await page.getByLabel("Your name").fill(who.name);
    await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
    await button("Create sign-in").click();
    await heading("Overview");
  };
  /** The secret that a dialog displays once. */
  const secret = async (begins: RegExp) => {
    const shown = (await page.getByRole("dialog").getByText(begins).textContent()) ?? "";
    await button("Done").click();
    return shown;
  };
  return { ...hands, accept, secret };
}

/** Checks both themes, and the width of a phone. */
async function looksGood(page: Page, what: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(page), [], `${what}, ${colorScheme}`);
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, `${what}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(PHONE);
  assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${what} on a phone`);
  await screenshot(page, `${what}-phone`);
  await page.setViewportSize(DESK);
}

describe("a service of `assay serve`, from its first link, in a browser", { concurrency: 2 }, () => {
  for (const kind of ["SQLite", "PostgreSQL"] as const)
    test(`on ${kind}`, { skip: kind === "PostgreSQL" && SKIPS_LONG }, (t) => newcomer(t, kind));
});

async function newcomer(t: Parameters<typeof place>[0], kind: Parameters<typeof place>[1]): Promise<void> {
  const certificates = makeCertificates();
  const receiver = await startReceiver(t, certificates);
  const { home } = await place(t, kind, receiverSettings(t, certificates, receiver));
  const service = await home.serve("--workers", "2");
  const origin = `https://127.0.0.1:${service.port}`;
  const visitor = await visit(t);
  const { page, asked, complaints } = visitor;
  const { heading, settled, button, go, accept, secret } = newcomersHands(visitor);
  let signed = "";
  let key = "";

  const verified = (index: number) => {
    const { body, headers } = receiver.received[index] ?? assert.fail(`${receiver.received.length} have come`);
    new Webhook(signed).verify(body, headers as Record<string, string>);
    return { id: String(headers["webhook-id"]), record: JSON.parse(String(body)) };
  };

  await t.test("the printed link creates the first administrator", async () => {
    const link = async (): Promise<string> => {
      for (;;) {
        const [found] = /https:\/\/\S+\/dashboard\/welcome#\S+/.exec(service.words()) ?? [];
        if (found) return found;
        await sleep(50);
      }
    };
    await accept(await link(), { email: "root@example.com", name: "Root" });
  });

  await t.test("a project with an endpoint and a key: a signed test message reaches the receiver", async () => {
    await go("Projects");
    await button("New project").click();
    await page.getByRole("textbox", { name: "Name" }).fill("course");
    await button("Create project").click();
    await page.getByRole("link", { name: "course", exact: true }).click();
    await heading("course");
    await button("New endpoint").click();
    await page.getByLabel("URL").fill(receiver.url);
    await button("Create endpoint").click();
    signed = await secret(/^whsec_/);
    await button("New key").click();
    await page.getByRole("textbox", { name: "Name" }).fill("grader");
    await button("Create key").click();
    key = await secret(/^assay_live_/);
    await page.getByRole("link", { name: receiver.url }).click();
    await heading("Webhook endpoint");
    await button("Send test").click();
    await page.getByText("Test delivered: status 200.").waitFor();
    assert.equal(receiver.received.length, 1);
    verified(0);
  });

  await t.test(
    "a run of the key: its record arrives, and the log shows the attempt; a replay has the same id",
    async () => {
      const [answer] = await Promise.all([
        page.evaluate<{ id: string; result: { verdict: string } }>(
          `fetch("/api/submit?wait=true", { method: "POST",
          headers: { "x-api-key": ${JSON.stringify(key)}, "content-type": "application/json" },
          body: JSON.stringify({ language: "c", code: "int main(void) { return 7; }" }) }).then((answer) => answer.json())`,
        ),
        receiver.until(2),
      ]);
      assert.equal(answer.result.verdict, "RE");
      const { id, record } = verified(1);
      assert.deepEqual([record.id, record.result.verdict, record.result.exit_code], [answer.id, "RE", 7]);
      const log = page.getByRole("listitem").filter({ hasText: "result" });
      await log.first().getByText("delivered").waitFor();
      await log.first().locator("summary").first().click();
      await log.first().getByText("Attempt 1").waitFor();
      await log.first().getByText("status 200").waitFor();
      await log.first().getByText("ok", { exact: true }).waitFor();
      await button("Replay").click();
      await page.getByRole("dialog").getByRole("button", { name: "Replay delivery" }).click();
      await receiver.until(3);
      assert.equal(verified(2).id, id);
      await page.locator("summary").filter({ hasText: "replay" }).getByText("delivered").waitFor();
      await looksGood(page, "endpoint");
      await page.getByRole("link", { name: "course" }).click();
      await heading("course");
      await page.getByRole("row").filter({ hasText: "grader" }).getByText("1 of 60").waitFor();
      await looksGood(page, "project");
    },
  );

  await t.test("the playground shows output of a running program", async () => {
    await go("Playground");
    const program = page.getByRole("textbox", { name: "Program" });
    const result = page.getByRole("region", { name: "Result" });
    const output = result.getByRole("textbox", { name: "Standard output" });
    await page.getByLabel("Language").selectOption("python");
    // On a busy machine, a short pause can be over before the browser shows the first line.
    let beforePause = "";
    for (const seconds of [3, 12, 48]) {
      await program.click();
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(pausing(seconds));
      await page.keyboard.press("Control+Enter");
      await result.getByRole("heading", { name: "Accepted", exact: true }).waitFor({ state: "hidden" });
      await output.getByText("one").waitFor();
      beforePause = await linesOf(output);
      await result.getByRole("heading", { name: "Accepted", exact: true }).waitFor({ timeout: (30 + seconds) * 1000 });
      assert.equal(await linesOf(output), "one\ntwo\n");
      if (beforePause === "one\n") break;
    }
    assert.equal(beforePause, "one\n");
    await looksGood(page, "playground");
  });

  await t.test("the playground judges a program on tests, each in a sandbox of its own", async () => {
    const program = page.getByRole("textbox", { name: "Program" });
    const result = page.getByRole("region", { name: "Result" });
    await program.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("print(int(input()) * 2)\n");
    await page.getByText("tests", { exact: true }).click();
    const fill = async (test: string, fields: Readonly<Record<string, string>>) => {
      for (const [field, text] of Object.entries(fields))
        await page.getByRole("group", { name: test, exact: true }).getByLabel(field).fill(text);
    };
    await fill("Test 1", { Input: "4", Expected: "8" });
    await button("Add test").click();
    await fill("Test 2", { Input: "5", Expected: "11", Points: "3" });
    await button("Add test").click();
    await fill("Test 3", { Input: "five", Expected: "10" });
    await button("Run tests").click();
    await result.getByText("1 of 5 points").waitFor();
    await result.getByRole("button", { name: "Test 3: RE runtime error" }).waitFor();
    await result.getByRole("link", { name: "Page of this judgement" }).click();
    await heading("Wrong answer on test 2");
    const difference = page.getByRole("region", { name: "Difference of expected and got" });
    assert.match((await difference.textContent()) ?? "", /− 111\+ 110/);
    await button("Test 3: RE runtime error").click();
    await page.getByRole("region", { name: "Standard error" }).getByText("ValueError").waitFor();
    await looksGood(page, "judgement");
    await go("Playground");
    await page.getByText("one run", { exact: true }).click();
  });

  for (const [verdict, title] of [
    ["MLE", "Memory limit exceeded"],
    ["PLE", "Process limit exceeded"],
    ["SIG", "Killed by signal"],
  ] as const) {
    await t.test(`an example of the playground gets its verdict ${verdict}`, async () => {
      const result = page.getByRole("region", { name: "Result" });
      const options = await page.getByLabel("Example").locator("option").allTextContents();
      const label = options.find((one) => one.startsWith(`${verdict}: `)) ?? assert.fail(options.join());
      await page.getByLabel("Example").selectOption({ label });
      await button("Run").click();
      await result.getByRole("status").filter({ hasText: verdict }).waitFor();
      await result.getByRole("heading", { name: new RegExp(`^${title}`) }).waitFor();
    });
  }

  await t.test("a run has a page with all of its evidence, and can be run again there", async () => {
    await go("Submissions");
    await filter(page, "Verdict", "MLE");
    const rows = page.getByRole("table", { name: "Submissions" }).getByRole("row");
    await rows.nth(2).waitFor({ state: "detached" });
    await rows.nth(1).getByRole("link").click();
    await page.getByRole("link", { name: "Open page" }).click();
    await heading("Memory limit exceeded");
    await settled();
    await page.getByRole("tab", { name: "Evidence" }).click();
    const evidence = page.getByRole("table", { name: "Evidence" }).getByRole("row");
    const row = evidence.filter({ hasText: "oom_kill_events" });
    assert.match((await row.textContent()) ?? "", /oom_kill_events\s*[1-9]/);
    await looksGood(page, "submission");
    const before = page.url();
    await button("Run again").click();
    await page.waitForURL((url) => url.href !== before);
    await page.getByRole("heading", { name: "Memory limit exceeded" }).waitFor();
    await page.getByRole("link", { name: "Submissions", exact: true }).click();
    await heading("Submissions");
    await rows.nth(6).waitFor();
    await looksGood(page, "submissions");
  });

  await t.test("the overview shows these runs in its charts, and all health checks pass", async () => {
    await go("Overview");
    const chart = page.getByRole("slider", { name: "Ended runs: time" });
    // Totals are updated every few seconds, but the charts request them twice a minute; a reload gets them sooner.
    while (!/MLE 2 /.test((await chart.getAttribute("aria-valuetext")) ?? "")) {
      await sleep(500);
      await page.reload();
      await chart.waitFor();
    }
    assert.match((await chart.getAttribute("aria-valuetext")) ?? "", /AC 3 · .*RE 2 · .*MLE 2 · .*PLE 1 · .*SIG 1 · /);
    await chart.focus();
    await page.keyboard.press("End");
    assert.match((await chart.getAttribute("aria-valuetext")) ?? "", /^\d+ \w+, \d\d:\d\d to (\d+ \w+, )?\d\d:\d\d: /);
    await page.getByText("verified by a run").waitFor();
    assert.equal(await page.getByText("fails", { exact: true }).count(), 0);
    await looksGood(page, "overview");
  });

  await t.test("an import verifies the submissions of a package by real runs", async () => {
    await go("Problems");
    await verifyPackage(page);
    await looksGood(page, "verified");
  });

  await t.test("an invited member sees their account's runs, and nothing that is for administrators", async () => {
    await go("Members");
    await button("Invite member").click();
    await page.getByLabel("E-mail").fill("member@example.com");
    await button("Create link").click();
    const link = await secret(/\/dashboard\/welcome#/);
    const member = await visit(t);
    const theirs = newcomersHands(member);
    await theirs.accept(link, { name: "Member" });
    await theirs.go("Submissions");
    await member.page.getByRole("row").filter({ hasText: "memory limit" }).first().waitFor();
    assert.equal(await member.page.getByRole("link", { name: "Settings", exact: true }).count(), 0);
    await theirs.go("Members");
    assert.equal(await theirs.button("Invite member").count(), 0);
    await looksGood(member.page, "member");
    await member.page.goto(`${origin}/dashboard/settings`);
    await member.page.getByRole("alert").waitFor();
    assertOnlyStatus(member.complaints, "403");
    await theirs.go("Playground");
    await member.page.getByRole("textbox", { name: "Program" }).waitFor();
    await theirs.button("Run").click();
    await member.page
      .getByRole("region", { name: "Result" })
      .getByRole("status")
      .filter({ hasText: /AC|RE|TLE|MLE|PLE|FSE|SIG/ })
      .waitFor();
    assert.deepEqual(member.complaints, []);
  });

  await t.test("sends no request to another host, and the browser logs no error", () => {
    assert.deepEqual(complaints, []);
    assert.deepEqual(
      asked.filter((address) => !address.startsWith(`${origin}/`)),
      [],
    );
  });
}
