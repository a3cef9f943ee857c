import { type Checked, type CheckerSpec, UNDECIDED } from "./check.ts";
import type { Grading } from "./grading.ts";
import type { ProfileName, RequestedLimits, StatedLimits, TestLimits } from "./limits.ts";
import type { Outcome } from "./outcome.ts";
import type { StreamFiles } from "./program-options.ts";
import type { WorkFile } from "./report.ts";
import type { Status } from "./submission.ts";

/** Verdicts of a judgement and of its tests. WA: the output is wrong. CE: the program does not compile. The others are those of a run. */
export const JUDGEMENT_VERDICTS = ["AC", "WA", "TLE", "MLE", "PLE", "FSE", "SIG", "RE", "CE", "IE"] as const;
export type JudgementVerdict = (typeof JUDGEMENT_VERDICTS)[number];

/**
 * Which tests are skipped because of failures: those after the first failure, none, or in each group those after the first failure of the
 * group. Groups can skip more tests (`depends`, `breaks`).
 */
export const STOPS = ["first_failure", "never", "group"] as const;
export type Stop = (typeof STOPS)[number];

/**
 * How the points of a group follow from its tests. `sum`: the sum of the points that the tests earned. `min`: all points of the group,
 * multiplied by the smallest share that one of its tests earned.
 */
export const GROUP_RULES = ["sum", "min"] as const;

/**
 * The rules of groups of packages. Their parts are tests and other groups. `sum` adds the points of the parts; `least`, `greatest` and
 * `average` are those of their points; `all`: the points of the group if it passed, and otherwise none.
 */
export const PACKAGE_RULES = [...GROUP_RULES, "least", "greatest", "average", "all"] as const;

export interface TestGroup {
  readonly name: string;
  readonly rule: (typeof PACKAGE_RULES)[number];
  /** If a test of these groups does not pass, this group is skipped. */
  readonly depends: readonly string[];
  /** Set by a package: the group that contains this one, and comes before it. */
  readonly parent?: string;
  /** Set by a package: parts after the first one that does not pass are skipped with every `stop`, and earn nothing. */
  readonly breaks?: true;
  /** Set by a package: the tests of the group can only pass or fail. A checker that gives points for one of them has failed. */
  readonly passFail?: true;
  /** Set by a package: the group passes if one of its parts does, or always. Otherwise, it passes if all of its parts do. */
  readonly passes?: "any" | "always";
  /** Set by a package: a group that does not pass has the worst verdict of its parts. Otherwise, it has the first one that is not AC. */
  readonly failsAs?: "worst";
  /** Set by a package: the arguments with which the grader of the problem makes the result of the group, in place of its rules. */
  readonly grader?: readonly string[];
  /** The points of a group with the rule `all`. */
  readonly points?: number;
  /** Set by a package: the most points that it declares for the group, if they can be fewer than the rule gives. */
  readonly most?: number;
}

/** The most tests and groups of a judgement. */
export const MAX_TESTS = 500;
export const MAX_GROUPS = 100;
/** The most points of a test. Within this bound, doubles, JSON and the databases represent the sum of all points. */
export const MAX_POINTS = 1_000_000;
/** The most bytes of an input or an answer: with the files of a compiled program, it fits into one request to the launcher. */
export const MAX_CONTENT_BYTES = 16_777_216;
/** The most bytes of all answers of a test together. Each run of the test reads them, and may send them to the process that compares. */
export const MAX_ANSWERS_BYTES = 16_777_216;

/** The most files of a test, and the most bytes of them and the input together: with a compiled program, they fit into one box. */
export const MAX_TEST_FILES = 16;
export const MAX_INPUT_BYTES = 16_777_216;
/** The place of the first file among the contents of a test. The input has 0, and the answers have the places from 1 on. */
export const FILE_PLACES = 100;

/** The contents of a test. */
export interface TestContents {
  readonly input: Buffer;
  readonly answers: readonly Buffer[];
  readonly files: readonly WorkFile[];
}

/** @param contents the input, the answers and the files of a test, in this order; the answers and the files can be missing. */
export function contentsOfTest({ files = [] }: Pick<TestMeta, "files">, contents: readonly Buffer[]): TestContents {
  const [input = Buffer.alloc(0), ...rest] = contents;
  const answers = rest.slice(0, Math.max(0, rest.length - files.length));
  const found = rest.slice(answers.length);
  return { input, answers, files: found.map((data, at) => ({ name: files[at] ?? "", data })) };
}

