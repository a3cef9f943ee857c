import { Button } from "@mantine/core";
import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { API } from "../client/api.ts";
import { CodeBlock } from "../components/code-block.tsx";
import { copy } from "../components/copyable.tsx";
import css from "./raw-record.module.css";

/** The record as clients and webhooks receive it. */
export function RawRecord({ of: { row, record } }: { of: SubmissionDetail }) {
  const text = JSON.stringify(record, null, 2);
  return (
    <div className={css.record}>
      <div className={css.actions}>
        <p>The record as clients and webhooks receive it.</p>
        <Button variant="default" size="compact-sm" onClick={() => copy(text, "record")}>
          Copy record
        </Button>
        <Button
          component="a"
          variant="default"
          size="compact-sm"
          className={css.download}
          href={`${API}/submissions/${row.id}/record`}
          download={`${row.id}.json`}
        >
          Download
        </Button>
      </div>
      <CodeBlock label="Record">{text}</CodeBlock>
    </div>
  );
}
