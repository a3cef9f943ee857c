import { type Checked, type CheckerSpec, type ProgramChecker, UNDECIDED } from "../domain/check.ts";
import { isCut } from "../domain/explain/usage.ts";
import type { Grading } from "../domain/grading.ts";
import { internalError, type Outcome } from "../domain/outcome.ts";
import { type NextPass, NO_RUN_TOTALS, type Progress } from "../domain/progress.ts";
import type { Submission } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import type { Slot } from "../sandbox/slot.ts";
import type { ClaimedTest } from "../store/submissions/types.ts";
import { Comparer, ComparisonError } from "./comparer.ts";
import {
  type CheckedPass,
  type CheckedSubmission,
  type CheckedTest,
  type CheckerProgram,
  type Interaction,
  OUTPUT_EXCEEDED,
  prepareInteraction,
  runChecker,
} from "./program-checker.ts";
import type { CompileCache, Execute } from "./run-steps.ts";

interface CheckContext<Does extends keyof Slot> {
  readonly slot: Pick<Slot, Does>;
  /** Called when the slot is not needed any more, although the check goes on. */
  readonly freeSlot?: () => void;
  readonly accountId: string;
  readonly submission: CheckedSubmission;
  /** Aborted when the result is not needed any more. */
  readonly signal: AbortSignal;
}

/** Where the passes of a test run. */
export interface TestRunContext extends CheckContext<"run" | "runPair"> {
  /** The passes that were completed in earlier claims of the submission; null if there are none. */
  readonly progress: Progress | null;
  /** Why a submission of answers has none to the test, so that no checker is asked; null otherwise. */
  readonly missing: string | null;
  /** Asked before each pass after the first. If false, the submission gives up the slot. @param bytes what must be stored for that. */
  readonly mayContinue: (bytes: number) => Promise<boolean>;
}

/** A submission that gives up its slot between two of its runs. */
export interface Yielded {
  /** The outcome of the last run. */
  readonly outcome: Outcome;
  readonly progress: Progress;
}

/** How a program ended on a test. */
export interface Tested {
  /** The outcome of the last pass. */
  readonly outcome: Outcome;
  /**
   * The result of the checker. Null if the program was not AC, unless its interactor decided before the program failed, or could not run, or
   * its checker decides about failed runs as well.
   */
  readonly checked: Checked | null;
  /** What a run of a grader has led to; absent for other runs. */
  readonly grading?: Grading;
}

/** @param interact runs the program together with its interactor. */
export type RunProgram = (stdin: Buffer, interact?: Execute) => Promise<Outcome>;

const NOTHING = Buffer.alloc(0);
const FAULTY = "the version of the problem is faulty";

/** Runs and checks programs on the tests of judgements. */
export class TestChecker {
  readonly #languages: Languages;
  readonly #cacheFor: (owner: Pick<Submission, "accountId" | "language">) => CompileCache;
  readonly #comparer = new Comparer();

  constructor(languages: Languages, cacheFor: (owner: Pick<Submission, "accountId" | "language">) => CompileCache) {
    this.#languages = languages;
    this.#cacheFor = cacheFor;
  }

  /**
   * Runs a program on a test: once, or until the checker asks for no other pass.
   * @returns how the program ended; or its progress, if it gives up the slot before the next pass (`where.mayContinue`).
   * @throws SandboxError if the slot is lost.
   */
  async judge(test: ClaimedTest, input: Buffer, where: TestRunContext, run: RunProgram): Promise<Tested | Yielded> {
    if (test.fault !== null) return { outcome: internalError(FAULTY), checked: failed(`${FAULTY}: ${test.fault}`) };
    const spec = test.checker.type === "program" ? test.checker : null;
    const passes = spec?.passes ?? 1;
    let pass: NextPass = where.progress?.nextPass ?? { input, feedback: [] };
    for (let completed = (where.progress?.runs ?? 0) + 1; ; completed++) {
      const { outcome, checked } = spec?.interactive
        ? await this.#interact(spec, test, pass, where, run)
        : await this.#runAndCheck(test, pass, where, run);
      const { next, left: _, ...result } = checked ?? {};
      if (!next) return { outcome, checked: checked && (result as Checked) };
      if (completed >= passes)
        return { outcome, checked: failed("the checker asks for more passes than the test has") };
      if (!(await where.mayContinue(sizeOf(next))))
        return { outcome, progress: { runs: completed, measured: NO_RUN_TOTALS, nextPass: next } };
      pass = next;
    }
  }