/** A test without its contents. */
export interface TestMeta {
  readonly name: string;
  /** The name of its group. */
  readonly group: string;
  readonly points: number;
  /** Set by a package: the points of a run that does not pass; none by default. */
  readonly failedPoints?: number;
  /** Limits of its run, which replace those of the profile. Of these and those of the submission, the lower ones hold. */
  readonly limits: RequestedLimits;
  /** Arguments of the program, after those of the request. */
  readonly args?: readonly string[];
  /** Names of files that stand for standard streams of the program. */
  readonly streamFiles?: StreamFiles;
  /** Set if these files take the place of the streams. */
  readonly streamFilesOnly?: true;
  /** Set if submissions are answers instead of programs: the file of a submission that is its output on this test (answers.ts). */
  readonly answerFile?: string;
  /** Names of files that are in the work directory when the program starts. They replace those of the program. */
  readonly files?: readonly string[];
  /** The checker of this test, in place of that of the definition. If it is a program, it has the source that all such checkers share. */
  readonly checker?: CheckerSpec;
}

/** Everything that decides the verdict on a program, except the contents of the tests. */
export interface Definition {
  readonly checker: CheckerSpec;
  /** The groups, in the order of their first tests. */
  readonly groups: readonly TestGroup[];
  readonly tests: readonly TestMeta[];
  /** Set if groups of the problem have a grader; its program is stored with the tests. It runs once all tests have ended (grading.ts). */
  readonly grader?: { readonly language: string };
  /** The languages of submissions, by names or the endings of their source files; absent: all. Some of them may not be installed. */
  readonly languages?: readonly string[];
  /**
   * Set if checkers can only accept or reject, because the request has neither points nor groups, or the problem has no scores.
   * Definitions that are older than this field do not have it.
   */
  readonly passFail?: true;
  /** What a package states for the program and for the checker; absent: the defaults of judgements hold. */
  readonly limits?: ProblemLimits;
  /** Set for a faulty version of a problem: what its package has to mend. No program runs on its tests, and each judgement ends with IE. */
  readonly faults?: readonly string[];
}

/** The limits of a problem that hold for all of its tests. */
export interface ProblemLimits {
  /** Limits of the step that compiles the program. */
  readonly compile?: RequestedLimits;
  /** Limits of the checker. */
  readonly checker?: StatedLimits;
  /** The most bytes of all files of the program. */
  readonly codeBytes?: number;
  /** What holds where nothing is stated, as far as the ceilings permit it. */
  readonly defaults?: StatedLimits & { readonly checker?: StatedLimits };
}

/** An expression gets as much output as when the program is no run of a judgement: matching needs memory for each byte. */
const EXPRESSION_OUTPUT_BYTES = 1_048_576;

/** What a problem states for the steps of a program on this test, and for those of the checker. */
export function limitsOfTest(
  { tests, checker: usual, limits = {} }: Definition,
  test: number,
): { readonly limits: TestLimits; readonly checkerLimits: TestLimits } {
  const { compile = {}, defaults = {} } = limits;
  const { limits: execute = {}, checker: own = usual } = tests[test] ?? {};
  const output = own.type === "regex" ? { stdout_bytes: EXPRESSION_OUTPUT_BYTES } : {};
  return {
    limits: {
      stated: { compile, execute },
      defaults: { compile: defaults.compile ?? {}, execute: { ...defaults.execute, ...output } },
    },
    checkerLimits: checkerLimitsOf({ limits }),
  };
}

/** What a problem states for its checker and its validators. */
export function checkerLimitsOf({
  limits: { checker = {}, defaults = {} } = {},
}: Pick<Definition, "limits">): TestLimits {
  return { stated: checker, defaults: defaults.checker ?? {} };
}

/** The most runs that a judgement can need, because the checker of a test may ask for several passes, and a grader runs once. */
export function mostRuns({ tests, checker, grader }: Definition): number {
  return tests.reduce(
    (sum, test) => {
      const spec = test.checker ?? checker;
      return sum + (spec.type === "program" ? (spec.passes ?? 1) : 1);
    },
    grader ? 1 : 0,
  );
}

