import type { Checked } from "../domain/check.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Submission } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import type { Slot } from "../sandbox/slot.ts";
import type { ClaimedTest } from "../store/submissions/types.ts";
import { Comparer, ComparisonError } from "./comparer.ts";
import { runChecker } from "./program-checker.ts";
import type { Kept } from "./run.ts";

interface Where {
  readonly slot: Pick<Slot, "run">;
  readonly accountId: string;
  /** Aborted when the result is not needed any more. */
  readonly signal: AbortSignal;
}

/** Checks the outputs of the runs of judgements. */
export class TestChecker {
  readonly #languages: Languages;
  readonly #keptFor: (owner: Pick<Submission, "accountId" | "language">) => Kept;
  readonly #comparer = new Comparer();

  constructor(languages: Languages, keptFor: (owner: Pick<Submission, "accountId" | "language">) => Kept) {
    this.#languages = languages;
    this.#keptFor = keptFor;
  }

  /** @returns null for a program that was not AC. @throws SandboxError if the slot is lost. */
  async check(
    test: ClaimedTest,
    input: Buffer,
    { judgement, output }: Outcome,
    { slot, accountId, signal }: Where,
  ): Promise<Checked | null> {
    if (judgement.verdict !== "AC" || !output) return null;
    if (output.integrity === "truncated_by_judge_limit") {
      return { verdict: "WA", share: 0, message: "the output exceeds its limit" };
    }
    const { checker: spec, checkerProgram, answers, points } = test;
    if (spec.type !== "program") {
      try {
        const options = { owner: accountId, signal };
        const { passed, message } = await this.#comparer.compare(spec, output.stdout, answers, options);
        return { verdict: passed ? "AC" : "WA", share: passed ? 1 : 0, message };
      } catch (error) {
        if (error instanceof ComparisonError) return { verdict: "IE", share: 0, message: error.message };
        throw error;
      }
    }
    const language = this.#languages.resolve(spec.language);
    if (!language || !checkerProgram) {
      return { verdict: "IE", share: 0, message: `the language of the checker, ${spec.language}, is not available` };
    }
    const limits = this.#languages.limitsFor(language, "judge");
    const [answer = Buffer.alloc(0)] = answers;
    return await runChecker(
      slot,
      { spec, language, limits, program: checkerProgram },
      { input, answer, output: output.stdout, points },
      this.#keptFor({ accountId, language: language.name }),
    );
  }
}
