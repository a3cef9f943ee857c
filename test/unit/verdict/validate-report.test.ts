import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTROLS } from "../../../src/domain/controls.ts";
import type { StepReport } from "../../../src/domain/report.ts";
import { judgeStep } from "../../../src/verdict/judge.ts";
import { report, signalled, teardown } from "../../support/verdict/reports.ts";

/** Killed at its own memory limit: MLE if the report is valid. */
const killed = (changes: Partial<StepReport> = {}) => report({ exitCode: 1, oomKills: 1, ...changes });
const bySignal = (changes: Partial<StepReport>) => signalled(9, { oomKills: 1, ...changes });

const UNBELIEVABLE: readonly (readonly [string, StepReport, RegExp])[] = [
  ["set-up failed", killed({ failure: { step: "mount", object: "/secret/host/path", errno: "EPERM" } }), /set up/],
  ["a control is missing", killed({ controlsMissing: ["seccomp: 0"] }), /control/],
  ["a control is neither applied nor missing", killed({ controls: CONTROLS.slice(1) }), /control/],
  [
    "a counter could not be read",
    killed({ teardown: teardown({ unreadFacts: ["memory.events: EIO"] }) }),
    /read completely/,
  ],
  ["exit code and signal", killed({ signal: 9 }), /exactly one/],
  ["neither exit code nor signal", killed({ exitCode: null }), /exactly one/],
  ["a negative time", killed({ wallNs: -1 }), /range/],
  ["a time that is not a number", killed({ cpuUsec: Number.NaN }), /range/],
  ["an exit code of 256", killed({ exitCode: 256 }), /range/],
  ["signal 0", killed({ exitCode: null, signal: 0 }), /range/],
  ["signal 65", killed({ exitCode: null, signal: 65 }), /range/],
  ["more kept than seen", killed({ stdoutSeen: 1, stdoutKept: 2, stdout: Buffer.alloc(2) }), /more output was kept/],
  [
    "a captured length that differs from its count",
    killed({ stdoutSeen: 9, stdoutKept: 2, stdout: Buffer.alloc(3) }),
    /another length/,
  ],
  [
    "killed for memory without an OOM kill",
    signalled(9, { killReason: "oom", forksRefused: 1 }),
    /no OOM kill was counted/,
  ],
  ["killed for memory below its own limit", bySignal({ memoryLimitHits: 0 }), /host ran out of memory/],
  ["killed for memory without an OOM event of its group", bySignal({ oomEvents: 0 }), /host ran out of memory/],
  ["refused a process below its own limit", killed({ forksRefused: 1, processPeak: 9 }), /host refused a process/],
  ["kernel signals without a source", killed({ signalSource: "none", fsizeSignals: 1 }), /without a source/],
  ["stopped by the service", bySignal({ killReason: "client" }), /stopped by the service/],
];

test("an invalid report is an internal error with a reason, regardless of its other fields", async (t) => {
  assert.equal(judgeStep(killed()).verdict, "MLE");
  for (const [name, facts, reason] of UNBELIEVABLE) {
    await t.test(name, () => {
      const judgement = judgeStep(facts);
      assert.equal(judgement.verdict, "IE");
      assert.equal(judgement.cause, "internal_error");
      assert.deepEqual([judgement.exitCode, judgement.signal], [null, null]);
      assert.match(judgement.errorMessage ?? "", reason);
      assert.doesNotMatch(judgement.errorMessage ?? "", /\/|EPERM|EIO/);
    });
  }
});

test("leftovers after teardown do not change the verdict", () => {
  const left = teardown({ populated: true, pidsLeft: 2, zombies: 1, residualMounts: ["/box"], groupsLeft: ["a"] });
  assert.equal(judgeStep(report({ teardown: left })).verdict, "AC");
  assert.equal(judgeStep(report({ teardown: left, exitCode: 7 })).verdict, "RE");
});