/**
 * `waiting`: the test has no run yet. `queued`: its run has not ended. `skipped`: its result is not needed; it was never run, or its run
 * was cancelled or had already ended.
 */
export type TestState = "waiting" | "queued" | "skipped" | JudgementVerdict;

/**
 * The states of all tests as the database has them: one letter per test.
 */
const LETTERS: Readonly<Record<TestState, string>> = {
  waiting: ".",
  queued: "q",
  skipped: "s",
  AC: "A",
  WA: "W",
  TLE: "T",
  MLE: "M",
  PLE: "P",
  FSE: "F",
  SIG: "S",
  RE: "R",
  CE: "C",
  IE: "I",
};
const STATES = new Map(Object.entries(LETTERS).map(([state, letter]) => [letter, state as TestState]));

export function encodeStates(states: readonly TestState[]): string {
  return states.map((state) => LETTERS[state]).join("");
}

export function decodeStates(text: string): TestState[] {
  return [...text].map((letter) => STATES.get(letter) ?? "skipped");
}

/** The verdict of a test that has ended; null if it is waiting, queued or skipped. */
export function verdictIn(state: TestState): JudgementVerdict | null {
  return state === "waiting" || state === "queued" || state === "skipped" ? null : state;
}

/**
 * The verdict of a test.
 * @param checked the result of the checker; null if the program was not AC, unless an interactor had rejected it before it failed, or the
 * checker decides about failed runs as well.
 */
export function verdictOfRun({ status, result }: Outcome, checked: Checked | null): JudgementVerdict {
  if (status === "error") return "IE";
  if (result.cause.startsWith("compile_")) return "CE";
  if (checked && checked.verdict !== UNDECIDED) return checked.verdict;
  return result.verdict === "AC" ? "IE" : result.verdict;
}

/** What follows from the present states. */
export interface Advance {
  /** Tests to start. */
  readonly start: readonly number[];
  /** Tests that are not needed. They are waiting or queued, or they had ended before the failure that makes them superfluous. */
  readonly skip: readonly number[];
  /** Null until the judgement has ended. */
  readonly verdict: JudgementVerdict | null;
}

/**
 * Decides the next steps of a judgement. This function is pure. The final states, verdict and points follow from the results of the
 * needed tests alone. The order in which runs end makes no difference: a program could choose it by its running times. The first test, in the order
 * of the tests, that did not pass decides the verdict, once all tests before it have ended. With `never` and `group`, the score depends
 * on all needed tests, so an IE of one of them ends the judgement. If several are IE, the first one by group and then by test counts,
 * because a group depends only on groups before it.
 * @param mostQueued the most runs in the queue at one time. Until the first run has ended, there is only one, which shows whether
 * the program compiles.
 */
export function advance(
  states: readonly TestState[],
  { tests, groups }: Pick<Definition, "tests" | "groups">,
  { stop, mostQueued }: { readonly stop: Stop; readonly mostQueued: number },
): Advance {
  const isOpen = (at: number) => states[at] === "waiting" || states[at] === "queued";
  if (states[0] === "CE") {
    const skip = states.flatMap((state, at) => (at === 0 || state === "skipped" ? [] : [at]));
    return { start: [], skip, verdict: "CE" };
  }
  const isFirstFailure = stop === "first_failure";
  const failed = states.findIndex(isFailure);
  // The groups that are skipped after the first failure are known once all tests before that failure have ended.
  const isDecided = isFirstFailure && failed >= 0 && !states.some((_, at) => at < failed && isOpen(at));
  const incomplete = new Set(isDecided ? tests.slice(failed).map(({ group }) => group) : []);
  const { roots, rootOf } = forestOf(tests, groups);
  const { needs, skippedTests } = needsOf(roots, states, { stop, incomplete });
  const compare = (a: number, b: number) => rootOf(a) - rootOf(b) || a - b;
  const isSettled = (at: number) => needs[at]?.isNeeded === true && needs[at].isSettled;
  const errors = isFirstFailure ? [] : [...states.keys()].filter((at) => states[at] === "IE" && isSettled(at));
  const error = errors.sort(compare)[0];
  const needed = (at: number) => {
    if (!isFirstFailure) return needs[at]?.isNeeded === true && (error === undefined || compare(at, error) <= 0);
    if (failed < 0 || at === failed) return true;
    return at < failed && !(isDecided && skippedTests.has(at));
  };
  const mayStart = (at: number) => isFirstFailure || needs[at]?.mayStart === true;
  const skip = states.flatMap((state, at) => (state !== "skipped" && !needed(at) ? [at] : []));
  const open = states.flatMap((_, at) => (isOpen(at) && needed(at) ? [at] : []));
  if (open.length === 0) {
    const decides = states.find((state, at) => isFailure(state) && needed(at));
    return { start: [], skip, verdict: error === undefined ? verdictIn(decides ?? "AC") : "IE" };
  }
  const queued = open.filter((at) => states[at] === "queued").length;
  const most = states.some((state) => verdictIn(state) !== null) ? mostQueued : 1;
  const waiting = open.filter((at) => states[at] === "waiting" && mayStart(at));
  return { start: waiting.slice(0, Math.max(0, most - queued)), skip, verdict: null };
}

