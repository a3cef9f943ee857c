import assert from "node:assert/strict";
import { test } from "node:test";
import { timeline } from "../../../../src/domain/explain/timeline.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import type { Plan } from "../../../../src/worker/plan.ts";
import { runStats } from "../../../../src/worker/run-stats.ts";
import { ended, START_MS } from "../../../support/domain/explain/records.ts";
import { LIMITS } from "../../../support/sandbox/steps.ts";
import { report } from "../../../support/verdict/reports.ts";

const PLAN = { execute: { limits: LIMITS } } as Plan;

test("spans follow one another from acceptance", () => {
  const steps = {
    compile: report({ spentMs: { run: 200, teardown: 4.04 } }),
    execute: report({ spentMs: { run: 30.26, teardown: 5 } }),
  };
  assert.deepEqual(timeline(ended({ ...buildOutcome(steps), course: runStats(steps, PLAN) }), 0), [
    { name: "queued", startMs: 0, ms: 1_500 },
    { name: "compile", startMs: 1_500, ms: 204 },
    { name: "run", startMs: 1_704, ms: 30.3 },
    { name: "teardown", startMs: 1_734.3, ms: 5 },
  ]);
});

test("omits missing steps: of a program that does not compile, an old record, a pending submission", () => {
  const compile = report({ exitCode: 1 });
  const names = (...args: Parameters<typeof timeline>) => timeline(...args).map(({ name }) => name);
  assert.deepEqual(names(ended({ ...buildOutcome({ compile }), course: runStats({ compile }, PLAN) }), 0), [
    "queued",
    "compile",
  ]);
  assert.deepEqual(names(ended(buildOutcome({ execute: report() })), 0), ["queued"]);
  const waiting = { ...ended(buildOutcome({ execute: report() })), startedAtMs: null, outcome: null };
  assert.deepEqual(timeline(waiting, START_MS + 700), [{ name: "queued", startMs: 0, ms: 700 }]);
});
