import { advance, groupScores, type JudgementVerdict, rounded, type TestState } from "../domain/judgement.ts";
import type { LocalResult, LocalRun } from "../worker/judge-locally.ts";
import { type About, type Expectation, type FormatVerdict, matches } from "./expectations.ts";
import type { ProblemPackage, Timing } from "./problem.ts";
import type { Source } from "./source.ts";
import type { PackageTest } from "./tests.ts";

/** A submission that ran with the limits of the profile. */
export interface Measured {
  readonly source: Source;
  readonly about: About;
  readonly result: LocalResult;
}

/**
 * The time limit by the rules of the format, and the rules that do not hold.
 * @param highestSecs the highest time limit that can be enforced.
 */
export function timeLimit(
  { timing, tests }: ProblemPackage,
  measured: readonly Measured[],
  highestSecs: number,
): { readonly limitSecs: number | null; readonly faults: readonly string[] } {
  const slowest = (way: "lower" | "upper") =>
    measured.flatMap(({ about, result, source }) =>
      about.expectations
        .filter((one) => one.timeLimit === way || one.timeLimit === "both")
        .map((one) => ({ path: source.path, secs: slowestOf(runsFor(one, result.runs, tests)) })),
    );
  const accepted = slowest("lower").sort((a, b) => b.secs - a.secs)[0];
  if (!accepted) return { limitSecs: timing.limitSecs, faults: [] };
  const tooSlow = slowest("upper").sort((a, b) => a.secs - b.secs)[0];
  const least = accepted.secs * timing.acToLimit;
  const limitSecs = timing.limitSecs ?? multipleOf(timing, least);
  const most = limitSecs * timing.limitToTle;
  const by = (one: { path: string; secs: number }) => `${one.path} takes ${one.secs.toFixed(2)} s`;
  const faults: string[] = [];
  if (limitSecs > highestSecs)
    faults.push(`the time limit of ${limitSecs} s is above ${highestSecs} s of the profile judge: ${by(accepted)}`);
  if (limitSecs < least)
    faults.push(`the time limit of ${limitSecs} s is below ${least.toFixed(2)} s: ${by(accepted)}`);
  if (tooSlow && tooSlow.secs < most)
    faults.push(`with a time limit of ${limitSecs} s, ${most} s are too slow, but ${by(tooSlow)}`);
  return { limitSecs, faults };
}

function multipleOf({ resolutionSecs }: Timing, least: number): number {
  const amount = Math.max(1, Math.ceil(least / resolutionSecs - 1e-9));
  return Number((amount * resolutionSecs).toFixed(6));
}

/** A run that a limit ended would have taken longer. */
function slowestOf(runs: readonly LocalRun[]): number {
  const secs = runs.map(({ verdict, cpuUsec }) =>
    verdict === "TLE" ? Number.POSITIVE_INFINITY : (cpuUsec ?? 0) / 1e6,
  );
  return Math.max(0, ...secs);
}

/** The runs that an expectation is about. */
export function runsFor<T extends { readonly test: number }>(
  { tests: glob }: Expectation,
  runs: readonly T[],
  tests: readonly PackageTest[],
): T[] {
  return runs.filter(({ test }) => glob === null || matches(glob, tests[test]?.meta.name ?? ""));
}

const FORMAT: Readonly<Partial<Record<JudgementVerdict, FormatVerdict>>> = { AC: "AC", WA: "WA", TLE: "TLE" };

export interface TimedRun {
  readonly test: number;
  readonly verdict: FormatVerdict;
  readonly message: string | null;
}

/** The runs and the points with the time limit of the problem, which is lower than that of the runs. */
export interface Timed {
  /** Without those of groups that would not have run. */
  readonly runs: readonly TimedRun[];
  /** By the name of a group. */
  readonly scores: ReadonlyMap<string, number>;
  readonly score: number;
}

/** Repeats a judgement from its runs, because groups depend on tests that now are too slow. */
export function withTimeLimit(
  { definition }: Pick<ProblemPackage, "definition">,
  { runs }: LocalResult,
  limitSecs: number | null,
): Timed {
  const all = new Map(runs.map((run) => [run.test, run]));
  const verdictOf = ({ verdict, cpuUsec }: LocalRun): JudgementVerdict =>
    limitSecs !== null && (cpuUsec ?? 0) / 1e6 > limitSecs ? "TLE" : verdict;
  const states: TestState[] = definition.tests.map(() => "waiting");
  for (;;) {
    const next = advance(states, definition, { stop: "never", mostQueued: states.length });
    for (const test of next.skip) states[test] = "skipped";
    for (const test of next.start) states[test] = verdictOf(all.get(test) as LocalRun);
    if (next.start.length === 0) break;
  }
  const shares = states.map((state, test) => (state === "AC" ? (all.get(test)?.share ?? 0) : 0));
  const scores = new Map(groupScores(definition, states, shares).map(({ name, score }) => [name, score]));
  const timed = runs.flatMap((run): TimedRun[] => {
    const { test, message } = run;
    return states[test] === "skipped" ? [] : [{ test, verdict: FORMAT[verdictOf(run)] ?? "RTE", message }];
  });
  return { runs: timed, scores, score: rounded([...scores.values()].reduce((sum, score) => sum + score, 0)) };
}
