import { getRouteApi, Link } from "@tanstack/react-router";
import type { Audit, AuditEntry } from "../../../../src/http/dashboard/api/audit.ts";
import { fetchPage } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { LoadMore } from "../../components/load-more.tsx";
import { Page } from "../../components/page.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import css from "./audit.module.css";
import { EventSentence } from "./event-sentence.tsx";
import { AuditFilters } from "./filters.tsx";
import type { AuditSearch } from "./search.ts";

const route = getRouteApi("/inside/audit");

interface Row {
  readonly entry: AuditEntry;
  readonly named: Audit["named"];
}

export function AuditPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = usePaginatedQuery(["/audit", search], (before) => fetchPage.audit(search, before), ["settings"]);
  const isFiltered = Object.values(search).some(Boolean);
  return (
    <Page
      title="Audit trail"
      lead="Changes, sign-ins, and the submissions and judgements that administrators have read. A change and its entry are stored in one transaction."
    >
      <AuditFilters search={search} onChange={(next) => navigate({ search: next })} />
      <QueryBoundary query={list} placeholder={<TableSkeleton rows={10} />}>
        {(pages) => {
          const rows = pages.flatMap(({ entries, named }) => entries.map((entry): Row => ({ entry, named })));
          return (
            <>
              {rows.length > 0 ? (
                <DataTable
                  caption="Entries, newest first"
                  columns={columnsFor(search)}
                  rows={rows}
                  rowKey={({ entry }) => String(entry.seq)}
                />
              ) : (
                <Nothing isFiltered={isFiltered} hasOlder={list.hasNextPage} />
              )}
              <LoadMore query={list} />
            </>
          );
        }}
      </QueryBoundary>
    </Page>
  );
}

function columnsFor(search: AuditSearch): readonly Column<Row>[] {
  return [
    { head: "Time", cell: ({ entry: { at } }) => <Timestamp at={at} /> },
    {
      head: "Actor",
      cell: ({ entry: { actor } }) => (
        <Link to="/audit" search={{ ...search, actor }} className={css.actor}>
          {actor}
        </Link>
      ),
    },
    { head: "Event", main: true, cell: ({ entry, named }) => <EventSentence of={entry} named={named} /> },
    { head: "Account", cell: ({ entry: { account } }) => account ?? "none" },
    {
      head: "Client",
      cell: ({ entry: { actor, address } }) => address ?? (actor === "cli" ? "command line" : "not recorded"),
    },
    {
      head: "History of the target",
      headUnseen: true,
      cell: ({ entry: { subject } }) => (
        <Link to="/audit" search={{ subject }}>
          History
        </Link>
      ),
    },
  ];
}

function Nothing({ isFiltered, hasOlder }: { isFiltered: boolean; hasOlder: boolean }) {
  if (!isFiltered) {
    return (
      <EmptyState title="No entries yet">
        Changes appear here: <Link to="/projects">create a project</Link>, for example.
      </EmptyState>
    );
  }
  return (
    <EmptyState title={hasOlder ? "No match yet" : "No match"}>
      {hasOlder && "Only the newest entries were searched. "}
      <Link to="/audit" search={{}}>
        Show all entries
      </Link>
    </EmptyState>
  );
}
