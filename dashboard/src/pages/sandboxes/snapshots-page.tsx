import { Button } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { SnapshotRow } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { fetchPage, mutations } from "../../client/api.ts";
import { useAccountOptions } from "../../client/session.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { AccountSelect } from "../../components/account-select.tsx";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { count, size } from "../../components/format.ts";
import { LoadMore } from "../../components/load-more.tsx";
import { Page } from "../../components/page.tsx";
import { PlainText } from "../../components/program-text.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { NewSandboxDialog } from "./new-sandbox-dialog.tsx";
import { ProjectFilter } from "./project-filter.tsx";
import css from "./sandboxes.module.css";
import { SandboxesOff } from "./sandboxes-off.tsx";

const route = getRouteApi("/inside/snapshots");

/** What people call a snapshot: its name, or the beginning of its id. */
const nameOf = ({ id, name }: SnapshotRow) => name ?? id.slice(0, 8);

const COLUMNS: readonly Column<SnapshotRow>[] = [
  {
    head: "Snapshot",
    cell: ({ id, name }) => (
      <>
        {name !== null && (
          <span className={css.name}>
            <PlainText text={name} />
          </span>
        )}
        <Copyable text={id} what="id of the snapshot" short />
      </>
    ),
  },
  {
    head: "Sandbox",
    cell: ({ sandboxId }) => (
      <Link to="/sandboxes/$id" params={{ id: sandboxId }} title={sandboxId} className={css.id}>
        {sandboxId.slice(0, 8)}
      </Link>
    ),
  },
  { head: "Size", number: true, cell: ({ bytes }) => size(bytes) },
  { head: "Files", number: true, cell: ({ files }) => count(files) },
  {
    head: "Project",
    cell: ({ project }) =>
      project ? (
        <Link to="/projects/$id" params={{ id: project.id }}>
          {project.name}
        </Link>
      ) : (
        "none"
      ),
  },
  { head: "Created", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

const ACCOUNT: Column<SnapshotRow> = { head: "Account", cell: ({ account }) => account.name };

export function SnapshotsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const manyAccounts = useAccountOptions().length > 0;
  const [from, setFrom] = useState<SnapshotRow>();
  const list = usePaginatedQuery(["/snapshots", search], (before) => fetchPage.snapshots(search, before), [
    "sandboxes",
    "settings",
  ]);
  const filter = (changed: typeof search) => navigate({ search: { ...search, ...changed }, replace: true });
  const isFiltered = search.account !== undefined || search.project !== undefined;
  const actions: Column<SnapshotRow> = {
    head: "Actions",
    headUnseen: true,
    cell: (row) => (
      <div className={css.rowActions}>
        <Button
          variant="default"
          size="compact-sm"
          aria-label={`New sandbox from ${nameOf(row)}`}
          onClick={() => setFrom(row)}
        >
          New sandbox
        </Button>
        <ConfirmButton
          label="Delete"
          ariaLabel={`Delete ${nameOf(row)}`}
          submit="Delete snapshot"
          title="Delete this snapshot?"
          act={() => mutations.deleteSnapshot(row.id)}
          successMessage="Snapshot deleted."
        >
          <p>
            The snapshot <b>{nameOf(row)}</b> with {size(row.bytes)} is deleted. Sandboxes that began with it keep their
            files. This cannot be undone.
          </p>
        </ConfirmButton>
      </div>
    ),
  };
  return (
    <Page
      title="Snapshots"
      lead="A snapshot has the files of a sandbox at one moment. It lives longer than the sandbox, and new sandboxes can begin with it."
      actions={
        <>
          <AccountSelect value={search.account} onChange={(next) => filter({ account: next })} />
          <ProjectFilter value={search.project} onChange={(next) => filter({ project: next })} />
        </>
      }
    >
      <QueryBoundary query={list} placeholder={<TableSkeleton />}>
        {(pages) => {
          const rows = pages.flatMap((page) => page.snapshots);
          const isOff = pages[0]?.isOn === false;
          return (
            <>
              {isOff && <SandboxesOff />}
              {rows.length > 0 && (
                <DataTable
                  caption="Snapshots"
                  columns={[...COLUMNS, ...(manyAccounts ? [ACCOUNT] : []), ...(isOff ? [] : [actions])]}
                  rows={rows}
                  rowKey={({ id }) => id}
                />
              )}
              {rows.length === 0 && !isOff && (
                <EmptyState title={isFiltered ? "No snapshot matches" : "No snapshots yet"}>
                  {isFiltered ? (
                    <Link to="/snapshots" search={{}}>
                      Show all snapshots
                    </Link>
                  ) : (
                    <>
                      Take one on the page of a <Link to="/sandboxes">sandbox</Link>, or with{" "}
                      <code>POST /api/sandboxes/ID/snapshots</code> (<a href="/docs/sandboxes">documentation</a>).
                    </>
                  )}
                </EmptyState>
              )}
              <LoadMore query={list} />
            </>
          );
        }}
      </QueryBoundary>
      {from && <NewSandboxDialog from={from} onClose={() => setFrom(undefined)} />}
    </Page>
  );
}
