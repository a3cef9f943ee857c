import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome } from "../../../src/domain/outcome.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending } from "../../support/http/running.ts";
import { report, signalled } from "../../support/verdict/reports.ts";
import { assertOnlyStatus, violations } from "./browser.ts";
import { type Inside, inside } from "./inside.ts";
import { filter, looksGood } from "./page-actions.ts";

const COURSE = {
  compileMs: null,
  execute: {
    ...{ runMs: 20, teardownMs: 2, processesPeak: 3, stdoutBytes: 10, stderrBytes: 0 },
    limits: { wallMs: 10_000, cpuMs: 4_000, stdoutBytes: 1_048_576, stderrBytes: 1_048_576 },
  },
} as const;

/** Twelve lines, of which the fifth has a wrong word and a control character. */
const LINES = Array.from({ length: 12 }, (_, at) => `line ${at + 1} of the answer`);
const ANSWER = `${LINES.join("\n")}\n`;
const WRONG = ANSWER.replace("line 5 of the", "line 5 of \x1b[31mno");

/** A program that ends in the way that the input of the test names. */
function outcomeOf({ program }: Claim): Outcome {
  const stdin = String(program.stdin);
  const wallNs =
    1_000_000 * (1 + Math.round(4_000 * Math.abs(Math.sin(stdin.length + Number(stdin.replace(/\D/g, ""))))));
  const ran = { wallNs, cpuUsec: Math.round(wallNs / 1_500), memoryPeakBytes: 3_000_000 + Math.round(wallNs / 50) };
  if (stdin.startsWith("slow"))
    return { ...buildOutcome({ execute: signalled(9, { killReason: "cpu" }) }), runStats: COURSE };
  if (stdin.startsWith("flood")) {
    const stdout = Buffer.from("y\n".repeat(50_000));
    const course = { ...COURSE, execute: { ...COURSE.execute, stdoutBytes: 9_000_000 } };
    return { ...buildOutcome({ execute: report({ stdout, stdoutSeen: 9_000_000, ...ran }) }), runStats: course };
  }
  const stdout = Buffer.from(stdin.startsWith("wrong") ? WRONG : ANSWER);
  return {
    ...buildOutcome({ execute: report({ stdout, stderr: Buffer.from("a note\n"), ...ran }) }),
    runStats: COURSE,
  };
}

const one = (stdin: string, more: object = {}) => ({ stdin, expected: ANSWER, ...more });

async function judging({ club }: Inside) {
  const key = await club.running.key({ project: "shop", name: "grader", concurrency: 1000 });
  const judge = async (body: object): Promise<string> => {
    const program = { language: "python", code: "print('é')  # a note\n", stop: "never", ...body };
    const sent = { method: "POST", path: "/api/judgements", key, body: program };
    const { status, json, text } = await club.running.ask(sent);
    assert.equal(status, 202, text);
    return json.id;
  };
  const runSome = () => runPending(club.running.store, outcomeOf);
  const runAll = async () => {
    while ((await runSome()) > 0);
  };
  return { judge, runSome, runAll };
}

