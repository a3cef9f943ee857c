import type { Language } from "../domain/language.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import type { LocalJudge } from "../worker/judge-locally.ts";
import { type Expectation, FORMAT_VERDICTS, type FormatVerdict, matches } from "./expectations.ts";
import type { PackageFiles } from "./files.ts";
import type { ProblemPackage } from "./package.ts";
import { toProgram } from "./source.ts";
import { formatVerdict, type Judged, SUBMISSIONS, SubmissionJudge } from "./submissions.ts";
import { applies, type LimitedResult, withTimeLimit } from "./timing.ts";

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
  /** Empty if it meets the expectations of the package. */
  readonly faults: readonly string[];
}

export interface Verified {
  /** Faults of the package that belong to no submission. */
  readonly faults: readonly string[];
  readonly timeLimitSecs: number | null;
  readonly submissions: readonly VerifiedSubmission[];
}

/** The exit code with which validators accept. */
const ACCEPTS = 42;

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
  const faults = [...(await verifyInputs(problem, judge, languages, onProgress))];
  faults.push(...(await verifyOutputs(problem, judge)));
  if (problem.format === "dmoj") return { faults, timeLimitSecs: null, submissions: [] };
  const submissionJudge = new SubmissionJudge(files, problem, judge, languages);
  const judged: Judged[] = [];
  const skipped: VerifiedSubmission[] = [];
  for (const source of problem.submissions) {
    const { path } = source;
    onProgress(path);
    const one = await submissionJudge.run(source);
    if (one) judged.push(one);
    else skipped.push({ path, language: null, verdict: null, score: null, slowestSecs: null, faults: [] });
  }
  if (!judged.some(({ path }) => path.startsWith(`${SUBMISSIONS}accepted/`)))
    faults.push("submissions/accepted: no submission in an installed language");
  const limit = submissionJudge.timeLimit(judged);
  faults.push(...limit.faults);
  const submissions = judged.map((one) => verifySubmission(one, problem, limit.limitSecs));
  const inOrder = [...submissions, ...skipped].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { faults, timeLimitSecs: limit.limitSecs, submissions: inOrder };
}

/** Every validator must accept every valid input, and one must reject each invalid one. */
async function verifyInputs(
  { inputValidators, inputs }: ProblemPackage,
  judge: LocalJudge,
  languages: Languages,
  onProgress: (step: string) => void,
): Promise<string[]> {
  const faults: string[] = [];
  const rejected = new Set<string>();
  for (const source of inputValidators) {
    onProgress(source.path);
    const found = toProgram(source, languages);
    if (!found) {
      faults.push(`${source.path}: is in no installed language`);
      continue;
    }
    const name = source.path.split("/").at(-1) ?? "";
    for (const { path, input, args, isValid } of inputs) {
      const own = args[name] ?? args[name.replace(/\.[^.]*$/, "")] ?? args[""] ?? [];
      const { ended, accepts, broken } = await validate(judge, found, input(), own);
      if (broken || (isValid && !accepts)) faults.push(`${path}: ${source.path} ends with ${ended}`);
      if (broken || !accepts) rejected.add(path);
    }
  }
  for (const { path, isValid } of inputs)
    if (!isValid && !rejected.has(path)) faults.push(`${path}: no input validator rejects it`);
  return faults;
}

/** `broken`: the validator could not be run. */
async function validate(
  judge: LocalJudge,
  { language, program }: { readonly language: Language; readonly program: Program },
  stdin: Buffer,
  args: readonly string[],
): Promise<{ readonly ended: string; readonly accepts: boolean; readonly broken: boolean }> {
  const { judgement } = await judge.run(language, "judge", program, stdin, args);
  const { cause, exitCode, verdict, errorMessage } = judgement;
  if (cause.startsWith("compile_")) return { ended: "an error of its compiler", accepts: false, broken: true };
  if (verdict === "IE") return { ended: `IE${tail(errorMessage)}`, accepts: false, broken: true };
  const ended = exitCode === null ? verdict : `exit code ${exitCode}`;
  return { ended, accepts: exitCode === ACCEPTS, broken: false };
}

