import { MAX_OUTPUT_BYTES } from "../domain/ceilings.ts";
import { type Checked, type ProgramChecker, UNDECIDED } from "../domain/check.ts";
import { shortened } from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { StepLimits } from "../domain/limits.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { NextPass } from "../domain/progress.ts";
import { MODE_DIRECTORY, type StepReport, type WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import { SandboxError } from "../sandbox/refusal.ts";
import type { Slot } from "../sandbox/slot.ts";
import { fitsStep, type Step } from "../sandbox/step.ts";
import { cannotBeExecuted, judge, judgeStep } from "../verdict/judge.ts";
import type { Artifact } from "./artifacts.ts";
import { type EndedChecker, FEEDBACK, FILES, failed, INTERFACES, NEXT_PASS_FILE } from "./checker-interfaces.ts";
import { planOfJudge, stepForArtifact } from "./plan.ts";
import type { CompileCache, Execute } from "./run-steps.ts";

/** The most bytes that are used of each text that a checker writes. */
const MAX_TEXT_BYTES = 2_000;

/** A test as its checker sees it. */
export interface CheckedTest {
  /** The input of this pass. */
  readonly input: Buffer;
  readonly answer: Buffer;
  /** The output of the program; null for an interactor, which reads it while the program runs. */
  readonly output: Buffer | null;
  /** The most points that the checker can give; null if it can only accept or reject. */
  readonly points: number | null;
  /** Files that the checker left in the pass before. */
  readonly feedback: readonly WorkFile[];
  readonly submission: CheckedSubmission;
  /** The run that has ended; null for an interactor that runs with it. */
  readonly run: Pick<Outcome, "result" | "metrics"> | null;
}

/** The submission whose output is checked. */
export interface CheckedSubmission {
  readonly language: string;
  readonly source: Buffer;
}

/** The language and the source of a submission: the file that is run, if it has several. */
export function checkedSubmission(language: string, { code, options }: Program): CheckedSubmission {
  const entry = options?.files.find(({ name }) => name === options.entry);
  return { language, source: entry?.data ?? code };
}

/**
 * The result of one pass. If `next` is set, the program must run again before there is a result of the test. `left` has the files that an
 * undecided interactor left for the run of itself that decides.
 */
export type CheckedPass = Checked & { readonly next?: NextPass; readonly left?: readonly WorkFile[] };

/** A file that makes the feedback directory exist: a step has files, and their directories are created with them. */
const PLACEHOLDER = `${FEEDBACK}/placeholder`;
const NEXT_PASS = `${FEEDBACK}/${NEXT_PASS_FILE}`;

/** The program of a checker, with the limits of its steps. */
export interface CheckerProgram {
  readonly spec: ProgramChecker;
  readonly language: Language;
  readonly limits: StepLimits;
  readonly program: Program;
}

/**
 * Runs a checker on the output of a program, in a box of its own. The checker is compiled once for many tests.
 * @returns IE if the checker failed, for which the checked program is not to blame.
 * @throws SandboxError if the slot is lost.
 */
export async function runChecker(
  slot: Pick<Slot, "run">,
  program: CheckerProgram,
  test: CheckedTest,
  cache: CompileCache,
): Promise<CheckedPass> {
  const begun = await begin(slot, program, cache);
  if ("verdict" in begun) return begun;
  const step = stepOf(begun, program.spec, test);
  if ("verdict" in step) return step;
  return resultOf(program.spec, await slot.run(step), test.points);
}

/** An interactor that is ready to run with a program. */
export interface Interaction {
  /** Runs the program together with the interactor. */
  readonly execute: Execute;
  /** @returns null if the end of the program decides the verdict, and not the interactor. */
  readonly check: (outcome: Outcome) => CheckedPass | null;
}

/**
 * Prepares the interactor for one run of a program: compiles it, if necessary.
 * @returns IE if the interactor cannot be run. @throws SandboxError if the slot is lost.
 */
export async function prepareInteraction(
  slot: Pick<Slot, "run" | "runPair">,
  program: CheckerProgram,
  test: CheckedTest,
  cache: CompileCache,
): Promise<Interaction | Checked> {
  const begun = await begin(slot, program, cache);
  if ("verdict" in begun) return begun;
  const peer = stepOf(begun, program.spec, test);
  if ("verdict" in peer) return peer;
  let reports: readonly [StepReport, StepReport] | undefined;
  return {
    execute: async (step, onOutput) => {
      reports = await slot.runPair(step, peer, onOutput);
      const [report, ofPeer] = reports;
      if (judgeStep(ofPeer).verdict === "IE" && !cannotBeExecuted(ofPeer))
        throw new SandboxError("the box of the interactor failed");
      return report;
    },
    check: ({ result: { verdict }, output }) => {
      if (reports && cannotBeExecuted(reports[1])) return notExecuted(program.spec);
      if (!reports || !output) return null;
      const [ended, ofPeer] = reports;
      // The program lost its input when the interactor exceeded its output limit, and may have failed because of that.
      if (ofPeer.exceededFirst) return interactorExceeded(ofPeer);
      const failedFirst = verdict !== "AC" && ended.endedFirst;
      // If the interactor exceeded its limit later, the program had already ended or closed its input, and was not affected.
      const checked = resultOf(program.spec, ofPeer, test.points);
      if (failedFirst && checked.verdict !== UNDECIDED) return null;
      if (ended.stdoutSeen > ended.stdoutKept) return failedFirst ? null : OUTPUT_EXCEEDED;
      return verdict !== "AC" && checked.verdict === "AC" ? null : checked;
    },
  };
}

function interactorExceeded({ stdoutKept }: StepReport): Checked {
  return failed(`the output of the interactor exceeds its limit of ${stdoutKept} bytes`);
}

export const OUTPUT_EXCEEDED: Checked = { verdict: "WA", share: 0, message: "the output exceeds its limit" };

/** Compiles a checker, if necessary. @returns its execute step, still without the files of a test; IE if it cannot be compiled. */
async function begin(
  slot: Pick<Slot, "run">,
  { spec, language, limits, program }: CheckerProgram,
  cache: CompileCache,
): Promise<Step | Checked> {
  const { compile, execute } = planOfJudge(language, limits, program);
  const artifact = compile && (await compiled(slot, compile, spec, cache));
  if (artifact && "verdict" in artifact) return artifact;
  const step = compile ? stepForArtifact(execute, compile, artifact?.files ?? [], cache.owner) : execute;
  const taken = step.files.find(({ name }) => RESERVED.includes(name.split("/")[0] ?? ""));
  if (!taken) return step;
  return failed(`the ${nameOf(spec)} has a file ${taken.name}, where the files of the test are put`);
}

/** The names at the top of a checker's box that its own files, and those that its compiler leaves, cannot have. */
const RESERVED = [...new Set([...Object.values(FILES), PLACEHOLDER].map((path) => path.split("/")[0]))];

function stepOf(begun: Step, spec: ProgramChecker, test: CheckedTest): Step | Checked {
  const { input, answer, output, feedback } = test;
  const { args, readsOutput } = INTERFACES[spec.interface];
  const files = [
    { name: FILES.input, data: input },
    { name: FILES.answer, data: answer },
    ...(output && readsOutput === "file" ? [{ name: FILES.output, data: output }] : []),
    ...(spec.readsRun ? filesOfRun(test) : []),
    ...feedback,
    ...(feedback.some(({ name }) => `${name}/`.startsWith(`${PLACEHOLDER}/`))
      ? []
      : [{ name: PLACEHOLDER, data: Buffer.alloc(0) }]),
  ];
  const step: Step = {
    ...begun,
    command: { ...begun.command, command: [...begun.command.command, ...(spec.hasOwnArgs ? [] : args), ...spec.args] },
    files: [...begun.files, ...files],
    stdin: output && readsOutput === "stdin" ? output : Buffer.alloc(0),
    limits: {
      ...begun.limits,
      workBytes: begun.limits.workBytes + sizeOf(files),
      // A checker may write more than a program, for example a line for each wrong word of the output.
      fileBytes: Math.max(begun.limits.fileBytes, begun.limits.workBytes),
    },
    collect: "feedback",
  };
  // Space for the longest output is reserved: a program must not decide by the length of its output whether its checker can run.
  const reserved = output ? Math.max(MAX_OUTPUT_BYTES - output.length, 0) : 0;
  if (fitsStep(step, reserved)) return step;
  return failed(
    "the checker and the files of the test, with the longest output, are too many or too large for one box",
  );
}

function filesOfRun({ submission: { language, source }, run: ended }: CheckedTest): WorkFile[] {
  const metrics = ended?.metrics;
  const run = {
    language,
    ...(ended && { verdict: ended.result.verdict }),
    ...(metrics && {
      cpu_time_secs: metrics.cpuUsec / 1e6,
      wall_time_secs: metrics.wallNs / 1e9,
      memory_peak_bytes: metrics.memoryPeakBytes,
    }),
  };
  return [
    { name: FILES.source, data: source },
    { name: FILES.run, data: Buffer.from(JSON.stringify(run)) },
  ];
}

/** The result for users. */
function resultOf(spec: ProgramChecker, report: StepReport, points: number | null): CheckedPass {
  const checked = decisionOf(spec, report, points);
  return spec.isSilent && checked.verdict !== "IE" ? { ...checked, message: null } : checked;
}

function decisionOf(spec: ProgramChecker, report: StepReport, points: number | null): CheckedPass {
  const { verdict, exitCode, signal, errorMessage } = judgeStep(report);
  const who = nameOf(spec);
  if (cannotBeExecuted(report)) return notExecuted(spec);
  if (verdict === "IE") throw new SandboxError(`the box of the ${who} failed`);
  if (verdict !== "AC" && verdict !== "RE" && verdict !== "SIG")
    return failed(`the ${who} ended as ${verdict}: ${errorMessage}${tail(report)}`);
  const by = exitCode === null ? `signal ${signal}` : `exit code ${exitCode}`;
  const { acceptedShare = 1 } = spec;
  const checked =
    exitCode === null
      ? null
      : INTERFACES[spec.interface].result(endedOf(exitCode, report, spec), points, acceptedShare);
  if (!checked) return failed(`the ${who} ended as ${verdict} with ${by}${without(spec, exitCode)}${tail(report)}`);
  if (checked.verdict === UNDECIDED) return { ...checked, left: filesLeft(report) };
  const next =
    spec.passes === undefined
      ? undefined
      : report.files?.find(({ name, mode = 0 }) => name === NEXT_PASS && !(mode & MODE_DIRECTORY));
  if (!next || checked.verdict === "IE") return checked;
  if (checked.verdict !== "AC") return failed("the checker rejects a program and asks for another pass");
  return { ...checked, next: { input: next.data, feedback: filesLeft(report) } };
}

/**
 * The files in the feedback directory for the next run of the checker. They are stored without their mode: as new files, they can be
 * changed by the checker. Directories are left out, because they are created with their files.
 */
function filesLeft({ files = [] }: StepReport): WorkFile[] {
  return files
    .filter(({ name, mode = 0 }) => name !== NEXT_PASS && !(mode & MODE_DIRECTORY))
    .map(({ name, data }) => ({ name, data }));
}

function notExecuted(spec: ProgramChecker): Checked {
  return failed(`the ${nameOf(spec)} compiles, but cannot be executed`);
}

function nameOf({ interactive }: ProgramChecker): string {
  return interactive ? "interactor" : "checker";
}

/** A hint for checkers that have the interface `testlib`, but do not use testlib. */
function without(spec: ProgramChecker, exitCode: number | null): string {
  return spec.interface === "testlib" && exitCode !== null && exitCode !== TESTLIB_FAILED
    ? ", without the text of testlib for it on standard error"
    : "";
}

/** The exit code of `_fail` in testlib, which says itself that the checker failed. */
const TESTLIB_FAILED = 3;

/** Compiles a checker, or takes its artifact from the cache. @returns the artifact; IE if the checker cannot be compiled. */
async function compiled(
  slot: Pick<Slot, "run">,
  compile: Step,
  spec: ProgramChecker,
  cache: CompileCache,
): Promise<Artifact | Checked> {
  const known = cache.get(compile);
  if (known) return known;
  const who = nameOf(spec);
  if (!fitsStep(compile)) return failed(`the ${who} has too many or too large files for one box`);
  const { files, ...report } = await slot.run({ ...compile, more: false });
  const { cause, errorMessage } = judge({ compile: report });
  if (cause === "compile_error") return failed(`the ${who} does not compile${tail(report)}`);
  if (cause.startsWith("compile_")) return failed(`the ${who}'s ${errorMessage}${tail(report)}`);
  if (judgeStep(report).verdict === "IE") throw new SandboxError(`the box of the ${who}'s compiler failed`);
  if (!files) return failed(`the compiler of the ${who} left too many or too large files`);
  const artifact = { report, files, keptBytes: sizeOf(files) };
  cache.put(compile, artifact);
  return artifact;
}

function endedOf(code: number, report: StepReport, { interactive }: ProgramChecker): EndedChecker {
  const { stdout, stderr, stderrSeen, stderrKept, files = [] } = report;
  const feedback = (name: string) => {
    const file = files.find((one) => one.name === `${FEEDBACK}/${name}`);
    return file ? textOf(file.data) : null;
  };
  return {
    code,
    // What an interactor writes there is for the program.
    stdout: interactive ? "" : textOf(stdout),
    stderr: textOf(stderr),
    stderrCutAt: stderrSeen > stderrKept ? stderrKept : null,
    lineOf: (line) => line.exec(stderr.toString("latin1")),
    feedback,
    unread: whyUnread(report),
  };
}

/**
 * Why the feedback directory could not be read; null if it could. The launcher sends all files of the directory or none, and the
 * placeholder is always there, unless the checker removed it.
 */
function whyUnread({ files = [], survivors }: StepReport): string | null {
  if (files.length > 0) return null;
  if (survivors > 0)
    return "the feedback directory of the checker is not read, because a process that it started still ran when it ended";
  return (
    "the feedback directory of the checker is empty or removed, or has too many or too large files, links or others that " +
    "are not plain, or a name that begins with a dot, is not UTF-8 or has control characters"
  );
}

function tail({ stderr }: StepReport): string {
  const text = textOf(stderr);
  return text === "" ? "" : `: ${text}`;
}

/** The text of the first bytes, as valid Unicode. A character that is cut at the end is left out. */
function textOf(bytes: Buffer): string {
  const isCut = bytes.length > MAX_TEXT_BYTES;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return shortened(decoder.decode(bytes.subarray(0, MAX_TEXT_BYTES), { stream: isCut }).trim());
}

function sizeOf(files: readonly WorkFile[]): number {
  return files.reduce((sum, { data }) => sum + data.length, 0);
}
