import { needsGrader, totalOfGrading } from "../domain/grading.ts";
import { exclude, isAmong } from "../domain/harness.ts";
import { checkerLimitsOf } from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { TestLimits } from "../domain/limits.ts";
import type { WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import type { LocalJudge } from "../worker/judge-locally.ts";
import { compare, tail } from "./compare.ts";
import { type PackageFiles, UnusableError } from "./files.ts";
import { type JudgedSubmission, judgeSubmission, timeLimitOf } from "./judge-submission.ts";
import { ceilingOf } from "./limits.ts";
import { makeTests } from "./makers.ts";
import type { ProblemPackage } from "./package.ts";
import { type Source, toProgram } from "./source.ts";
import { type OwnSubmission, readSubmissions, SUBMISSIONS } from "./submissions.ts";
import type { InputTest } from "./tests.ts";
import { runSecs, withTimeLimit } from "./timing.ts";

/** A submission of the package with its result. */
export interface VerifiedSubmission {
  readonly path: string;
  /** Null if the submission is in no installed language, and is therefore skipped. */
  readonly language: string | null;
  /** The verdict with the time limit; null if it was skipped. */
  readonly verdict: string | null;
  /** Null if it was skipped, or if the problem has no scores. */
  readonly score: number | null;
  /** CPU time of the slowest run in seconds; null if it was skipped. */
  readonly slowestSecs: number | null;
  /** The expectations of the package that the submission does not meet; empty if it meets all. */
  readonly faults: readonly string[];
}

export interface Verified {
  /** Faults of the package that belong to no submission. */
  readonly faults: readonly string[];
  /** Parts that could not be tried, and why, and what is unusual but breaks no rule of the format; they are no faults of the package. */
  readonly skipped: readonly string[];
  /** The time limit in seconds. Null for a package of DMOJ, or if the package sets none and none follows from its submissions. */
  readonly timeLimitSecs: number | null;
  readonly submissions: readonly VerifiedSubmission[];
}

/** The exit code with which input validators accept, unless the format has another one. */
const ACCEPTS = 42;

export interface VerifyOptions {
  /** Called before each step. */
  readonly onProgress?: (step: string) => void;
  /** The language in which submissions in Python run, if it is another one. */
  readonly python?: Language;
}

/**
 * Runs the validators and the submissions of a package. @throws SandboxError if the slot is lost, PackageError for an invalid program.
 */
export async function verify(
  files: PackageFiles,
  problem: ProblemPackage,
  judge: LocalJudge,
  languages: Languages,
  { onProgress = () => {}, python }: VerifyOptions = {},
): Promise<Verified> {
  if (problem.makings) await makeTests(problem.makings, judge, onProgress);
  const { faults, skipped } = await verifyInputs(problem, judge, languages, onProgress);
  skipped.push(...(problem.untried ?? []));
  for (const { isHint, text } of await verifyOutputs(problem, judge)) (isHint ? skipped : faults).push(text);
  if (problem.format === "dmoj") return { faults, skipped, timeLimitSecs: null, submissions: [] };
  const judged: JudgedSubmission[] = [];
  const notRun: VerifiedSubmission[] = [];
  const mostSecs = ceilingOf("time_limit", languages);
  // The submissions from which the time limit follows are judged first. The others are then ended as soon as their result is known.
  const { yes = [], no = [] } = Object.groupBy(readSubmissions(files, problem, languages), ({ about }) =>
    about.expectations.some(({ timeLimit: way }) => way === "lower" || way === "both") ? "yes" : "no",
  );
  for (const submissions of [yes, no]) {
    const limitSecs = problem.timing.limitSecs ?? timeLimitOf(problem, judged, languages).limitSecs;
    const cpuSecs = runSecs(problem.timing, limitSecs, mostSecs);
    for (const submission of submissions) {
      const { path, about, fault } = submission;
      onProgress(path);
      const { found } = submission;
      const isPython = python && found?.language.name === "python";
      const runs = isPython ? { ...submission, found: { ...found, language: python } } : submission;
      const one = await judgeSubmission(runs, problem, { judge, cpuSecs });
      if (one) judged.push(one);
      if (one) continue;
      // Nothing is expected of a submission in a directory that the format does not know.
      const isExpected = about.expectations.length > 0;
      if (fault && !isExpected) skipped.push(fault.message);
      const faults = fault && isExpected ? [withoutPath(fault.message, path)] : [];
      notRun.push({ path, language: null, verdict: null, score: null, slowestSecs: null, faults });
    }
  }
  if (!judged.some((one) => mustBeAccepted(one, problem))) faults.push(withoutAccepted(problem, [...yes, ...no]));
  const limit = timeLimitOf(problem, judged, languages);
  faults.push(...limit.faults);
  skipped.push(...limit.hints);
  const submissions: VerifiedSubmission[] = [];
  for (const one of judged) {
    const { hints, ...verified } = await verifySubmission(one, problem, limit.limitSecs, judge);
    skipped.push(...hints.map((hint) => `${one.path}: ${hint}`));
    const { tests, languages: permitted } = problem.definition;
    // A program of the package can make the answers of which a submission consists.
    const isAllowed =
      tests.some(({ answerFile }) => answerFile !== undefined) ||
      permitted === undefined ||
      isAmong(permitted, one.language) ||
      permitted.some((name) => languages.resolve(name) === one.language) ||
      (one.language === python && permitted.some((name) => languages.resolve(name)?.name === "python"));
    const other = `is in ${one.language.name}, which the problem does not permit`;
    submissions.push(isAllowed ? verified : { ...verified, faults: [...verified.faults, other] });
  }
  const inOrder = [...submissions, ...notRun].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { faults, skipped, timeLimitSecs: limit.limitSecs, submissions: inOrder };
}

function mustBeAccepted(
  { path, about }: Pick<OwnSubmission, "path" | "about">,
  { expectations }: Pick<ProblemPackage, "expectations">,
): boolean {
  if (!expectations) return path.startsWith(`${SUBMISSIONS}accepted/`);
  return about.expectations.some(({ tests, permitted }) => tests === null && permitted.every((one) => one === "AC"));
}

/** Why no submission that must be accepted could be judged. */
function withoutAccepted(problem: ProblemPackage, submissions: readonly OwnSubmission[]): string {
  if (submissions.length === 0) return "submissions: the package has no submission";
  const [where, kind] = problem.expectations ? ["submissions", "accepted "] : ["submissions/accepted", ""];
  const has = submissions.some((one) => mustBeAccepted(one, problem));
  return has ? `${where}: no ${kind}submission in an installed language` : `${where}: no ${kind}submission`;
}

/** The message of a fault without the path at its start, for lists in which the path is in front of each fault. */
function withoutPath(message: string, path: string): string {
  return message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
}

/**
 * Every input validator must accept every valid input, and at least one must reject each invalid input. Validators in languages that are
 * not installed, such as Checktestdata, or with a file outside the package are skipped. One of them could be the one that rejects an input, so that this is then not known.
 */
async function verifyInputs(
  { inputValidators, inputs, definition, validatorAccepts = ACCEPTS }: ProblemPackage,
  judge: LocalJudge,
  languages: Languages,
  onProgress: (step: string) => void,
): Promise<{ readonly faults: string[]; readonly skipped: string[] }> {
  const limits = checkerLimitsOf(definition);
  const faults: string[] = [];
  const skipped: string[] = [];
  const rejected = new Set<string>();
  for (const source of inputValidators) {
    onProgress(source.path);
    const program = validatorOf(source, languages);
    if (!program || program instanceof UnusableError) {
      skipped.push(program?.message ?? `${source.path}: is in no installed language`);
      continue;
    }
    const name = source.path.split("/").at(-1) ?? "";
    let compiles = true;
    // Inputs that are the same file because of links, without files of their own, are validated once.
    const known = new Map<InputTest["input"], Map<string, Validated>>();
    for (const { path, input, files, args, isValid, validator = source.path } of inputs) {
      if (validator !== source.path) continue;
      if (!compiles) {
        rejected.add(path);
        continue;
      }
      const given = argumentsOf(args, name);
      const results = known.get(input) ?? new Map<string, Validated>();
      known.set(input, results);
      const key = JSON.stringify(given);
      const found = files ? undefined : results.get(key);
      const { ended, exitCode, broken, compilerOutput } =
        found ?? (await validate(judge, program, { stdin: input(), args: given, files: files?.() ?? [] }, limits));
      if (!files) results.set(key, { ended, exitCode, broken });
      if (compilerOutput !== undefined) {
        compiles = false;
        faults.push(`${source.path}: does not compile${tail(firstError(compilerOutput))}`);
        rejected.add(path);
        continue;
      }
      const accepts = exitCode === validatorAccepts;
      if (broken || (isValid && !accepts)) faults.push(`${path}: ${source.path} ends with ${ended}`);
      if (broken || !accepts) rejected.add(path);
    }
  }
  const isUnknown = skipped.length > 0;
  for (const { path, isValid } of inputs)
    if (!isValid && !rejected.has(path))
      (isUnknown ? skipped : faults).push(`${path}: no ${isUnknown ? "other " : ""}input validator rejects it`);
  return { faults, skipped };
}

/** The program of an input validator. It can need a file outside the package, to which a link leads: then this is the result. */
function validatorOf(source: Source, languages: Languages): ReturnType<typeof toProgram> | UnusableError {
  try {
    return toProgram(source, languages);
  } catch (error) {
    if (error instanceof UnusableError) return error;
    throw error;
  }
}

/** The arguments of an input validator: those of its name, with or without its suffix, or those of all validators. */
export function argumentsOf(args: Readonly<Record<string, readonly string[]>>, name: string): readonly string[] {
  const key = [name, name.replace(/\.[^.]*$/, ""), ""].find((one) => Object.hasOwn(args, one));
  return key === undefined ? [] : (args[key] ?? []);
}

/** How an input validator ended on an input. `broken` says that it gave no result: it does not compile, a limit ended it, or the platform failed. */
interface Validated {
  readonly ended: string;
  readonly exitCode: number | null;
  readonly broken: boolean;
  /** What the compiler wrote, if the validator does not compile: it is then broken for every input. */
  readonly compilerOutput?: string;
}

/** The first line of a compiler's output that is an error; its first line if none says so. */
export function firstError(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  const found = lines.find((line) => /\berror\b/i.test(line)) ?? lines[0] ?? "";
  return found
    .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
    .trim()
    .slice(0, 300)
    .toWellFormed();
}

/** Runs an input validator. */
async function validate(
  judge: LocalJudge,
  { language, program }: { readonly language: Language; readonly program: Program },
  {
    stdin,
    args,
    files,
  }: { readonly stdin: Buffer; readonly args: readonly string[]; readonly files: readonly WorkFile[] },
  limits: TestLimits,
): Promise<Validated> {
  const failed = (ended: string): Validated => ({ ended, exitCode: null, broken: true });
  const taken = files.find(({ name }) => program.options?.files.some((own) => exclude(own.name, name)));
  if (taken) return failed(`an error, because it has a file ${taken.name} like the test`);
  const { result, output } = await judge.run(language, limits, program, stdin, args, files);
  const { cause, exitCode, verdict, errorMessage } = result;
  if (cause === "compile_error") {
    const compilerOutput = [output?.stderr, output?.stdout].map((bytes) => bytes?.toString("utf8") ?? "").join("\n");
    return { ...failed("an error of its compiler"), compilerOutput };
  }
  if (cause.startsWith("compile_")) return failed(`an error of its compiler${tail(errorMessage)}`);
  // A validator that a limit ends has no result. If it ends by itself, any end but the exit code that accepts rejects.
  if (verdict !== "AC" && verdict !== "RE" && verdict !== "SIG") return failed(`${verdict}${tail(errorMessage)}`);
  const ended = exitCode === null ? verdict : `exit code ${exitCode}`;
  return { ended, exitCode, broken: false };
}

async function verifyOutputs(
  { outputs, checker, scoring, definition }: ProblemPackage,
  judge: LocalJudge,
): Promise<{ readonly isHint: boolean; readonly text: string }[]> {
  const faults = [];
  for (const { path, input, answer, output, verdict: wanted, checker: spec, isHint = false } of outputs) {
    const checkerLimits = checkerLimitsOf(definition);
    const test = {
      checker: spec,
      checkerProgram: checker,
      answers: [answer()],
      points: scoring ? 0 : null,
      checkerLimits,
    };
    const { verdict, message } = await judge.check(test, input(), output());
    if (verdict === wanted) continue;
    // A checker that reads what was measured of a run can fail without one; any other checker must not fail.
    const isFault = verdict === "IE" && !(spec.type === "program" && spec.readsRun);
    const isNote = isHint && !isFault;
    const text = isNote ? `the checker decides ${verdict} for the answer` : `is ${verdict}, not ${wanted}`;
    faults.push({ isHint: isNote, text: `${path}: ${text}${tail(message)}` });
  }
  return faults;
}

/**
 * Compares a submission with the expectations of the package. In the format legacy, a submission also meets them if it does with the time
 * limit times its safety margin.
 */
async function verifySubmission(
  { path, about, language, result, bytes }: JudgedSubmission,
  { definition, scoring, format, timing, grader }: ProblemPackage,
  limitSecs: number | null,
  judge: LocalJudge,
): Promise<VerifiedSubmission & { readonly hints: readonly string[] }> {
  const compared = async (secs: number | null) => {
    const { states, shares } = withTimeLimit(result, definition, secs);
    const ended = { definition, states, shares };
    const grading = grader && needsGrader(ended) ? await judge.grade(ended, grader) : null;
    const graded = grading && !grading.fault ? totalOfGrading(definition, grading) : undefined;
    const found = compare(path, about.expectations, result.runs, definition, secs, graded);
    return grading?.fault ? { ...found, score: 0, faults: [`${grader?.path}: ${grading.fault}`] } : found;
  };
  let { verdict, score, slowestSecs, faults, hints } = await compared(limitSecs);
  if (faults.length > 0 && format === "legacy" && limitSecs !== null) {
    const later = await compared(limitSecs * timing.limitToTle);
    if (later.faults.length === 0) ({ verdict, score, slowestSecs, faults, hints } = later);
  }
  const { codeBytes = Number.POSITIVE_INFINITY } = definition.limits ?? {};
  const tooLong = bytes > codeBytes ? [`has ${bytes} bytes, more than the ${codeBytes} of limits.code`] : [];
  return {
    path,
    language: language.name,
    verdict,
    score: scoring ? score : null,
    slowestSecs,
    faults: [...faults, ...(format === "legacy" ? [] : hints), ...tooLong],
    hints: format === "legacy" ? hints : [],
  };
}
