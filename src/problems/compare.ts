import type { Graded } from "../domain/grading.ts";
import { type Definition, gradedVerdict, type JudgementVerdict, type TestState, totalOf } from "../domain/judgement.ts";
import type { LocalRun } from "../worker/judge-locally.ts";
import {
  EXPECTED_VERDICTS,
  type Expectation,
  type ExpectedVerdict,
  FORMAT_VERDICTS,
  type FormatVerdict,
  matcher,
} from "./expectations.ts";
import { applies, type LimitedResult, withTimeLimit } from "./timing.ts";

/** The result of a submission, and its differences from the expectations of the package. */
export interface ComparedSubmission {
  /** The verdict in the words of the format, or CE or IE. */
  readonly verdict: string;
  readonly score: number;
  /** CPU time of the slowest run in seconds. */
  readonly slowestSecs: number;
  /** The expectations that the submission does not meet; empty if it meets all. */
  readonly faults: readonly string[];
  /** What is unusual, but a fault only in the format 2025-09. */
  readonly hints: readonly string[];
}

/**
 * Compares the runs of a submission with the expectations of its package.
 * @param path path of the submission in the package.
 * @param limitSecs a time limit that can be lower than that with which the runs were made; null if only the latter holds.
 * @param graded the result of a custom grader; by default, the groups of the package give it.
 */
export function compare(
  path: string,
  expectations: readonly Expectation[],
  runs: readonly LocalRun[],
  definition: Definition,
  limitSecs: number | null,
  graded?: Graded,
): ComparedSubmission {
  const limited = withTimeLimit({ runs }, definition, limitSecs);
  const { verdict, score } = graded ?? { verdict: gradedVerdict(definition, limited.states), score: limited.score };
  const found: Found = { ...limited, score, graded: verdict, definition, limitSecs };
  const broken = limited.runs.find(({ verdict }) => verdict === "CE" || verdict === "IE");
  const faults = broken
    ? [`${broken.verdict} on ${nameOf(definition, broken.test)}${tail(broken.message)}${tail(broken.errorLine)}`]
    : expectations.flatMap((expectation) => breaches(expectation, found));
  const hints: string[] = [];
  if (path.startsWith(PARTIAL) && !broken) {
    const { maxScore } = totalOf(limited.groups);
    const text = `the score ${score} is not between 0 and ${maxScore}`;
    // A legacy package decides by its groups whether a submission with score 0 is accepted, which its verdict says.
    if (score <= TOLERANCE || score >= maxScore - TOLERANCE) hints.push(text);
  }
  if (!graded && !broken) faults.push(...beyondRange(limited, definition));
  const failed = limited.states.find((state) => formatVerdict(state) !== "AC");
  return {
    verdict: broken?.verdict ?? (failed ? formatVerdict(failed) : "AC"),
    score,
    slowestSecs: Math.max(0, ...runs.map(({ cpuUsec }) => (cpuUsec ?? 0) / 1e6)),
    faults,
    hints,
  };
}

const PARTIAL = "submissions/partially_accepted/";
/** Scores are rounded to six decimals. */
const TOLERANCE = 1e-5;

/** The groups whose score is higher than the package says. */
function beyondRange({ groups }: LimitedResult, definition: Definition): string[] {
  const mostOf = new Map(definition.groups.map(({ name, most }) => [name, most ?? Number.POSITIVE_INFINITY]));
  return groups.flatMap(({ name, score }) =>
    score > (mostOf.get(name) ?? 0) + TOLERANCE
      ? [`the score ${score} of ${name} is above the ${mostOf.get(name)} of its range`]
      : [],
  );
}

/** The result of a submission. */
interface Found extends LimitedResult {
  /** The verdict that the grader of the package gives. */
  readonly graded: JudgementVerdict;
  readonly definition: Definition;
  readonly limitSecs: number | null;
}