test("judgements: list and page", async (t) => {
  const visitor = await inside(t);
  const { page, club, origin, go, complaints, asked } = visitor;
  const { judge, runSome, runAll } = await judging(visitor);
  const heading = (name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  const cell = (name: string) => page.getByRole("button", { name, exact: true });
  const rows = page.getByRole("table", { name: "Judgements" }).getByRole("row");
  const selected = page.getByRole("region", { name: "Selected test" });

  await t.test("an empty list explains how to judge", async () => {
    await go("/judgements");
    await page.getByText("No judgements yet").waitFor();
    await page.getByRole("main").getByRole("link", { name: "playground", exact: true }).waitFor();
    await looksGood(page, "judgements-empty");
  });

  const good = await judge({ language: "c", tests: [one("1")] });
  await runAll();
  const failing = await judge({
    groups: [{ name: "large", rule: "min", depends: ["samples"] }],
    tests: [
      one("1", { group: "samples", name: "sample one" }),
      one("wrong 2", { group: "samples", points: 2.5 }),
      one("slow 3", { group: "more", limits: { cpu_time_secs: 0.5 } }),
      one("flood 4", { group: "more" }),
      ...Array.from({ length: 6 }, (_, at) => one(`${at}`, { group: "large", points: 10 })),
    ],
  });
  await runAll();

  await t.test("the navigation leads to the list, with verdicts in words; filters are undone by Back", async () => {
    await go("/submissions");
    await page.getByRole("link", { name: "Judgements", exact: true }).click();
    await heading("Judgements");
    await rows.nth(2).waitFor();
    const text = async (row: number) => (await rows.nth(row).getByRole("cell").allTextContents()).join(" ");
    assert.match(await text(1), new RegExp(`^WA wrong answer ${failing.slice(0, 8)} 1 of 10 1 python shop grader`));
    assert.match(await text(2), new RegExp(`^AC accepted ${good.slice(0, 8)} 1 of 1 1 c shop grader`));
    await looksGood(page, "judgements");
    await filter(page, "Verdict", "WA");
    await rows.nth(2).waitFor({ state: "detached" });
    assert.equal(new URL(page.url()).search, "?verdict=WA");
    await page.goBack();
    await rows.nth(2).waitFor();
    await page.getByRole("link", { name: failing.slice(0, 8) }).click();
    await heading("Wrong answer on test 2");
  });

  await t.test("shows the failing test with the difference, its groups, and the evidence of its run", async () => {
    const group = (name: string) => page.getByRole("region", { name: `Group ${name}` });
    assert.match(
      (await group("large").textContent()) ?? "",
      /not passed0 of 60 pointspoints × the fraction that the worst test earned.*only if samples passes/,
    );
    assert.equal(await cell("Test 1, sample one: passed").textContent(), "✓");
    assert.equal(await cell("Test 3: TLE time limit").textContent(), "TLE");
    assert.equal(await cell("Test 5: left out").getAttribute("aria-pressed"), "false");
    assert.equal(await cell("Test 2: WA wrong answer").getAttribute("aria-pressed"), "true");
    const difference = selected.getByRole("region", { name: "Difference of expected and got" });
    await difference.getByText("4 equal lines").waitFor();
    const lines = await difference.getByRole("row").allInnerTexts();
    assert.ok(lines.includes("1 equal line") && lines.includes("4 equal lines"), lines.join("\n"));
    const wrong = lines.find((line) => line.includes("− 5"))?.replaceAll(/\s+/g, " ");
    assert.equal(wrong, "− 5 line 5 of the answer + 5 line 5 of ESC[31mno answer");
    assert.deepEqual(await difference.locator("mark").allInnerTexts(), ["the", "ESC[31mno"]);
    assert.match((await selected.textContent()) ?? "", /line 5: expected "line 5 of the answer", got/);
    assert.equal(await selected.getByRole("region", { name: "Input" }).textContent(), "wrong 2");
    assert.equal(await selected.getByRole("region", { name: "Standard error" }).textContent(), "a note\n");
    await selected.getByText("Evidence of this run").click();
    await selected.getByText("isolation.controls_applied").waitFor();
    await selected.getByText("Evidence of this run").click();
    await looksGood(page, "judgement-failing");
  });

  await t.test("arrows move between the cells, and Enter selects one, which is in the address", async () => {
    await cell("Test 2: WA wrong answer").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await selected.getByRole("heading", { name: "Test 3" }).waitFor();
    await selected.getByRole("heading", { name: "Time limit exceeded" }).waitFor();
    assert.equal(new URL(page.url()).search, "?test=3");
    await page.keyboard.press("End");
    assert.equal(await page.evaluate("document.activeElement?.dataset.cell"), "9");
    await page.reload();
    await selected.getByRole("heading", { name: "Test 3" }).waitFor();
    await cell("Test 4: WA wrong answer").click();
    await selected
      .getByText("Cut off: the rest of the output is not stored. Only the first 64 KiB of 97.7 KiB are shown.")
      .waitFor();
    await selected.getByText("Only the first 64 KiB of each text are compared.").waitFor();
    await looksGood(page, "judgement-truncated");
  });

  await t.test("the table shows times against limits and leads to the submission, which leads back", async () => {
    const runs = page.getByRole("table", { name: "Runs" });
    assert.match((await runs.getByRole("row").first().textContent()) ?? "", /CPU timeWall timeMemoryRun$/);
    await page.getByLabel("Only failed tests (3)").check();
    assert.equal(await runs.getByRole("row").count(), 4);
    await runs.getByRole("row").nth(1).getByRole("link").click();
    await page.getByRole("link", { name: `test 2 of ${failing.slice(0, 8)}` }).click();
    await heading("Wrong answer on test 2");
    await page.getByRole("main").getByRole("link", { name: "Submission of this run" }).waitFor();
  });

  await t.test("a judgement of one test, judged again, is followed to its end", async () => {
    await go(`/judgements/${good}`);
    await selected.getByRole("heading", { name: "Test 1" }).waitFor();
    await looksGood(page, "judgement-one");
    await cell("Judge again").click();
    await heading("Judging");
    assert.ok(!page.url().includes(good));
    await cell("Test 1: in the queue, or running").waitFor();
    await runAll();
    await heading("Accepted");
    await cell("Test 1: passed").waitFor();
  });

  await t.test("500 tests, while they run: cells and numbers change by themselves, until it is cancelled", async () => {
    const tests = Array.from({ length: 500 }, (_, at) =>
      one(at % 7 === 5 ? `wrong ${at}` : at % 31 === 9 ? `slow ${at}` : `${at}`),
    );
    const id = await judge({ tests });
    await go(`/judgements/${id}`);
    await heading("Judging");
    for (let ended = 0; ended < 300; ) ended += await runSome();
    await page.getByText(/\d\d\d ended/).waitFor();
    await cell("Test 6: WA wrong answer").waitFor();
    assert.equal(await page.locator("button[data-cell]").count(), 500);
    assert.equal(await page.locator("button[data-cell][tabindex='0']").count(), 1, "one stop for Tab");
    await page.getByRole("button", { name: "Show all 500 tests" }).waitFor();
    await looksGood(page, "judgement-running");
    await cell("Cancel").click();
    assert.deepEqual(await violations(page), []);
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).last().click();
    await heading("Not judged");
    assert.equal(await cell("Cancel").count(), 0);
  });

  await t.test("shows no judgement of another account", async () => {
    assert.equal(complaints.join("\n"), "");
    const program = { language: "python", code: "1", profile: "judge", checker: "lines", stop: "never" };
    const body = { ...program, accountId: club.other.accountId, tests: [{ stdin: "", expected: "", points: 1 }] };
    const { json } = await club.eve("POST", "/judgements", body);
    await go(`/judgements/${json.id}`);
    await heading("Page not found");
    assertOnlyStatus(complaints, "404");
  });

  await t.test("sends no request to another host", () => {
    const others = asked.filter((address) => !address.startsWith(`${origin}/`) && address !== "about:blank");
    assert.deepEqual(others, []);
  });
});

