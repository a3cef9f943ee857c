import type { Checked, ProgramChecker } from "../domain/check.ts";
import { shortened } from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { StepLimits } from "../domain/limits.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { NextPass } from "../domain/progress.ts";
import type { StepReport, WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import { SandboxError } from "../sandbox/refusal.ts";
import type { Slot } from "../sandbox/slot.ts";
import { fitsStep, type Step } from "../sandbox/step.ts";
import { judgeStep } from "../verdict/judge.ts";
import type { Artifact } from "./artifacts.ts";
import { executeKept, plan } from "./plan.ts";
import type { Execute, Kept } from "./run.ts";

/** Bytes of a text of a checker that are read. */
const MAX_TEXT_BYTES = 2_000;

/** A test as its checker sees it. */
export interface CheckedTest {
  /** The input of this pass. */
  readonly input: Buffer;
  readonly answer: Buffer;
  /** Null for an interactor, which reads it from the program. */
  readonly output: Buffer | null;
  readonly points: number;
  /** Files that the checker left in the pass before. */
  readonly feedback: readonly WorkFile[];
}

/** `next`: the program runs again before there is a result. */
export type CheckedPass = Checked & { readonly next?: NextPass };

/** The files of a checker's box besides its own. The feedback directory exists when it starts. */
const FILES = { input: "judge/input", answer: "judge/answer", output: "judge/output" } as const;
const FEEDBACK = "feedback";
/** A directory needs a file. */
const PLACEHOLDER = `${FEEDBACK}/placeholder`;
const NEXT_PASS = `${FEEDBACK}/nextpass.in`;

interface Interface {
  readonly args: readonly string[];
  readonly readsOutput: "stdin" | "file";
  /** Of an exit code; null if it is none of the interface's. */
  readonly result: (ended: Ended, points: number) => Checked | null;
}

interface Ended {
  readonly code: number;
  readonly stderr: string;
  /** The text of a file of the feedback directory, shortened. */
  readonly feedback: (name: string) => string | null;
  /** Whether the feedback directory could be read: it has only a few plain files. */
  readonly hasFeedback: boolean;
}

const INTERFACES: Readonly<Record<ProgramChecker["interface"], Interface>> = {
  /** The output validator of problem packages: exit code 42 accepts, 43 rejects. */
  kattis: {
    args: [FILES.input, FILES.answer, `${FEEDBACK}/`],
    readsOutput: "stdin",
    result: ({ code, feedback, hasFeedback }, points) => {
      const message = feedback("judgemessage.txt") || null;
      if (code === 43) return { verdict: "WA", share: 0, message };
      if (code !== 42) return null;
      // It could have a score.
      if (!hasFeedback)
        return failed("the feedback directory of the checker has too many, too large or no plain files");
      const [share = null, score = null] = [feedback("score_multiplier.txt"), feedback("score.txt")].map(toNumber);
      if (share !== null && score !== null) return failed("the checker has both score.txt and score_multiplier.txt");
      const earned = share ?? (score === null || points === 0 ? 1 : score / points);
      const most = share === null ? points : 1;
      return toAccepted(earned, message) ?? failed(`the checker has exit code 42, but its score is not 0 to ${most}`);
    },
  },
  /** testlib: 0 accepts, 1 to 4 reject, but 3 is a failure; 7 gives points, 50 to 250 a share of them in half percents. */
  testlib: {
    /** An interactor writes its log to the second one. */
    args: [FILES.input, FILES.output, FILES.answer],
    readsOutput: "file",
    result: ({ code, stderr }, points) => {
      const message = stderr || null;
      if (code === 0) return { verdict: "AC", share: 1, message };
      if (code === 1 || code === 2 || code === 4) return { verdict: "WA", share: 0, message };
      const score = toNumber(/^points\s+(\S+)/.exec(stderr)?.[1] ?? null);
      const share = code === 7 && score !== null && points > 0 ? score / points : code >= 50 ? (code - 50) / 200 : -1;
      return toAccepted(share, message);
    },
  },
};

/** Points have six decimals, so that those of a test can be less than the part of its group that a checker gives. */
function toAccepted(share: number, message: string | null): Checked | null {
  return share >= 0 && share <= 1 + 1e-6 ? { verdict: "AC", share: Math.min(1, share), message } : null;
}

function toNumber(text: string | null): number | null {
  if (text === null) return null;
  return /^\s*(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?\s*$/i.test(text) ? Number(text) : Number.NaN;
}

/** A checker's program, with the limits of its steps. */
export interface CheckerProgram {
  readonly spec: ProgramChecker;
  readonly language: Language;
  readonly limits: StepLimits;
  readonly program: Program;
}

/**
 * Runs a checker on the output of a program, in a box of its own. Its program is compiled once for many tests.
 * @returns IE if it failed: the program that it checks is not to blame.
 * @throws SandboxError if the slot is lost.
 */
export async function runChecker(
  slot: Pick<Slot, "run">,
  program: CheckerProgram,
  test: CheckedTest,
  kept: Kept,
): Promise<CheckedPass> {
  const begun = await begin(slot, program, kept);
  if ("verdict" in begun) return begun;
  const step = stepOf(begun, program.spec, test);
  if ("verdict" in step) return step;
  return resultOf(program.spec, await slot.run(step), test.points);
}

/** An interactor that waits for its program. */
export interface Interaction {
  /** Runs the program with it. */
  readonly execute: Execute;
  /** @returns null if the program itself decided by its end. */
  readonly check: (outcome: Outcome) => CheckedPass | null;
}

/**
 * Prepares the interactor of one run.
 * @returns IE if it cannot be run. @throws SandboxError if the slot is lost.
 */
export async function prepareInteraction(
  slot: Pick<Slot, "run" | "runPair">,
  program: CheckerProgram,
  test: CheckedTest,
  kept: Kept,
): Promise<Interaction | Checked> {
  const begun = await begin(slot, program, kept);
  if ("verdict" in begun) return begun;
  const peer = stepOf(begun, program.spec, test);
  if ("verdict" in peer) return peer;
  let reports: readonly [StepReport, StepReport] | undefined;
  return {
    execute: async (step, onOutput) => {
      reports = await slot.runPair(step, peer, onOutput);
      if (judgeStep(reports[1]).verdict === "IE") throw new SandboxError("the box of the interactor failed");
      return reports[0];
    },
    check: ({ judgement: { verdict }, output }) => {
      if (!reports || !output) return null;
      const [ended, ofPeer] = reports;
      if (verdict !== "AC" && ended.endedFirst) return null;
      if (output.integrity === "truncated_by_judge_limit") return OUTPUT_EXCEEDED;
      if (ofPeer.stdoutSeen > ofPeer.stdoutKept) return failed("the output of the interactor exceeds its limit");
      const checked = resultOf(program.spec, ofPeer, test.points);
      return verdict !== "AC" && checked.verdict === "AC" ? null : checked;
    },
  };
}

export const OUTPUT_EXCEEDED: Checked = { verdict: "WA", share: 0, message: "the output exceeds its limit" };

/** The step of a compiled checker without the files of a test. */
async function begin(
  slot: Pick<Slot, "run">,
  { language, limits, program }: CheckerProgram,
  kept: Kept,
): Promise<Step | Checked> {
  const { compile, execute } = plan(language, limits, program);
  if (!compile) return execute;
  const artifact = await compiled(slot, compile, kept);
  return "verdict" in artifact ? artifact : executeKept(execute, compile, artifact.files, kept.owner);
}

function stepOf(begun: Step, spec: ProgramChecker, { input, answer, output, feedback }: CheckedTest): Step | Checked {
  const { args, readsOutput } = INTERFACES[spec.interface];
  const files = [
    { name: FILES.input, data: input },
    { name: FILES.answer, data: answer },
    ...(output && readsOutput === "file" ? [{ name: FILES.output, data: output }] : []),
    ...feedback,
    ...(feedback.some(({ name }) => name === PLACEHOLDER) ? [] : [{ name: PLACEHOLDER, data: Buffer.alloc(0) }]),
  ];
  const step: Step = {
    ...begun,
    command: { ...begun.command, command: [...begun.command.command, ...args, ...spec.args] },
    files: [...begun.files, ...files],
    stdin: output && readsOutput === "stdin" ? output : Buffer.alloc(0),
    limits: { ...begun.limits, workBytes: begun.limits.workBytes + sizeOf(files) },
    collect: "feedback",
  };
  return fitsStep(step) ? step : failed("the checker and the files of the test are too many or too large for one box");
}

function resultOf(spec: ProgramChecker, report: StepReport, points: number): CheckedPass {
  const { verdict, exitCode, signal } = judgeStep(report);
  if (verdict === "IE") throw new SandboxError("the box of the checker failed");
  const by = exitCode === null ? `signal ${signal}` : `exit code ${exitCode}`;
  const ended = exitCode !== null && (verdict === "AC" || verdict === "RE");
  const checked = ended ? INTERFACES[spec.interface].result(endedOf(exitCode, report), points) : null;
  if (!checked) return failed(`the checker ended as ${verdict} with ${by}${tail(report)}`);
  const next = spec.passes === undefined ? undefined : report.files?.find(({ name }) => name === NEXT_PASS);
  if (!next) return checked;
  if (checked.verdict !== "AC") return failed("the checker rejects a program and asks for another pass");
  return { ...checked, next: { input: next.data, feedback: (report.files ?? []).filter((file) => file !== next) } };
}

/** @returns the result of a checker that cannot be compiled, or its artifact. */
async function compiled(slot: Pick<Slot, "run">, compile: Step, kept: Kept): Promise<Artifact | Checked> {
  const known = kept.get(compile);
  if (known) return known;
  if (!fitsStep(compile)) return failed("the checker has too many or too large files for one box");
  const { files, ...report } = await slot.run({ ...compile, more: false });
  const { verdict } = judgeStep(report);
  if (verdict === "IE") throw new SandboxError("the box of the checker's compiler failed");
  if (verdict !== "AC") return failed(`the checker does not compile${tail(report)}`);
  if (!files) return failed("the compiler of the checker left too many or too large files");
  const artifact = { report, files, keptBytes: sizeOf(files) };
  kept.put(compile, artifact);
  return artifact;
}

function endedOf(code: number, { stderr, files = [] }: StepReport): Ended {
  const feedback = (name: string) => {
    const file = files.find((one) => one.name === `${FEEDBACK}/${name}`);
    return file ? textOf(file.data) : null;
  };
  return { code, stderr: textOf(stderr), feedback, hasFeedback: files.some(({ name }) => name === PLACEHOLDER) };
}

function failed(message: string): Checked {
  return { verdict: "IE", share: 0, message };
}

function tail({ stderr }: StepReport): string {
  const text = textOf(stderr);
  return text === "" ? "" : `: ${text}`;
}

function textOf(bytes: Buffer): string {
  return shortened(bytes.subarray(0, MAX_TEXT_BYTES).toString("utf8").trim());
}

function sizeOf(files: readonly WorkFile[]): number {
  return files.reduce((sum, { data }) => sum + data.length, 0);
}
