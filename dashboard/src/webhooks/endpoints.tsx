import { Link } from "@tanstack/react-router";
import type { Endpoint } from "../../../src/http/dashboard/api/endpoints.ts";
import { part } from "../api.ts";
import { type Column, DataTable, RowsWaiting } from "../pieces/data-table.tsx";
import { More } from "../pieces/more.tsx";
import { useParts } from "../pieces/parts.ts";
import { Empty, QueryBoundary } from "../pieces/query-boundary.tsx";
import { State } from "../pieces/state.tsx";
import { Timestamp } from "../pieces/timestamp.tsx";
import { Recent } from "./recent.tsx";

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
  { head: "State", cell: ({ active }) => <State tone={active ? "good" : "idle"}>{active ? "on" : "off"}</State> },
];

export function Endpoints({ project }: { project?: string }) {
  const parts = useParts(["/endpoints", project], (before) => part.endpoints(project, before), 10_000);
  return (
    <QueryBoundary query={parts} waiting={<RowsWaiting />}>
      {(pages) => {
        const rows = pages.flatMap((page) => page.endpoints);
        return rows.length === 0 ? (
          <Empty title="No endpoint yet">An endpoint receives results without polling.</Empty>
        ) : (
          <>
            <DataTable
              caption="Webhook endpoints"
              columns={COLUMNS}
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
