import type { Definition, TestState } from "../domain/judgement.ts";
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
}

/**
 * Compares the runs of a submission with the expectations of its package.
 * @param path path of the submission in the package.
 * @param limitSecs a time limit that can be lower than that with which the runs were made; null if only the latter holds.
 */
export function compare(
  path: string,
  expectations: readonly Expectation[],
  runs: readonly LocalRun[],
  definition: Definition,
  limitSecs: number | null,
): ComparedSubmission {
  const limited = withTimeLimit({ runs }, definition, limitSecs);
  const broken = limited.runs.find(({ verdict }) => verdict === "CE" || verdict === "IE");
  const faults = broken
    ? [`${broken.verdict} on ${nameOf(definition, broken.test)}${tail(broken.message)}`]
    : expectations.flatMap((expectation) => breaches(expectation, limited, definition));
  if (path.startsWith(PARTIAL)) {
    const most = definition.tests.reduce((sum, { points }) => sum + points, 0);
    if (!(limited.score > TOLERANCE && limited.score < most - TOLERANCE))
      faults.push(`the score ${limited.score} is not between 0 and ${most}`);
  }
  const failed = limited.states.find((state) => formatVerdict(state) !== "AC");
  return {
    verdict: broken?.verdict ?? (failed ? formatVerdict(failed) : "AC"),
    score: limited.score,
    slowestSecs: Math.max(0, ...runs.map(({ cpuUsec }) => (cpuUsec ?? 0) / 1e6)),
    faults,
  };
}

const PARTIAL = "submissions/partially_accepted/";
/** Scores are rounded to six decimals. */
const TOLERANCE = 1e-5;

/** The differences between a submission and an expectation of the package. */
function breaches(one: Expectation, limited: LimitedResult, definition: Definition): string[] {
  const isIn = applies(one, definition);
  const found = limited.states.flatMap((state, test) =>
    isIn(test) ? [{ test, verdict: expectableVerdict(state) }] : [],
  );
  if (found.length === 0) return [`submissions.yaml: no test is named ${one.tests}`];
  const faults: string[] = [];
  const where = one.tests === null ? "" : ` of ${one.tests}`;
  const wrong = found.find(({ verdict }) => !among(one.permitted, verdict, "some"));
  const ofTest = (test: number) => limited.runs.find((run) => run.test === test)?.message ?? null;
  if (wrong) faults.push(`${wrong.verdict} on ${nameOf(definition, wrong.test)}${tail(ofTest(wrong.test))}`);
  else if (!found.some(({ verdict }) => among(one.required, verdict, "every")))
    faults.push(`no test${where} has the verdict ${one.required.join(" or ")}`);
  const { message, score } = one;
  if (message !== undefined && !found.some(({ test }) => ofTest(test)?.includes(message)))
    faults.push(`no message of a test${where} contains ${JSON.stringify(message)}`);
  for (const got of score ? scoresFor(one, limited) : [])
    if (score && (got < score[0] - TOLERANCE || got > score[1] + TOLERANCE))
      faults.push(`the score ${got}${where} is not ${rangeText(score)}`);
  return faults;
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
export function tail(message: string | null): string {
  return message ? `: ${message}` : "";
}
