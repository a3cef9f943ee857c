import { Button } from "@mantine/core";
import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { counted } from "../components/format.ts";
import { InlineCode } from "../components/inline-code.tsx";
import { PlainText } from "../components/program-text.tsx";
import css from "./run-view.module.css";
import type { SourceMessage } from "./source-messages.ts";

interface Props {
  readonly of: SubmissionDetail;
  /** The message of a compiler or runtime that says why the run ended; undefined if there is none. */
  readonly decided: SourceMessage | undefined;
  /** The line of the output that explains the end best. It is shown if `decided` is undefined. */
  readonly lastWritten: string | undefined;
  /** Number of messages in addition to `decided`. */
  readonly more: number;
  readonly onLineChosen: (line: number, file?: string) => void;
}

/** Why the run ended as it did, and on which line of the source. */
export function RunReason({ of: detail, decided, lastWritten, more, onLineChosen }: Props) {
  const { explanation, record } = detail;
  if (!explanation) {
    const isRunning = detail.row.status === "running";
    return <p className={css.reason}>{isRunning ? "Running in a sandbox." : "Waiting for a worker."}</p>;
  }
  const { verdict } = record.result;
  return (
    <div className={css.reason}>
      <p>
        <InlineCode text={explanation.text} />
      </p>
      {decided && (
        <p className={css.message}>
          <Button
            variant="light"
            color="red"
            size="compact-sm"
            onClick={() => onLineChosen(decided.line, decided.file)}
          >
            Line {decided.line}
            {decided.file !== undefined && ` of ${decided.file}`}
          </Button>
          <code>
            <PlainText text={decided.text} />
          </code>
          {more > 0 && <span>and {counted(more, "more message")}</span>}
        </p>
      )}
      {!decided && verdict !== "AC" && verdict !== "IE" && (
        <p className={css.message}>
          <span>No line is known: {withoutLine(record.result)}</span>
          {lastWritten !== undefined && (
            <code>
              <PlainText text={lastWritten} />
            </code>
          )}
        </p>
      )}
    </div>
  );
}

function withoutLine({ verdict, cause, exit_code }: SubmissionDetail["record"]["result"]): string {
  if (cause?.startsWith("compile_")) return "the compiler wrote no message about a line.";
  if (exit_code !== null) return "the program wrote no message about a line.";
  if (verdict === "SIG") return "a signal ended the program, and it wrote no message about a line.";
  return "the program was ended from outside, and it wrote no message about a line.";
}
