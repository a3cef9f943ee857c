import {
  advance,
  type Definition,
  type GroupScore,
  groupScores,
  type TestState,
  totalOf,
} from "../domain/judgement.ts";
import type { LocalResult, LocalRun } from "../worker/judge-locally.ts";
import { type Expectation, matcher, type SubmissionExpectations } from "./expectations.ts";
import type { ProblemPackage, Timing } from "./package.ts";

/** A submission of the package with its result. */
export interface TimedSubmission {
  readonly path: string;
  readonly about: SubmissionExpectations;
  readonly result: LocalResult;
}

export interface TimeLimit {
  /** The time limit in seconds. Null if the package sets none, and none follows from its submissions. */
  readonly limitSecs: number | null;
  /** The rules of the format that the package breaks. */
  readonly faults: readonly string[];
  /** What makes the limit uncertain, but breaks no rule. */
  readonly hints: readonly string[];
}

/**
 * How long a run must be able to take, in seconds of CPU time, so that its result follows from the rules of the format: a submission
 * that is meant to be too slow must take at least the time limit times a factor.
 * @param limitSecs the time limit; null if it is not known yet. @param mostSecs the highest time limit that can be enforced.
 */
export function runSecs({ limitToTle }: Timing, limitSecs: number | null, mostSecs: number): number {
  if (limitSecs === null) return mostSecs;
  return Math.min(mostSecs, Number((limitSecs * Math.max(limitToTle, 1) + RUN_MORE_SECS).toFixed(3)));
}
/** So much longer may a run take, so that a run which is ended has certainly taken as long as the rules want. */
const RUN_MORE_SECS = 0.1;

/**
 * The time limit by the rules of the format.
 * @param mostSecs the seconds of CPU time that the runs may use: a higher limit could not be enforced.
 */
export function timeLimit(
  { timing, definition, format }: ProblemPackage,
  timed: readonly TimedSubmission[],
  mostSecs: number,
): TimeLimit {
  const runsIn = (one: Expectation, { runs }: LocalResult) => {
    const isIn = applies(one, definition);
    return runs.filter(({ test }) => isIn(test));
  };
  const slowest = (way: "lower" | "upper") =>
    timed.flatMap(({ path, about, result }) =>
      about.expectations
        .filter((one) => one.timeLimit === way || one.timeLimit === "both")
        .map((one) => ({ path, secs: slowestOf(runsIn(one, result), definition) })),
    );
  const [accepted] = slowest("lower").sort((a, b) => b.secs - a.secs);
  const [tooSlow] = slowest("upper").sort((a, b) => a.secs - b.secs);
  if (!accepted) {
    const none = ["no submission bounds the time limit from below"];
    return { limitSecs: timing.limitSecs, faults: timed.length > 0 ? none : [], hints: [] };
  }
  if (accepted.secs === Number.POSITIVE_INFINITY)
    return {
      limitSecs: timing.limitSecs,
      faults: [`${accepted.path} takes more than ${runSecs(timing, timing.limitSecs, mostSecs)} s`],
      hints: [],
    };
  const least = accepted.secs * timing.acToLimit;
  const limitSecs = timing.limitSecs ?? multipleOf(timing, least);
  const most = limitSecs * timing.limitToTle;
  const by = (one: { path: string; secs: number }) => `${one.path} takes ${one.secs.toFixed(2)} s`;
  const faults: string[] = [];
  if (limitSecs > mostSecs)
    faults.push(
      `the time limit of ${limitSecs} s is above the ${mostSecs} s that this service permits: ${by(accepted)}`,
    );
  if (limitSecs < least)
    faults.push(`the time limit of ${limitSecs} s is below ${least.toFixed(2)} s: ${by(accepted)}`);
  const between = tooSlow
    ? `with a time limit of ${limitSecs} s, a submission that is too slow must take at least ${most} s, but ${by(tooSlow)}`
    : "";
  const isBetween = tooSlow !== undefined && tooSlow.secs < most;
  // In the format legacy, this is no rule: a submission meets its expectations with the limit or with the limit times the margin.
  if (isBetween && format !== "legacy") faults.push(between);
  return { limitSecs, faults, hints: isBetween && format === "legacy" ? [between] : [] };
}

/** @returns a function that says whether the expectation is about the test with this index. */
export function applies({ tests: glob }: Expectation, { tests }: Definition): (test: number) => boolean {
  if (glob === null) return () => true;
  const isIn = matcher(glob);
  return (test) => isIn(tests[test]?.name ?? "");
}

function multipleOf({ resolutionSecs }: Timing, least: number): number {
  const amount = Math.max(1, Math.ceil(least / resolutionSecs - 1e-9));
  return Number((amount * resolutionSecs).toFixed(6));
}

/** CPU time of the slowest run in seconds. It is infinity if a time limit ended a run, which would have taken longer. */
function slowestOf(runs: readonly LocalRun[], definition: Definition): number {
  const secs = runs.map((run) => (run.verdict === "TLE" ? Number.POSITIVE_INFINITY : secsOf(run, definition)));
  return Math.max(0, ...secs);
}

/**
 * The CPU time of a run in seconds, as far as a time limit concerns it. A program that its interactor has rejected can run on without a
 * partner, so its time says nothing.
 */
function secsOf({ test, verdict, cpuUsec }: LocalRun, { tests, checker: ofProblem }: Definition): number {
  const checker = tests[test]?.checker ?? ofProblem;
  const isRejected = verdict === "WA" && checker.type === "program" && checker.interactive === true;
  return isRejected ? 0 : (cpuUsec ?? 0) / 1e6;
}

export interface LimitedResult extends Pick<LocalResult, "states" | "score" | "runs"> {
  readonly groups: readonly GroupScore[];
  /** For each test, the part of its points that the submission earned. */
  readonly shares: readonly number[];
}

/**
 * The result of runs with the time limit of the problem, which can be lower than the limit with which they were made: a test
 * whose run took longer fails, and groups that depend on it are skipped.
 * @param limitSecs null: only the limit of the runs holds.
 */
export function withTimeLimit(
  { runs }: Pick<LocalResult, "runs">,
  definition: Definition,
  limitSecs: number | null,
): LimitedResult {
  const limited = new Map(runs.map((run) => [run.test, isTooSlow(run, definition, limitSecs) ? tooSlow(run) : run]));
  const states: TestState[] = definition.tests.map(() => "waiting");
  for (;;) {
    const next = advance(states, definition, { stop: "never", mostQueued: states.length });
    for (const test of next.skip) states[test] = "skipped";
    if (next.verdict) break;
    for (const test of next.start) states[test] = limited.get(test)?.verdict ?? "skipped";
  }
  const left = [...limited.values()].filter(({ test }) => states[test] !== "skipped");
  const shares = states.map((state, test) => (state === "AC" ? (limited.get(test)?.share ?? 0) : 0));
  const groups = groupScores(definition, states, shares);
  return { states, runs: left, groups, shares, score: totalOf(groups).score };
}

function isTooSlow(run: LocalRun, definition: Definition, limitSecs: number | null): boolean {
  return limitSecs !== null && run.verdict !== "CE" && run.verdict !== "IE" && secsOf(run, definition) > limitSecs;
}

/** The run as TLE. It has no message, because the message was about an output that does not count. */
function tooSlow({ errorLine: _, ...run }: LocalRun): LocalRun {
  return { ...run, verdict: "TLE", share: 0, message: null };
}