function isFailure(state: TestState): boolean {
  const verdict = verdictIn(state);
  return verdict !== null && verdict !== "AC";
}

/** A group with its parts in their order: indexes of tests, and other groups. */
export interface Node {
  readonly group: TestGroup;
  readonly parts: (number | Node)[];
}

const NO_GROUP: TestGroup = { name: "", rule: "sum", depends: [] };

/** The groups that are in no other group, with their parts. A group comes after the part before its first test. */
export function forestOf(
  tests: readonly TestMeta[],
  groups: readonly TestGroup[],
): { readonly roots: readonly Node[]; readonly rootOf: (test: number) => number } {
  const nodes = new Map(groups.map((group) => [group.name, { group, parts: [] } as Node]));
  const roots: Node[] = groups.flatMap(({ name, parent }) => {
    const node = nodes.get(name);
    return node && (parent === undefined || !nodes.has(parent)) ? [node] : [];
  });
  const placed = new Set(roots);
  const rootIndex = new Map(roots.map((node, index) => [node, index]));
  let others: Node | undefined;
  const rootOfTest = tests.map(({ group }, test) => {
    let node = nodes.get(group);
    if (!node) {
      // Definitions of older releases can have tests without a group; they come first.
      others ??= { group: NO_GROUP, parts: [] };
      others.parts.push(test);
      return -1;
    }
    node.parts.push(test);
    while (!rootIndex.has(node)) {
      const parent: Node = nodes.get(node.group.parent ?? "") as Node;
      if (!placed.has(node)) parent.parts.push(node);
      placed.add(node);
      node = parent;
    }
    return rootIndex.get(node) ?? -1;
  });
  return { roots: others ? [others, ...roots] : roots, rootOf: (test) => rootOfTest[test] ?? -1 };
}

/** Whether the run of a test is needed. */
interface Need {
  /** As far as the tests that have ended decide it. */
  readonly isNeeded: boolean;
  /** Whether that is so whatever the results of the open tests will be, unless one before it is IE. */
  readonly isSettled: boolean;
  /** Whether no group must end first on whose result it depends that the test is needed. */
  readonly mayStart: boolean;
}

interface Needs {
  /** By test. */
  readonly needs: readonly Need[];
  /** The tests of groups that are skipped. */
  readonly skippedTests: ReadonlySet<number>;
  /** Whether each group passed; null if open tests decide it. */
  readonly passed: ReadonlyMap<Node, boolean | null>;
  /** The parts that count for their group: all except those after the first failure of a group that breaks. */
  readonly counted: (node: Node) => readonly (number | Node)[];
}

/** What is known about the earlier tests, or the earlier groups, in a group. */
interface Before {
  readonly isFailed: boolean;
  readonly isOpen: boolean;
}

/**
 * Which tests are needed, by the results of the tests that have ended. A group is judged part by part, in its order.
 * @param incomplete groups that count as failed, because some of their tests are skipped.
 */
