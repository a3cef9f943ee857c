import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { isNotFound, queries } from "../../client/api.ts";
import { UsageOverTime } from "../../components/charts/usage-over-time.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { TableSkeleton } from "../../components/data-table.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { count } from "../../components/format.ts";
import { NotFoundPage } from "../../components/not-found-page.tsx";
import { Page } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { LatestRuns } from "../../lists/latest-runs.tsx";
import { KeyMenu } from "./key-menu.tsx";
import { TONES } from "./key-table.tsx";
import { Meter } from "./meter.tsx";

const route = getRouteApi("/inside/keys/$id");

export function KeyPage() {
  const { id } = route.useParams();
  const query = useQuery(queries.key(id));
  if (isNotFound(query.error)) return <NotFoundPage />;
  return (
    <QueryBoundary query={query} placeholder={<TableSkeleton />}>
      {(key) => (
        <Page
          title={key.name}
          lead={
            key.ofPlayground
              ? "Runs and imports from the dashboard count against the limits of this key. Clients cannot use it."
              : "API key"
          }
          actions={key.state === "live" && !key.ofPlayground && <KeyMenu apiKey={key} />}
        >
          <DescriptionList
            of={[
              [
                "State",
                <StatusBadge key="state" tone={TONES[key.state]}>
                  {key.state}
                </StatusBadge>,
              ],
              ...(key.ofPlayground ? [] : [["Key", <code key="prefix">{key.prefix}…</code>] as const]),
              ["Account", key.account.name],
              [
                "Project",
                key.project ? (
                  <Link key="project" to="/projects/$id" params={{ id: key.project.id }}>
                    {key.project.name}
                  </Link>
                ) : (
                  "none"
                ),
              ],
              [
                "Requests, last minute",
                <Meter key="requests" used={key.usage.requests} limit={key.limits.requestsPerMinute} />,
              ],
              [
                "Running at once",
                <Meter key="running" used={key.usage.running} limit={key.limits.concurrency}>
                  {key.usage.pending > 0 && `, ${count(key.usage.pending)} waiting`}
                </Meter>,
              ],
              ["Profiles", key.profiles.join(", ")],
              ["Last used", <Timestamp key="used" at={key.lastUsedAt} />],
              ["Created", <Timestamp key="made" at={key.createdAt} />],
              ["Id", <Copyable key="id" text={key.id} what="id of the key" />],
            ]}
          />
          <UsageOverTime of={{ key: key.id }} />
          <LatestRuns of={{ key: key.id }} />
        </Page>
      )}
    </QueryBoundary>
  );
}
