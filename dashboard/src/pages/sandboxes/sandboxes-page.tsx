import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { SandboxRow } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { fetchPage } from "../../client/api.ts";
import { useAccountOptions } from "../../client/session.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { AccountSelect } from "../../components/account-select.tsx";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { sentence, size } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { LoadMore } from "../../components/load-more.tsx";
import { Page } from "../../components/page.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { Metadata } from "./metadata.tsx";
import { filterText, metadataFilter } from "./metadata-text.ts";
import { NewSandboxDialog } from "./new-sandbox-dialog.tsx";
import { ProjectFilter } from "./project-filter.tsx";
import css from "./sandboxes.module.css";
import { SandboxesOff } from "./sandboxes-off.tsx";
import { STATES, StateBadge } from "./state-badge.tsx";

const route = getRouteApi("/inside/sandboxes");

const COLUMNS: readonly Column<SandboxRow>[] = [
  {
    head: "Sandbox",
    cell: ({ id }) => (
      <Link to="/sandboxes/$id" params={{ id }} title={id} className={css.id}>
        {id.slice(0, 8)}
      </Link>
    ),
  },
  { head: "State", cell: ({ state }) => <StateBadge of={state} /> },
  { head: "Metadata", cell: ({ metadata }) => <Metadata of={metadata} isShort /> },
  { head: "Memory", number: true, cell: ({ memoryBytes }) => size(memoryBytes) },
  {
    head: "Key",
    cell: ({ key }) => (
      <Link to="/keys/$id" params={{ id: key.id }}>
        {key.name}
      </Link>
    ),
  },
  { head: "Created", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  { head: "End", cell: (row) => <End of={row} /> },
];

const ACCOUNT: Column<SandboxRow> = { head: "Account", cell: ({ account }) => account.name };

function End({ of: { ended, endedAt, expiresAt } }: { of: SandboxRow }) {
  if (ended !== null)
    return (
      <span>
        <Timestamp at={endedAt} />: {ended}
      </span>
    );
  return (
    <span>
      at the latest <Timestamp at={expiresAt} never="not known" />
    </span>
  );
}

export function SandboxesPage() {
  const search = route.useSearch();
  const { state, metadata, account, project } = search;
  const navigate = route.useNavigate();
  const manyAccounts = useAccountOptions().length > 0;
  const list = usePaginatedQuery(["/sandboxes", search], (before) => fetchPage.sandboxes(search, before), [
    "sandboxes",
  ]);
  const filter = (changed: typeof search) => navigate({ search: { ...search, ...changed }, replace: true });
  const [creating, { open, close }] = useDisclosure();
  const isFiltered = [state, metadata, account, project].some((value) => value !== undefined);
  return (
    <Page
      title="Sandboxes"
      lead="A sandbox is a box that lives: its files and processes stay while programs run in it, one after the other or at the same time. Each belongs to an API key."
      actions={
        <>
          <AccountSelect value={account} onChange={(next) => filter({ account: next })} />
          <NativeSelect
            aria-label="State"
            value={state ?? ""}
            onChange={({ currentTarget }) => filter({ state: currentTarget.value || undefined })}
            data={[{ value: "", label: "All states" }, ...STATES]}
          />
          <MetadataFilter value={metadata} onChange={(next) => filter({ metadata: next })} />
          <ProjectFilter value={project} onChange={(next) => filter({ project: next })} />
          {(list.data?.[0]?.capacity ?? null) !== null && (
            <Button leftSection={<Icon name="plus" />} onClick={open}>
              New sandbox
            </Button>
          )}
        </>
      }
    >
      <QueryBoundary query={list} placeholder={<TableSkeleton />}>
        {(pages) => {
          const rows = pages.flatMap((page) => page.sandboxes);
          const isOff = pages[0]?.capacity === null;
          return (
            <>
              {isOff && <SandboxesOff />}
              {rows.length > 0 && (
                <DataTable
                  caption="Sandboxes"
                  columns={manyAccounts ? [...COLUMNS.slice(0, 4), ACCOUNT, ...COLUMNS.slice(4)] : COLUMNS}
                  rows={rows}
                  rowKey={({ id }) => id}
                  faded={(row) => row.state === "ended"}
                />
              )}
              {rows.length === 0 && !isOff && (
                <EmptyState title={isFiltered ? "No sandbox matches" : "No sandboxes yet"}>
                  {isFiltered ? (
                    <Link to="/sandboxes" search={{}}>
                      Show all sandboxes
                    </Link>
                  ) : (
                    <>
                      Create one here, or with <code>POST /api/sandboxes</code> and a key that has the profile{" "}
                      <code>agent</code> (<a href="/docs/sandboxes">documentation</a>).
                    </>
                  )}
                </EmptyState>
              )}
              <LoadMore query={list} />
            </>
          );
        }}
      </QueryBoundary>
      {creating && <NewSandboxDialog onClose={close} />}
    </Page>
  );
}

interface MetadataFilterProps {
  /** As in the API. */
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** A field for names and values of metadata. Enter, or leaving the field, applies it. */
function MetadataFilter({ value, onChange }: MetadataFilterProps) {
  const [text, setText] = useState("");
  const [error, setError] = useState<string>();
  // The filter can also change by the Back button, or by a link.
  useEffect(() => {
    setText(filterText(value));
    setError(undefined);
  }, [value]);
  const apply = () => {
    try {
      const next = metadataFilter(text);
      setError(undefined);
      if (next !== value) onChange(next);
    } catch (invalid) {
      setError(sentence((invalid as Error).message));
    }
  };
  return (
    <TextInput
      aria-label="Metadata"
      placeholder="name=value"
      value={text}
      error={error}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={apply}
      onKeyDown={({ key }) => key === "Enter" && apply()}
    />
  );
}
