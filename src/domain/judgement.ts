import type { Checked, CheckerSpec } from "./check.ts";
import type { ProfileName, RequestedLimits, StatedLimits } from "./limits.ts";
import type { Outcome } from "./outcome.ts";
import type { StreamFiles } from "./program-options.ts";
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

export interface TestGroup {
  readonly name: string;
  readonly rule: (typeof GROUP_RULES)[number];
  /** If a test of these groups does not pass, this group is skipped. */
  readonly depends: readonly string[];
  /** Set by a package: tests after the first failure of the group are skipped with every `stop`, and earn nothing. */
  readonly breaks?: true;
  /** Set by a package: the tests of the group can only pass or fail. A checker that gives points for one of them has failed. */
  readonly passFail?: true;
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

/** A test without its input and its answers. */
export interface TestMeta {
  readonly name: string;
  /** The name of its group. */
  readonly group: string;
  readonly points: number;
  /** Limits of its run, which replace those of the profile. Of these and those of the submission, the lower ones hold. */
  readonly limits: RequestedLimits;
  /** Arguments of the program, after those of the request. */
  readonly args?: readonly string[];
  /** Names of files that stand for standard streams of the program. */
  readonly streamFiles?: StreamFiles;
  /** Set if these files take the place of the streams. */
  readonly streamFilesOnly?: true;
  /** The checker of this test, in place of that of the definition. If it is a program, it has the source that all such checkers share. */
  readonly checker?: CheckerSpec;
}

/** Everything that decides the verdict on a program, except the contents of the tests. */
export interface Definition {
  readonly checker: CheckerSpec;
  /** The groups, in the order of their first tests. */
  readonly groups: readonly TestGroup[];
  readonly tests: readonly TestMeta[];
  /** The languages of submissions, by their names or the endings of their source files; any language if absent. */
  readonly languages?: readonly string[];
  /**
   * Set if checkers can only accept or reject, because the request has neither points nor groups, or the problem has no scores.
   * Definitions that are older than this field do not have it.
   */
  readonly passFail?: true;
  /** What a package states for the program and for the checker; absent: the defaults of judgements hold. */
  readonly limits?: ProblemLimits;
}

/** The limits of a problem that hold for all of its tests. */
export interface ProblemLimits {
  /** Limits of the step that compiles the program. */
  readonly compile?: RequestedLimits;
  /** Limits of the checker. */
  readonly checker?: StatedLimits;
  /** The most bytes of all files of the program. */
  readonly codeBytes?: number;
}

/** What a problem states for the steps of a program on this test, and for those of the checker. */
export function statedLimits(
  { tests, limits = {} }: Definition,
  test: number,
): { readonly limits: StatedLimits; readonly checkerLimits: StatedLimits } {
  const { compile = {}, checker = {} } = limits;
  return { limits: { compile, execute: tests[test]?.limits ?? {} }, checkerLimits: checker };
}

/** The most runs that a judgement can need, because the checker of a test may ask for several passes. */
export function mostRuns({ tests, checker }: Definition): number {
  return tests.reduce((sum, test) => {
    const spec = test.checker ?? checker;
    return sum + (spec.type === "program" ? (spec.passes ?? 1) : 1);
  }, 0);
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
 * @param checked the result of the checker; null if the program was not AC, unless an interactor had rejected it before it failed.
 */
export function verdictOfRun({ status, result }: Outcome, checked: Checked | null): JudgementVerdict {
  if (status === "error") return "IE";
  if (result.cause.startsWith("compile_")) return "CE";
  if (checked && checked.verdict !== "AC") return checked.verdict;
  if (result.verdict !== "AC") return result.verdict;
  return checked?.verdict ?? "IE";
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
  const progress = groupsProgress(states, tests);
  const byName = new Map(groups.map((group, order) => [group.name, { ...group, order }]));
  const groupOf = (at: number) => byName.get(tests[at]?.group ?? "") ?? NO_GROUP;
  // The groups that are skipped after the first failure are known once all tests before that failure have ended.
  const isDecided = isFirstFailure && failed >= 0 && !states.some((_, at) => at < failed && isOpen(at));
  const incomplete = new Set(isDecided ? tests.slice(failed).map(({ group }) => group) : []);
  for (const [name, { failed }] of progress) if (failed !== undefined) incomplete.add(name);
  // A group depends only on groups before it.
  const skippedGroups = new Set<string>();
  for (const { name, depends } of groups)
    if (depends.some((other) => skippedGroups.has(other) || incomplete.has(other))) skippedGroups.add(name);
  const inGroup = (at: number) => {
    const { name, breaks } = groupOf(at);
    return (
      !skippedGroups.has(name) && ((stop === "never" && !breaks) || at <= (progress.get(name)?.failed ?? states.length))
    );
  };
  /** Whether the test is needed whatever the results of the open tests will be, unless one before it is IE. */
  const isSettled = (at: number) => {
    const { name, breaks } = groupOf(at);
    const mayBreak = stop === "group" || breaks;
    return (
      inGroup(at) && !(mayBreak && tests.some(({ group }, other) => other < at && group === name && isOpen(other)))
    );
  };
  const compare = (a: number, b: number) => groupOf(a).order - groupOf(b).order || a - b;
  const errors = isFirstFailure ? [] : [...states.keys()].filter((at) => states[at] === "IE" && isSettled(at));
  const error = errors.sort(compare)[0];
  const needed = (at: number) => {
    if (!isFirstFailure) return inGroup(at) && (error === undefined || compare(at, error) <= 0);
    if (failed < 0 || at === failed) return true;
    return at < failed && !(isDecided && skippedGroups.has(groupOf(at).name));
  };
  const mayStart = (at: number) =>
    isFirstFailure || groupOf(at).depends.every((other) => progress.get(other)?.isOpen !== true);
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

interface GroupProgress {
  /** The first test that did not pass. */
  failed: number | undefined;
  isOpen: boolean;
}

/** A skipped test counts as a failure of its group. */
function groupsProgress(states: readonly TestState[], tests: readonly TestMeta[]): Map<string, GroupProgress> {
  const groups = new Map<string, GroupProgress>();
  for (const [at, state] of states.entries()) {
    const name = tests[at]?.group ?? "";
    const group = groups.get(name) ?? { failed: undefined, isOpen: false };
    groups.set(name, group);
    if (state === "skipped" || isFailure(state)) group.failed ??= at;
    if (state === "waiting" || state === "queued") group.isOpen = true;
  }
  return groups;
}

const NO_GROUP: TestGroup & { readonly order: number } = { name: "", rule: "sum", depends: [], order: -1 };

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

export interface GroupScore {
  readonly name: string;
  readonly rule: TestGroup["rule"];
  readonly score: number;
  readonly maxScore: number;
  /** Whether all tests of the group passed; null while tests are open and none has failed. */
  readonly passed: boolean | null;
}

/**
 * The points of each group by its rule.
 * @param shares for each test, the part of its points that the program earned, from 0 to 1. Only a test that is AC or WA earns points.
 */
export function groupScores(
  { tests, groups }: Pick<Definition, "tests" | "groups">,
  states: readonly TestState[],
  shares: readonly number[],
): GroupScore[] {
  const progress = groupsProgress(states, tests);
  const places = Map.groupBy(tests.keys(), (at) => tests[at]?.group ?? "");
  return groups.map(({ name, rule, breaks }) => {
    const testsOfGroup = places.get(name) ?? [];
    const points = (at: number) => tests[at]?.points ?? 0;
    const maxScore = testsOfGroup.reduce((sum, at) => sum + points(at), 0);
    const smallest = Math.min(...testsOfGroup.map((at) => shares[at] ?? 0));
    const { failed, isOpen } = progress.get(name) ?? { failed: undefined, isOpen: false };
    // Older releases did not skip a test after the first failure if the run of the test had ended before that failure.
    const counted = testsOfGroup.filter((at) => !breaks || at < (failed ?? states.length));
    const sum = counted.reduce((total, at) => total + points(at) * (shares[at] ?? 0), 0);
    const passed = failed !== undefined ? false : isOpen ? null : true;
    return {
      name,
      rule,
      score: rounded(rule === "sum" ? sum : maxScore * smallest),
      maxScore: rounded(maxScore),
      passed,
    };
  });
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
    share: verdict === "AC" || verdict === "WA" ? (checked?.share ?? 0) : 0,
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

export interface Judgement extends FoundJudgement {
  readonly stop: Stop;
  readonly definition: Definition;
  /** Results in the order of the tests. */
  readonly runs: readonly EndedRun[];
}