function needsOf(
  roots: readonly Node[],
  states: readonly TestState[],
  { stop, incomplete }: { readonly stop: Stop; readonly incomplete: ReadonlySet<string> },
): Needs {
  const needs: Need[] = states.map(() => ({ isNeeded: true, isSettled: true, mayStart: true }));
  const skippedTests = new Set<number>();
  const passed = new Map<Node, boolean | null>();
  const byName = new Map<string, boolean | null>();
  const countedParts = new Map<Node, readonly (number | Node)[]>();

  function skip(part: number | Node): void {
    if (typeof part === "number") {
      needs[part] = { isNeeded: false, isSettled: false, mayStart: false };
      skippedTests.add(part);
      return;
    }
    for (const one of part.parts) skip(one);
    end(part, false);
  }

  function end(node: Node, result: boolean | null, counted: readonly (number | Node)[] = node.parts): boolean | null {
    passed.set(node, result);
    byName.set(node.group.name, result);
    countedParts.set(node, counted);
    return result;
  }

  /** @returns whether the group passed. */
  function visit(node: Node, above: Pick<Need, "isSettled" | "mayStart">): boolean | null {
    const { name, depends, breaks, passes } = node.group;
    if (depends.some((other) => byName.get(other) === false)) {
      skip(node);
      return false;
    }
    const mayStart = above.mayStart && !depends.some((other) => byName.get(other) === null);
    let [tests, groups] = [NOTHING_BEFORE, NOTHING_BEFORE];
    const counted: (number | Node)[] = [];
    const results: { readonly passed: boolean | null; readonly isCertain: boolean }[] = [];
    for (const part of node.parts) {
      const isStopped = breaks === true && (tests.isFailed || groups.isFailed);
      if (isStopped || (stop === "group" && tests.isFailed && typeof part === "number")) skip(part);
      if (isStopped) continue;
      counted.push(part);
      const mayStop = breaks === true && (tests.isOpen || groups.isOpen);
      let result: boolean | null;
      if (typeof part === "number") {
        const isSettled = above.isSettled && !mayStop && !(stop === "group" && tests.isOpen);
        // A test does not wait for other tests of its group, because usually all of them pass.
        if (needs[part]?.isNeeded)
          needs[part] = { isNeeded: true, isSettled, mayStart: mayStart && !(breaks === true && groups.isOpen) };
        result = passedIn(states[part] ?? "waiting");
        tests = after(tests, result);
      } else {
        result = visit(part, { isSettled: above.isSettled && !mayStop, mayStart: mayStart && !mayStop });
        groups = after(groups, result);
      }
      results.push({ passed: result, isCertain: !mayStop });
    }
    if (incomplete.has(name)) return end(node, false, counted);
    return end(node, passes === "always" ? true : resultOf(results, passes === "any"), counted);
  }

  for (const root of roots) visit(root, { isSettled: true, mayStart: true });
  return { needs, skippedTests, passed, counted: (node) => countedParts.get(node) ?? [] };
}

const NOTHING_BEFORE: Before = { isFailed: false, isOpen: false };

/**
 * Whether a group passes, by the results of its parts: if all of them pass, or if one of them does (`isAny`).
 * @param results whether each part passed, and whether it is certain that the part counts.
 */
function resultOf(
  results: readonly { readonly passed: boolean | null; readonly isCertain: boolean }[],
  isAny: boolean,
): boolean | null {
  const isOpen = results.some(({ passed }) => passed === null);
  if (!isAny) return results.some(({ passed }) => passed === false) ? false : isOpen ? null : true;
  if (results.length === 0 || results.some(({ passed, isCertain }) => passed === true && isCertain)) return true;
  return isOpen ? null : results.some(({ passed }) => passed === true);
}

function after({ isFailed, isOpen }: Before, result: boolean | null): Before {
  return { isFailed: isFailed || result === false, isOpen: isOpen || result === null };
}

/** Whether a test passed; null if it is open. A skipped test counts as failed. */
function passedIn(state: TestState): boolean | null {
  return state === "waiting" || state === "queued" ? null : state === "AC";
}

/**
 * The most points that a checker can give for a test. With the rule `min`, these are all points of the group, and the test that earns
 * the fewest decides.
 * @returns null if the checker can only accept or reject.
 */
