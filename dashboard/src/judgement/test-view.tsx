import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type {
  JudgedChecker,
  JudgedTest,
  TestDetail,
  TextBeginning,
} from "../../../src/http/dashboard/api/judgements.ts";
import { queries } from "../client/api.ts";
import { TableSkeleton } from "../components/data-table.tsx";
import { count, counted, size } from "../components/format.ts";
import { ProgramText } from "../components/program-text.tsx";
import { QueryBoundary } from "../components/query-boundary.tsx";
import { EvidenceTable } from "../run/evidence.tsx";
import { Explanation, RunStatus } from "../run/explanation.tsx";
import { INTEGRITY_NOTES } from "../run/integrity-notes.ts";
import { LimitUsage } from "../run/limit-usage.tsx";
import { DifferenceTable } from "./difference.tsx";
import { titleOf } from "./test-grid.tsx";
import { StateOf } from "./test-table.tsx";
import css from "./test-view.module.css";

interface Props {
  readonly judgementId: string;
  readonly at: number;
  readonly test: JudgedTest;
  readonly checker: JudgedChecker;
}

/** A test: its state, its input and answers, and the output and the evidence of its run. */
export function TestView({ judgementId, at, test, checker }: Props) {
  const query = useQuery({ ...queries.test(judgementId, at, test.state), staleTime: Number.POSITIVE_INFINITY });
  const { state, points, maxPoints, message, submissionId } = test;
  return (
    <section className={css.test} aria-label="Selected test">
      <div className={css.head}>
        <h2>{titleOf(test.name, at)}</h2>
        <StateOf test={test} />
        <span>
          {count(points)} of {counted(maxPoints, "point")}
        </span>
        {submissionId && (
          <Link to="/submissions/$id" params={{ id: submissionId }}>
            Submission of this run
          </Link>
        )}
      </div>
      {message && (
        <p className={css.message}>
          {checker.program && (state === "WA" || state === "AC") ? "The checker reports: " : ""}
          <code>{message}</code>
        </p>
      )}
      <QueryBoundary query={query} placeholder={<TableSkeleton rows={6} />}>
        {(detail) => <Contents of={detail} test={test} checker={checker} />}
      </QueryBoundary>
    </section>
  );
}

function Contents({ of, test: { state }, checker }: { of: TestDetail; test: JudgedTest; checker: JudgedChecker }) {
  const { input, expected, run } = of;
  const ranToEnd = state === "WA" || state === "AC";
  const answers = expected.length === 1 ? ["Expected"] : expected.map((_, at) => `Answer ${at + 1}`);
  return (
    <>
      {run && !ranToEnd && (
        <div className={css.explanation}>
          <RunStatus of={run} />
          <Explanation of={run} />
        </div>
      )}
      {state === "WA" && run?.stdout && <DifferenceTable expected={expected} got={run.stdout} checker={checker} />}
      <div className={css.texts}>
        <Text name="Input" of={input} nothing="No input." />
        {expected.map((answer, at) => (
          <Text key={answers[at]} name={answers[at] ?? ""} of={answer} nothing="Empty." />
        ))}
        {run && <Text name="Output" of={run.stdout} nothing="No output." integrity={integrityOf(run, "stdout")} />}
        {run?.stderr && run.stderr.size > 0 && (
          <Text name="Standard error" of={run.stderr} nothing="" integrity={integrityOf(run, "stderr")} />
        )}
      </div>
      {run && (
        <details className={css.evidence}>
          <summary>Evidence of this run</summary>
          {run.usage.length > 0 && <LimitUsage of={run.usage} />}
          <EvidenceTable of={run.proofs} />
        </details>
      )}
    </>
  );
}

/** The integrity of one stream: that of the run, or null if only the other stream was cut off. */
function integrityOf({ integrity, cut }: NonNullable<TestDetail["run"]>, stream: "stdout" | "stderr"): string | null {
  const isOther = integrity === "truncated_by_judge_limit" && cut !== null && !cut.includes(stream);
  return isOther ? null : integrity;
}

interface TextProps {
  readonly name: string;
  readonly of: TextBeginning | null;
  readonly nothing: string;
  readonly integrity?: string | null;
}

function Text({ name, of: shown, nothing, integrity }: TextProps) {
  const cut = shown?.cut ? `Only the first 64 KiB of ${size(shown.size)} are shown.` : undefined;
  const note = [integrity ? INTEGRITY_NOTES[integrity] : undefined, cut].filter(Boolean).join(" ");
  return (
    <ProgramText
      name={name}
      text={shown?.text ?? null}
      nothing={shown ? nothing : "Not stored."}
      note={note || undefined}
    />
  );
}
