import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome } from "../../../src/domain/outcome.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending } from "../../support/http/running.ts";
import { PACKAGES, type PackageTexts } from "../../support/problems/packages.ts";
import { zipOf } from "../../support/problems/zip.ts";
import { report } from "../../support/verdict/reports.ts";
import { assertOnlyStatus } from "./browser.ts";
import { inside } from "./inside.ts";
import { filter, looksGood, pageActions } from "./page-actions.ts";

const archive = (texts: PackageTexts) => ({
  name: "factors.zip",
  mimeType: "application/zip",
  buffer: zipOf(Object.entries(texts).map(([path, data]) => ({ name: `factors/${path}`, data }))),
});

test("problems: list, import, page and deletion", async (t) => {
  const { page, go, complaints, club } = await inside(t);
  const { heading, button } = pageActions(page);
  const dialog = page.getByRole("dialog");
  const choose = async (texts: PackageTexts) => {
    await button("Import a package").click();
    await dialog.getByLabel("ZIP archive").setInputFiles(archive(texts));
  };
  const send = () => dialog.getByRole("button", { name: "Import package", exact: true }).click();

  await t.test("an empty list explains how to import", async () => {
    await go("/judgements");
    await page.getByRole("link", { name: "Problems", exact: true }).click();
    await heading("Problems");
    await page.getByText("No problems yet").waitFor();
    await page.getByText("sudo ./assay problems import").waitFor();
    await looksGood(page, "problems-empty");
  });

  await t.test("a fault is shown with its file and line, and imports nothing", async () => {
    const yaml = PACKAGES.factors["problem.yaml"] ?? "";
    await choose({ ...PACKAGES.factors, "problem.yaml": yaml.replace("memory: 128", "memory: 999999") });
    await send();
    await dialog.getByRole("alert").getByText("problem.yaml:7: limits.memory:").waitFor();
    await looksGood(page, "problems-fault");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assertOnlyStatus(complaints, "422");
    await page.getByText("No problems yet").waitFor();
  });

  await t.test("a package with faults becomes a faulty version only if that is chosen, and shows them", async () => {
    const broken = { "init.yml": "checker: near.py\ntest_cases: [{in: a, out: a}]\n", a: "1\n" };
    const fault = "init.yml:2: checker: near.py is not in the package";
    await choose(broken);
    await dialog.getByLabel("Name").fill("near");
    await dialog.getByLabel("CPU time limit").fill("1");
    await send();
    await dialog.getByRole("alert").getByText(fault).waitFor();
    assertOnlyStatus(complaints, "422");
    await dialog.getByLabel("Allow faults of programs").check();
    await send();
    await page.getByText("faulty: each judgement ends with IE").waitFor();
    await page.getByText(fault).waitFor();
    await looksGood(page, "problem-faulty");
    await go("/problems");
    await page.getByRole("row").filter({ hasText: "near" }).getByText(fault).waitFor();
    await looksGood(page, "problems-faulty");
    await go("/problems");
    await page.getByRole("link", { name: "near", exact: true }).click();
    await button("Delete").click();
    await dialog.getByRole("button", { name: "Delete problem" }).click();
    await page.getByText("No problems yet").waitFor();
  });

  await t.test("an upload shows its progress until the package is imported, and leads to the problem", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route("**/api/problems?*", async (route) => {
      if (route.request().method() === "POST") await held;
      await route.continue();
    });
    await choose(PACKAGES.factors);
    await send();
    await dialog.getByRole("progressbar", { name: "Upload" }).waitFor();
    await dialog.getByRole("status").waitFor();
    await looksGood(page, "problems-upload");
    release();
    await heading("Factors");
    await page.getByText("Imported as version 1.").waitFor();
    await page.unroute("**/api/problems?*");
  });

  await t.test("the page has the limits, the checker, the groups and the versions", async () => {
    const rows = (name: string) => page.getByRole("table", { name }).getByRole("row");
    const group = rows("Tests by group").filter({ hasText: "secret/2-sum" }).first();
    await group.getByText("2 tests").click();
    const cells = (await group.getByRole("cell").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "));
    assert.deepEqual(cells.slice(0, 4), ["secret/2-sum", "30", "sum", "secret/1-small"]);
    assert.match(cells[4] ?? "", /^2 tests .*1 \(15\), .*2 \(15\)$/);
    await page.getByText("a program in cpp (kattis)").waitFor();
    assert.match((await rows("Versions").nth(1).allInnerTexts()).join(), /1\s+current\s+5\s+32 B\s+2 s\s+128 MiB/);
    await looksGood(page, "problem");
    await go("/problems");
    assert.match((await rows("Problems").nth(1).allInnerTexts()).join(), /factors\s+Factors\s+1\s+5\s+2 s\s+128 MiB/);
    await looksGood(page, "problems");
  });

  await t.test(
    "the page has the judgements of the problem, which follow their runs, and the list has a filter",
    async () => {
      const [{ id: problem }] = (await club.ada("GET", "/problems")).json.problems;
      const body = { accountId: club.accountId, language: "python", code: "x", profile: "judge" };
      const { json } = await club.ada("POST", "/judgements", { ...body, problem });
      await club.ada("POST", "/judgements", { ...body, checker: "lines", tests: [{ stdin: "1", expected: "1" }] });
      await page.getByRole("link", { name: "factors", exact: true }).click();
      await heading("Factors");
      const rows = page.getByRole("table", { name: "Judgements" }).getByRole("row");
      await rows.nth(1).getByText("pending").waitFor();
      assert.equal(await rows.count(), 2);
      const failed = buildOutcome({ execute: report({ exitCode: 1 }) });
      while ((await runPending(club.running.store, () => failed)) > 0);
      await rows.nth(1).getByText("runtime error").waitFor();
      await looksGood(page, "problem-judgements");
      await page.getByRole("link", { name: "Search these judgements" }).click();
      await heading("Judgements");
      await page.getByRole("button", { name: `Remove Problem: ${problem.slice(0, 12)}` }).waitFor();
      await page.getByText("1 judgement, newest first", { exact: true }).waitFor();
      await looksGood(page, "judgements-of-problem");
      await filter(page, "Problem", "");
      await page.getByText("2 judgements, newest first", { exact: true }).waitFor();
      await page.goBack();
      await page.getByRole("link", { name: json.id.slice(0, 8) }).click();
      await page.waitForURL(`**/judgements/${json.id}`);
      await page.getByRole("link", { name: "factors", exact: true }).click();
      await heading("Factors");
      await go("/problems");
    },
  );

  await t.test("is deleted after a confirmation only", async () => {
    await page.getByRole("link", { name: "factors", exact: true }).click();
    await heading("Factors");
    await button("Delete").click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal((await club.ada("GET", "/problems")).json.problems.length, 1);
    await button("Delete").click();
    await dialog.getByRole("button", { name: "Delete problem" }).click();
    await page.getByText("factors deleted.").waitFor();
    await heading("Problems");
    await page.getByText("No problems yet").waitFor();
    assert.deepEqual((await club.ada("GET", "/problems")).json.problems, []);
  });

  assert.deepEqual(complaints, []);
});

