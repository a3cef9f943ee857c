import { Skeleton } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { History, Window } from "../../../../src/http/dashboard/api/overview.ts";
import { queries } from "../../client/api.ts";
import { AccountSelect } from "../../components/account-select.tsx";
import { TableSkeleton } from "../../components/data-table.tsx";
import { duration } from "../../components/format.ts";
import { HealthChecks } from "../../components/health-checks.tsx";
import { Page, Section } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { KeyFigures, KeyFiguresSkeleton } from "./key-figures.tsx";
import css from "./overview.module.css";
import { RangeControl, type RangeInAddress } from "./range-control.tsx";

const Charts = lazy(() => import("./charts.tsx").then((module) => ({ default: module.Charts })));

const route = getRouteApi("/inside/");
const DURING: Readonly<Record<Window, string>> = {
  "15m": "in the last 15 minutes",
  "1h": "in the last hour",
  "24h": "in the last 24 hours",
  "7d": "in the last 7 days",
  "30d": "in the last 30 days",
};

export function OverviewPage() {
  const search = route.useSearch();
  const { account, from, to, by = "verdict" } = search;
  const range: RangeInAddress = from === undefined ? { window: search.window ?? "24h" } : { from, to };
  const navigate = route.useNavigate();
  const now = useQuery(queries.now(account));
  const overview = useQuery({
    ...queries.overview({ ...range, by, account }),
    placeholderData: keepPreviousData,
    // A range in the past does not change.
    ...(from !== undefined && { meta: {} }),
  });
  const health = useQuery(queries.health());
  const during = range.window ? DURING[range.window] : "in this time";
  // Each range is an entry of the browser's history, so that Back undoes a zoom.
  const show = (next: RangeInAddress) =>
    navigate({ search: (old) => ({ ...old, window: undefined, from: undefined, to: undefined, ...next }) });
  return (
    <Page
      title="Overview"
      actions={
        <AccountSelect
          value={account}
          onChange={(next) => navigate({ search: (old) => ({ ...old, account: next }), replace: true })}
        />
      }
    >
      <FirstSteps account={account} />
      <QueryBoundary query={now} placeholder={<KeyFiguresSkeleton />}>
        {(figures) => <KeyFigures now={figures} history={overview.data?.history} during={during} />}
      </QueryBoundary>
      <Section
        title="Over time"
        actions={overview.data && <RangeControl range={range} shown={shownIn(overview.data.history)} onChange={show} />}
      >
        <p className={css.hint} id="charts-hint">
          Drag in a chart to zoom in on a time in all charts. Click a bar or a name to list its runs. With the keyboard,
          the arrow keys choose a time, Shift with an arrow key selects a range, and Enter zooms in on the range or
          lists the runs.
        </p>
        <QueryBoundary query={overview} placeholder={<ChartsSkeleton />}>
          {({ history }) => (
            <div aria-busy={overview.isPlaceholderData} className={overview.isPlaceholderData ? css.stale : undefined}>
              <Suspense fallback={<ChartsSkeleton />}>
                <Charts
                  history={history}
                  account={account}
                  asShare={search.share ?? false}
                  onChange={(change) => navigate({ search: (old) => ({ ...old, ...change }), replace: true })}
                  onZoom={({ fromMs, toMs }) => show({ from: fromMs, to: toMs })}
                />
              </Suspense>
            </div>
          )}
        </QueryBoundary>
      </Section>
      <Section title="Health">
        <QueryBoundary query={health} placeholder={<TableSkeleton rows={8} />}>
          {({ checks, database, cgroupBackend }) => (
            <>
              <p className={css.health}>
                <StatusBadge tone={database.latencyMs === null ? "bad" : "good"}>
                  {database.kind}{" "}
                  {database.latencyMs === null ? "unreachable" : `answers in ${duration(database.latencyMs)}`}
                </StatusBadge>{" "}
                <StatusBadge tone={cgroupBackend ? "good" : "bad"}>
                  {cgroupBackend ? `control groups by ${cgroupBackend}` : "no control groups"}
                </StatusBadge>
              </p>
              <HealthChecks checks={checks} />
            </>
          )}
        </QueryBoundary>
      </Section>
    </Page>
  );
}

function ChartsSkeleton() {
  return (
    <div className={css.charts}>
      {["a", "b", "c", "d"].map((name) => (
        <Skeleton key={name} height={300} />
      ))}
    </div>
  );
}

function shownIn({ buckets, bucketMs }: History) {
  const [first, last] = [buckets[0]?.at ?? "", buckets.at(-1)?.at ?? ""];
  return { fromMs: Date.parse(first), toMs: Date.parse(last) + bucketMs };
}
