import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome } from "../../../src/domain/outcome.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import { decodeProgress, encodeProgress, type Progress } from "../../../src/domain/progress.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { type Repeated, repeat } from "../../../src/worker/repeat.ts";
import { type CompileCache, runSteps } from "../../../src/worker/run-steps.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { report } from "../../support/verdict/reports.ts";

const NOTHING_KEPT: CompileCache = { owner: "", get: () => undefined, put: () => {} };
const ran = (stdout: string, more: Parameters<typeof report>[0] = {}) =>
  buildOutcome({ execute: report({ stdout: Buffer.from(stdout), ...more }) });
const AMOUNTS = [
  { cpuUsec: 10_000, memoryPeakBytes: 1_000_000, wallNs: 1_000_000 },
  { cpuUsec: 20_000, memoryPeakBytes: 3_000_000, wallNs: 2_000_000 },
  { cpuUsec: 60_000, memoryPeakBytes: 2_000_000, wallNs: 3_000_000 },
] as const;

const ALONE = {
  progress: null,
  cache: NOTHING_KEPT,
  mayContinue: async () => true,
  signal: new AbortController().signal,
};

/** Accepts runs with the verdict AC and this output; null for any output. */
const accepts =
  (expected: string | null) =>
  ({ result, output }: Outcome) =>
    result.verdict === "AC" && (expected === null || output?.stdout.toString() === `${expected}\n`);

async function outcomeOf(outcomes: readonly Outcome[], expected: string | null, signal = new AbortController().signal) {
  let runs = 0;
  const { outcome, ...more } = await repeat({
    ...ALONE,
    runs: outcomes.length,
    isAccepted: accepts(expected),
    runOnce: async () => outcomes[runs++] as Outcome,
    signal,
  });
  assert.deepEqual(more, {});
  return { outcome, runs };
}

test("time and memory are the means of the runs, everything else is of the last one", async () => {
  for (const expected of [null, "1"]) {
    const outcomes = AMOUNTS.map((amounts) => ran("1\n", amounts));
    const { outcome, runs } = await outcomeOf(outcomes, expected);
    assert.equal(runs, 3);
    assert.deepEqual(outcome, { ...outcomes[2], means: { cpuUsec: 30_000, memoryPeakBytes: 2_000_000, runs: 3 } });
  }
});

test("the first run that is not accepted decides, and is the last", async () => {
  const [first, , third] = AMOUNTS.map((amounts) => ran("1\n", amounts));
  assert.ok(first && third);
  for (const [bad, expected] of [
    [ran("2\n", AMOUNTS[1]), "1"],
    [ran("1\n", { ...AMOUNTS[1], exitCode: 3 }), null],
    [ran("1\n", { ...AMOUNTS[1], exitCode: null, signal: 9, oomKills: 1 }), "1"],
  ] as const) {
    const { outcome, runs } = await outcomeOf([first, bad, third], expected);
    assert.equal(runs, 2);
    assert.deepEqual(outcome, { ...bad, means: { cpuUsec: 15_000, memoryPeakBytes: 2_000_000, runs: 2 } });
  }
  const failed = internalError("the slot was lost");
  assert.deepEqual(await outcomeOf([first, failed, third], null), { outcome: failed, runs: 2 });
});

test("different output is accepted if none is expected", async () => {
  const { outcome, runs } = await outcomeOf([ran("1"), ran("2")], null);
  assert.deepEqual([outcome.output?.stdout.toString(), runs], ["2", 2]);
});

test("no further run begins when the result is not needed any more", async () => {
  assert.equal((await outcomeOf([ran("1"), ran("1")], null, AbortSignal.abort())).runs, 1);
});

test("a program is compiled once, also if no artifacts are kept", async () => {
  const steps: string[] = [];
  const plan = { compile: shell("compile"), execute: shell("execute") };
  const slot = {
    run: async (step: typeof plan.compile) => {
      const isCompile = step === plan.compile;
      steps.push(isCompile ? "compile" : "execute");
      return { ...report(), ...(isCompile && { files: [{ name: "main", data: Buffer.from("x") }] }) };
    },
  };
  const runOnce = async (cache: CompileCache) => buildOutcome(await runSteps(slot, plan, { cache }));
  await repeat({ ...ALONE, runs: 3, isAccepted: accepts(null), runOnce });
  assert.deepEqual(steps, ["compile", "execute", "execute", "execute"]);
});

test("between two runs it gives up the slot, and a later claim continues as if it had not", async () => {
  const outcomes = [...AMOUNTS, ...AMOUNTS].map((amounts) => ran("1\n", amounts));
  const together = await outcomeOf(outcomes, "1");
  let ranInAll = 0;
  const claims: number[] = [];
  let progress: Progress | null = null;
  for (;;) {
    const first = ranInAll;
    // Two runs in each claim: the second question is answered with no.
    let asked = 0;
    const repeated: Repeated = await repeat({
      ...ALONE,
      runs: outcomes.length,
      isAccepted: accepts("1"),
      progress: progress && decodeProgress(encodeProgress(progress)),
      runOnce: async () => outcomes[ranInAll++] as Outcome,
      mayContinue: async () => ++asked < 2,
    });
    claims.push(ranInAll - first);
    if (!("progress" in repeated)) {
      assert.deepEqual(repeated.outcome, together.outcome);
      break;
    }
    progress = repeated.progress;
    assert.equal(progress.runs, ranInAll);
  }
  assert.deepEqual(claims, [2, 2, 2]);
});
