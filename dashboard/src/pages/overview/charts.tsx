import { useMemo } from "react";
import type { Grouping, History } from "../../../../src/http/dashboard/api/overview.ts";
import type { Search } from "../../client/search.ts";
import { SharedCursor } from "../../components/charts/cursor.tsx";
import { type BucketSelection, timesOf } from "../../components/charts/times.ts";
import { DeliveriesChart } from "./deliveries-chart.tsx";
import { EndedRunsChart } from "./ended-runs-chart.tsx";
import { LatencyChart } from "./latency-chart.tsx";
import { LoadChart } from "./load-chart.tsx";
import css from "./overview.module.css";

interface Props {
  readonly history: History;
  readonly account: string | undefined;
  readonly asShare: boolean;
  readonly onChange: (change: { by?: Grouping; share?: true | undefined }) => void;
  readonly onZoom: (range: { readonly fromMs: number; readonly toMs: number }) => void;
}

/** The charts of the overview. They share a cursor. */
export function Charts({ history, account, asShare, onChange, onZoom }: Props) {
  const { buckets, bucketMs, bounds, by } = history;
  const starts = useMemo(() => buckets.map(({ at }) => Date.parse(at)), [buckets]);
  const filters: Search = account === undefined ? {} : { account };
  return (
    <SharedCursor
      starts={starts}
      bucketMs={bucketMs}
      zoom={(span: BucketSelection) => onZoom(timesOf({ starts, bucketMs }, span))}
    >
      <div className={css.charts}>
        <div className={css.fullWidth}>
          <EndedRunsChart history={history} by={by} asShare={asShare} account={account} onChange={onChange} />
        </div>
        <LatencyChart
          title="Waiting time, from submission to start"
          latency={history.wait}
          bounds={bounds}
          filters={filters}
        />
        <LatencyChart title="Run time, from start to end" latency={history.run} bounds={bounds} filters={filters} />
        <LoadChart buckets={buckets} filters={filters} />
        <DeliveriesChart history={history} />
      </div>
    </SharedCursor>
  );
}