export function mostPoints(
  { tests, groups, passFail }: Pick<Definition, "tests" | "groups" | "passFail">,
  test: number,
): number | null {
  if (passFail) return null;
  const { group, points = 0 } = tests[test] ?? {};
  const found = groups.find(({ name }) => name === group);
  if (found?.passFail) return null;
  if (found?.rule !== "min") return points;
  return tests.reduce((sum, other) => sum + (other.group === group ? other.points : 0), 0);
}

/** The points that a test earned. @param share the part of its points that the checker gave; with some interfaces also to a test that is not AC. */
export function earned(test: TestMeta | undefined, state: TestState, share: number): number {
  const verdict = verdictIn(state);
  if (!test || verdict === null) return 0;
  const ofChecker = test.points * share;
  return verdict === "AC" ? ofChecker : (test.failedPoints ?? ofChecker);
}

export interface GroupScore {
  readonly name: string;
  readonly rule: TestGroup["rule"];
  /** The group that contains this one; null if none does. */
  readonly parent: string | null;
  readonly score: number;
  readonly maxScore: number;
  /** Whether the group passed: all of its tests, unless it has another rule; null while open tests decide it. */
  readonly passed: boolean | null;
}

/**
 * The points of each group by its rule.
 * @param shares for each test, the part of its points that the program earned, from 0 to 1.
 * @param grading what the grader of the problem has made of the results; null if it has not run.
 */
export function groupScores(
  { tests, groups }: Pick<Definition, "tests" | "groups">,
  states: readonly TestState[],
  shares: readonly number[],
  grading: Grading | null = null,
): GroupScore[] {
  const { roots } = forestOf(tests, groups);
  const { passed, counted } = needsOf(roots, states, { stop: "never", incomplete: new Set() });
  const scores = new Map<string, GroupScore>();

  function visit(node: Node): GroupScore {
    const { name, rule, points = 0, most, parent } = node.group;
    const children = new Map(node.parts.flatMap((part) => (typeof part === "number" ? [] : [[part, visit(part)]])));
    const scoreOf = (part: number | Node) =>
      typeof part === "number"
        ? earned(tests[part], states[part] ?? "waiting", shares[part] ?? 0)
        : (children.get(part)?.score ?? 0);
    const mostOf = (part: number | Node) =>
      typeof part === "number" ? (tests[part]?.points ?? 0) : (children.get(part)?.maxScore ?? 0);
    const own = passed.get(node) ?? null;
    const maxScore = rule === "all" ? points : combined(rule, node.parts.map(mostOf));
    let score = rule === "all" ? (own === true ? points : 0) : combined(rule, counted(node).map(scoreOf));
    if (rule === "min") {
      const testsOf = node.parts.filter((part) => typeof part === "number");
      score = maxScore * Math.min(...testsOf.map((at) => shares[at] ?? 0));
    }
    const graded = grading?.groups[name];
    const found = {
      ...{ name, rule, parent: parent ?? null },
      score: rounded(graded?.score ?? score),
      // A grader can give more points than the rule, up to those that the package declares.
      maxScore: rounded(node.group.grader ? (most ?? maxScore) : Math.min(maxScore, most ?? maxScore)),
      passed: graded ? graded.verdict === "AC" : own,
    };
    scores.set(name, found);
    return found;
  }

  for (const root of roots) visit(root);
  return groups.flatMap(({ name }) => scores.get(name) ?? []);
}

/** The points of a group by those of its parts. */
export function combined(rule: Exclude<TestGroup["rule"], "all">, values: readonly number[]): number {
  if (values.length === 0) return 0;
  if (rule === "least") return Math.min(...values);
  if (rule === "greatest") return Math.max(...values);
  const sum = values.reduce((total, value) => total + value, 0);
  return rule === "average" ? sum / values.length : sum;
}

/** The verdicts of tests that do not pass, from the worst one. */
const BY_SEVERITY: readonly JudgementVerdict[] = ["IE", "CE", "RE", "SIG", "PLE", "MLE", "TLE", "FSE", "WA"];

/**
 * The verdict of the groups that are in no other group, by the rules of the package: a group can pass although some of its tests do not,
 * and the first or the worst verdict of its parts can be that of the group. The verdict of a judgement is that of the first test that does not pass.
 */
