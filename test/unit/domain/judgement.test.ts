import assert from "node:assert/strict";
import { test } from "node:test";
import type { Checked } from "../../../src/domain/check.ts";
import {
  advance,
  decodeStates,
  encodeStates,
  type Group,
  groupScores,
  JUDGEMENT_VERDICTS,
  type JudgementVerdict,
  mostPoints,
  type Stop,
  type TestMeta,
  type TestState,
  verdictIn,
  verdictOfRun,
} from "../../../src/domain/judgement.ts";
import { cancelled, internalError, type Outcome } from "../../../src/domain/outcome.ts";

const ALL: readonly Group[] = [{ name: "", rule: "sum", depends: [] }];

/** Tests of one point in these groups. */
function testsIn(groups: readonly string[]): TestMeta[] {
  return groups.map((group, at) => ({ name: String(at), group, points: 1, limits: {} }));
}

function next(states: string, stop: Stop, groups: readonly Group[] = ALL, of: readonly string[] = []) {
  const tests = testsIn([...states].map((_, at) => of[at] ?? ""));
  return advance(decodeStates(states), { tests, groups }, { stop, mostQueued: 8 });
}

test("states have one letter each", () => {
  const states: TestState[] = ["waiting", "queued", "skipped", ...JUDGEMENT_VERDICTS];
  const text = encodeStates(states);
  assert.equal(new Set(text).size, states.length);
  assert.deepEqual(decodeStates(text), states);
});

for (const [stop, state, start, skip, verdict] of [
  ["first_failure", "....", [0], [], null],
  ["first_failure", "q...", [], [], null],
  ["first_failure", "A...", [1, 2, 3], [], null],
  ["first_failure", "AAAA", [], [], "AC"],
  ["first_failure", "A.W.", [1], [3], null],
  ["first_failure", "AqWq", [], [3], null],
  ["first_failure", "AAWq", [], [3], "WA"],
  ["first_failure", "ATWs", [], [], "TLE"],
  ["first_failure", "C...", [], [1, 2, 3], "CE"],
  ["first_failure", "AIq.", [], [2, 3], "IE"],
  ["first_failure", "AWI.", [], [3], "WA"],
  ["first_failure", "AqI.", [], [3], null],
  ["never", "W...", [1, 2, 3], [], null],
  ["never", "WATA", [], [], "WA"],
  ["never", "AqI.", [], [1, 3], "IE"],
  ["never", "A.........................", [1, 2, 3, 4, 5, 6, 7, 8], [], null],
  ["never", "Aqqqqqqq..................", [8], [], null],
] as const) {
  test(`${stop}, ${state}: start ${start}, skip ${skip}, ${verdict ?? "undecided"}`, () => {
    assert.deepEqual(next(state, stop), { start, skip, verdict });
  });
}

test("a busy key has one run of each judgement in its queue", () => {
  const tests = testsIn(["", "", ""]);
  const found = advance(decodeStates("A.."), { tests, groups: ALL }, { stop: "never", mostQueued: 1 });
  assert.deepEqual(found.start, [1]);
});

test("a group waits for the groups that it depends on, and is left out if one of them failed", () => {
  const groups: Group[] = [
    { name: "a", rule: "min", depends: [] },
    { name: "b", rule: "min", depends: ["a"] },
    { name: "c", rule: "sum", depends: ["b"] },
  ];
  const of = ["a", "a", "b", "b", "c"];
  const after = (state: string, stop: Stop = "group") => next(state, stop, groups, of);
  assert.deepEqual(after("Aq..."), { start: [], skip: [], verdict: null });
  assert.deepEqual(after("AA..."), { start: [2, 3], skip: [], verdict: null });
  assert.deepEqual(after("W...."), { start: [], skip: [1, 2, 3], verdict: null });
  assert.deepEqual(after("Wsss."), { start: [], skip: [4], verdict: "WA" });
  assert.deepEqual(after("AAW.."), { start: [], skip: [3, 4], verdict: "WA" });
  assert.deepEqual(after("AAqW."), { start: [], skip: [4], verdict: null });
  assert.deepEqual(after("W....", "never"), { start: [1], skip: [2, 3], verdict: null });
});

test("a group of a package can end at its first failure, and later tests that have ended earn nothing", () => {
  const groups: Group[] = [
    { name: "a", rule: "sum", depends: [], breaks: true },
    { name: "b", rule: "sum", depends: [] },
  ];
  const of = ["a", "a", "a", "b", "b"];
  assert.deepEqual(next("AWqq.", "never", groups, of), { start: [4], skip: [2], verdict: null });
  assert.deepEqual(next("AWsWA", "never", groups, of), { start: [], skip: [], verdict: "WA" });
  const scores = groupScores({ tests: testsIn(of), groups }, decodeStates("AWAWA"), [1, 0, 1, 0, 1]);
  assert.deepEqual(
    scores.map(({ score, maxScore }) => [score, maxScore]),
    [
      [1, 3],
      [1, 2],
    ],
  );
});

