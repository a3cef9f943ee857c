import { isCut } from "../../domain/explain/usage.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { Submission } from "../../domain/submission.ts";
import { isSame } from "./compare.ts";

/** Judge0's statuses by number. */
export const JUDGE0_STATUSES = {
  1: "In Queue",
  2: "Processing",
  3: "Accepted",
  4: "Wrong Answer",
  5: "Time Limit Exceeded",
  6: "Compilation Error",
  7: "Runtime Error (SIGSEGV)",
  8: "Runtime Error (SIGXFSZ)",
  9: "Runtime Error (SIGFPE)",
  10: "Runtime Error (SIGABRT)",
  11: "Runtime Error (NZEC)",
  12: "Runtime Error (Other)",
  13: "Internal Error",
  14: "Exec Format Error",
} as const;

export type Judge0Status = keyof typeof JUDGE0_STATUSES;

export const ACCEPTED: Judge0Status = 3;

/** The status of a program that was ended by a signal, by the number of the signal. For other signals, it is 12. */
const BY_SIGNAL: Readonly<Record<number, Judge0Status>> = { 6: 10, 8: 9, 11: 7, 25: 8 };

const BY_VERDICT = { AC: 3, RE: 11, TLE: 5, MLE: 12, PLE: 12, FSE: 8, SIG: 12, IE: 13 } as const satisfies Record<
  Outcome["result"]["verdict"],
  Judge0Status
>;

/**
 * The status of a submission that has ended. If its standard output exceeds the limit, it is a wrong answer, as in a judgement, because
 * the rest of the output is unknown.
 */
export function judge0StatusOf(outcome: Outcome, expected: Buffer | null): Judge0Status {
  const { verdict, cause, signal } = outcome.result;
  if (cause.startsWith("compile_") && verdict !== "IE") return 6;
  if (verdict === "SIG") return BY_SIGNAL[signal ?? 0] ?? 12;
  if (verdict !== "AC" || expected === null) return BY_VERDICT[verdict];
  return !isCut(outcome, "stdout") && isSame(outcome.output?.stdout ?? Buffer.alloc(0), expected) ? 3 : 4;
}

/** The present status of a submission. @param ended the status that was stored when it ended; null if there is none. */
export function presentStatus({ status }: Pick<Submission, "status">, ended: number | null): Judge0Status {
  if (status === "pending") return 1;
  return status === "running" ? 2 : ((ended ?? 13) as Judge0Status);
}
