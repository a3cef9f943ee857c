import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_OUTPUT_BYTES as stdoutBytes } from "../../../src/domain/ceilings.ts";
import { MAX_CHECKED_BYTES, type ProgramChecker } from "../../../src/domain/check.ts";
import type { Language } from "../../../src/domain/language.ts";
import { MODE_DIRECTORY } from "../../../src/domain/report.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { MAX_STEP_BYTES, type Step } from "../../../src/sandbox/step.ts";
import { prepareInteraction, runChecker } from "../../../src/worker/program-checker.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { report } from "../../support/verdict/reports.ts";

const languages = loadLanguages(LANGUAGES);
const python = languages.resolve("python") as Language;
const limits = languages.limitsFor(python, "judge");
const NOTHING = Buffer.alloc(0);
const KEPT = { owner: "a", get: () => undefined, put: () => {} };

/** A checker in Python, whose code fills its box up to `freeBytes` besides the files of the largest test. */
function checkerWith(freeBytes: number, spec: Partial<ProgramChecker> = {}) {
  const names = ["main.py", "judge/input", "judge/answer", "feedback/placeholder"];
  if (spec.interface === "testlib" && !spec.interactive) names.push("judge/output");
  const others = names.join("").length + MAX_CHECKED_BYTES;
  return {
    spec: { type: "program", interface: "kattis", language: "python", args: [], ...spec } as const,
    language: python,
    limits,
    program: { code: Buffer.alloc(MAX_STEP_BYTES - others - freeBytes, " "), stdin: NOTHING },
  };
}

const testWith = (output: Buffer | null) => ({
  ...{ input: Buffer.alloc(MAX_CHECKED_BYTES / 2), answer: Buffer.alloc(MAX_CHECKED_BYTES / 2) },
  ...{ output, points: null, feedback: [], submission: { language: "c", source: NOTHING }, run: null },
});

/** @returns the verdict of a checker that accepts, and how often it ran. */
async function checked(freeBytes: number, outputBytes: number, called: ProgramChecker["interface"]) {
  const steps: Step[] = [];
  const slot = {
    run: async (step: Step) => {
      steps.push(step);
      const files = [{ name: "feedback/placeholder", data: NOTHING }];
      return called === "kattis" ? report({ exitCode: 42, files }) : report({ stderr: Buffer.from("ok\n") });
    },
  };
  const program = checkerWith(freeBytes, { interface: called });
  const { verdict } = await runChecker(slot, program, testWith(Buffer.alloc(outputBytes)), KEPT);
  return [verdict, steps.length];
}

for (const called of ["kattis", "testlib"] as const)
  test(`the length of an output does not decide whether a ${called} checker can run`, async () => {
    for (const outputBytes of [0, 1, stdoutBytes - 1, stdoutBytes]) {
      assert.deepEqual(await checked(stdoutBytes, outputBytes, called), ["AC", 1], `${outputBytes} bytes that fit`);
      assert.deepEqual(await checked(stdoutBytes - 1, outputBytes, called), ["IE", 0], `${outputBytes} bytes`);
    }
  });

test("an interactor needs no space for an output, which it reads from the program", async () => {
  const slot = { run: () => assert.fail("no step of its own"), runPair: () => assert.fail("not yet") };
  const prepared = async (freeBytes: number) => {
    const program = checkerWith(freeBytes, { interface: "testlib", interactive: true });
    const interaction = await prepareInteraction(slot, program, testWith(null), KEPT);
    return "verdict" in interaction ? interaction.verdict : "can run";
  };
  assert.deepEqual([await prepared(0), await prepared(-1)], ["can run", "IE"]);
});

test("only a file asks for another pass", async () => {
  const program = checkerWith(stdoutBytes, { passes: 2 });
  const asks = async (mode: number) => {
    const files = [
      { name: "feedback/placeholder", data: NOTHING },
      { name: "feedback/nextpass.in", data: NOTHING, mode },
    ];
    const slot = { run: async () => report({ exitCode: 42, files }) };
    return (await runChecker(slot, program, testWith(NOTHING), KEPT)).next !== undefined;
  };
  assert.deepEqual([await asks(0o644), await asks(MODE_DIRECTORY | 0o755)], [true, false]);
});

test("an accepting checker whose feedback directory is not known has failed, and the message has the reason", async () => {
  const program = checkerWith(stdoutBytes, { passes: 2 });
  const ends = async (more: Parameters<typeof report>[0]) => {
    const slot = { run: async () => report({ exitCode: 42, ...more }) };
    const { verdict, message } = await runChecker(slot, program, testWith(NOTHING), KEPT);
    return `${verdict} ${message}`;
  };
  assert.match(await ends({ survivors: 1 }), /^IE the feedback directory .* a process that it started still ran/);
  assert.match(await ends({}), /^IE the feedback directory .* is empty .* control characters/);
  // Files without the placeholder are all that it has.
  const files = [{ name: "feedback/log", data: NOTHING }];
  assert.equal(await ends({ files }), "AC null");
  // The failure is not hidden by the wish for another pass.
  const points = { name: "feedback/score.txt", data: Buffer.from("1") };
  assert.match(await ends({ files: [points, { name: "feedback/nextpass.in", data: NOTHING }] }), /^IE .* gives points/);
});
