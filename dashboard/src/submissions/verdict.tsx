import type { SubmissionRow } from "../../../src/http/dashboard/api/submissions.ts";
import css from "./verdict.module.css";

/** In two or three words; a submission's own page tells more. */
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

const WAITING: Readonly<Record<string, string>> = { pending: "waiting", running: "running" };

/** How a submission ended, or how far it is: in words, with a colour that only repeats them. */
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
      <b>{verdict}</b> {VERDICT_WORDS[verdict]}
    </span>
  );
}