/** The differences between a submission and an expectation of the package. */
function breaches(one: Expectation, result: Found): string[] {
  const { states, runs, definition, graded } = result;
  const isIn = applies(one, definition);
  const found = states.flatMap((state, test) => (isIn(test) ? [{ test, verdict: expectableVerdict(state) }] : []));
  if (found.length === 0) return [`submissions.yaml: no test is named ${one.tests}`];
  const faults: string[] = [];
  const where = one.tests === null ? "" : ` of ${one.tests}`;
  const wrong = found.find(({ verdict }) => !among(one.permitted, verdict, "some"));
  const messageOf = (test: number) => runs.find((run) => run.test === test)?.message ?? null;
  const { message, score, verdict } = one;
  if (wrong) faults.push(onTest(wrong.test, wrong.verdict, one.permitted, result));
  else if (!found.some(({ verdict }) => among(one.required, verdict, "every")))
    faults.push(`no test${where} is ${one.required.join(" or ")}: ${counts(found, result)}`);
  if (verdict !== undefined && formatVerdict(graded) !== verdict) {
    const decides = found.find((test) => test.verdict === formatVerdict(graded));
    faults.push(
      graded === "AC" || !decides
        ? `is ${formatVerdict(graded)} instead of ${verdict}: ${counts(found, result)}`
        : onTest(decides.test, decides.verdict, [verdict], result),
    );
  }
  if (message !== undefined && !found.some(({ test }) => messageOf(test)?.includes(message)))
    faults.push(`no message of a test${where} contains ${JSON.stringify(message)}`);
  for (const got of score ? scoresFor(one, result) : [])
    if (score && (got < score[0] - TOLERANCE || got > score[1] + TOLERANCE))
      faults.push(`the score ${got}${where} is not ${rangeText(score)}`);
  return faults;
}

/** A test with another verdict than the package expects, with its CPU time and its message. */
function onTest(
  test: number,
  verdict: ExpectedVerdict | "skipped",
  wanted: readonly ExpectedVerdict[],
  { runs, definition, limitSecs }: Found,
): string {
  const run = runs.find((one) => one.test === test);
  const head = `${verdict} on ${nameOf(definition, test)} instead of ${wanted.join(" or ")}`;
  return `${head}${run ? cpuText(run, limitSecs) : ""}${tail(run?.message)}${tail(run?.errorLine)}`;
}

function cpuText({ cpuUsec }: Pick<LocalRun, "cpuUsec">, limitSecs: number | null): string {
  const limit = limitSecs === null ? "" : ` of ${limitSecs} s`;
  return cpuUsec === null ? "" : ` (${(cpuUsec / 1e6).toFixed(2)}${limit === "" ? " s" : limit} of CPU time)`;
}

/** How many tests have each verdict, with the slowest run. */
function counts(found: readonly { readonly test: number; readonly verdict: string }[], result: Found): string {
  const byVerdict = Map.groupBy(found, ({ verdict }) => verdict);
  const amounts = [...byVerdict].map(([verdict, { length }]) => `${length} ${verdict}`);
  const tests = new Set(found.map(({ test }) => test));
  const [slowest] = result.runs
    .filter(({ test }) => tests.has(test))
    .sort((a, b) => (b.cpuUsec ?? 0) - (a.cpuUsec ?? 0));
  const time = slowest
    ? `, the slowest is ${nameOf(result.definition, slowest.test)}${cpuText(slowest, result.limitSecs)}`
    : "";
  return `${amounts.join(", ")}${time}`;
}

/** A range of scores, such as "100" or "between 1 and 2". */
function rangeText([least, most]: readonly [number, number]): string {
  return least === most ? String(least) : `between ${least} and ${most}`;
}

/** The scores that an expectation is about: that of the whole submission, or those of the groups that the expectation names. */
function scoresFor({ tests: glob }: Expectation, { score, groups }: LimitedResult): number[] {
  if (glob === null) return [score];
  const isIn = matcher(glob);
  return isIn("secret") ? [score] : groups.filter(({ name }) => isIn(name)).map((group) => group.score);
}

function nameOf(definition: Definition, test: number): string {
  return definition.tests[test]?.name ?? String(test);
}

const FORMAT: Readonly<Partial<Record<TestState, FormatVerdict | "skipped">>> = {
  AC: "AC",
  WA: "WA",
  TLE: "TLE",
  skipped: "skipped",
};

/** The state of a test in the words of the format. Every failure that has no word of its own, such as MLE, is RTE. */
export function formatVerdict(state: TestState): FormatVerdict | "skipped" {
  return FORMAT[state] ?? "RTE";
}

function expectableVerdict(state: TestState): ExpectedVerdict | "skipped" {
  return state === "MLE" ? state : formatVerdict(state);
}

/**
 * Whether the list contains the verdict, of which MLE is also RTE. A skipped test counts as failed with an unknown verdict: for `how` "some", the list must
 * contain one of the verdicts of a failure, for "every" all of them.
 */
function among(
  verdicts: readonly ExpectedVerdict[],
  verdict: ExpectedVerdict | "skipped",
  how: "some" | "every",
): boolean {
  if (verdict === "MLE" && verdicts.includes("RTE")) return true;
  if (verdict !== "skipped") return verdicts.includes(verdict);
  const failures = (how === "some" ? EXPECTED_VERDICTS : FORMAT_VERDICTS).filter((one) => one !== "AC");
  return failures[how]((one) => verdicts.includes(one));
}

/** The message of a checker as the end of a fault; empty if there is none. */
export function tail(message: string | null | undefined): string {
  return message ? `: ${message}` : "";
}
