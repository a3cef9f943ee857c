import { SegmentedControl, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { WINDOWS, type Window } from "../../../src/http/dashboard/api/overview.ts";
import { asking } from "../api.ts";
import { ChooseAccount } from "../pieces/choose-account.tsx";
import { RowsWaiting } from "../pieces/data-table.tsx";
import { Page, Section } from "../pieces/page.tsx";
import { QueryBoundary } from "../pieces/query-boundary.tsx";
import { State } from "../pieces/state.tsx";
import { duration } from "../pieces/words.ts";
import { Checks } from "./checks.tsx";
import { Figures, FiguresWaiting } from "./figures.tsx";
import css from "./overview.module.css";

const Charts = lazy(() => import("./charts.tsx").then((module) => ({ default: module.Charts })));

const route = getRouteApi("/inside/");
const LABELS: Readonly<Record<Window, string>> = { "1h": "Hour", "24h": "Day", "7d": "Week", "30d": "Month" };
const NOW_MS = 3_000;
const HISTORY_MS = 30_000;

export function OverviewPage() {
  const { window = "24h", account } = route.useSearch();
  const navigate = route.useNavigate();
  const now = useQuery({ ...asking.now(account), refetchInterval: NOW_MS });
  const overview = useQuery({ ...asking.overview(window, account), refetchInterval: HISTORY_MS });
  const health = useQuery({ ...asking.health(), refetchInterval: HISTORY_MS });
  return (
    <Page
      title="Overview"
      actions={
        <>
          <ChooseAccount
            value={account}
            onChange={(next) => navigate({ search: (old) => ({ ...old, account: next }), replace: true })}
          />
          <SegmentedControl
            aria-label="Window of the charts"
            value={window}
            data={WINDOWS.map((value) => ({ value, label: LABELS[value] }))}
            onChange={(next) => navigate({ search: (old) => ({ ...old, window: next }), replace: true })}
          />
        </>
      }
    >
      <QueryBoundary query={now} waiting={<FiguresWaiting />}>
        {(figures) => <Figures now={figures} />}
      </QueryBoundary>
      <Section title="Over time">
        <QueryBoundary query={overview} waiting={<ChartsWaiting />}>
          {({ history }) => (
            <Suspense fallback={<ChartsWaiting />}>
              <Charts history={history} />
            </Suspense>
          )}
        </QueryBoundary>
      </Section>
      <Section title="Health">
        <QueryBoundary query={health} waiting={<RowsWaiting rows={8} />}>
          {({ checks, database, cgroupBackend }) => (
            <>
              <p className={css.standing}>
                <State tone={database.latencyMs === null ? "bad" : "good"}>
                  {database.kind}{" "}
                  {database.latencyMs === null ? "unreachable" : `answers in ${duration(database.latencyMs)}`}
                </State>{" "}
                <State tone={cgroupBackend ? "good" : "bad"}>
                  {cgroupBackend ? `control groups by ${cgroupBackend}` : "no control groups"}
                </State>
              </p>
              <Checks checks={checks} />
            </>
          )}
        </QueryBoundary>
      </Section>
    </Page>
  );
}

function ChartsWaiting() {
  return (
    <div className={css.charts}>
      {["a", "b", "c", "d"].map((name) => (
        <Skeleton key={name} height={272} />
      ))}
    </div>
  );
}
