import type { Checked, ProgramChecker } from "../domain/check.ts";
import { internalError, type Outcome } from "../domain/outcome.ts";
import type { WorkFile } from "../domain/report.ts";
import type { Submission } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import type { Slot } from "../sandbox/slot.ts";
import type { ClaimedTest } from "../store/submissions/types.ts";
import { Comparer, ComparisonError } from "./comparer.ts";
import {
  type CheckedPass,
  type CheckerProgram,
  type Interaction,
  OUTPUT_EXCEEDED,
  prepareInteraction,
  runChecker,
} from "./program-checker.ts";
import type { Execute, Kept } from "./run.ts";

interface Where<Does extends keyof Slot> {
  readonly slot: Pick<Slot, Does>;
  readonly accountId: string;
  /** Aborted when the result is not needed any more. */
  readonly signal: AbortSignal;
}

/** The end of a program on a test. */
export interface Tested {
  /** Of its last run. */
  readonly outcome: Outcome;
  /** Null for a program that was not AC, unless an interactor rejected it before it failed. */
  readonly checked: Checked | null;
}

/** @param interact runs the program together with its interactor. */
export type RunProgram = (stdin: Buffer, interact?: Execute) => Promise<Outcome>;

const NOTHING = Buffer.alloc(0);

/** Runs and checks programs on the tests of judgements. */
export class TestChecker {
  readonly #languages: Languages;
  readonly #keptFor: (owner: Pick<Submission, "accountId" | "language">) => Kept;
  readonly #comparer = new Comparer();

  constructor(languages: Languages, keptFor: (owner: Pick<Submission, "accountId" | "language">) => Kept) {
    this.#languages = languages;
    this.#keptFor = keptFor;
  }

  /** Runs a program on a test: once, or until its checker asks for no other pass. @throws SandboxError if the slot is lost. */
  async judge(test: ClaimedTest, input: Buffer, where: Where<"run" | "runPair">, run: RunProgram): Promise<Tested> {
    const spec = test.checker.type === "program" ? test.checker : null;
    let pass: Pass = { input, feedback: [] };
    for (let left = spec?.passes ?? 1; ; left--) {
      const { outcome, checked } = spec?.interactive
        ? await this.#interact(spec, test, pass, where, run)
        : await this.#runAndCheck(test, pass, where, run);
      const { next, ...result } = checked ?? {};
      if (!next) return { outcome, checked: checked && (result as Checked) };
      if (left === 1) return { outcome, checked: failed("the checker asks for more passes than the test has") };
      pass = next;
    }
  }

  async #runAndCheck(test: ClaimedTest, pass: Pass, where: Where<"run">, run: RunProgram): Promise<TestedPass> {
    const outcome = await run(pass.input);
    return { outcome, checked: await this.#check(test, pass, outcome, where) };
  }

  async #interact(
    spec: ProgramChecker,
    test: ClaimedTest,
    pass: Pass,
    { slot, accountId }: Where<"run" | "runPair">,
    run: RunProgram,
  ): Promise<TestedPass> {
    const program = this.#programOf(spec, test);
    const prepared: Interaction | Checked = program
      ? await prepareInteraction(slot, program, testOf(test, pass, null), this.#keptOf(program, accountId))
      : unavailable(spec);
    if ("verdict" in prepared) return { outcome: internalError("the interactor cannot run"), checked: prepared };
    const outcome = await run(NOTHING, prepared.execute);
    return { outcome, checked: prepared.check(outcome) };
  }

  /** @returns null for a program that was not AC. @throws SandboxError if the slot is lost. */
  async check(test: ClaimedTest, input: Buffer, outcome: Outcome, where: Where<"run">): Promise<Checked | null> {
    return await this.#check(test, { input, feedback: [] }, outcome, where);
  }

  async #check(
    test: ClaimedTest,
    pass: Pass,
    { judgement, output }: Outcome,
    { slot, accountId, signal }: Where<"run">,
  ): Promise<CheckedPass | null> {
    if (judgement.verdict !== "AC" || !output) return null;
    if (output.integrity === "truncated_by_judge_limit") return OUTPUT_EXCEEDED;
    const { checker: spec, answers } = test;
    if (spec.type !== "program") {
      try {
        const options = { owner: accountId, signal };
        const { passed, message } = await this.#comparer.compare(spec, output.stdout, answers, options);
        return { verdict: passed ? "AC" : "WA", share: passed ? 1 : 0, message };
      } catch (error) {
        if (error instanceof ComparisonError) return failed(error.message);
        throw error;
      }
    }
    const program = this.#programOf(spec, test);
    if (!program) return unavailable(spec);
    return await runChecker(slot, program, testOf(test, pass, output.stdout), this.#keptOf(program, accountId));
  }

  #programOf(spec: ProgramChecker, { checkerProgram: program }: ClaimedTest): CheckerProgram | null {
    const language = this.#languages.resolve(spec.language);
    if (!language || !program) return null;
    return { spec, language, limits: this.#languages.limitsFor(language, "judge"), program };
  }

  #keptOf({ language }: CheckerProgram, accountId: string): Kept {
    return this.#keptFor({ accountId, language: language.name });
  }
}

interface Pass {
  readonly input: Buffer;
  /** Files that the checker left in the pass before. */
  readonly feedback: readonly WorkFile[];
}

interface TestedPass {
  readonly outcome: Outcome;
  readonly checked: CheckedPass | null;
}

function testOf({ answers, points }: ClaimedTest, { input, feedback }: Pass, output: Buffer | null) {
  return { input, answer: answers[0] ?? NOTHING, output, points, feedback };
}

function failed(message: string): Checked {
  return { verdict: "IE", share: 0, message };
}

function unavailable({ language }: ProgramChecker): Checked {
  return failed(`the language of the checker, ${language}, is not available`);
}
