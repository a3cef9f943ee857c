import assert from "node:assert/strict";
import { test } from "node:test";
import { type Checked, UNDECIDED } from "../../../src/domain/check.ts";
import {
  advance,
  decodeStates,
  encodeStates,
  groupScores,
  JUDGEMENT_VERDICTS,
  type JudgementVerdict,
  mostPoints,
  resultOfRun,
  type Stop,
  type TestGroup,
  type TestMeta,
  type TestState,
  verdictIn,
  verdictOfRun,
} from "../../../src/domain/judgement.ts";
import { cancelled, internalError, type Outcome } from "../../../src/domain/outcome.ts";

const ALL: readonly TestGroup[] = [{ name: "", rule: "sum", depends: [] }];

/** Tests of one point in these groups. */
function testsIn(groups: readonly string[]): TestMeta[] {
  return groups.map((group, at) => ({ name: String(at), group, points: 1, limits: {} }));
}

function next(states: string, stop: Stop, groups: readonly TestGroup[] = ALL, of: readonly string[] = []) {
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
  ["first_failure", "ATWs", [], [2], "TLE"],
  ["first_failure", "AqWA", [], [3], null],
  ["first_failure", "C...", [], [1, 2, 3], "CE"],
  ["first_failure", "AqC.", [], [3], null],
  ["first_failure", "AIq.", [], [2, 3], "IE"],
  ["first_failure", "AWI.", [], [2, 3], "WA"],
  ["first_failure", "AqI.", [], [3], null],
  ["never", "W...", [1, 2, 3], [], null],
  ["never", "WATA", [], [], "WA"],
  ["never", "C...", [], [1, 2, 3], "CE"],
  ["never", "WqC.", [3], [], null],
  ["never", "AqI.", [], [3], null],
  ["never", "AWIA", [], [3], "IE"],
  ["group", "AqI.", [], [3], null],
  ["group", "AAI.", [], [3], "IE"],
  ["group", "AWI.", [], [2, 3], "WA"],
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
  const groups: TestGroup[] = [
    { name: "a", rule: "min", depends: [] },
    { name: "b", rule: "min", depends: ["a"] },
    { name: "c", rule: "sum", depends: ["b"] },
  ];
  const of = ["a", "a", "b", "b", "c"];
  const after = (state: string, stop: Stop = "group") => next(state, stop, groups, of);
  assert.deepEqual(after("Aq..."), { start: [], skip: [], verdict: null });
  assert.deepEqual(after("AA..."), { start: [2, 3], skip: [], verdict: null });
  assert.deepEqual(after("W...."), { start: [], skip: [1, 2, 3, 4], verdict: "WA" });
  assert.deepEqual(after("AAW.."), { start: [], skip: [3, 4], verdict: "WA" });
  assert.deepEqual(after("AAqW."), { start: [], skip: [4], verdict: null });
  assert.deepEqual(after("W....", "never"), { start: [1], skip: [2, 3, 4], verdict: null });
  assert.deepEqual(after("AWAAA", "first_failure"), { start: [], skip: [2, 3, 4], verdict: "WA" });
});

