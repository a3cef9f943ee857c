import { Button, SegmentedControl } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import type { ExecutionDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { addressOf, isNotFound, mutations } from "../../client/api.ts";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { TableSkeleton } from "../../components/data-table.tsx";
import { readOutput } from "../../components/editor/printable-text.ts";
import { Viewer } from "../../components/editor/viewer.tsx";
import { counted, size } from "../../components/format.ts";
import { PlainText } from "../../components/program-text.tsx";
import { ErrorMessage, QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { EgressView, egressSummary } from "../../egress/egress-view.tsx";
import { EvidenceTable } from "../../run/evidence.tsx";
import { Explanation, RunStatus } from "../../run/explanation.tsx";
import { INTEGRITY_NOTES } from "../../run/integrity-notes.ts";
import { LimitUsage } from "../../run/limit-usage.tsx";
import type { LiveTextState } from "../../run/live-text.ts";
import run from "../../run/run-view.module.css";
import css from "./sandboxes.module.css";
import { useLiveExecution } from "./use-live-execution.ts";

type Stream = "stdout" | "stderr";

interface Props {
  readonly sandboxId: string;
  readonly number: number;
  /** Whether a person has just chosen it: then its heading gets the focus, and so the view is in sight. */
  readonly isAsked: boolean;
  readonly onClose: () => void;
}

/** An execution of a sandbox: its command, verdict, output and evidence. */
export function ExecutionView({ sandboxId, number, isAsked, onClose }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isAsked) heading.current?.focus();
  }, [isAsked]);
  const { query, live, isRefused } = useLiveExecution(sandboxId, number);
  return (
    <section className={css.execution} aria-label={`Execution ${number}`}>
      <div className={css.head}>
        <h3 ref={heading} tabIndex={-1}>
          Execution {number}
        </h3>
        {query.data?.run === null && (
          <ConfirmButton
            label="Kill"
            ariaLabel={`Kill execution ${number}`}
            submit="Kill execution"
            title="Kill this execution?"
            act={() => mutations.killExecution(sandboxId, number)}
            successMessage="Execution killed."
          >
            All of its processes are killed. The sandbox and its other executions go on.
          </ConfirmButton>
        )}
        <Button variant="default" size="compact-sm" onClick={onClose}>
          Close
        </Button>
      </div>
      {isNotFound(query.error) ? (
        <ErrorMessage text="This execution is no longer stored." />
      ) : (
        <QueryBoundary query={query} placeholder={<TableSkeleton rows={6} />}>
          {(detail) => <Contents sandboxId={sandboxId} of={detail} live={live} isRefused={isRefused} />}
        </QueryBoundary>
      )}
    </section>
  );
}

interface ContentsProps {
  readonly sandboxId: string;
  readonly of: ExecutionDetail;
  readonly live: Readonly<Record<Stream, LiveTextState>>;
  readonly isRefused: boolean;
}

function Contents({ sandboxId, of: detail, live, isRefused }: ContentsProps) {
  const { row, command, cwd, key, run: ended, egress } = detail;
  const left = row.processesLeft ?? 0;
  return (
    <>
      <pre className={css.whole}>
        <PlainText text={command} />
      </pre>
      <p className={css.facts}>
        In <code>{cwd}</code>, by the key {key.name}, <Timestamp at={row.startedAt} />
        {row.hasTerminal && ", with a terminal"}
        {row.background && ", in the background"}
        {left > 0 &&
          `. ${counted(left, "process", "processes")} still ran when it had ended${row.background ? "" : ", and were killed"}`}
        .
      </p>
      {ended ? (
        <div className={css.explanation}>
          <RunStatus of={ended} />
          <Explanation of={ended} />
        </div>
      ) : (
        <p role="status">Running.</p>
      )}
      <Output sandboxId={sandboxId} of={detail} live={live} isRefused={isRefused} />
      {egress && (
        <details className={css.evidence}>
          <summary>Network: {egressSummary(egress)}</summary>
          <EgressView of={egress} />
        </details>
      )}
      {ended && (
        <details className={css.evidence}>
          <summary>Limits and evidence of this execution</summary>
          {ended.usage.length > 0 && <LimitUsage of={ended.usage} />}
          <EvidenceTable of={ended.proofs} />
        </details>
      )}
    </>
  );
}

function Output({ sandboxId, of: { row, run: ended }, live, isRefused }: ContentsProps) {
  const [chosen, choose] = useState<Stream>();
  const texts = {
    stdout: ended ? (ended.stdout ?? "") : live.stdout.text,
    stderr: ended ? (ended.stderr ?? "") : live.stderr.text,
  };
  const shown = chosen ?? (texts.stdout === "" && texts.stderr !== "" ? "stderr" : "stdout");
  const text = texts[shown];
  const readable = useMemo(() => readOutput(text), [text]);
  const streams: readonly Stream[] = row.hasTerminal ? ["stdout"] : ["stdout", "stderr"];
  const head = (
    <SegmentedControl
      size="xs"
      aria-label="Output"
      value={shown}
      onChange={(next) => choose(next === "stderr" ? "stderr" : "stdout")}
      data={streams.map((stream) => ({
        value: stream,
        label: `${row.hasTerminal ? "terminal" : stream} ${size(new TextEncoder().encode(texts[stream]).length)}`,
      }))}
    />
  );
  const isCut = ended?.integrity === "truncated_by_judge_limit" && (ended.cut === null || ended.cut.includes(shown));
  const isFlawed = ended?.integrity !== "truncated_by_judge_limit" && text !== "";
  const nothing = isRefused
    ? "The output cannot be followed here now: reload the page when it has ended."
    : "No output yet.";
  const note = isCut || isFlawed ? INTEGRITY_NOTES[ended?.integrity ?? ""] : undefined;
  return (
    <div className={run.pane}>
      {text === "" ? (
        <>
          <div className={run.paneHead}>{head}</div>
          <p className={run.empty}>{ended ? "No output." : nothing}</p>
        </>
      ) : (
        <Viewer
          key={shown}
          head={head}
          label={shown === "stdout" ? "Standard output" : "Standard error"}
          text={readable}
          original={text}
          isLive={!ended}
          firstLine={ended ? 1 : live[shown].firstLine}
          download={ended && addressOf(`/sandboxes/${sandboxId}/executions/${row.number}/output/${shown}`)}
        />
      )}
      {note && <p className={run.note}>{note}</p>}
    </div>
  );
}
