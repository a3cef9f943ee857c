import assert from "node:assert/strict";
import { test } from "node:test";
import type { JudgementVerdict } from "../../../src/domain/judgement.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { compare } from "../../../src/problems/compare.ts";
import { expected, matcher } from "../../../src/problems/expectations.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { readSubmissions, readVerifiable } from "../../../src/problems/submissions.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { PACKAGES, type PackageTexts, toFiles } from "../../support/problems/packages.ts";

const languages = loadLanguages(LANGUAGES);
const read = (texts: PackageTexts) => {
  const files = toFiles(texts);
  const problem = readProblem(files, languages);
  return { problem, submissions: readSubmissions(files, problem, languages) };
};

/** Compares results of the tests of the package `factors` with the expectations of one of its submissions. */
function compared(path: string, verdicts: readonly JudgementVerdict[], share = 1, message = "not its factors") {
  const { problem, submissions } = read(PACKAGES.factors);
  const { about } = submissions.find((one) => one.path === path) ?? assert.fail(path);
  const runs = verdicts.map((verdict, at) => ({
    // The second test is in a group without parts of points.
    ...{ test: at, verdict, share: verdict !== "AC" ? 0 : at === 1 ? 1 : share, message },
    ...{ cpuUsec: at * 1_000, wallNs: 0, memoryBytes: 0 },
  }));
  return compare(path, about.expectations, runs, problem.definition, null);
}

test("a partially accepted submission should have points, and not all of them", () => {
  const { problem } = read(PACKAGES.factors);
  const scored = (verdict: JudgementVerdict, share: number) => {
    const run = { verdict, share, message: null, cpuUsec: 1_000, wallNs: 0, memoryBytes: 0 };
    const runs = problem.definition.tests.map((_, test) => ({ ...run, test }));
    const { faults, hints } = compare("submissions/partially_accepted/a.py", [], runs, problem.definition, null);
    return { faults, hints };
  };
  assert.deepEqual(scored("AC", 1), { faults: [], hints: ["the score 100 is not between 0 and 100"] });
  assert.deepEqual(scored("WA", 0), { faults: [], hints: ["the score 0 is not between 0 and 100"] });
});

test("a submission is compared with the verdicts, the score and the message that the package expects", () => {
  const all = ["AC", "AC", "AC", "AC", "AC"] as const;
  const search = "submissions/accepted/search.cpp";
  assert.deepEqual(compared(search, all), { verdict: "AC", score: 100, slowestSecs: 0.004, faults: [], hints: [] });
  assert.deepEqual(compared(search, all, 0.5).faults, ["the score 65 is not 100"]);
  assert.deepEqual(compared(search, ["AC", "AC", "TLE", "AC", "AC"]).faults, [
    "TLE on secret/2-sum/1 instead of AC (0.00 s of CPU time): not its factors",
    "the score 85 is not 100",
  ]);
  assert.deepEqual(compared("submissions/half/one.py", all, 0.5).faults, []);
  const zero = "submissions/wrong_answer/zero.py";
  // Groups that depend on a failed one have no runs.
  assert.deepEqual(compared(zero, ["WA", "WA"]).faults, []);
  assert.deepEqual(compared(zero, ["WA", "WA"], 1, "other").faults, [
    'no message of a test contains "not its factors"',
  ]);
  assert.deepEqual(compared(zero, ["WA", "RE"]).verdict, "WA");
  assert.deepEqual(compared(zero, ["CE"]).faults, ["CE on sample/1: not its factors"]);
});

test("expectations are said in words", () => {
  const words = read(PACKAGES.factors).submissions.map(({ path, about }) => [path, about.expectations.map(expected)]);
  assert.deepEqual(words, [
    ["submissions/accepted/search.cpp", ["AC, score 100"]],
    ["submissions/half/one.py", ["AC, score 64.9 to 65.1"]],
    [
      "submissions/wrong_answer/zero.py",
      ["AC or WA, WA at least once", 'message "not its factors"', "secret/1-small: WA"],
    ],
  ]);
});

test("blanks around alternatives do not count", () => {
  const isIn = matcher("secret/*{ 4 , 2 }");
  assert.deepEqual([isIn("secret/14"), isIn("secret/2"), isIn("secret/3")], [true, true, false]);
});

function verifiableOf(texts: PackageTexts) {
  const files = toFiles(texts);
  return readVerifiable(files, readProblem(files, languages), languages);
}

/** 50 submissions took 2 s, and more than 50 were counted after that. */
test("many globs with many alternatives take little time for each submission", () => {
  const globs = Array.from({ length: 900 }, (_, at) => `"${"{0,1}".repeat(6)}x${at}": {}\n`).join("");
  const programs = Array.from({ length: 47 }, (_, at) => [`submissions/accepted/${at}.py`, "x"]);
  const texts = { ...PACKAGES.factors, ...Object.fromEntries(programs), "submissions/submissions.yaml": globs };
  const before = process.cpuUsage();
  assert.throws(() => verifiableOf({ ...texts, "submissions/accepted/a.py": "x" }), /more than 50 programs/);
  assert.equal(verifiableOf(texts).length, 50);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 1_000_000, `${(user + system) / 1000} ms`);
});

test("the submissions that a service verifies are bounded, and have plain names", () => {
  const verifiable = (texts: PackageTexts) => verifiableOf({ ...PACKAGES.sum, ...texts });
  const skipped = verifiable({}).filter(({ program }) => program === null);
  assert.deepEqual(
    skipped.map(({ path }) => path),
    ["submissions/accepted/sum.cob"],
  );
  const many = (amount: number, text: string) =>
    Object.fromEntries(Array.from({ length: amount }, (_, at) => [`submissions/accepted/${at}.py`, text]));
  assert.throws(() => verifiable(many(51, "x")), /^PackageError: submissions: has more than 50 programs/);
  assert.throws(
    () => verifiable(many(17, "x".repeat(1_000_000))),
    /^PackageError: submissions: has more than 16777216/,
  );
  assert.throws(() => verifiable({ "submissions/accepted/a|b": "x" }), /is not a valid name/);
  const { factors } = PACKAGES;
  const yaml = (text: string) => ({ ...factors, "submissions/submissions.yaml": text });
  const long = (texts: PackageTexts) => () => verifiableOf(texts);
  assert.throws(long(yaml(`accepted:\n  message: ${"x".repeat(201)}\n`)), /search\.cpp: has more than 8 expectations/);
  const globs = Array.from({ length: 9 }, (_, at) => `  "*${at}": {permitted: [AC]}\n`).join("");
  assert.throws(long(yaml(`accepted/*:\n${globs}`)), /search\.cpp: has more than 8 expectations/);
});
