import assert from "node:assert/strict";
import { test } from "node:test";
import { timeline } from "../../../../src/domain/explain/timeline.ts";
import type { RunStats } from "../../../../src/domain/outcome.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import type { Plan } from "../../../../src/worker/plan.ts";
import { runStats } from "../../../../src/worker/run-stats.ts";
import { ended, START_MS } from "../../../support/domain/explain/records.ts";
import { LIMITS } from "../../../support/sandbox/steps.ts";
import { report } from "../../../support/verdict/reports.ts";

const PLAN = { execute: { limits: LIMITS } } as Plan;

test("spans follow one another from acceptance", () => {
  const steps = {
    compile: report({ wallNs: 180_000_000, spentMs: { run: 200, teardown: 4.04 } }),
    execute: report({ wallNs: 16_000_000, spentMs: { run: 30.26, teardown: 5 } }),
  };
  assert.deepEqual(timeline(ended({ ...buildOutcome(steps), runStats: runStats(steps, PLAN) }), 0), [
    { step: "queue", phase: "wait", startMs: 0, ms: 1_500 },
    { step: "compile", phase: "set-up", startMs: 1_500, ms: 20 },
    { step: "compile", phase: "run", startMs: 1_520, ms: 180 },
    { step: "compile", phase: "teardown", startMs: 1_700, ms: 4 },
    { step: "execute", phase: "set-up", startMs: 1_704, ms: 14.3 },
    { step: "execute", phase: "run", startMs: 1_718.3, ms: 16 },
    { step: "execute", phase: "teardown", startMs: 1_734.3, ms: 5 },
  ]);
});

test("a step of an old record is drawn whole, and one of an interaction by its whole time", () => {
  const execute = report({ spentMs: { run: 30, teardown: 5 } });
  const { wallMs: _, ...old } = runStats({ execute }, PLAN).execute ?? assert.fail();
  const phases = (course: RunStats) =>
    timeline(ended({ ...buildOutcome({ execute }), runStats: course }), 0).map(
      ({ step, phase, ms }) => `${step} ${phase} ${ms}`,
    );
  const expected = ["queue wait 1500", "compile whole 204", "execute whole 30", "execute teardown 5"];
  assert.deepEqual(phases({ compileMs: 204, execute: old }), expected);
  const pair = runStats({ execute: { ...execute, wallNs: 8e6, elapsedNs: 12e6, endedFirst: true } }, PLAN);
  const [queue, compile, , teardown] = expected;
  const [setUp, run] = ["execute set-up 18", "execute run 12"];
  assert.deepEqual(phases({ ...pair, compileMs: 204 }), [queue, compile, setUp, run, teardown]);
});

test("omits missing steps: of a program that does not compile, an old record, a pending submission", () => {
  const compile = report({ exitCode: 1 });
  const names = (...args: Parameters<typeof timeline>) =>
    timeline(...args).map(({ step, phase }) => `${step} ${phase}`);
  assert.deepEqual(names(ended({ ...buildOutcome({ compile }), runStats: runStats({ compile }, PLAN) }), 0), [
    "queue wait",
    "compile set-up",
    "compile run",
    "compile teardown",
  ]);
  assert.deepEqual(names(ended(buildOutcome({ execute: report() })), 0), ["queue wait"]);
  const waiting = { ...ended(buildOutcome({ execute: report() })), startedAtMs: null, outcome: null };
  assert.deepEqual(timeline(waiting, START_MS + 700), [{ step: "queue", phase: "wait", startMs: 0, ms: 700 }]);
});
