import assert from "node:assert/strict";
import { test } from "node:test";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { divergence } from "../../../src/verdict/metrics.ts";
import { integrity } from "../../../src/verdict/output.ts";
import { report, signalled } from "../../support/verdict/reports.ts";

test("metrics are those of the execute step only", () => {
  const { metrics } = buildOutcome({
    compile: report({ cpuUsec: 9e6 }),
    execute: report({ cpuUsec: 50, wallNs: 100_000 }),
  });
  assert.deepEqual(metrics, { cpuUsec: 50, wallNs: 100_000, memoryPeakBytes: 9_000_000, divergence: null });
  assert.equal(buildOutcome({ compile: report({ exitCode: 1 }) }).metrics, null);
});

test("the memory of a step is the charge of its group plus the kept work directory", () => {
  const { metrics, evidence } = buildOutcome({
    compile: report({ keptBytes: 1 }),
    execute: report({ memoryPeakBytes: 500_000, keptBytes: 28_000_000 }),
  });
  assert.deepEqual([metrics?.memoryPeakBytes, evidence?.limits.memoryPeakBytes], [28_500_000, 28_500_000]);
});

test("compiler output on stdout and stderr goes to stderr", () => {
  const compile = report({ exitCode: 2, stdout: Buffer.from("main.ts(1,1): error\n"), stderr: Buffer.from("note\n") });
  const { output, status } = buildOutcome({ compile });
  assert.equal(status, "completed");
  assert.equal(output?.stdout.toString(), "");
  assert.equal(output?.stderr.toString(), "main.ts(1,1): error\nnote\n");
});

test("an internal error has evidence, but no output and no metrics", () => {
  const outcome = buildOutcome({ execute: report({ controlsMissing: ["x: y"], stdout: Buffer.from("secret") }) });
  assert.equal(outcome.status, "error");
  assert.equal(outcome.output, null);
  assert.equal(outcome.metrics, null);
  assert.deepEqual(outcome.evidence?.isolation.controlsMissing, ["x: y"]);
});

test("a compiled file that cannot be executed is RE; a language runtime that cannot be executed is IE", () => {
  const refused = (object: string) =>
    report({ failure: { step: "exec", object, errno: 2 }, exitCode: null, signal: null });
  const { status, result, metrics, evidence } = buildOutcome({ compile: report(), execute: refused("./main") });
  assert.equal(status, "completed");
  assert.deepEqual([result.verdict, result.cause, result.exitCode], ["RE", "compile_error", 0]);
  assert.equal(metrics, null);
  assert.equal(evidence?.isolation.mode, "strict");
  assert.equal(buildOutcome({ compile: report(), execute: refused("/usr/bin/java") }).result.verdict, "IE");
  assert.equal(buildOutcome({ execute: refused("./main") }).result.verdict, "IE");
});

test("integrity is the first reason for incomplete output", () => {
  const some = Buffer.from("x");
  assert.equal(integrity(report({ stdout: some })), "complete");
  assert.equal(integrity(report({ stdout: some, stdoutSeen: 2, readError: true })), "truncated_by_judge_limit");
  assert.equal(integrity(report({ stderr: some, stderrSeen: 2 })), "truncated_by_judge_limit");
  assert.equal(integrity(signalled(9, { readError: true, killReason: "wall", outputAgeUsec: 0 })), "write_error");
});

test("output that was still arriving at a kill by the judge or the OOM killer is crash_mid_write", () => {
  const age = (outputAgeUsec: number | null) => ({ outputAgeUsec });
  assert.equal(integrity(signalled(9, { killReason: "wall", ...age(20_000) })), "crash_mid_write");
  assert.equal(integrity(signalled(9, { killReason: "wall", ...age(20_001) })), "complete");
  assert.equal(integrity(signalled(9, { killReason: "wall", ...age(null) })), "complete");
  assert.equal(integrity(signalled(9, { oomKills: 1, ...age(1) })), "crash_mid_write");
  assert.equal(integrity(report({ oomKills: 1, ...age(1) })), "complete");
  assert.equal(integrity(signalled(9, age(1))), "complete");
});

test("divergence compares CPU and wall time, unless the host interfered", () => {
  const ran = (cpuUsec: number, wallUsec: number, psiFullUsec: number | null = 0) =>
    divergence(report({ cpuUsec, wallNs: wallUsec * 1000, psiFullUsec }));
  assert.equal(ran(80_000, 100_000), "cpu_bound");
  assert.equal(ran(79_999, 100_000), null);
  assert.equal(ran(20_001, 100_000), null);
  assert.equal(ran(20_000, 100_000), "sleep_or_block_bound");
  assert.equal(ran(99_000, 100_000, 10_000), "host_interference_suspected");
  assert.equal(ran(99_000, 100_000, 9_999), "cpu_bound");
  assert.equal(ran(9_900, 10_000, 4_999), "cpu_bound");
  assert.equal(ran(9_900, 10_000, 5_000), "host_interference_suspected");
  assert.equal(ran(99_000, 100_000, null), "cpu_bound");
  assert.equal(ran(0, 0), null);
});
