import assert from "node:assert/strict";
import { test } from "node:test";
import type { StepReport } from "../../../src/domain/report.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { report, signalled } from "../../support/verdict/reports.ts";

const compile = shell("compile", { more: true });
const execute = shell("execute", { work: "keep" });
const CONTRADICTORY = { exitCode: 0, signal: 9 };

/** A fake slot that returns these reports in order and records the steps. */
function slot(...reports: readonly StepReport[]) {
  const left = [...reports];
  const steps: Step[] = [];
  return {
    steps,
    async run(step: Step): Promise<StepReport> {
      steps.push(step);
      const next = left.shift();
      if (!next) throw new Error("the slot is gone");
      return next;
    },
  };
}

test("runs a single step, regardless of its result", async () => {
  for (const end of [report(), report({ exitCode: 1 }), signalled(11)]) {
    const fake = slot(end);
    assert.deepEqual(await runSteps(fake, { execute }), { execute: end });
    assert.deepEqual(fake.steps, [execute]);
  }
});

test("runs the program on the same slot after a successful compile step", async () => {
  const [compiled, executed] = [report(), report({ exitCode: 3 })];
  const fake = slot(compiled, executed);
  assert.deepEqual(await runSteps(fake, { compile, execute }), { compile: compiled, execute: executed });
  assert.deepEqual(fake.steps, [compile, execute]);
});

for (const [name, end, verdict, cause] of [
  ["exits 1", report({ exitCode: 1 }), "RE", "compile_error"],
  ["dies of a signal", signalled(11), "RE", "compile_error"],
  ["takes too long", signalled(9, { killReason: "wall" }), "TLE", "compile_wall_timeout"],
  ["uses up its CPU time", signalled(9, { killReason: "cpu" }), "TLE", "compile_cpu_timeout"],
  ["is killed for its memory", signalled(9, { oomKills: 1 }), "MLE", "compile_oom_kill"],
  ["was refused a process", report({ exitCode: 1, forksRefused: 1 }), "PLE", "compile_pids_limit"],
  ["writes too large a file", report({ exitCode: 1, fsizeSignals: 1 }), "FSE", "compile_file_size_limit"],
  ["cannot be set up", report({ failure: { step: "mount", object: "/box", errno: 12 } }), "IE", "internal_error"],
  ["has a contradictory report", report(CONTRADICTORY), "IE", "internal_error"],
] as const) {
  test(`a compiler that ${name} is ${verdict}, and the program does not run`, async () => {
    const fake = slot(end, report());
    const reports = await runSteps(fake, { compile, execute });
    assert.deepEqual(reports, { compile: end });
    assert.deepEqual(fake.steps, [compile]);
    const { result } = buildOutcome(reports);
    assert.deepEqual([result.verdict, result.cause], [verdict, cause]);
  });
}

test("a compiler that succeeds despite refused forks and remaining processes is accepted", async () => {
  const fake = slot(report({ forksRefused: 2, survivors: 1 }), report());
  assert.deepEqual(Object.keys(await runSteps(fake, { compile, execute })), ["compile", "execute"]);
});

test("throws when the slot is lost in either step", async () => {
  await assert.rejects(runSteps(slot(), { execute }), /the slot is gone/);
  await assert.rejects(runSteps(slot(), { compile, execute }), /the slot is gone/);
  await assert.rejects(runSteps(slot(report()), { compile, execute }), /the slot is gone/);
});
