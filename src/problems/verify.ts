import type { Language } from "../domain/language.ts";
import type { Languages } from "../languages/load.ts";
import type { LocalJudge } from "../worker/judge-locally.ts";
import { type Expectation, matches, readExpectations } from "./expectations.ts";
import type { PackageFiles } from "./files.ts";
import { highest } from "./limits.ts";
import type { ProblemPackage } from "./problem.ts";
import { toProgram } from "./source.ts";
import { type Measured, runsFor, type Timed, type TimedRun, timeLimit, withTimeLimit } from "./time-limit.ts";
import { tail, verifyInputs, verifyOutputs } from "./validators.ts";

/** A submission of the package with its result. */
export interface VerifiedSubmission {
  readonly path: string;
  /** Null if no installed language has it: it is skipped. */
  readonly language: string | null;
  /** The verdict with the time limit; null if it was skipped. */
  readonly verdict: string | null;
  readonly score: number | null;
  /** CPU time of the slowest test in seconds. */
  readonly slowestSecs: number | null;
  /** Empty if it behaves as the package says. */
  readonly faults: readonly string[];
}

export interface Verified {
  /** Faults of the package that belong to no submission. */
  readonly faults: readonly string[];
  readonly timeLimitSecs: number | null;
  readonly submissions: readonly VerifiedSubmission[];
}

const PREFIX = "submissions/";

/** Points have six decimals: with 500 tests, sums are that close. */
const SCORE_TOLERANCE = 1e-3;

interface Judged extends Measured {
  readonly language: Language;
}

/**
 * Runs the validators and the submissions of a package.
 * @param onProgress called before each step. @throws SandboxError if the slot is lost, PackageError for an invalid program.
 */
export async function verify(
  files: PackageFiles,
  problem: ProblemPackage,
  judge: LocalJudge,
  languages: Languages,
  onProgress: (step: string) => void = () => {},
): Promise<Verified> {
  const faults = await verifyInputs(problem, judge, languages, onProgress);
  faults.push(...(await verifyOutputs(problem, judge)));
  const { definition, checker, tests, format, submissions } = problem;
  if (format === "dmoj") return { faults, timeLimitSecs: null, submissions: [] };
  const about = readExpectations(files, format);
  const judged: Judged[] = [];
  const skipped: VerifiedSubmission[] = [];
  const local = { definition, checker, contents: (test: number) => tests[test]?.contents() ?? [] };
  for (const source of submissions) {
    onProgress(source.path);
    const own = about(source.path.slice(PREFIX.length));
    const found = toProgram(source, languages, own);
    if (!found) {
      const nothing = { language: null, verdict: null, score: null, slowestSecs: null, faults: [] };
      skipped.push({ path: source.path, ...nothing });
      continue;
    }
    const how = { language: found.language, profile: "judge", stop: "never" } as const;
    const result = await judge.judge(found.program, how, local);
    judged.push({ source, about: own, language: found.language, result });
  }
  if (!judged.some(({ source }) => source.path.startsWith(`${PREFIX}accepted/`)))
    faults.push("submissions/accepted: no submission in an installed language");
  const limit = timeLimit(problem, judged, highest("time_limit", languages));
  faults.push(...limit.faults);
  const verified = judged.map((one) => verifySubmission(one, problem, limit.limitSecs));
  const inOrder = [...verified, ...skipped].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { faults, timeLimitSecs: limit.limitSecs, submissions: inOrder };
}

function verifySubmission(
  { source, about, language, result }: Judged,
  problem: ProblemPackage,
  limitSecs: number | null,
): VerifiedSubmission {
  const broken = result.runs.find(({ verdict }) => verdict === "CE" || verdict === "IE");
  const timed = broken ? null : withTimeLimit(problem, result, limitSecs);
  const named = ({ test }: { readonly test: number }) => problem.tests[test]?.meta.name ?? String(test);
  const slowest = Math.max(0, ...result.runs.map(({ cpuUsec }) => (cpuUsec ?? 0) / 1e6));
  const known = { path: source.path, language: language.name, slowestSecs: slowest };
  if (broken || !timed) {
    const place = broken?.verdict === "IE" ? ` on ${named(broken)}` : "";
    const fault = `${broken?.verdict}${place}${tail(broken?.message ?? null)}`;
    return { ...known, verdict: broken?.verdict ?? null, score: problem.scoring ? 0 : null, faults: [fault] };
  }
  const faults = about.expectations.flatMap((one) => [
    ...verdictFaults(one, runsFor(one, timed.runs, problem.tests), named),
    ...scoreFaults(one, timed),
  ]);
  if (source.path.startsWith(`${PREFIX}partially_accepted/`)) {
    const most = problem.definition.tests.reduce((sum, { points }) => sum + points, 0);
    if (!(timed.score > 0 && timed.score < most - SCORE_TOLERANCE))
      faults.push(`the score ${timed.score} is not between 0 and ${most}`);
  }
  const failed = timed.runs.find(({ verdict }) => verdict !== "AC");
  const score = problem.scoring ? timed.score : null;
  return { ...known, verdict: failed?.verdict ?? "AC", score, faults };
}

function verdictFaults(
  { permitted, required, tests, message }: Expectation,
  runs: readonly TimedRun[],
  named: (run: TimedRun) => string,
): string[] {
  const faults: string[] = [];
  const wrong = runs.find(({ verdict }) => !permitted.includes(verdict));
  if (wrong) faults.push(`${wrong.verdict} on ${named(wrong)}${tail(wrong.message)}`);
  else if (runs.length > 0 && !runs.some(({ verdict }) => required.includes(verdict)))
    faults.push(`no ${required.join(" or ")}${tests === null ? "" : ` on ${tests}`}`);
  if (message !== undefined && !runs.some((run) => run.message?.includes(message)))
    faults.push(`no message with ${JSON.stringify(message)}`);
  return faults;
}

/** The score of the submission, or of each group that the expectation is about. */
function scoreFaults({ score: range, tests }: Expectation, { score, scores }: Timed): string[] {
  if (!range) return [];
  const [least, most] = range;
  const isWrong = (points: number) => points < least - SCORE_TOLERANCE || points > most + SCORE_TOLERANCE;
  const wanted = least === most ? String(least) : `${least} to ${most}`;
  if (tests === null || tests === "secret") return isWrong(score) ? [`the score ${score} is not ${wanted}`] : [];
  const groups = [...scores].filter(([name]) => matches(tests, name));
  if (groups.length === 0) return [`${tests}: no group has this name, so that it has no score`];
  return groups.flatMap(([name, points]) =>
    isWrong(points) ? [`the score ${points} of ${name} is not ${wanted}`] : [],
  );
}
