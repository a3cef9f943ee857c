import type { Language } from "../domain/language.ts";
import { type Check, faultyCheck } from "../domain/readiness.ts";
import type { Languages } from "../languages/load.ts";
import type { Slot } from "../sandbox/slot.ts";
import { buildOutcome } from "../verdict/build-outcome.ts";
import { plan } from "./plan.ts";
import { runSteps } from "./run-steps.ts";

/**
 * Runs the smoke test of a language in a real box, like a submission.
 * @returns a check that is ok only if the verdict is AC, the output is exactly the expected one, all controls are confirmed, and the
 * clean-up is verified.
 */
export async function proveLanguage(slot: Pick<Slot, "run">, languages: Languages, language: Language): Promise<Check> {
  const name = language.name;
  try {
    const program = { code: Buffer.from(language.smokeTest.code, "utf8"), stdin: Buffer.alloc(0) };
    const outcome = buildOutcome(await runSteps(slot, plan(language, languages.limitsFor(language, "judge"), program)));
    const { result, output, evidence } = outcome;
    const ok =
      result.verdict === "AC" &&
      output?.stdout.toString("utf8") === language.smokeTest.stdout &&
      evidence?.isolation.mode === "strict" &&
      evidence.teardown.cleanupVerified;
    if (ok) return { name, ok, detail: language.label };
    const detail = failed(result.verdict, result.errorMessage);
    if (result.verdict === "IE") return { name, ok, detail, isPlatformFailure: true };
    return result.verdict === "TLE" ? { name, ok, detail, late: true } : { name, ok, detail };
  } catch (error) {
    return faultyCheck(name, error);
  }
}

function failed(verdict: string, message: string | null): string {
  return `its smoke test ended as ${verdict}${message ? `: ${message}` : ", but not as expected"}`;
}
