import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { mutations } from "../../client/api.ts";
import { TableSkeleton } from "../../components/data-table.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { useAction } from "../../components/use-action.ts";
import { firstFailure, JudgementSummary } from "../../judgement/summary.tsx";
import { TestGrid } from "../../judgement/test-grid.tsx";
import { TestView } from "../../judgement/test-view.tsx";
import { isOpen, useLiveJudgement } from "../../judgement/use-live-judgement.ts";
import css from "./playground.module.css";

/** The last judgement of the playground: its tests as cells, and the selected test. */
export function JudgementResult({ id }: { id: string }) {
  const query = useLiveJudgement(id);
  const [chosen, choose] = useState<number | null>(null);
  const cancel = useAction(() => mutations.cancelJudgement(id));
  return (
    <QueryBoundary query={query} placeholder={<TableSkeleton rows={6} />}>
      {(detail) => {
        const { tests, checker } = detail;
        const selected = chosen ?? firstFailure(tests);
        const test = selected === null ? undefined : tests[selected];
        return (
          <div className={css.judgement}>
            <JudgementSummary of={detail} />
            <TestGrid of={detail} selected={selected} onSelect={choose} />
            <p className={css.links}>
              <Link to="/judgements/$id" params={{ id }}>
                Page of this judgement
              </Link>
              {isOpen(detail) && (
                <Button variant="default" size="compact-sm" loading={cancel.isPending} onClick={() => cancel.mutate()}>
                  Stop
                </Button>
              )}
            </p>
            {test && selected !== null && (
              <TestView key={selected} judgementId={id} at={selected} test={test} checker={checker} />
            )}
          </div>
        );
      }}
    </QueryBoundary>
  );
}
