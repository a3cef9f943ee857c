import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { part } from "../../client/api.ts";
import { useParts } from "../../client/use-paginated-query.ts";
import { type Column, DataTable, RowsWaiting } from "../../components/data-table.tsx";
import { More } from "../../components/load-more.tsx";
import { Empty, QueryBoundary } from "../../components/query-boundary.tsx";
import { State } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { Recent } from "./recent-deliveries.tsx";

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
  { head: "Newest deliveries", cell: ({ recent }) => <Recent of={recent} /> },
  { head: "Signing", cell: ({ signing }) => signing },
  { head: "Created", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  { head: "State", cell: (endpoint) => <StateOf of={endpoint} /> },
];

const OF_PROJECT = COLUMNS.filter(({ head }) => head !== "Project");

function StateOf({ of: { active, failingSince } }: { of: Endpoint }) {
  if (!active) return <State tone="idle">paused</State>;
  return failingSince ? <State tone="bad">failing</State> : <State tone="good">active</State>;
}

interface Props {
  readonly project?: string;
  /** Begins a new endpoint; undefined: not possible here. */
  readonly onNew?: (() => void) | undefined;
}

export function Endpoints({ project, onNew }: Props) {
  const parts = useParts(["/endpoints", project], (before) => part.endpoints(project, before), [
    "settings",
    "deliveries",
  ]);
  return (
    <QueryBoundary query={parts} waiting={<RowsWaiting />}>
      {(pages) => {
        const rows = pages.flatMap((page) => page.endpoints);
        return rows.length === 0 ? (
          <Empty title="No endpoint yet">
            <p>
              An endpoint receives results without polling (<a href="/docs/webhooks">documentation</a>).
            </p>
            {onNew && <Button onClick={onNew}>Create an endpoint</Button>}
          </Empty>
        ) : (
          <>
            <DataTable
              caption="Webhook endpoints"
              columns={project === undefined ? COLUMNS : OF_PROJECT}
              rows={rows}
              rowKey={({ id }) => id}
              faded={({ active }) => !active}
            />
            <More query={parts} />
          </>
        );
      }}
    </QueryBoundary>
  );
}