  async #runAndCheck(
    test: ClaimedTest,
    pass: NextPass,
    where: CheckContext<"run"> & Pick<TestRunContext, "missing">,
    run: RunProgram,
  ): Promise<TestedPass> {
    const outcome = await run(pass.input);
    if (where.missing !== null && outcome.result.verdict === "AC")
      return { outcome, checked: { verdict: "WA", share: 0, message: where.missing } };
    return { outcome, checked: await this.#check(test, pass, outcome, where) };
  }

  async #interact(
    spec: ProgramChecker,
    test: ClaimedTest,
    pass: NextPass,
    { slot, accountId, submission }: CheckContext<"run" | "runPair">,
    run: RunProgram,
  ): Promise<TestedPass> {
    const program = this.#programOf(spec, test);
    const prepared: Interaction | Checked = program
      ? await prepareInteraction(slot, program, testOf(test, pass, submission), this.#cacheOf(program, accountId))
      : unavailable(spec);
    if ("verdict" in prepared) return { outcome: internalError("the interactor cannot run"), checked: prepared };
    const outcome = await run(NOTHING, prepared.execute);
    const checked = prepared.check(outcome);
    if (checked?.verdict !== UNDECIDED || !program) return { outcome, checked };
    const left = { ...pass, feedback: checked.left ?? [] };
    const ended = { ...testOf(test, left, submission, outcome), output: null };
    const second = await runChecker(slot, program, ended, this.#cacheOf(program, accountId));
    return { outcome, checked: decided(second, outcome) };
  }

  /** Checks the output of a run. @returns null if the program was not AC, and the checker does not decide about that. @throws SandboxError if the slot is lost. */
  async check(test: ClaimedTest, input: Buffer, outcome: Outcome, where: CheckContext<"run">): Promise<Checked | null> {
    return await this.#check(test, { input, feedback: [] }, outcome, where);
  }

  async #check(
    test: ClaimedTest,
    pass: NextPass,
    outcome: Outcome,
    { slot, accountId, submission, signal, freeSlot }: CheckContext<"run">,
  ): Promise<CheckedPass | null> {
    const { result, output } = outcome;
    const { checker: spec, answers } = test;
    const hasFailed = result.verdict !== "AC";
    if (!output || (hasFailed && !checksFailure(spec, outcome))) return null;
    if (isCut(outcome, "stdout")) return hasFailed ? null : OUTPUT_EXCEEDED;
    if (spec.type !== "program") {
      try {
        const options = { owner: accountId, signal, ...(freeSlot && { onSlow: freeSlot }) };
        const { passed, message } = await this.#comparer.compare(spec, output.stdout, answers, options);
        return { verdict: passed ? "AC" : "WA", share: passed ? 1 : 0, message };
      } catch (error) {
        if (error instanceof ComparisonError) return failed(error.message);
        throw error;
      }
    }
    const program = this.#programOf(spec, test);
    if (!program) return unavailable(spec);
    const cache = this.#cacheOf(program, accountId);
    return decided(await runChecker(slot, program, testOf(test, pass, submission, outcome), cache), outcome);
  }

  #programOf(spec: ProgramChecker, { checkerProgram: program, checkerLimits }: ClaimedTest): CheckerProgram | null {
    const language = this.#languages.resolve(spec.language);
    if (!language || !program) return null;
    return { spec, language, limits: this.#languages.limitsForChecker(language, checkerLimits), program };
  }

  #cacheOf({ language }: CheckerProgram, accountId: string): CompileCache {
    return this.#cacheFor({ accountId, language: language.name });
  }
}

/** Whether a checker decides about a run that has failed. */
function checksFailure(spec: CheckerSpec, { status, result }: Outcome): boolean {
  if (spec.type !== "program" || !spec.checksFailures) return false;
  return status === "completed" && !result.cause.startsWith("compile_");
}

/** The decision about a run that has ended. */
function decided(checked: CheckedPass, { result }: Outcome): CheckedPass {
  if (checked.verdict !== UNDECIDED || result.verdict !== "AC") return checked;
  return failed("the checker leaves the verdict to the run, which has not failed");
}

interface TestedPass {
  readonly outcome: Outcome;
  readonly checked: CheckedPass | null;
}

function sizeOf({ input, feedback }: NextPass): number {
  return feedback.reduce((sum, { data }) => sum + data.length, input.length);
}

/** @param ended the run whose output is checked; none for an interactor. */
function testOf(
  { answers, points }: ClaimedTest,
  { input, feedback }: NextPass,
  submission: CheckedSubmission,
  ended?: Outcome,
): CheckedTest {
  const output = ended?.output?.stdout ?? null;
  return {
    input,
    answer: answers[0] ?? NOTHING,
    output,
    points,
    feedback,
    submission,
    run: ended ?? null,
  };
}

function failed(message: string): Checked {
  return { verdict: "IE", share: 0, message };
}

function unavailable({ language }: ProgramChecker): Checked {
  return failed(`the language of the checker, ${language}, is not available`);
}
