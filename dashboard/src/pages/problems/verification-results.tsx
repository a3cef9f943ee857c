import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ComparedExpectations, JudgementRow } from "../../../../src/http/dashboard/api/judgements.ts";
import type { ProblemDetail, Verification, VerifiedSubmission } from "../../../../src/http/dashboard/api/problems.ts";
import { fetchPage, queries } from "../../client/api.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { count, counted, duration } from "../../components/format.ts";
import { Section } from "../../components/page.tsx";
import { EmptyState, ErrorMessage } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Verdict } from "../../components/verdict.tsx";
import { Faults, Lines } from "./faults.tsx";
import css from "./problem.module.css";

/**
 * Number of judgements to request. It is greater than the number of submissions that a package can have, because other judgements
 * of the problem can begin at the same time.
 */
const ROWS = 200;

/** A submission of the package with its judgement, and with the comparison once the judgement has ended. */
interface Followed {
  readonly submission: VerifiedSubmission;
  readonly row: JudgementRow | undefined;
  readonly compared: ComparedExpectations | undefined;
  readonly trouble: Error | null;
}

const COLUMNS: readonly Column<Followed>[] = [
  {
    head: "Submission",
    cell: ({ submission: { path, judgementId } }) =>
      judgementId === null ? (
        <span className={css.path}>{shortened(path)}</span>
      ) : (
        <Link to="/judgements/$id" params={{ id: judgementId }} className={css.path}>
          {shortened(path)}
        </Link>
      ),
  },
  { head: "Expected", cell: ({ submission: { expected } }) => <Lines of={expected} /> },
  { head: "Got", cell: ({ row }) => row && <Verdict of={row} /> },
  { head: "Ended", number: true, cell: ({ row }) => row && `${count(row.ended)} of ${count(row.total)}` },
  { head: "Slowest", number: true, cell: ({ compared }) => compared && duration(Math.round(compared.slowestMs)) },
  { head: "Result", cell: (one) => <Result of={one} /> },
];

const POINTS: Column<Followed> = {
  head: "Points",
  number: true,
  cell: ({ row }) => (row?.score == null ? "" : count(row.score)),
};

interface Props {
  readonly problem: Pick<ProblemDetail, "id" | "groups">;
  readonly of: Verification;
}

/** The submissions of the imported package. The result of each appears when its judgement has ended. */
export function VerificationResults({ problem: { id, groups }, of: { until, submissions } }: Props) {
  const { rows, error } = useRows(id, until, submissions);
  const scores = groups.some(({ points }) => points > 0);
  const followed = useCompared(submissions, rows);
  const ended = followed.filter(({ compared }) => compared);
  const met = ended.filter(({ compared }) => compared?.faults.length === 0);
  const judged = submissions.filter(({ judgementId }) => judgementId !== null);
  return (
    <Section title="Verification">
      {error && <ErrorMessage text={`Not updated: ${error.message}.`} />}
      {submissions.length === 0 ? (
        <EmptyState title="The package has no submissions">
          Nothing was judged.{" "}
          <Link to="/playground" search={{ problem: id }}>
            Try a program
          </Link>{" "}
          instead.
        </EmptyState>
      ) : (
        <>
          <div className={`${css.progress} ${css.verified}`}>
            <progress aria-label="Verification" max={Math.max(1, judged.length)} value={ended.length} />
            <span role="status">
              {`${count(ended.length)} of ${counted(judged.length, "submission")} ended, ${count(met.length)} as expected`}
            </span>
          </div>
          <DataTable
            caption="Submissions of the package"
            columns={scores ? [...COLUMNS.slice(0, 4), POINTS, ...COLUMNS.slice(4)] : COLUMNS}
            rows={followed}
            rowKey={({ submission }) => submission.path}
          />
        </>
      )}
      <p className={css.hint}>
        Only the command <code>sudo ./assay problems verify</code> checks the input validators, the outputs in the
        package, and whether the time limit suits the submissions. This table is gone when you close or reload the
        dashboard; the judgements stay.
      </p>
    </Section>
  );
}

/** The judgements of the submissions, by id. */
function useRows(problem: string, until: string, submissions: readonly VerifiedSubmission[]) {
  const ids = submissions.flatMap(({ judgementId }) => judgementId ?? []);
  const query = useQuery({
    queryKey: ["/judgements of a verification", problem, until],
    queryFn: () => fetchPage.judgements({ problem, until, limit: ROWS }),
    enabled: ids.length > 0,
    meta: { topics: ["runs"] },
  });
  return { rows: new Map(query.data?.judgements.map((row) => [row.id, row])), error: query.error };
}

function useCompared(
  submissions: readonly VerifiedSubmission[],
  rows: ReadonlyMap<string, JudgementRow>,
): readonly Followed[] {
  const judged = submissions.map((submission) => ({ submission, row: rows.get(submission.judgementId ?? "") }));
  return useQueries({
    queries: judged.map(({ submission: { judgementId, path, expectations }, row }) => ({
      ...queries.comparison(judgementId ?? "", { path, expectations }),
      enabled: row !== undefined && isEnded(row),
    })),
    combine: (results) =>
      judged.map((one, at) => ({ ...one, compared: results[at]?.data, trouble: results[at]?.error ?? null })),
  });
}

function Result({ of: { submission, row, compared, trouble } }: { of: Followed }) {
  if (submission.error !== null) return <Faults state="not judged" faults={[submission.error]} />;
  if (submission.judgementId === null) return <StatusBadge tone="idle">skipped: no installed language</StatusBadge>;
  if (compared?.faults.length === 0) return <StatusBadge tone="good">as expected</StatusBadge>;
  if (compared) return <Faults state="mismatch" faults={compared.faults} />;
  if (trouble) return <Faults state="not compared" faults={[trouble.message]} />;
  return <StatusBadge tone="idle">{row?.status ?? "pending"}</StatusBadge>;
}

/** The path without `submissions/`. */
function shortened(path: string): string {
  return path.replace(/^submissions\//, "");
}

function isEnded({ completedAt }: JudgementRow): boolean {
  return completedAt !== null;
}
