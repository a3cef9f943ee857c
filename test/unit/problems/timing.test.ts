import assert from "node:assert/strict";
import { test } from "node:test";
import type { JudgementVerdict } from "../../../src/domain/judgement.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { readExpectations, type SubmissionExpectations } from "../../../src/problems/expectations.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { timeLimit, withTimeLimit } from "../../../src/problems/timing.ts";
import type { LocalResult } from "../../../src/worker/judge-locally.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";

const read = (texts: PackageTexts) => readProblem(toFiles(texts), loadLanguages(LANGUAGES));

/** @param secs CPU time of each test of the package `factors`. */
function resultOf(secs: readonly number[], verdict: JudgementVerdict = "AC"): LocalResult {
  const run = { verdict, share: 1, message: "wrong", wallNs: 0, memoryBytes: 0 };
  const runs = secs.map((cpuSecs, at) => ({ ...run, test: at, cpuUsec: cpuSecs * 1e6 }));
  return { verdict, score: 100, message: null, states: runs.map(() => verdict), runs };
}

test("a test over the time limit has no points, and groups that depend on it are left out", () => {
  const { definition } = read(PACKAGES.factors);
  const all = withTimeLimit(resultOf([0, 0, 0, 0, 0]), definition, 1);
  assert.deepEqual([all.score, all.states], [100, ["AC", "AC", "AC", "AC", "AC"]]);
  const last = withTimeLimit(resultOf([0, 0, 0, 1.5, 0]), definition, 1);
  assert.deepEqual([last.score, last.states], [85, ["AC", "AC", "AC", "TLE", "AC"]]);
  assert.equal(last.runs[3]?.message, null);
  const first = withTimeLimit(resultOf([0, 1.5, 0, 0, 0]), definition, 1);
  assert.deepEqual([first.score, first.states], [0, ["AC", "TLE", "skipped", "skipped", "skipped"]]);
  assert.equal(first.runs.length, 2);
  assert.equal(withTimeLimit(resultOf([9, 9, 9, 9, 9]), definition, null).score, 100);
});

test("a failure of the platform stays IE, also above the time limit", () => {
  const { definition } = read(PACKAGES.factors);
  assert.equal(withTimeLimit(resultOf([9, 9, 9, 9, 9], "IE"), definition, 1).states[0], "IE");
});

test("a time limit that cannot be enforced or is not bounded is a fault", () => {
  const files = toFiles(PACKAGES.factors);
  const problem = {
    ...read(PACKAGES.factors),
    timing: { limitSecs: null, acToLimit: 2, limitToTle: 1.5, resolutionSecs: 0.5 },
  };
  const about: SubmissionExpectations = readExpectations(files, "2025-09")("accepted/search.cpp");
  const limit = (secs: number, verdict?: JudgementVerdict) =>
    timeLimit(problem, [{ path: "a", about, result: resultOf([secs], verdict) }], 4);
  assert.deepEqual(limit(0.6), { limitSecs: 1.5, faults: [], hints: [] });
  assert.deepEqual(limit(2.1), {
    limitSecs: 4.5,
    faults: ["the time limit of 4.5 s is above the 4 s that this service permits: a takes 2.10 s"],
    hints: [],
  });
  assert.deepEqual(limit(4, "TLE"), { limitSecs: null, faults: ["a takes more than 4 s"], hints: [] });
  const none = timeLimit(problem, [{ path: "a", about: { expectations: [] }, result: resultOf([1]) }], 4);
  assert.deepEqual(none, { limitSecs: null, faults: ["no submission bounds the time limit from below"], hints: [] });
});

test("the time of a program that its interactor has rejected does not count", () => {
  const files = toFiles(PACKAGES.factors);
  const about = readExpectations(files, "2025-09")("wrong_answer/loops.cpp");
  const problem = read(PACKAGES.factors);
  const interactor = { type: "program", interface: "kattis", language: "python", args: [], interactive: true } as const;
  const timing = { limitSecs: null, acToLimit: 2, limitToTle: 1.5, resolutionSecs: 0.5 };
  const limit = (definition: typeof problem.definition) =>
    timeLimit({ ...problem, definition, timing }, [{ path: "a", about, result: resultOf([4], "WA") }], 4).limitSecs;
  const { tests } = problem.definition;
  assert.equal(limit(problem.definition), 8);
  const interactive = {
    ...problem.definition,
    checker: interactor,
    tests: tests.map(({ checker: _, ...test }) => test),
  };
  assert.equal(limit(interactive), 0.5);
  const stateOf = (definition: typeof problem.definition) =>
    withTimeLimit(resultOf([4], "WA"), definition, 1).states[0];
  assert.deepEqual([stateOf(problem.definition), stateOf(interactive)], ["TLE", "WA"]);
});

test("only the format 2025-09 wants slow submissions to be slower than the limit by a factor", () => {
  const files = toFiles(PACKAGES.factors);
  const expectations = readExpectations(files, "2025-09");
  const timed = [
    { path: "fast", about: expectations("accepted/search.cpp"), result: resultOf([1]) },
    { path: "slow", about: expectations("time_limit_exceeded/slow.cpp"), result: resultOf([2.5]) },
  ];
  const timing = { limitSecs: 2, acToLimit: 2, limitToTle: 1.5, resolutionSecs: 0.5 };
  const between = [
    "with a time limit of 2 s, a submission that is too slow must take at least 3 s, but slow takes 2.50 s",
  ];
  const limit = (format: "legacy" | "2025-09") => timeLimit({ ...read(PACKAGES.factors), timing, format }, timed, 4);
  assert.deepEqual(limit("2025-09"), { limitSecs: 2, faults: between, hints: [] });
  assert.deepEqual(limit("legacy"), { limitSecs: 2, faults: [], hints: between });
});