export function gradedVerdict(
  { tests, groups }: Pick<Definition, "tests" | "groups">,
  states: readonly TestState[],
): JudgementVerdict {
  const { roots } = forestOf(tests, groups);
  const { passed, counted } = needsOf(roots, states, { stop: "never", incomplete: new Set() });
  const verdictOf = (part: number | Node): JudgementVerdict | null => {
    if (typeof part === "number") return verdictIn(states[part] ?? "waiting");
    if (passed.get(part) === true) return "AC";
    return failing(counted(part).map(verdictOf), part.group.failsAs === "worst");
  };
  return failing(roots.map(verdictOf), false) ?? "AC";
}

/** The first or the worst verdict that is not AC. */
export function failing(verdicts: readonly (JudgementVerdict | null)[], isWorst: boolean): JudgementVerdict | null {
  const failures: JudgementVerdict[] = verdicts.filter((verdict) => verdict !== null && verdict !== "AC");
  const found = isWorst ? BY_SEVERITY.find((verdict) => failures.includes(verdict)) : failures[0];
  return found ?? null;
}

/** The points of a judgement: those of the groups that are in no other group. */
export function totalOf(groups: readonly GroupScore[]): { readonly score: number; readonly maxScore: number } {
  const outer = groups.filter(({ parent }) => parent === null);
  const sum = (key: "score" | "maxScore") => rounded(outer.reduce((total, group) => total + group[key], 0));
  return { score: sum("score"), maxScore: sum("maxScore") };
}

/** Rounds a sum of points to six decimals, which removes the errors of binary fractions. */
export function rounded(points: number): number {
  return Number(points.toFixed(6));
}

/** The result of a run, for its test. */
export interface RunResult {
  readonly verdict: JudgementVerdict;
  readonly share: number;
  readonly message: string | null;
  readonly cpuUsec: number | null;
  readonly wallNs: number | null;
  readonly memoryBytes: number | null;
}

/** The most characters of a message. */
const MAX_MESSAGE = 500;

/** Shortens a message for the database, and replaces what PostgreSQL cannot store: U+0000 and halves of surrogate pairs. */
export function shortened<T extends string | null>(message: T): T {
  const text = message?.replaceAll("\0", "\uFFFD").toWellFormed();
  if (text === undefined || text.length <= MAX_MESSAGE) return (text ?? null) as T;
  const isPair = (text.codePointAt(MAX_MESSAGE - 1) ?? 0) > 0xffff;
  return `${text.slice(0, MAX_MESSAGE - (isPair ? 1 : 0))}…` as T;
}

/** @param checked as in `verdictOfRun`. */
export function resultOfRun(outcome: Outcome, checked: Checked | null): RunResult {
  const verdict = verdictOfRun(outcome, checked);
  return {
    verdict,
    share: verdict === "CE" || verdict === "IE" ? 0 : (checked?.share ?? 0),
    message: shortened(checked?.message ?? outcome.result.errorMessage),
    cpuUsec: outcome.metrics?.cpuUsec ?? null,
    wallNs: outcome.metrics?.wallNs ?? null,
    memoryBytes: outcome.metrics?.memoryPeakBytes ?? null,
  };
}

/** A run that has ended, with its test and its submission. */
export interface EndedRun extends RunResult {
  readonly test: number;
  readonly submissionId: string;
}

/** A version of a problem. */
export interface ProblemReference {
  readonly id: string;
  /** The number of the version. */
  readonly version: number;
}

/** A judgement in a list. */
export interface FoundJudgement {
  readonly id: string;
  /** A number that increases with each judgement, with gaps. */
  readonly seq: number;
  readonly accountId: string;
  readonly language: string;
  readonly profile: ProfileName;
  readonly status: Status;
  readonly verdict: JudgementVerdict | null;
  /** Null until it has ended. */
  readonly score: number | null;
  readonly states: readonly TestState[];
  /** Null if the request contained the tests. */
  readonly problem: ProblemReference | null;
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
}

/** The result of the grader of a problem. */
export interface GradedBy extends Grading {
  /** The run of the grader. */
  readonly submissionId: string;
}

export interface Judgement extends FoundJudgement {
  /** Null unless a grader has graded the judgement. */
  readonly grading: GradedBy | null;
  readonly stop: Stop;
  readonly definition: Definition;
  /** Results in the order of the tests. */
  readonly runs: readonly EndedRun[];
}
