import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { copy } from "../pieces/copyable.tsx";
import { RowsWaiting } from "../pieces/data-table.tsx";
import { QueryBoundary } from "../pieces/query-boundary.tsx";
import { Explained, Standing } from "../submissions/explained.tsx";
import { Outputs } from "../submissions/outputs.tsx";
import { Proven } from "../submissions/proven.tsx";
import { Timeline } from "../submissions/timeline.tsx";
import { Used } from "../submissions/used.tsx";
import { useWatched } from "../submissions/watched.ts";
import css from "./playground.module.css";

/** The run of the playground: state, output, verdict. */
export function RunResult({ id }: { id: string }) {
  const { query, live } = useWatched(id);
  const share = `${window.location.origin}/dashboard/submissions/${id}`;
  return (
    <QueryBoundary query={query} waiting={<RowsWaiting rows={6} />}>
      {(detail) => {
        const now = live.status ? { ...detail, row: { ...detail.row, status: live.status } } : detail;
        return (
          <div className={css.out}>
            <Standing of={now} />
            <Outputs of={now} live={live} />
            <div className={css.explained}>
              <Explained of={now} />
            </div>
            <p className={css.links}>
              <Link to="/submissions/$id" params={{ id }}>
                Its own page
              </Link>
              <Button variant="default" size="compact-sm" onClick={() => copy(share, "link to the submission")}>
                Share
              </Button>
              <span>Those of {now.row.account.name} can open the link.</span>
            </p>
            <Timeline of={now.timeline} />
            {now.usage.length > 0 && <Used of={now.usage} />}
            {now.row.completedAt && (
              <details className={css.evidence}>
                <summary>Evidence: what the kernel confirmed</summary>
                <Proven of={now.proofs} />
              </details>
            )}
          </div>
        );
      }}
    </QueryBoundary>
  );
}
