import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { Output } from "./output.tsx";
import css from "./outputs.module.css";
import type { useWatched } from "./watched.ts";

/** What `integrity` means for somebody who reads the output; complete needs no word. */
const NOTES: Readonly<Record<string, string>> = {
  truncated_by_judge_limit: "Cut off: it wrote more than is kept. What follows is lost.",
  crash_mid_write: "It was killed while it may have been writing: the end may be missing.",
  write_error: "Not all that it wrote could be collected.",
};

interface Props {
  readonly of: SubmissionDetail;
  readonly live: ReturnType<typeof useWatched>["live"];
}

/** Both streams: as they come while it runs, as they are kept afterwards. */
export function Outputs({ of: { row, record, explanation }, live }: Props) {
  const { stdout, stderr, integrity } = record.output;
  const ended = explanation !== null || row.completedAt !== null;
  const nothing = !ended ? "Nothing yet." : integrity === null ? "Nothing of it was kept." : "It wrote nothing.";
  const note = integrity === null ? undefined : NOTES[integrity];
  return (
    <div className={css.outputs}>
      <Output name="Standard output" text={ended ? stdout : live.stdout} nothing={nothing} note={note} />
      <Output name="Standard error" text={ended ? stderr : live.stderr} nothing={nothing} note={note} />
    </div>
  );
}