test("a checker can give the points of the test, or of its group if the smallest ones count", () => {
  const tests = testsIn(["a", "b", "b", "c", "d"]);
  const groups: Group[] = [
    { name: "a", rule: "sum", depends: [] },
    { name: "b", rule: "min", depends: [] },
    { name: "d", rule: "min", depends: [], passFail: true },
  ];
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map((test) => mostPoints({ tests, groups }, test)),
    [1, 2, 2, 1, null, 0],
  );
});

/** Repeatable pseudo-random numbers below a bound. */
function randomFrom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return (state >> 8) % below;
  };
}

test("the verdict does not depend on the order in which runs end, and no test starts twice", () => {
  const groups: Group[] = ["a", "b", "c"].map((name, at, all) => ({
    name,
    rule: "min",
    depends: all.slice(Math.max(0, at - 1), at),
  }));
  const random = randomFrom(7);
  for (let round = 0; round < 400; round++) {
    const stop = (["first_failure", "never", "group"] as const)[random(3)] ?? "never";
    // Without IE, with which the platform ends a judgement as soon as it is seen.
    const verdicts = Array.from(
      { length: 1 + random(12) },
      () => (["AC", "AC", "AC", "WA", "TLE"] as const)[random(5)],
    );
    const of = verdicts.map(() => ["a", "b", "c"][random(3)] ?? "").sort();
    const results = [0, 1, 2].map(() => simulate(verdicts as JudgementVerdict[], of, groups, stop, random));
    assert.deepEqual(new Set(results.map(({ verdict }) => verdict)).size, 1, `${stop} ${verdicts} ${of}`);
    const [{ verdict, states }] = results as [ReturnType<typeof simulate>];
    assert.equal(
      verdict === "AC",
      verdicts.every((one) => one === "AC"),
    );
    assert.ok(states.every((state) => state !== "waiting" && state !== "queued"));
    const ended = states.map(verdictIn).filter((one) => one !== null);
    assert.equal(verdict, ended.find((one) => one !== "AC") ?? "AC");
  }
});

function simulate(
  verdicts: readonly JudgementVerdict[],
  of: readonly string[],
  groups: readonly Group[],
  stop: Stop,
  random: (below: number) => number,
) {
  const tests = testsIn(of);
  const states: TestState[] = verdicts.map(() => "waiting");
  const started = new Set<number>();
  for (let turn = 0; turn < 200; turn++) {
    const { start, skip, verdict } = advance(states, { tests, groups }, { stop, mostQueued: 1 + random(8) });
    for (const at of skip) states[at] = "skipped";
    for (const at of start) {
      assert.ok(!started.has(at));
      started.add(at);
      states[at] = "queued";
    }
    if (verdict) return { verdict, states };
    const queued = states.flatMap((state, at) => (state === "queued" ? [at] : []));
    const at = queued[random(queued.length || 1)];
    if (at !== undefined) states[at] = verdicts[at] as JudgementVerdict;
  }
  throw new assert.AssertionError({ message: `no end: ${stop} ${verdicts} ${of} ${encodeStates(states)}` });
}

test("points follow the rule of each group", () => {
  const groups: Group[] = [
    { name: "a", rule: "sum", depends: [] },
    { name: "b", rule: "min", depends: [] },
  ];
  const tests = testsIn(["a", "a", "b", "b"]);
  const points = (states: string, shares: readonly number[]) =>
    groupScores({ tests, groups }, decodeStates(states), shares).map(({ score, passed }) => [score, passed]);
  assert.deepEqual(points("AWAA", [1, 0, 1, 1]), [
    [1, false],
    [2, true],
  ]);
  assert.deepEqual(points("AAAW", [1, 0.1, 1, 0]), [
    [1.1, true],
    [0, false],
  ]);
  assert.deepEqual(points("A.AA", [0.1, 0, 0.25, 0.5]), [
    [0.1, null],
    [0.5, true],
  ]);
});

test("the verdict of a run is the program's, or else the checker's", () => {
  const checked = (verdict: Checked["verdict"]): Checked => ({ verdict, share: 1, message: null });
  const ended = (verdict: Outcome["result"]["verdict"], cause: Outcome["result"]["cause"]): Outcome => {
    const outcome = internalError("");
    return { ...outcome, status: "completed", result: { ...outcome.result, verdict, cause } };
  };
  assert.equal(verdictOfRun(ended("AC", "normal_exit"), checked("AC")), "AC");
  assert.equal(verdictOfRun(ended("AC", "normal_exit"), checked("WA")), "WA");
  assert.equal(verdictOfRun(ended("AC", "normal_exit"), checked("IE")), "IE");
  assert.equal(verdictOfRun(ended("AC", "normal_exit"), null), "IE");
  assert.equal(verdictOfRun(ended("TLE", "cpu_timeout"), checked("AC")), "TLE");
  assert.equal(verdictOfRun(ended("RE", "compile_error"), null), "CE");
  assert.equal(verdictOfRun(ended("TLE", "compile_wall_timeout"), null), "CE");
  assert.equal(verdictOfRun(internalError("x"), checked("AC")), "IE");
  assert.equal(verdictOfRun(cancelled("x"), null), "IE");
});
