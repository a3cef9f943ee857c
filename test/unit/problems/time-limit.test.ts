import assert from "node:assert/strict";
import { test } from "node:test";
import type { JudgementVerdict } from "../../../src/domain/judgement.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { readExpectations } from "../../../src/problems/expectations.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { timeLimit, withTimeLimit } from "../../../src/problems/time-limit.ts";
import type { LocalResult } from "../../../src/worker/judge-locally.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { PACKAGES, toFiles } from "../../support/problems/packages.ts";

const languages = loadLanguages(LANGUAGES);
const factors = readProblem(toFiles(PACKAGES.factors), languages);

/** The result of a submission whose tests took these seconds. */
function resultOf(secs: readonly number[], verdicts: readonly JudgementVerdict[] = []): LocalResult {
  const runs = secs.map((one, test) => {
    const verdict = verdicts[test] ?? "AC";
    const measured = { cpuUsec: one * 1e6, wallNs: null, memoryBytes: null };
    return { test, verdict, share: verdict === "AC" ? 1 : 0, message: null, ...measured };
  });
  return { verdict: "AC", score: 100, states: runs.map(({ verdict }) => verdict), runs };
}

test("tests that take longer than the time limit have no points", () => {
  const { runs, score, scores } = withTimeLimit(factors, resultOf([0, 0, 0, 1.5, 0]), 1);
  assert.deepEqual(
    runs.map(({ verdict }) => verdict),
    ["AC", "AC", "AC", "TLE", "AC"],
  );
  assert.equal(score, 85);
  assert.equal(scores.get("secret/2-sum"), 15);
  assert.equal(withTimeLimit(factors, resultOf([0, 0, 0, 1.5, 0]), 2).score, 100);
  assert.equal(withTimeLimit(factors, resultOf([0, 0, 0, 1.5, 0]), null).score, 100);
});

test("groups that depend on a test that takes longer than the time limit are not run", () => {
  const { runs, score } = withTimeLimit(factors, resultOf([0, 1.5, 0, 0, 0]), 1);
  assert.deepEqual(
    runs.map(({ test, verdict }) => [test, verdict]),
    [
      [0, "AC"],
      [1, "TLE"],
    ],
  );
  assert.equal(score, 0);
});

test("a time limit that cannot be enforced is a fault", () => {
  const files = toFiles(PACKAGES.sum);
  const problem = readProblem(files, languages);
  const source = { path: "submissions/accepted/slow.py", files: new Map() };
  const about = readExpectations(files, "legacy")("accepted/slow.py");
  const measured = [{ source, about, result: resultOf([0, 1.2, 0]) }];
  assert.deepEqual(timeLimit(problem, measured, 4), {
    limitSecs: 6,
    faults: ["the time limit of 6 s is above 4 s of the profile judge: submissions/accepted/slow.py takes 1.20 s"],
  });
  assert.deepEqual(timeLimit(problem, measured, 6).faults, []);
});
