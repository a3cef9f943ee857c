import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { Output } from "./output.tsx";
import css from "./outputs.module.css";
import type { useWatched } from "./watched.ts";

/** Notes for values of `integrity` other than complete. */
export const NOTES: Readonly<Record<string, string>> = {
  truncated_by_judge_limit: "Truncated: output beyond the limit was discarded.",
  crash_mid_write: "Killed within 20 ms of its last output: the end may be missing.",
  write_error: "Some output could not be read.",
};

interface Props {
  readonly of: SubmissionDetail;
  readonly live: ReturnType<typeof useWatched>["live"];
}

/** Both streams: live during the run, afterwards as stored. */
export function Outputs({ of: { row, record, explanation }, live }: Props) {
  const { stdout, stderr, integrity } = record.output;
  const ended = explanation !== null || row.completedAt !== null;
  const nothing = !ended ? "No output yet." : integrity === null ? "No output was stored." : "No output.";
  const note = integrity === null ? undefined : NOTES[integrity];
  return (
    <div className={css.outputs}>
      <Output name="Standard output" text={ended ? stdout : live.stdout} nothing={nothing} note={note} />
      <Output name="Standard error" text={ended ? stderr : live.stderr} nothing={nothing} note={note} />
    </div>
  );
}
