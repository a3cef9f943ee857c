import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { fetchPage } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { LoadMore } from "../../components/load-more.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { RecentDeliveries } from "./recent-deliveries.tsx";

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    head: "Endpoint",
    cell: ({ id, url }) => (
      <Link to="/webhooks/$id" params={{ id }}>
        {url}
      </Link>
    ),
  },
  {
    head: "Project",
    cell: ({ project: { id, name } }) => (
      <Link to="/projects/$id" params={{ id }}>
        {name}
      </Link>
    ),
  },
  { head: "Newest deliveries", cell: ({ recent }) => <RecentDeliveries of={recent} /> },
  { head: "Signing", cell: ({ signing }) => signing },
  { head: "Created", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  { head: "State", cell: (endpoint) => <StateOf of={endpoint} /> },
];

const OF_PROJECT = COLUMNS.filter(({ head }) => head !== "Project");

function StateOf({ of: { active, failingSince } }: { of: Endpoint }) {
  if (!active) return <StatusBadge tone="idle">paused</StatusBadge>;
  return failingSince ? <StatusBadge tone="bad">failing</StatusBadge> : <StatusBadge tone="good">active</StatusBadge>;
}

interface Props {
  readonly project?: string;
  /** Opens the dialog for a new endpoint; undefined if this table does not offer one. */
  readonly onNew?: (() => void) | undefined;
}

export function EndpointTable({ project, onNew }: Props) {
  const list = usePaginatedQuery(["/endpoints", project], (before) => fetchPage.endpoints(project, before), [
    "settings",
    "deliveries",
  ]);
  return (
    <QueryBoundary query={list} placeholder={<TableSkeleton />}>
      {(pages) => {
        const rows = pages.flatMap((page) => page.endpoints);
        return rows.length === 0 ? (
          <EmptyState title="No endpoint yet">
            <p>
              An endpoint receives results without polling (<a href="/docs/webhooks">documentation</a>).
            </p>
            {onNew && <Button onClick={onNew}>Create an endpoint</Button>}
          </EmptyState>
        ) : (
          <>
            <DataTable
              caption="Webhook endpoints"
              columns={project === undefined ? COLUMNS : OF_PROJECT}
              rows={rows}
              rowKey={({ id }) => id}
              faded={({ active }) => !active}
            />
            <LoadMore query={list} />
          </>
        );
      }}
    </QueryBoundary>
  );
}
