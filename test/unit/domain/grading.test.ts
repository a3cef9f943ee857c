import assert from "node:assert/strict";
import { test } from "node:test";
import { grade, needsGrader, type RunGrader, totalOfGrading } from "../../../src/domain/grading.ts";
import { type Definition, decodeStates, groupScores, totalOf } from "../../../src/domain/judgement.ts";
import type { Outcome } from "../../../src/domain/outcome.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { report } from "../../support/verdict/reports.ts";

/** A group that a grader grades, with a group of its own, and a group that it does not grade. */
const DEFINITION: Definition = {
  checker: { type: "lines" },
  grader: { language: "python" },
  groups: [
    { name: "graded", rule: "sum", depends: [], grader: ["best", "2"], passes: "always", most: 50 },
    { name: "inner", rule: "sum", depends: [], parent: "graded" },
    { name: "plain", rule: "least", depends: [] },
  ],
  tests: ["inner", "inner", "graded", "plain", "plain"].map((group, at) => ({
    name: String(at),
    group,
    points: 10 * (at + 1),
    limits: {},
  })),
};

const ended = (states: string, shares: readonly number[] = [...states].map((one) => (one === "A" ? 1 : 0))) => ({
  definition: DEFINITION,
  states: decodeStates(states),
  shares,
});

const NO_TIME = () => 0;

const wrote = (stdout: string, more: Parameters<typeof report>[0] = {}): Outcome =>
  buildOutcome({ execute: report({ stdout: Buffer.from(stdout), ...more }) });

test("a grader gets the results of the parts of its group, and makes one of them", async () => {
  const calls: unknown[] = [];
  const run: RunGrader = async (args, input) => {
    calls.push([args, String(input)]);
    return wrote("AC  42.5\n");
  };
  const { grading, outcome } = await grade(ended("AWAAA"), run, NO_TIME);
  // The inner group is not accepted, and the grader gets what its tests earned.
  assert.deepEqual(calls, [[["best", "2"], "WA 10\nAC 30\n"]]);
  assert.equal(outcome?.result.verdict, "AC");
  assert.deepEqual(grading, {
    groups: {
      graded: { verdict: "AC", score: 42.5 },
      inner: { verdict: "WA", score: 10 },
      plain: { verdict: "AC", score: 40 },
    },
    fault: null,
  });
  assert.deepEqual(totalOfGrading(DEFINITION, grading), { verdict: "AC", score: 82.5 });
  const { states, shares } = ended("AWAAA");
  const scores = groupScores(DEFINITION, states, shares, grading);
  assert.deepEqual(
    scores.map(({ name, score, maxScore, passed }) => [name, score, maxScore, passed]),
    [
      ["graded", 42.5, 50, true],
      ["inner", 10, 30, false],
      ["plain", 40, 40, true],
    ],
  );
  assert.deepEqual(totalOf(scores), { score: 82.5, maxScore: 90 });
});

test("a grader that gives no result is a fault with its reason", async () => {
  const crashed = { exitCode: 1, stderr: Buffer.from("Traceback\0: \uD83D no\n") };
  for (const [end, message] of [
    [wrote("AC 1\n", crashed), /^the grader ends as RE for graded: .*: Traceback\uFFFD: . no$/],
    [wrote(""), /^the grader writes no verdict with a score for graded: $/],
    [wrote("perhaps 1\n"), /writes no verdict with a score for graded: perhaps 1/],
    [wrote("AC 1\nAC 2\n"), /writes no verdict with a score/],
    [wrote("AC -1\n"), /^the grader gives -1 points for graded, not 0 to 1000000$/],
    [wrote("AC 1000001\n"), /^the grader gives 1000001 points/],
    [wrote(`AC ${"9".repeat(500)}\n`), /writes no verdict with a score/],
    [wrote("JE 0\n"), /^the grader gives the verdict JE$/],
  ] as const) {
    const { grading } = await grade(ended("AAAAA"), async () => end, NO_TIME);
    assert.match(grading.fault ?? "", message);
  }
});

test("a grader is needed only if one of its groups has a result, and no failure of the judge decides", () => {
  const needed = (states: string) => needsGrader(ended(states));
  assert.deepEqual(["AAAAA", "WsAAA", "sssAA", "sssss", "IAAAA", "Cssss"].map(needed), [
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
  const { grader: _, ...plain } = DEFINITION;
  assert.equal(needsGrader({ definition: plain, states: decodeStates("AAAAA") }), false);
});

test("no further run of a grader begins when all of them have taken long", async () => {
  const groups = DEFINITION.groups.map((group) => ({ ...group, grader: [group.name] }));
  const calls: (string | undefined)[] = [];
  let nowMs = 5_000;
  // The programs themselves take no time: their compile steps do.
  const run: RunGrader = async ([name]) => {
    calls.push(name);
    nowMs += 35_000;
    return wrote("AC 1\n");
  };
  const { grading } = await grade({ ...ended("AAAAA"), definition: { ...DEFINITION, groups } }, run, () => nowMs);
  assert.deepEqual(calls, ["inner", "graded"]);
  assert.equal(grading.fault, "the grader takes more than 60 s for all groups");
});