test("the playground judges the program on tests", async (t) => {
  const visitor = await inside(t);
  const { page, go, club, complaints } = visitor;
  const { runSome, runAll } = await judging(visitor);
  const result = page.getByRole("region", { name: "Result" });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const field = (test: number, name: string) =>
    page.getByRole("group", { name: `Test ${test}`, exact: true }).getByLabel(name);

  await go("/playground");
  await page.getByLabel("Language").selectOption("python");
  await page.getByLabel("Standard input").fill("1");
  await page.getByText("tests", { exact: true }).click();
  assert.equal(await field(1, "Input").inputValue(), "1");
  await field(1, "Expected").fill(ANSWER);
  for (const at of [2, 3]) {
    await button("Add test").click();
    await field(at, "Input").fill(at === 2 ? "wrong 2" : "removed");
  }
  await field(2, "Expected").fill(ANSWER);
  await field(2, "Points").fill("2.5");
  await button("Remove test 3").click();
  await page.getByLabel("Checker").selectOption("tokens");
  await button("Run tests").click();
  await result.getByRole("button", { name: "Test 1: in the queue, or running" }).waitFor();
  await runSome();
  await result.getByRole("button", { name: "Test 1: passed" }).waitFor();
  await result.getByText("1 of 3.5 points").waitFor();
  await runAll();
  await result.getByText("wrong answer").first().waitFor();
  await result.getByRole("region", { name: "Difference of expected and got" }).waitFor();
  await looksGood(page, "playground-tests");
  // Switching between the two modes loses nothing of the other one.
  await page.getByText("one run", { exact: true }).click();
  assert.equal(await page.getByLabel("Standard input").inputValue(), "1");
  await page.getByText("tests", { exact: true }).click();
  assert.equal(await field(2, "Points").inputValue(), "2.5");
  await result.getByRole("link", { name: "Page of this judgement" }).click();
  await page.getByRole("heading", { level: 1, name: "Wrong answer on test 2" }).waitFor();
  await page.getByText("tokens", { exact: true }).waitFor();
  const { json } = await club.ada("GET", "/judgements");
  assert.deepEqual(
    [json.judgements.length, json.judgements[0].score, json.judgements[0].key.name],
    [1, 1, "playground"],
  );
  assert.deepEqual(complaints, []);
});