test("the playground judges the program on a problem", async (t) => {
  const { page, go, complaints, club, origin } = await inside(t);
  const { heading, button } = pageActions(page);
  const problem = page.getByRole("combobox", { name: "Problem" });
  const result = page.getByRole("region", { name: "Result" });
  const input = (name: string) => page.getByText(name, { exact: true });
  const upload = (name: string) =>
    club.ada.person.ask({
      method: "POST",
      path: `/dashboard/api/problems?account=${club.accountId}&name=${name}`,
      body: archive(PACKAGES.factors).buffer,
      headers: { "content-type": "application/zip" },
    });
  const [first, second] = [(await upload("first")).json.id, (await upload("second")).json.id];
  const { store } = club.running;

  await t.test("the page of the problem leads there, and its tests replace the editor of tests", async () => {
    await go(`/problems/${first}`);
    await button("Try in the playground").click();
    await heading("Playground");
    assert.equal(await problem.inputValue(), first);
    await page.getByText("5 tests, 2 s CPU time, 128 MiB memory").waitFor();
    assert.equal(await page.getByLabel("Standard input").count(), 0);
    await page.getByLabel("Language").selectOption("python");
    await page.getByRole("region", { name: "As curl" }).getByText(`"problem":"${first}"`).waitFor();
    await button("Judge").click();
    await result.getByText("0 of 5 tests passed").waitFor();
    const failed = buildOutcome({ execute: report({ exitCode: 1 }) });
    while ((await runPending(store, () => failed)) > 0);
    await result.getByText("runtime error").first().waitFor();
    await looksGood(page, "playground-problem");
    const [row] = (await club.ada("GET", `/judgements?problem=${first}`)).json.judgements;
    assert.deepEqual([row.problem.version, row.key.name, row.verdict], [1, "playground", "RE"]);
  });

  await t.test("another problem is a choice, which the URL follows; other inputs are no loss of it", async () => {
    await problem.selectOption("second");
    await page.waitForURL(`${origin}/dashboard/playground?problem=${second}`);
    await result.getByText("No judgement yet").waitFor();
    await input("tests").click();
    await page.getByLabel("Checker").waitFor();
    await input("one run").click();
    await page.getByLabel("Standard input").waitFor();
    await input("problem").click();
    assert.equal(await problem.inputValue(), second);
    await problem.selectOption("");
    await page.getByText("Choose a problem first.").waitFor();
    assert.equal(await button("Judge").isDisabled(), true);
    await looksGood(page, "playground-no-problem");
    await page.goto(`${origin}/dashboard/playground?problem=${first}`);
    await page.getByText("5 tests, 2 s CPU time").waitFor();
    assert.deepEqual(complaints, []);
  });

  await t.test("a problem whose submissions are answers has a field for the answer to each test", async () => {
    const { id } = (
      await club.ada.person.ask({
        method: "POST",
        path: `/dashboard/api/problems?account=${club.accountId}&name=answered`,
        body: archive(PACKAGES.answered).buffer,
        headers: { "content-type": "application/zip" },
      })
    ).json;
    const { engine } = club.running;
    engine.languages = [...engine.languages, "plaintext"];
    await page.goto(`${origin}/dashboard/playground?problem=${id}`);
    await page.getByLabel("secret/1.out").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Program" }).count(), 0);
    assert.equal(await button("Judge").isDisabled(), true);
    await page.getByLabel("secret/1.out").fill("40");
    await looksGood(page, "playground-answers");
    await button("Judge").click();
    await result.getByText("0 of 2 tests passed").waitFor();
    const [claim] = await store.submissions.claim("w", 1_000, 1);
    assert.equal(claim?.submission.language, "plaintext");
    assert.deepEqual(
      claim?.program.options?.files.map(({ name, data }) => [name, String(data)]),
      [["secret/1.out", "40"]],
    );
    assert.equal(claim?.test?.answerFile, "secret/1.out");
    assert.deepEqual(complaints, []);
  });

  await t.test("an unknown problem leads to an example", async () => {
    await page.goto(`${origin}/dashboard/playground?problem=none`);
    await page.getByText("Not found, or you have no access to it").waitFor();
    await page.getByRole("link", { name: "Start with an example" }).click();
    await page.getByRole("textbox", { name: "Program" }).waitFor();
    assertOnlyStatus(complaints, "4");
  });
});

