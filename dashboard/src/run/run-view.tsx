import { lazy, Suspense, useMemo, useState } from "react";
import type { SubmissionDetail } from "../../../src/http/dashboard/api/submissions.ts";
import { TableSkeleton } from "../components/data-table.tsx";
import { readOutput } from "../components/editor/printable-text.ts";
import type { ScrollTarget } from "../components/editor/scroll-target.ts";
import { Page } from "../components/page.tsx";
import { QueryBoundary } from "../components/query-boundary.tsx";
import { colourOf } from "../components/verdict.tsx";
import { LimitUsage } from "./limit-usage.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunFacts } from "./run-facts.tsx";
import { RunPanes, SOURCE } from "./run-panes.tsx";
import { RunReason } from "./run-reason.tsx";
import { RunTabs } from "./run-tabs.tsx";
import css from "./run-view.module.css";
import { decidingMessage, findMessagesInFiles, lastLine } from "./source-messages.ts";
import { Timings } from "./timings.tsx";
import { isOpen, type LiveRun, useLiveRun } from "./use-live-run.ts";

/** Loaded only if a run has a curve, because few runs are long enough for one. */
const UsageCurve = lazy(async () => ({ default: (await import("./usage-curve.tsx")).UsageCurve }));

interface Props {
  readonly id: string;
  /**
   * `page`: as a page, with its heading. `panel`: in a part of a page. `playground`: next to the editor, and therefore without
   * the source.
   */
  readonly layout?: "page" | "panel" | "playground";
  /** The open tab. Without it, the view itself stores which tab is open. */
  readonly tab?: string | undefined;
  readonly onTab?: (tab: string) => void;
  /** Called when a person chooses a message about this line of the source. */
  readonly onLineChosen?: (line: number) => void;
}

/** One run: how and why it ended, its times, limits, source, output and evidence. */
export function RunView({ id, layout = "panel", ...rest }: Props) {
  // The key resets the state when another submission is shown.
  return <RunWithHeading key={id} id={id} layout={layout} {...rest} />;
}

function RunWithHeading({ id, layout = "panel", ...rest }: Props) {
  const { query, live } = useLiveRun(id);
  const { data } = query;
  const now = data && live.status ? { ...data, row: { ...data.row, status: live.status } } : data;
  const title = now ? titleOf(now) : "Submission";
  const body = (
    <QueryBoundary query={query} placeholder={<TableSkeleton rows={14} />}>
      {() => now && <Body of={now} live={live} layout={layout} {...rest} />}
    </QueryBoundary>
  );
  const actions = now && <RunActions of={now} layout={layout} />;
  const heading = (
    <span className={css.title}>
      {now && <VerdictMark of={now} />}
      {title}
    </span>
  );
  return (
    <div className={css.run}>
      {layout === "page" ? (
        <Page title={title} heading={heading} actions={actions}>
          {body}
        </Page>
      ) : (
        <article aria-label="Run">
          <div className={css.head}>
            <h2>{heading}</h2>
            {actions && <div className={css.actions}>{actions}</div>}
          </div>
          {body}
        </article>
      )}
    </div>
  );
}

function titleOf({ row, explanation }: SubmissionDetail): string {
  if (explanation) return explanation.title;
  return row.status === "running" ? "Running" : "Waiting in the queue";
}

/** The verdict with its colour. It is hidden from screen readers, because another line tells them the verdict (in Body). */
function VerdictMark({ of: { row, record } }: { of: SubmissionDetail }) {
  const { verdict, cause } = record.result;
  if (verdict === null) return <span className={css.mark} data-status={row.status} />;
  return (
    <span className={css.verdict} aria-hidden="true">
      <span className={css.mark} style={{ background: colourOf({ verdict, cause }) }} />
      {verdict}
    </span>
  );
}

interface BodyProps extends Omit<Props, "id"> {
  readonly of: SubmissionDetail;
  readonly live: LiveRun;
}

function Body({ of: detail, live, layout, tab, onTab, onLineChosen }: BodyProps) {
  const { record, source, code, files, timeline, usage, samples } = detail;
  const { cause, verdict } = record.result;
  const [target, setTarget] = useState<ScrollTarget | null>(null);
  const { stderr } = record.output;
  // The same text as in the viewer, because the positions of messages refer to it.
  const written = useMemo(() => readOutput(stderr ?? "").text, [stderr]);
  const messages = useMemo(
    () =>
      findMessagesInFiles(
        written,
        source,
        code,
        files.filter(({ isText }) => isText).map(({ path }) => path),
      ),
    [written, source, code, files],
  );
  const ofCompiler = cause?.startsWith("compile_") ?? false;
  const decided = verdict === "AC" ? undefined : decidingMessage(messages, ofCompiler);
  // A program that was killed at a limit wrote nothing about its end.
  const isOwnEnd = verdict === "RE" || verdict === "SIG";
  const lastWritten = useMemo(
    () => (isOwnEnd ? lastLine(written, ofCompiler) : undefined),
    [isOwnEnd, written, ofCompiler],
  );
  const [part, setPart] = useState<string>();
  const first = useMemo(() => (decided ? { line: decided.line } : null), [decided]);
  const toLine = (line: number, file: string = SOURCE) => {
    setPart(file);
    setTarget({ line, isAsked: true });
    if (file === SOURCE) onLineChosen?.(line);
  };
  const measured = (
    <div className={css.measurements}>
      <section aria-label="Times">
        <Timings of={timeline} />
      </section>
      {usage.length > 0 && (
        <section aria-label="Limits and usage">
          <LimitUsage of={usage} />
        </section>
      )}
      {samples && (
        <Suspense>
          <UsageCurve of={samples} />
        </Suspense>
      )}
    </div>
  );
  const panes = (
    <RunPanes
      of={detail}
      live={live}
      messages={messages}
      target={target ?? first}
      part={part ?? decided?.file ?? SOURCE}
      onPart={(next) => {
        setPart(next);
        setTarget(null);
      }}
      hasSource={layout !== "playground"}
      onLineChosen={toLine}
    />
  );
  return (
    <>
      {/* Announced by screen readers when it changes. */}
      <p role="status" className={css.visuallyHidden}>
        {verdict === null ? titleOf(detail) : `${titleOf(detail)}, ${verdict}`}
      </p>
      <RunFacts of={detail} isShort={layout === "playground"} />
      <RunReason
        of={detail}
        decided={decided}
        lastWritten={lastWritten}
        more={messages.length - 1}
        onLineChosen={toLine}
      />
      {layout === "playground" ? (
        <>
          {panes}
          {measured}
        </>
      ) : (
        <>
          {measured}
          {panes}
        </>
      )}
      {!isOpen(detail) && <RunTabs of={detail} tab={tab} onTab={onTab} />}
    </>
  );
}
