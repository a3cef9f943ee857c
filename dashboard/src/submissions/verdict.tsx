import type { SubmissionRow } from "../../../src/http/dashboard/api/submissions.ts";
import css from "./verdict.module.css";

/** Short names; the submission's page explains more. */
export const VERDICT_WORDS: Readonly<Record<string, string>> = {
  AC: "accepted",
  RE: "runtime error",
  TLE: "time limit",
  MLE: "memory limit",
  PLE: "process limit",
  FSE: "file size limit",
  SIG: "killed by a signal",
  IE: "platform failed",
};

/** The same for a judgement and its tests. */
export const JUDGEMENT_WORDS: Readonly<Record<string, string>> = {
  AC: "accepted",
  WA: "wrong answer",
  CE: "compile error",
  ...VERDICT_WORDS,
};

const WAITING: Readonly<Record<string, string>> = { pending: "pending", running: "running" };

/** The verdict or status of a submission or a judgement, as text and colour. */
export function Verdict({ of: { verdict, status } }: { of: Pick<SubmissionRow, "verdict" | "status"> }) {
  if (verdict === null) {
    return (
      <span className={css.verdict} data-status={status}>
        <span className={css.mark} />
        {WAITING[status] ?? status}
      </span>
    );
  }
  return (
    <span className={css.verdict}>
      <span className={css.mark} style={{ background: `var(--verdict-${verdict.toLowerCase()})` }} />
      <b>{verdict}</b> {JUDGEMENT_WORDS[verdict]}
    </span>
  );
}