test("a group of a package can end at its first failure, and later tests that have ended earn nothing", () => {
  const groups: TestGroup[] = [
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
  const groups: TestGroup[] = [
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

test("states, verdict and points do not depend on the order in which runs end, and no test starts twice", () => {
  const random = randomFrom(7);
  const pick = <T>(of: readonly T[]): T => of[random(of.length)] as T;
  for (let round = 0; round < 1_500; round++) {
    const stop = pick(["first_failure", "never", "group"] as const);
    const amount = 1 + random(7);
    const first = pick<JudgementVerdict>(["AC", "AC", "AC", "AC", "AC", "WA", "IE", "CE"]);
    const others = Array.from({ length: amount - 1 }, () =>
      pick<JudgementVerdict>(["AC", "AC", "AC", "AC", "AC", "WA", "TLE", "IE", "CE"]),
    );
    const of = Array.from({ length: amount }, () => pick(["a", "b", "c"]));
    // Tests of one group one after the other, or between those of others.
    if (random(2) === 0) of.sort();
    const names = [...new Set(of)];
    const groups = names.map((name, at): TestGroup => {
      const depends = names.slice(0, at).filter(() => random(2) === 0);
      return { name, rule: pick(["sum", "min"]), depends, ...(random(3) === 0 && { breaks: true as const }) };
    });
    const verdicts = [first, ...others];
    const words = `${stop} ${verdicts} ${of} ${JSON.stringify(groups)}`;
    const ends = endsOf(verdicts, of, groups, stop);
    assert.deepEqual([...ends], [specified(verdicts, of, groups, stop)], words);
  }
});

/** All ends that a judgement can have, whichever of its runs ends next and however many are queued. */
function endsOf(
  verdicts: readonly JudgementVerdict[],
  of: readonly string[],
  groups: readonly TestGroup[],
  stop: Stop,
): Set<string> {
  const tests = testsIn(of);
  const ends = new Set<string>();
  const seen = new Set<string>();
  const follow = (before: readonly TestState[]) => {
    for (const mostQueued of [1, 2, 8]) {
      const states = [...before];
      const { start, skip, verdict } = advance(states, { tests, groups }, { stop, mostQueued });
      for (const at of skip) states[at] = "skipped";
      for (const at of start) {
        assert.equal(states[at], "waiting");
        states[at] = "queued";
      }
      if (verdict !== null) ends.add(endOf(verdict, states, tests, groups));
      const queued = states.flatMap((state, at) => (state === "queued" ? [at] : []));
      assert.equal(verdict === null, queued.length > 0, encodeStates(states));
      for (const at of queued) {
        const after = states.with(at, verdicts[at] as JudgementVerdict);
        const key = encodeStates(after);
        if (!seen.has(key)) follow(after);
        seen.add(key);
      }
    }
  };
  follow(verdicts.map(() => "waiting"));
  return ends;
}

function endOf(
  verdict: JudgementVerdict | null,
  states: readonly TestState[],
  tests: readonly TestMeta[],
  groups: readonly TestGroup[],
): string {
  // The store has a share for each test that has ended, also if the judgement no longer needs it.
  const scores = groupScores(
    { tests, groups },
    states,
    states.map((state) => (state === "AC" ? 0.5 : 0)),
  );
  return JSON.stringify([verdict, encodeStates(states), scores.map(({ score, passed }) => [score, passed])]);
}

/** The end by the rules alone, from the results that all tests would have. */
function specified(
  verdicts: readonly JudgementVerdict[],
  of: readonly string[],
  groups: readonly TestGroup[],
  stop: Stop,
): string {
  const states: TestState[] = verdicts.map(() => "skipped");
  const failed = verdicts.findIndex((one) => one !== "AC");
  const inGroup = (name: string) => [...of.keys()].filter((at) => of[at] === name);
  if (verdicts[0] === "CE") states[0] = "CE";
  else if (stop === "first_failure") {
    const end = failed < 0 ? verdicts.length : failed;
    const passed = new Map<string, boolean>();
    for (const { name, depends } of groups) {
      const mayPass = depends.every((other) => passed.get(other));
      passed.set(name, mayPass && inGroup(name).every((at) => at < end));
      for (const at of inGroup(name)) if (mayPass && at < end) states[at] = "AC";
    }
    if (failed >= 0) states[failed] = verdicts[failed] as JudgementVerdict;
  } else
    for (const { name, depends, breaks } of groups) {
      if (states.includes("IE")) break;
      if (depends.some((other) => inGroup(other).some((at) => states[at] !== "AC"))) continue;
      for (const at of inGroup(name)) {
        states[at] = verdicts[at] as JudgementVerdict;
        if (states[at] === "IE" || (states[at] !== "AC" && (stop === "group" || breaks))) break;
      }
    }
  const isOver = stop !== "first_failure" && states.includes("IE");
  const decides = states.map(verdictIn).find((one) => one !== null && one !== "AC");
  return endOf(isOver ? "IE" : (decides ?? "AC"), states, testsIn(of), groups);
}

test("points follow the rule of each group", () => {
  const groups: TestGroup[] = [
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
  assert.equal(verdictOfRun(ended("TLE", "cpu_timeout"), null), "TLE");
  // Only a checker that decides about failed runs has a result for one.
  assert.equal(verdictOfRun(ended("TLE", "cpu_timeout"), checked("AC")), "AC");
  assert.equal(verdictOfRun(ended("TLE", "cpu_timeout"), checked(UNDECIDED)), "TLE");
  assert.equal(verdictOfRun(ended("AC", "normal_exit"), checked(UNDECIDED)), "IE");
  assert.equal(verdictOfRun(ended("RE", "compile_error"), null), "CE");
  assert.equal(verdictOfRun(ended("TLE", "compile_wall_timeout"), null), "CE");
  assert.equal(verdictOfRun(internalError("x"), checked("AC")), "IE");
  assert.equal(verdictOfRun(cancelled("x"), null), "IE");
  // A failed run has the points that its checker gives, but a failure of the platform or of the compiler has none.
  const shareOf = (outcome: Outcome, of: Checked | null) => resultOfRun(outcome, of).share;
  assert.equal(shareOf(ended("TLE", "cpu_timeout"), checked(UNDECIDED)), 1);
  assert.equal(shareOf(ended("TLE", "cpu_timeout"), null), 0);
  assert.equal(shareOf(ended("RE", "compile_error"), checked(UNDECIDED)), 0);
  assert.equal(shareOf(internalError("x"), checked(UNDECIDED)), 0);
});
