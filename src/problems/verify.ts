import type { JudgementVerdict } from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import type { LocalJudge, LocalResult, LocalRun } from "../worker/judge-locally.ts";
import { type About, type Expectation, type FormatVerdict, matches, readExpectations } from "./expectations.ts";
import { filesBelow, type PackageFiles } from "./files.ts";
import type { ProblemPackage, Timing } from "./package.ts";
import { type Source, toProgram } from "./source.ts";
import type { PackageTest } from "./tests.ts";

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
/** The exit code with which validators accept. */
const ACCEPTS = 42;

interface Judged {
  readonly source: Source;
  readonly about: About;
  readonly language: Language;
  readonly result: LocalResult;
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
  const faults = [...(await verifyInputs(files, problem, judge, languages, onProgress))];
  faults.push(...(await verifyOutputs(files, problem, judge)));
  const about = readExpectations(files, problem.format);
  const judged: Judged[] = [];
  const skipped: VerifiedSubmission[] = [];
  const { definition, checker, tests } = problem;
  const local = { definition, checker, contents: (test: number) => tests[test]?.contents() ?? [] };
  for (const source of problem.submissions) {
    onProgress(source.path);
    const own = about(source.path.slice(PREFIX.length));
    const found = toProgram(source, languages, own.entrypoint);
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
  const { limitSecs, fault } = timeLimit(problem, judged);
  if (fault) faults.push(fault);
  const submissions = judged.map((one) => verifySubmission(one, problem, limitSecs));
  const inOrder = [...submissions, ...skipped].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { faults, timeLimitSecs: limitSecs, submissions: inOrder };
}

/** Every validator must accept every input, and one must reject each of data/invalid_input. */
async function verifyInputs(
  files: PackageFiles,
  { inputValidators, tests }: ProblemPackage,
  judge: LocalJudge,
  languages: Languages,
  onProgress: (step: string) => void,
): Promise<string[]> {
  const faults: string[] = [];
  const rejected = new Set<string>();
  const invalid = [...filesBelow(files, "data/invalid_input")].filter(([path]) => path.endsWith(".in"));
  for (const source of inputValidators) {
    onProgress(source.path);
    const found = toProgram(source, languages);
    if (!found) {
      faults.push(`${source.path}: is in no installed language`);
      continue;
    }
    const name = source.path.split("/").at(-1) ?? "";
    const exit = (input: Buffer, args: readonly string[]) => exitOf(judge, found, input, args);
    for (const { meta, contents, inputValidatorArgs } of tests) {
      const ended = await exit(contents()[0], inputValidatorArgs[name] ?? inputValidatorArgs[""] ?? []);
      if (ended !== `exit code ${ACCEPTS}`) faults.push(`data/${meta.name}.in: ${source.path} ends with ${ended}`);
    }
    for (const [path, input] of invalid) if ((await exit(input, [])) !== `exit code ${ACCEPTS}`) rejected.add(path);
  }
  for (const [path] of invalid)
    if (!rejected.has(path)) faults.push(`data/invalid_input/${path}: no input validator rejects it`);
  return faults;
}

async function exitOf(
  judge: LocalJudge,
  { language, program }: { readonly language: Language; readonly program: Program },
  stdin: Buffer,
  args: readonly string[],
): Promise<string> {
  const { judgement } = await judge.run(language, "judge", program, stdin, args);
  if (judgement.cause.startsWith("compile_")) return "an error of its compiler";
  return judgement.exitCode === null ? judgement.verdict : `exit code ${judgement.exitCode}`;
}

/** Outputs of the package that the output validator must accept or reject. */
async function verifyOutputs(files: PackageFiles, problem: ProblemPackage, judge: LocalJudge): Promise<string[]> {
  const faults: string[] = [];
  for (const [directory, wanted] of [
    ["data/valid_output", "AC"],
    ["data/invalid_output", "WA"],
  ] as const) {
    for (const [path, output] of filesBelow(files, directory)) {
      const name = /^(.*)\.out$/.exec(path)?.[1];
      if (name === undefined) continue;
      const [input, answer] = [files.get(`${directory}/${name}.in`), files.get(`${directory}/${name}.ans`)];
      if (!input || !answer) {
        faults.push(`${directory}/${path}: its input or its answer is missing`);
        continue;
      }
      const { definition, checker } = problem;
      const test = { checker: definition.checker, checkerProgram: checker, answers: [answer], points: 0 };
      const { verdict, message } = await judge.check(test, input, output);
      if (verdict !== wanted) faults.push(`${directory}/${path}: is ${verdict}, not ${wanted}${tail(message)}`);
    }
  }
  return faults;
}

/** The time limit by the rules of the format, and the first rule that does not hold. */
function timeLimit(
  { timing, tests }: ProblemPackage,
  judged: readonly Judged[],
): { readonly limitSecs: number | null; readonly fault: string | null } {
  const slowest = (way: "lower" | "upper") =>
    judged.flatMap(({ about, result, source }) =>
      about.expectations
        .filter((one) => one.timeLimit === way || one.timeLimit === "both")
        .map((one) => ({ path: source.path, secs: slowestOf(runsFor(one, result, tests)) })),
    );
  const accepted = slowest("lower").sort((a, b) => b.secs - a.secs)[0];
  if (!accepted) return { limitSecs: timing.limitSecs, fault: null };
  const tooSlow = slowest("upper").sort((a, b) => a.secs - b.secs)[0];
  const least = accepted.secs * timing.acToLimit;
  const limitSecs = timing.limitSecs ?? multipleOf(timing, least);
  const by = (one: { path: string; secs: number }) => `${one.path} takes ${one.secs.toFixed(2)} s`;
  if (limitSecs < least)
    return { limitSecs, fault: `the time limit of ${limitSecs} s is below ${least.toFixed(2)} s: ${by(accepted)}` };
  const most = limitSecs * timing.limitToTle;
  if (tooSlow && tooSlow.secs < most)
    return { limitSecs, fault: `with a time limit of ${limitSecs} s, ${most} s are too slow, but ${by(tooSlow)}` };
  return { limitSecs, fault: null };
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

function runsFor({ tests: glob }: Expectation, { runs }: LocalResult, tests: readonly PackageTest[]): LocalRun[] {
  return runs.filter(({ test }) => glob === null || matches(glob, tests[test]?.meta.name ?? ""));
}

function verifySubmission(
  { source, about, language, result }: Judged,
  problem: ProblemPackage,
  limitSecs: number | null,
): VerifiedSubmission {
  const faults: string[] = [];
  const broken = result.runs.find(({ verdict }) => verdict === "CE" || verdict === "IE");
  if (broken) faults.push(`${broken.verdict}${tail(broken.message)}`);
  const named = (run: LocalRun) => problem.tests[run.test]?.meta.name ?? String(run.test);
  for (const one of broken ? [] : about.expectations) {
    const runs = runsFor(one, result, problem.tests);
    const found = runs.map((run) => ({ run, verdict: formatVerdict(run, limitSecs) }));
    const wrong = found.find(({ verdict }) => !one.permitted.includes(verdict));
    if (wrong) faults.push(`${wrong.verdict} on ${named(wrong.run)}${tail(wrong.run.message)}`);
    else if (runs.length > 0 && !found.some(({ verdict }) => one.required.includes(verdict)))
      faults.push(`no ${one.required.join(" or ")}${one.tests === null ? "" : ` on ${one.tests}`}`);
    if (one.message !== undefined && !runs.some(({ message }) => message?.includes(one.message as string)))
      faults.push(`no message with ${JSON.stringify(one.message)}`);
    if (one.score && (result.score < one.score[0] || result.score > one.score[1]))
      faults.push(`the score ${result.score} is not ${one.score.join(" to ")}`);
  }
  if (source.path.startsWith(`${PREFIX}partially_accepted/`)) {
    const most = problem.definition.tests.reduce((sum, { points }) => sum + points, 0);
    if (!(result.score > 0 && result.score < most))
      faults.push(`the score ${result.score} is not between 0 and ${most}`);
  }
  const failed = result.runs.find((run) => formatVerdict(run, limitSecs) !== "AC");
  return {
    path: source.path,
    language: language.name,
    verdict: broken?.verdict ?? (failed ? formatVerdict(failed, limitSecs) : "AC"),
    score: problem.scoring ? result.score : null,
    slowestSecs: Math.max(0, ...result.runs.map(({ cpuUsec }) => (cpuUsec ?? 0) / 1e6)),
    faults,
  };
}

const FORMAT: Readonly<Partial<Record<JudgementVerdict, FormatVerdict>>> = { AC: "AC", WA: "WA", TLE: "TLE" };

/** With the time limit of the problem, which is lower than that of the runs. */
function formatVerdict({ verdict, cpuUsec }: LocalRun, limitSecs: number | null): FormatVerdict {
  if (limitSecs !== null && (cpuUsec ?? 0) / 1e6 > limitSecs) return "TLE";
  return FORMAT[verdict] ?? "RTE";
}

function tail(message: string | null): string {
  return message ? `: ${message}` : "";
}
