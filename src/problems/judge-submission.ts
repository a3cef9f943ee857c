import type { Language } from "../domain/language.ts";
import type { Languages } from "../languages/load.ts";
import type { LocalJudge, LocalRun } from "../worker/judge-locally.ts";
import type { ProblemPackage } from "./package.ts";
import type { OwnSubmission } from "./submissions.ts";
import { contentsOf } from "./tests.ts";
import { type TimedSubmission, type TimeLimit, timeLimit } from "./timing.ts";

/** A submission that ran, with its language and the bytes of its files. */
export interface JudgedSubmission extends TimedSubmission {
  readonly language: Language;
  readonly bytes: number;
}

/**
 * Runs a submission of the package on all tests.
 * @param onRun called after each run.
 * @returns null if the submission is in no installed language. @throws SandboxError if the slot is lost, PackageError if a file
 * has changed.
 */
export async function judgeSubmission(
  { path, about, bytes, found }: OwnSubmission,
  { definition, checker, tests }: ProblemPackage,
  judge: LocalJudge,
  onRun?: (run: LocalRun) => void,
): Promise<JudgedSubmission | null> {
  if (!found) return null;
  const { language, program } = found;
  const local = { definition, checker, contents: (test: number) => contentsOf(tests[test]) };
  const result = await judge.judge(program, { language, profile: "judge", stop: "never" }, local, onRun);
  return { path, about, language, bytes, result };
}

/** The time limit by the rules of the format (timing.ts), bounded by the profile `judge` of the languages of the submissions. */
export function timeLimitOf(
  problem: ProblemPackage,
  judged: readonly JudgedSubmission[],
  languages: Languages,
): TimeLimit {
  const cpuMs = judged.map(({ language }) => languages.limitsFor(language, "judge").execute.cpuMs);
  return timeLimit(problem, judged, Math.min(...cpuMs) / 1_000);
}
