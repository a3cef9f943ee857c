import type { Language } from "../domain/language.ts";
import type { Languages } from "../languages/load.ts";
import type { LocalJudge, LocalRun } from "../worker/judge-locally.ts";
import { ceilingOf } from "./limits.ts";
import type { ProblemPackage } from "./package.ts";
import type { OwnSubmission } from "./submissions.ts";
import { contentsOf, repetitions } from "./tests.ts";
import { type TimedSubmission, type TimeLimit, timeLimit } from "./timing.ts";

/** A submission that ran, with its language and the bytes of its files. */
export interface JudgedSubmission extends TimedSubmission {
  readonly language: Language;
  readonly bytes: number;
}

/** Where the submissions of a package run, and for how long. */
export interface SubmissionRuns {
  readonly judge: LocalJudge;
  /** The CPU time after which a run is ended, in seconds. */
  readonly cpuSecs: number;
  /** Called with the result of each test. */
  readonly onRun?: (run: LocalRun) => void;
}

/**
 * Runs a submission of the package on all tests. Tests that are the same files with the same settings run once.
 * @returns null if the submission is in no installed language. @throws SandboxError if the slot is lost, PackageError if a file
 * has changed.
 */
export async function judgeSubmission(
  { path, about, bytes, found }: OwnSubmission,
  { definition, checker, harness = null, tests, stop }: ProblemPackage,
  { judge, cpuSecs, onRun }: SubmissionRuns,
): Promise<JudgedSubmission | null> {
  if (!found) return null;
  const { language, program } = found;
  const timed = definition.tests.map((test) => ({ ...test, limits: { ...test.limits, cpu_time_secs: cpuSecs } }));
  const repeated = repetitions(tests, definition);
  const local = {
    definition: { ...definition, tests: timed },
    checker,
    harness,
    contents: (test: number) => contentsOf(tests[test]),
    repeated: (test: number) => repeated.get(test),
  };
  const result = await judge.judge(program, { language, profile: "judge", stop }, local, onRun);
  return { path, about, language, bytes, result };
}

/** The time limit by the rules of the format (timing.ts), bounded by the ceiling of the service. */
export function timeLimitOf(
  problem: ProblemPackage,
  judged: readonly JudgedSubmission[],
  languages: Languages,
): TimeLimit {
  return timeLimit(problem, judged, ceilingOf("time_limit", languages));
}
