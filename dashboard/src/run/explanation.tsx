import type { TestRun } from "../../../src/http/dashboard/api/judgements.ts";
import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { InlineCode } from "../components/inline-code.tsx";
import { Verdict } from "../components/verdict.tsx";
import css from "./explanation.module.css";
import { WhyNot } from "./why-not.tsx";

const OPEN: Readonly<Record<string, string>> = {
  pending: "Waiting for a worker.",
  running: "Running in a sandbox.",
};

/** The verdict or status of a run in one line, which screen readers announce when it changes. */
export function RunStatus({ of: { row, record } }: { of: Pick<SubmissionDetail | TestRun, "row" | "record"> }) {
  const { exit_code: code, signal, actor } = record.result;
  return (
    <p className={css.status} role="status">
      <Verdict of={row} />
      {code !== null && <span>exit code {code}</span>}
      {signal !== null && <span>signal {signal}</span>}
      {actor && <span>ended by the {actor}</span>}
    </p>
  );
}

/** Explains the verdict, and why it is not a similar one. */
export function Explanation({
  of: { row, record, explanation },
}: {
  of: Pick<SubmissionDetail | TestRun, "row" | "record" | "explanation">;
}) {
  if (!explanation) return <p className={css.text}>{OPEN[row.status]}</p>;
  const { error_message: message } = record.result;
  return (
    <>
      <h2>{explanation.title}</h2>
      <p className={css.text}>
        <InlineCode text={explanation.text} />
      </p>
      {message && !explanation.text.includes(message) && (
        <p className={css.text}>
          <code>{message}</code>
        </p>
      )}
      {explanation.whyNot.length > 0 && (
        <div className={css.whyNot}>
          <WhyNot of={explanation.whyNot} />
        </div>
      )}
    </>
  );
}