test("an import can verify the submissions of the package", async (t) => {
  const { page, go, complaints, club } = await inside(t);
  const { heading, button } = pageActions(page);
  const { store } = club.running;
  const dialog = page.getByRole("dialog");
  const row = (path: string) =>
    page.getByRole("table", { name: "Submissions of the package" }).getByRole("row").filter({ hasText: path });
  const status = (words: string) => page.getByRole("status").getByText(words).waitFor();

  await t.test("shows each submission as its judgement ends, with its expectations", async () => {
    await go("/problems");
    await button("Import a package").click();
    const { "submissions/accepted/Sum.java": _, "submissions/accepted/sum.cpp": __, ...texts } = PACKAGES.sum;
    await dialog.getByLabel("ZIP archive").setInputFiles(archive(texts));
    await dialog.getByLabel("CPU time limit in seconds").fill("1");
    await dialog.getByLabel("Verify the submissions of the package").check();
    await looksGood(page, "problems-verify");
    await dialog.getByRole("button", { name: "Import package", exact: true }).click();
    await heading("Sum of two");
    await status("0 of 5 submissions ended, 0 as expected");
    await row("sum.cob").getByText("skipped: no installed language").waitFor();
    await row("overflow.c").getByText("WA", { exact: true }).first().waitFor();
    await row("waits.py").getByText("pending").first().waitFor();
    await looksGood(page, "verification-running");
    while ((await runPending(store, sumOf)) > 0);
    await status("5 of 5 submissions ended, 4 as expected");
    await row("accepted/two").getByText("as expected").waitFor();
    await row("overflow.c").getByText("as expected").waitFor();
    await row("waits.py").getByText("mismatch").waitFor();
    await row("waits.py").getByText("is AC instead of TLE").waitFor();
    await looksGood(page, "verification");
    await row("waits.py").getByRole("link").click();
    await heading("Accepted");
    await page.goBack();
    await status("5 of 5 submissions ended, 4 as expected");
    await page.reload();
    await heading("Sum of two");
    await page.getByText("5 judgements, newest first", { exact: true }).waitFor();
    assert.equal(await page.getByText("Verification").count(), 0);
  });

  await t.test("a submission over the quota of the key is not judged, with the reason", async () => {
    await club.root("PUT", "/tiers/beta", { requestsPerMinute: 9, concurrency: 10 });
    await go("/problems");
    await button("Import a package").click();
    await dialog.getByLabel("ZIP archive").setInputFiles(archive(PACKAGES.factors));
    await dialog.getByLabel("Verify the submissions of the package").check();
    await dialog.getByRole("button", { name: "Import package", exact: true }).click();
    await heading("Factors");
    await row("zero.py").getByText("not judged").waitFor();
    await looksGood(page, "verification-quota");
    await row("search.cpp").getByText("unsupported language").waitFor();
    await status("0 of 1 submission ended");
    assert.equal(await page.getByText("submissions.yaml").count(), 0);
  });

  assert.deepEqual(complaints, []);
});

/** Runs of the submissions of the package `sum`; `waits.py` is too fast. */
function sumOf({ program }: Claim): Outcome {
  const code = (program.options?.files ?? []).map(({ data }) => String(data)).join();
  if (code.includes("SystemExit")) return buildOutcome({ execute: report({ exitCode: 1 }) });
  if (code.includes("int a, b")) return buildOutcome({ execute: report({ stdout: Buffer.from("-1") }) });
  const [a = 0, b = 0] = String(program.stdin).split(" ").map(Number);
  return buildOutcome({ execute: report({ stdout: Buffer.from(`${a + b}`) }) });
}