async function verifyOutputs({ outputs, checker }: ProblemPackage, judge: LocalJudge): Promise<string[]> {
  const faults: string[] = [];
  for (const { path, input, answer, output, verdict: wanted, checker: spec } of outputs) {
    const test = { checker: spec, checkerProgram: checker, answers: [answer()], points: 0 };
    const { verdict, message } = await judge.check(test, input(), output());
    if (verdict !== wanted) faults.push(`${path}: is ${verdict}, not ${wanted}${tail(message)}`);
  }
  return faults;
}

function verifySubmission(one: Judged, problem: ProblemPackage, limitSecs: number | null): VerifiedSubmission {
  const { path, language, result, bytes } = one;
  const limited = withTimeLimit(result, problem.definition, limitSecs);
  const broken = limited.runs.find(({ verdict }) => verdict === "CE" || verdict === "IE");
  const faults = broken
    ? [`${broken.verdict} on ${nameOf(problem, broken.test)}${tail(broken.message)}`]
    : one.about.expectations.flatMap((expectation) => breaches(expectation, limited, problem));
  if (problem.codeBytes !== null && bytes > problem.codeBytes)
    faults.push(`has ${bytes} bytes, more than the ${problem.codeBytes} of limits.code`);
  if (path.startsWith(`${SUBMISSIONS}partially_accepted/`)) {
    const most = problem.definition.tests.reduce((sum, { points }) => sum + points, 0);
    if (!(limited.score > TOLERANCE && limited.score < most - TOLERANCE))
      faults.push(`the score ${limited.score} is not between 0 and ${most}`);
  }
  const failed = limited.states.find((state) => formatVerdict(state) !== "AC");
  return {
    path,
    language: language.name,
    verdict: broken?.verdict ?? (failed ? formatVerdict(failed) : "AC"),
    score: problem.scoring ? limited.score : null,
    slowestSecs: Math.max(0, ...result.runs.map(({ cpuUsec }) => (cpuUsec ?? 0) / 1e6)),
    faults,
  };
}

/** Scores have six decimals. */
const TOLERANCE = 1e-5;

/** The differences between a submission and an expectation of the package. */
function breaches(one: Expectation, limited: LimitedResult, problem: ProblemPackage): string[] {
  const { definition } = problem;
  const found = limited.states.flatMap((state, test) =>
    applies(one, definition, test) ? [{ test, verdict: formatVerdict(state) }] : [],
  );
  if (found.length === 0) return [`submissions.yaml: no test is named ${one.tests}`];
  const faults: string[] = [];
  const where = one.tests === null ? "" : ` on ${one.tests}`;
  const wrong = found.find(({ verdict }) => !among(one.permitted, verdict, "some"));
  const ofTest = (test: number) => limited.runs.find((run) => run.test === test)?.message ?? null;
  if (wrong) faults.push(`${wrong.verdict} on ${nameOf(problem, wrong.test)}${tail(ofTest(wrong.test))}`);
  else if (!found.some(({ verdict }) => among(one.required, verdict, "every")))
    faults.push(`no ${one.required.join(" or ")}${where}`);
  const { message, score } = one;
  if (message !== undefined && !found.some(({ test }) => ofTest(test)?.includes(message)))
    faults.push(`no message with ${JSON.stringify(message)}${where}`);
  for (const got of score ? scoresFor(one, limited) : [])
    if (score && (got < score[0] - TOLERANCE || got > score[1] + TOLERANCE))
      faults.push(`the score ${got} is not ${score.join(" to ")}${where}`);
  return faults;
}

/** Of the submission, or of each group that an expectation names. */
function scoresFor({ tests: glob }: Expectation, { score, groups }: LimitedResult): number[] {
  if (glob === null || matches(glob, "secret")) return [score];
  return groups.filter(({ name }) => matches(glob, name)).map((group) => group.score);
}

function nameOf({ definition }: ProblemPackage, test: number): string {
  return definition.tests[test]?.name ?? String(test);
}

/** A test that was left out has failed, without a known verdict: some failure, or every one, must be in the list. */
function among(verdicts: readonly FormatVerdict[], verdict: FormatVerdict | "skipped", how: "some" | "every"): boolean {
  if (verdict !== "skipped") return verdicts.includes(verdict);
  return FORMAT_VERDICTS.filter((one) => one !== "AC")[how]((one) => verdicts.includes(one));
}

function tail(message: string | null): string {
  return message ? `: ${message}` : "";
}
