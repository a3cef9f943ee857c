import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { internalError, type Outcome } from "../../../src/domain/outcome.ts";
import type { StepReports } from "../../../src/domain/report.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import type { Plan } from "../../../src/worker/plan.ts";
import { runStats } from "../../../src/worker/run-stats.ts";
import { ENDS } from "../../support/domain/explain/records.ts";
import { runPending } from "../../support/http/running.ts";
import { LIMITS } from "../../support/sandbox/steps.ts";
import { report } from "../../support/verdict/reports.ts";
import { pageCpuMs, screenshot, violations } from "./browser.ts";
import { inside, onEachDatabase } from "./inside.ts";
import { DESK, PHONE } from "./page-actions.ts";

const SUBMISSIONS = "/submissions";
const PLAN = { execute: { limits: LIMITS } } as Plan;
const TRACE = 'Traceback (most recent call last):\n  File "/box/main.py", line 41, in <module>\nValueError: no\n';
const UNCAUGHT =
  "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check\n";
const PYTHON = `${"# a line\n".repeat(40)}raise ValueError("no")\n`;
const MIB = 1_048_576;

const ending = (steps: StepReports): Outcome => ({ ...buildOutcome(steps), runStats: runStats(steps, PLAN) });
const executed = (name: string) => ending({ execute: ENDS[name] ?? assert.fail(name) });

/** How a run of each verdict begins: what the heading says, why, and on which line. */
const VERDICTS: readonly (readonly [heading: string, body: object, outcome: Outcome, why: RegExp, line: RegExp])[] = [
  ["Accepted", {}, ending({ execute: report() }), /exited with code 0/, /^$/],
  [
    "Runtime error",
    { code: PYTHON },
    ending({ execute: report({ exitCode: 1, stderr: Buffer.from(TRACE) }) }),
    /exited with code 1/,
    /Line 41.*ValueError: no/,
  ],
  [
    "Compilation failed",
    { language: "c", code: "int main(void) {\n  return x;\n}\n" },
    ending({ compile: report({ exitCode: 1, stderr: Buffer.from("main.c:2:10: error: ‘x’ undeclared\n") }) }),
    /compiler exited with code 1, so the program was never run/,
    /Line 2.*‘x’ undeclared/,
  ],
  ["Memory limit exceeded", {}, executed("MLE oom_kill kernel"), /limit of 256 MiB/, /^No line is known/],
  ["Time limit exceeded: CPU time", {}, executed("TLE cpu_timeout judge"), /CPU time limit/, /^No line is known/],
  [
    "Process limit exceeded",
    {},
    executed("PLE pids_limit kernel"),
    /refused/,
    /^No line is known: the program wrote no/,
  ],
  ["File size limit exceeded", {}, executed("FSE file_size_limit kernel"), /maximum size/, /^No line is known/],
  ["Killed by signal 11 (SIGSEGV)", {}, executed("SIG fatal_signal runtime"), /invalid memory/, /^No line is known/],
  [
    "Killed by signal 6 (SIGABRT)",
    {},
    ending({ execute: report({ exitCode: null, signal: 6, stderr: Buffer.from(UNCAUGHT) }) }),
    /uncaught exception/,
    /^what\(\): +vector::_M_range_check$/,
  ],
  ["The platform failed, not your program", {}, internalError("a fault"), /a fault/, /^$/],
];

