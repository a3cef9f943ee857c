import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plan } from "../../../src/worker/plan.ts";
import { runStats } from "../../../src/worker/run-stats.ts";
import { LIMITS } from "../../support/sandbox/steps.ts";
import { report } from "../../support/verdict/reports.ts";

const PLAN = { execute: { limits: LIMITS } } as Plan;

test("contains the time and output size of each step, and the limits that the evidence lacks", () => {
  const execute = report({
    spentMs: { run: 100.04, teardown: 2.26 },
    processPeak: 7,
    stdoutSeen: 5,
    stderrSeen: 6,
  });
  assert.deepEqual(runStats({ compile: report({ spentMs: { run: 50, teardown: 5 } }), execute }, PLAN), {
    compileMs: 55,
    compile: { wallMs: 20, teardownMs: 5 },
    execute: {
      runMs: 100,
      wallMs: 20,
      teardownMs: 2.3,
      processesPeak: 7,
      stdoutBytes: 5,
      stderrBytes: 6,
      limits: {
        wallMs: LIMITS.wallMs,
        cpuMs: LIMITS.cpuMs,
        stdoutBytes: LIMITS.stdoutBytes,
        stderrBytes: LIMITS.stderrBytes,
      },
    },
  });
});

test("a missing step has no time", () => {
  assert.deepEqual(runStats({ compile: report() }, PLAN), {
    compileMs: 28,
    compile: { wallMs: 20, teardownMs: 3 },
    execute: null,
  });
  const kept = runStats({ compile: report(), compileCached: true, execute: report({ elapsedNs: 90_000_000 }) }, PLAN);
  assert.deepEqual([kept.compileMs, kept.compile, kept.execute?.wallMs], [null, undefined, 90]);
});
