import assert from "node:assert/strict";
import { test } from "node:test";
import type { StepReport } from "../../src/domain/report.ts";
import { judgeStep } from "../../src/verdict/judge.ts";
import { report, signalled, teardown } from "./reports.ts";

const UNBELIEVABLE: readonly [string, StepReport][] = [
  ["set-up failed", report({ failure: { step: "mount", object: "/secret/host/path", errno: "EPERM" } })],
  ["a control is missing", report({ controlsMissing: ["seccomp: 0"] })],
  ["a counter could not be read", report({ teardown: teardown({ collectionErrors: ["memory.events: EIO"] }) })],
  ["exit code and signal", report({ signal: 9 })],
  ["neither exit code nor signal", report({ exitCode: null })],
  ["a negative time", report({ wallNs: -1 })],
  ["a time that is no number", report({ cpuUsec: Number.NaN })],
  ["an exit code of 256", report({ exitCode: 256 })],
  ["signal 0", signalled(0)],
  ["signal 65", signalled(65)],
  ["more kept than seen", report({ stdoutSeen: 1, stdoutKept: 2, stdout: Buffer.alloc(2) })],
  ["a captured length that differs from its count", report({ stdoutSeen: 9, stdoutKept: 2, stdout: Buffer.alloc(3) })],
  ["killed for memory without an OOM kill", signalled(9, { killReason: "oom" })],
  ["killed for memory below its own limit", signalled(9, { oomKills: 1, memoryLimitHits: 0 })],
  ["killed for memory, and its group was never out of it", signalled(9, { oomKills: 1, oomEvents: 0 })],
  ["refused a process below its own limit", report({ exitCode: 1, pidsRefused: 1, pidsPeak: 9 })],
  ["kernel signals without a source", report({ signalSource: "none", fsizeSignals: 1 })],
  ["stopped by the service", signalled(9, { killReason: "client" })],
];

test("a report that cannot be believed is an internal error, whatever else it says", async (t) => {
  for (const [name, facts] of UNBELIEVABLE) {
    await t.test(name, () => {
      const judgement = judgeStep({ ...facts, oomKills: facts.killReason === "oom" ? 0 : 1 });
      assert.equal(judgement.verdict, "IE");
      assert.equal(judgement.cause, "internal_error");
      assert.deepEqual([judgement.exitCode, judgement.signal], [null, null]);
      assert.doesNotMatch(judgement.errorMessage ?? "", /\/|EPERM|EIO/);
    });
  }
});

test("leftovers after teardown do not change the verdict", () => {
  const left = teardown({ populated: true, pidsLeft: 2, zombies: 1, residualMounts: ["/box"], groupsLeft: ["a"] });
  assert.equal(judgeStep(report({ teardown: left })).verdict, "AC");
  assert.equal(judgeStep(report({ teardown: left, exitCode: 7 })).verdict, "RE");
});