onEachDatabase("the page of a run", async (t, open) => {
  const { page, club, go, clipboard, complaints } = await inside(t, { open });
  const { store, submit } = club.running;
  const key = await club.running.key({ project: "shop", name: "grader", concurrency: 1000 });
  const send = async (body: object = {}) =>
    (await submit({ language: "python", code: "print(1)\n", ...body }, { key })).json.id as string;
  const ended = async (outcome: Outcome, body: object = {}) => {
    const id = await send(body);
    await runPending(store, () => outcome);
    return id;
  };
  const openRun = async (id: string) => await go(`${SUBMISSIONS}/${id}`);
  const box = (name: string) => page.getByRole("textbox", { name, exact: true });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const heading = (name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  const inWindow = async (what: ReturnType<typeof page.getByText>) => {
    const { y = -1, height = 0 } = (await what.boundingBox()) ?? {};
    return y >= 0 && y + height <= DESK.height;
  };

  for (const [title, body, outcome, why, line] of VERDICTS) {
    await t.test(`the first screen has the reason and the line: ${title}`, async () => {
      const id = await ended(outcome, body);
      await openRun(id);
      await heading(title);
      assert.ok(await inWindow(page.getByText(why).first()));
      if (line.source === "^$") assert.equal(await page.getByText(/^(No line is known|Line \d)/).count(), 0);
      else if (line.source.startsWith("^")) assert.ok(await inWindow(page.getByText(line).first()));
      else {
        assert.match(
          (await page
            .getByText(/^Line \d+$/)
            .locator("xpath=ancestor::p")
            .textContent()) ?? "",
          line,
        );
        const marked = box("Source of the program").locator(".cm-chosen");
        await marked.waitFor();
        assert.ok(await inWindow(marked), "its line of the source is visible");
      }
      assert.equal(await page.getByText(id.slice(0, 8)).count(), 1, "the id is there once");
      const screens = Number(await page.evaluate("document.documentElement.scrollHeight / innerHeight"));
      assert.ok(screens < 2, `${screens} screens high`);
      await screenshot(page, `run-${title.split(" ")[0]?.toLowerCase()}`, true);
    });
  }

  await t.test("a compilation error is one in the list as well", async () => {
    await go(SUBMISSIONS);
    await page.getByRole("row", { name: /RE compilation error/ }).waitFor();
    await page.getByRole("row", { name: /RE runtime error/ }).waitFor();
  });

  await t.test("facts lead to their pages, and times agree everywhere", async () => {
    const compile = report({ wallNs: 180_000_000, spentMs: { run: 200, teardown: 4 } });
    const execute = report({ wallNs: 16_000_000, spentMs: { run: 513, teardown: 5 } });
    await openRun(await ended(ending({ compile, execute }), { language: "c" }));
    const fact = async (name: string) =>
      await page.getByRole("term").filter({ hasText: name }).locator("xpath=..").getByRole("definition").textContent();
    assert.equal(await fact("Wall time"), "16 ms");
    const times = page.getByRole("region", { name: "Times" }).getByRole("listitem");
    assert.deepEqual((await times.allTextContents()).slice(1), [
      ...["Compile: set-up20 ms", "Compile: run180 ms", "Compile: teardown4 ms"],
      ...["Execute: set-up497 ms", "Execute: wall time16 ms", "Execute: teardown5 ms"],
    ]);
    const used = page.getByRole("region", { name: "Limits and usage" }).getByRole("listitem");
    assert.match((await used.filter({ hasText: "Wall time" }).textContent()) ?? "", /^Wall time16 ms of /);
    await page.getByRole("main").getByRole("link", { name: "grader" }).click();
    await heading("Submissions");
    await page.goBack();
    await page.getByRole("main").getByRole("link", { name: "shop" }).click();
    await heading("shop");
  });

  await t.test("marks exactly the stream that was cut, and its limit as reached", async () => {
    const execute = report({ stdout: Buffer.from("some\n"), stdoutSeen: 20 * MIB, exitCode: 1 });
    await openRun(await ended(ending({ execute })));
    await page.getByText("stdout 5 B, cut off").waitFor();
    const used = (name: string) => page.getByRole("listitem").filter({ hasText: name }).textContent();
    assert.match((await used("Standard output")) ?? "", /20 MiB of .* limit reached/);
    assert.doesNotMatch((await used("Standard error")) ?? "", /reached/);
    await page.getByText("Cut off: the rest of the output is not stored.").waitFor();
    await page.getByText("stderr 0 B").click();
    await page.getByText("No output.", { exact: true }).waitFor();
    assert.equal(await page.getByText("Cut off: output").count(), 0);
  });

  await t.test("shows the colours of a terminal, a search, and downloads with the exact bytes", async () => {
    const bytes = Buffer.from("plain \x1b[1;31mred\x1b[0m\n\xff\x00\n".repeat(300), "latin1");
    const id = await ended(ending({ execute: report({ stdout: bytes }) }));
    await openRun(id);
    const output = box("Standard output");
    const red = output.locator(".cm-red.cm-bold").first();
    await red.waitFor();
    assert.equal(await red.textContent(), "red");
    const colour = (element: unknown) =>
      (globalThis as unknown as { getComputedStyle: (of: unknown) => { color: string } }).getComputedStyle(element)
        .color;
    assert.notEqual(await red.evaluate(colour), await output.evaluate(colour));
    await button("Copy Standard output").click();
    assert.equal(await clipboard(), bytes.toString("utf8"));
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download Standard output" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `${id}-stdout.txt`);
    assert.ok(readFileSync(await download.path()).equals(bytes));
    await button("Search in Standard output").click();
    await page.getByRole("textbox", { name: "Find" }).pressSequentially("red");
    await page.getByRole("textbox", { name: "Find" }).press("Enter");
    await output.locator(".cm-searchMatch-selected").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    const wrap = button("Wrap lines of Standard output");
    assert.equal(await wrap.getAttribute("aria-pressed"), "true");
    await wrap.click();
    assert.equal(await wrap.getAttribute("aria-pressed"), "false");
  });

  await t.test("each message is a link to its line of the source", async () => {
    const code = "int main(void) {\n  int a = x;\n  int b = y;\n}\n";
    const stderr = Buffer.from("\x1b[1mmain.c:2:11:\x1b[0m error: x\nmain.c:3:11: error: y\n");
    await openRun(await ended(ending({ compile: report({ exitCode: 1, stderr }) }), { language: "c", code }));
    const source = box("Source of the program");
    await source.locator(".cm-chosen").getByText("int a").waitFor();
    await box("Messages of the compiler").getByRole("link", { name: "main.c:3:11" }).click();
    await source.locator(".cm-chosen").getByText("int b").waitFor();
    assert.equal(await source.locator(".cm-marked").count(), 2);
  });

  await t.test("hostile output stays bounded and quick", async () => {
    const cpuMs = await pageCpuMs(page);
    for (const stdout of [
      "x".repeat(MIB),
      "\x1b[31mx".repeat(MIB / 6),
      "\u202e\x07".repeat(MIB / 4),
      "\n".repeat(MIB),
    ]) {
      const id = await ended(ending({ execute: report({ stdout: Buffer.from(stdout) }) }));
      const before = await cpuMs();
      await openRun(id);
      await box("Standard output").locator(".cm-line").first().waitFor();
      const took = (await cpuMs()) - before;
      assert.ok(took < 15_000, `${took} ms of CPU time for ${JSON.stringify(stdout.slice(0, 10))}`);
      assert.ok((await box("Standard output").locator("*").count()) < 60_000);
      assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"));
    }
  });

  await t.test("the tab is in the address, also by keyboard", async () => {
    const id = await ended(executed("MLE oom_kill kernel"));
    await openRun(id);
    await page.getByRole("tab", { name: "Why not…" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("table", { name: "Evidence" }).waitFor();
    assert.equal(new URL(page.url()).search, "?tab=evidence");
    await page.reload();
    await page.getByRole("table", { name: "Evidence" }).waitFor();
    await page.getByRole("tab", { name: "Deliveries" }).click();
    await page.getByText("No deliveries").waitFor();
    assert.equal(new URL(page.url()).search, "?tab=deliveries");
  });

  await t.test(
    "live output of a run of the API is followed, keeps its newest part, and stops with the run",
    async () => {
      const id = await send({ stream: true });
      const [claim] = await store.submissions.claim("w", 60_000);
      assert.ok(claim);
      await openRun(id);
      await heading("Running");
      const output = box("Standard output");
      let [n, at] = [0, 0];
      const write = async (text: string) => {
        const bytes = Buffer.from(text);
        await store.live.append(claim.lease, n++, [{ stream: "stdout", at, bytes }]);
        at += bytes.length;
      };
      const numbered = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join("");
      await write(numbered(0, 200));
      await output.getByText("line 199", { exact: true }).waitFor();
      await write(numbered(200, 400));
      await output.getByText("line 399", { exact: true }).waitFor();
      await output.hover();
      await page.mouse.wheel(0, -3_000);
      await button("Follow the end of the output").waitFor();
      await write(numbered(400, 500));
      await page.waitForTimeout(300);
      assert.equal(await output.getByText("line 499", { exact: true }).count(), 0, "a reader is not disturbed");
      await button("Follow the end of the output").click();
      await output.getByText("line 499", { exact: true }).waitFor();
      await write(`${"y".repeat(99)}\n`.repeat(8_000));
      await write("the newest\n");
      await output.getByText("the newest").waitFor();
      await page.getByText("Earlier output is not shown here").waitFor();
      const numbers = page.locator(".cm-lineNumbers .cm-gutterElement");
      assert.ok((await numbers.allTextContents()).includes("8501"), "lines keep their numbers");
      assert.deepEqual(await violations(page), []);
      await button("Stop").click();
      await heading("Cancelled");
      const { json } = await club.running.ask({ path: `/api/result/${id}`, key });
      assert.deepEqual([json.status, json.result.cause], ["error", "cancelled"]);
    },
  );

  await t.test("a run without live output shows how to ask for it", async () => {
    const id = await send();
    await store.submissions.claim("w", 60_000);
    await openRun(id);
    await page.getByText('To see output earlier, submit with "stream": true.').waitFor();
  });

  for (const scheme of ["light", "dark"] as const) {
    await t.test(`${scheme}: axe finds nothing, and no width needs horizontal scrolling`, async () => {
      await page.emulateMedia({ colorScheme: scheme });
      const [, body, outcome] = VERDICTS[1] ?? assert.fail();
      await openRun(await ended(outcome, body));
      await box("Source of the program").locator(".cm-chosen").waitFor();
      assert.deepEqual(await violations(page), []);
      for (const [name, size] of [
        ["phone", PHONE],
        ["tablet", { width: 820, height: 1_100 }],
        ["wide", { width: 1_440, height: 900 }],
      ] as const) {
        await page.setViewportSize(size);
        assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name);
        await screenshot(page, `run-${scheme}-${name}`, true);
      }
      await page.setViewportSize(DESK);
    });
  }

  await t.test("the browser has nothing to complain about", () => assert.deepEqual(complaints, []));
});
