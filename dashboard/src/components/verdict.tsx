import type { SubmissionRow } from "../../../src/http/dashboard/api/submissions.ts";
import { CAUSE_WORDS } from "./causes.ts";
import css from "./verdict.module.css";

/** Short names of the verdicts of a submission. The page of the submission explains its verdict. */
export const VERDICT_NAMES: Readonly<Record<string, string>> = {
  AC: "accepted",
  RE: "runtime error",
  TLE: "time limit",
  MLE: "memory limit",
  PLE: "process limit",
  FSE: "file size limit",
  SIG: "killed by a signal",
  IE: "platform failed",
};

/** Short names of the verdicts of a judgement and its tests. */
export const JUDGEMENT_NAMES: Readonly<Record<string, string>> = {
  AC: "accepted",
  WA: "wrong answer",
  CE: "compilation error",
  ...VERDICT_NAMES,
};

type Ended = Pick<SubmissionRow, "verdict"> & { readonly cause?: string | null | undefined };

/** How a run or a judgement ended, in short words. Judgements have no cause, and the cause of an old record is null. */
export function verdictText({ verdict, cause }: Ended): string {
  const words = CAUSE_WORDS[cause ?? ""] ?? JUDGEMENT_NAMES[verdict ?? ""] ?? "";
  return cause?.startsWith("compile_") && cause !== "compile_error" ? `${words} of the compiler` : words;
}

/** The colour of a verdict. It is only for areas, because some of the colours are too light for text. */
export function colourOf({ verdict, cause }: Ended): string {
  return `var(--verdict-${cause === "compile_error" ? "ce" : verdict?.toLowerCase()})`;
}

/** The verdict of a submission or a judgement, or its status if it has no verdict, as text with a colour. */
export function Verdict({ of: { status, ...ended } }: { of: Ended & Pick<SubmissionRow, "status"> }) {
  if (ended.verdict === null) {
    return (
      <span className={css.verdict} data-status={status}>
        <span className={css.mark} />
        {status}
      </span>
    );
  }
  return (
    <span className={css.verdict}>
      <span className={css.mark} style={{ background: colourOf(ended) }} />
      <b>{ended.verdict}</b> {verdictText(ended)}
    </span>
  );
}
