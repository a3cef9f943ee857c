import type { Checked, ProgramChecker } from "../domain/check.ts";
import { shortened } from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { StepLimits } from "../domain/limits.ts";
import type { StepReport, WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import { SandboxError, type Slot } from "../sandbox/slot.ts";
import { fitsStep, type Step } from "../sandbox/step.ts";
import { judgeStep } from "../verdict/judge.ts";
import type { Artifact } from "./artifacts.ts";
import { executeKept, plan } from "./plan.ts";
import type { Kept } from "./run.ts";

/** Bytes of a text of a checker that are read. */
const MAX_TEXT_BYTES = 2_000;

/** A test as its checker sees it. */
export interface CheckedTest {
  readonly input: Buffer;
  readonly answer: Buffer;
  readonly output: Buffer;
  readonly points: number;
}

/** The files of a checker's box besides its own. The feedback directory exists when it starts. */
const FILES = { input: "judge/input", answer: "judge/answer", output: "judge/output" } as const;
const FEEDBACK = "feedback";
/** A directory needs a file, which the checker cannot change. */
const PLACEHOLDER = `${FEEDBACK}/placeholder`;

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
      const [share, score] = [feedback("score_multiplier.txt"), feedback("score.txt")].map(toNumber);
      const earned = share ?? (score === null || score === undefined ? 1 : points > 0 ? score / points : 1);
      return earned >= 0 && earned <= 1 ? { verdict: "AC", share: earned, message } : null;
    },
  },
  /** testlib: 0 accepts, 1 to 4 reject, but 3 is a failure; 7 gives points, 50 to 250 a share of them in half percents. */
  testlib: {
    args: [FILES.input, FILES.output, FILES.answer],
    readsOutput: "file",
    result: ({ code, stderr }, points) => {
      const message = stderr || null;
      if (code === 0) return { verdict: "AC", share: 1, message };
      if (code === 1 || code === 2 || code === 4) return { verdict: "WA", share: 0, message };
      const score = toNumber(/^points\s+(\S+)/.exec(stderr)?.[1] ?? null);
      const share = code === 7 && score !== null && points > 0 ? score / points : code >= 50 ? (code - 50) / 200 : -1;
      return share >= 0 && share <= 1 ? { verdict: "AC", share, message } : null;
    },
  },
};

function toNumber(text: string | null): number | null {
  if (text === null) return null;
  return /^\s*\d{1,9}(\.\d{1,12})?\s*$/.test(text) ? Number(text) : Number.NaN;
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
  { spec, language, limits, program }: CheckerProgram,
  { input, answer, output, points }: CheckedTest,
  kept: Kept,
): Promise<Checked> {
  const { args, readsOutput, result } = INTERFACES[spec.interface];
  const { compile, execute } = plan(language, limits, program);
  const artifact = compile && (await compiled(slot, compile, kept));
  if (artifact && "verdict" in artifact) return artifact;
  const files = [
    { name: FILES.input, data: input },
    { name: FILES.answer, data: answer },
    ...(readsOutput === "file" ? [{ name: FILES.output, data: output }] : []),
    { name: PLACEHOLDER, data: Buffer.alloc(0) },
  ];
  const begun = compile && artifact ? executeKept(execute, compile, artifact.files) : execute;
  const step: Step = {
    ...begun,
    command: { ...begun.command, command: [...begun.command.command, ...args, ...spec.args] },
    files: [...begun.files, ...files],
    stdin: readsOutput === "stdin" ? output : Buffer.alloc(0),
    limits: { ...begun.limits, workBytes: begun.limits.workBytes + sizeOf(files) },
    collect: "feedback",
  };
  if (!fitsStep(step)) return failed("the checker and the files of the test are too many or too large for one box");
  const report = await slot.run(step);
  const { verdict, exitCode, signal } = judgeStep(report);
  if (verdict === "IE") throw new SandboxError("the box of the checker failed");
  const by = exitCode === null ? `signal ${signal}` : `exit code ${exitCode}`;
  const ended = exitCode !== null && (verdict === "AC" || verdict === "RE");
  const checked = ended ? result(endedOf(exitCode, report), points) : null;
  return checked ?? failed(`the checker ended as ${verdict} with ${by}${tail(report)}`);
}

/** @returns the result of a checker that cannot be compiled, or its artifact. */
async function compiled(slot: Pick<Slot, "run">, compile: Step, kept: Kept): Promise<Artifact | Checked> {
  const known = kept.get(compile);
  if (known) return known;
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
