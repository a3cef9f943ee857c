import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { SubmissionRow } from "../../../src/http/dashboard/api/submissions.ts";
import { queries } from "../client/api.ts";
import type { Search } from "../client/search.ts";
import { type Column, DataTable, TableSkeleton } from "../components/data-table.tsx";
import { duration } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { EmptyState, QueryBoundary } from "../components/query-boundary.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Verdict } from "../components/verdict.tsx";
import css from "./latest-runs.module.css";

const AMOUNT = 5;

const COLUMNS: readonly Column<SubmissionRow>[] = [
  { head: "Verdict", cell: (row) => <Verdict of={row} /> },
  {
    head: "Submission",
    cell: ({ id }) => (
      <Link to="/submissions/$id" params={{ id }} className={css.id} title={id}>
        {id.slice(0, 8)}
      </Link>
    ),
  },
  { head: "Language", cell: ({ language }) => language },
  {
    head: "Key",
    cell: ({ key }) => (
      <Link to="/keys/$id" params={{ id: key.id }}>
        {key.name}
      </Link>
    ),
  },
  {
    head: "Took",
    number: true,
    cell: ({ startedAt, completedAt }) =>
      startedAt && completedAt ? duration(Date.parse(completedAt) - Date.parse(startedAt)) : "",
  },
  { head: "Submitted", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

interface Props {
  readonly of: Pick<Search, "key" | "project">;
  readonly title?: string;
}

/** The newest submissions of a key or a project. */
export function LatestRuns({ of: which, title = "Latest runs" }: Props) {
  const latest = useQuery(queries.latestRuns({ ...which, limit: AMOUNT }));
  return (
    <Section title={title}>
      <QueryBoundary query={latest} placeholder={<TableSkeleton rows={AMOUNT} />}>
        {({ submissions }) =>
          submissions.length === 0 ? (
            <EmptyState title="No run yet">
              The <Link to="/playground">playground</Link> shows the request of a first run.
            </EmptyState>
          ) : (
            <>
              <DataTable caption="Latest runs" columns={COLUMNS} rows={submissions} rowKey={({ id }) => id} />
              <p className={css.allLink}>
                <Link to="/submissions" search={which}>
                  All submissions
                </Link>
              </p>
            </>
          )
        }
      </QueryBoundary>
    </Section>
  );
}
