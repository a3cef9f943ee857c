import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { KeyResource } from "../../../../src/http/dashboard/api/keys.ts";
import { fetchPage } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { count } from "../../components/format.ts";
import { LoadMore } from "../../components/load-more.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge, type Tone } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { KeyMenu } from "./key-menu.tsx";
import css from "./keys.module.css";
import { Meter } from "./meter.tsx";

export const TONES: Readonly<Record<KeyResource["state"], Tone>> = { live: "good", expired: "idle", revoked: "bad" };

const COLUMNS: readonly Column<KeyResource>[] = [
  {
    head: "Key",
    cell: ({ id, name, prefix, ofPlayground }) => (
      <span className={css.name}>
        <Link to="/keys/$id" params={{ id }}>
          {name}
        </Link>
        {ofPlayground ? <span>playground runs</span> : <code>{prefix}…</code>}
      </span>
    ),
  },
  {
    head: "Project",
    cell: ({ project }) =>
      project ? (
        <Link to="/projects/$id" params={{ id: project.id }}>
          {project.name}
        </Link>
      ) : (
        "no project"
      ),
  },
  { head: "Account", cell: ({ account }) => account.name },
  {
    head: "Requests, last minute",
    cell: ({ usage, limits }) => <Meter used={usage.requests} limit={limits.requestsPerMinute} />,
  },
  {
    head: "Running at once",
    cell: ({ usage, limits }) => (
      <Meter used={usage.running} limit={limits.concurrency}>
        {usage.pending > 0 && `, ${count(usage.pending)} waiting`}
      </Meter>
    ),
  },
  { head: "Profiles", cell: ({ profiles }) => profiles.join(", ") },
  {
    head: "Last used",
    cell: ({ id, lastUsedAt }) => (
      <span className={css.name}>
        <Timestamp at={lastUsedAt} />
        <Link to="/submissions" search={{ key: id }}>
          Submissions
        </Link>
      </span>
    ),
  },
  {
    head: "State",
    cell: ({ state, expiresAt }) => (
      <span className={css.name}>
        <StatusBadge tone={TONES[state]}>{state}</StatusBadge>
        {state === "live" && expiresAt && (
          <span>
            expires <Timestamp at={expiresAt} />
          </span>
        )}
      </span>
    ),
  },
  {
    head: "Actions",
    headUnseen: true,
    cell: (key) => key.state === "live" && !key.ofPlayground && <KeyMenu apiKey={key} />,
  },
];

const OF_PROJECT = COLUMNS.filter(({ head }) => head !== "Project" && head !== "Account");

interface Props {
  readonly project?: string;
  readonly ended?: boolean;
  /** Lists only keys whose name contains this text, or that begin with it. */
  readonly name?: string | undefined;
  /** Opens the dialog for a new key; undefined if this table does not offer one. */
  readonly onNew?: (() => void) | undefined;
}

export function KeyTable({ project, ended, name, onNew }: Props) {
  const state = ended ? "any" : "live";
  const list = usePaginatedQuery(
    ["/keys", state, project, name],
    (before) => fetchPage.keys({ state, project, name, before }),
    ["settings", "usage"],
  );
  return (
    <QueryBoundary query={list} placeholder={<TableSkeleton />}>
      {(pages) => {
        const keys = pages.flatMap((page) => page.keys);
        return keys.length === 0 ? (
          <NoKeys ended={ended === true} isSearch={name !== undefined} onNew={onNew} />
        ) : (
          <>
            <DataTable
              caption="API keys"
              columns={project === undefined ? COLUMNS : OF_PROJECT}
              rows={keys}
              rowKey={({ id }) => id}
              faded={({ state }) => state !== "live"}
            />
            <LoadMore query={list} />
          </>
        );
      }}
    </QueryBoundary>
  );
}

function NoKeys({ ended, isSearch, onNew }: Pick<Props, "onNew"> & { ended: boolean; isSearch: boolean }) {
  if (isSearch) {
    return (
      <EmptyState title="No key matches">
        Change the search, or{" "}
        <Link to="/keys" search={{ ended: true }} reloadDocument>
          show all keys
        </Link>
        .
      </EmptyState>
    );
  }
  return (
    <EmptyState title={ended ? "No key yet" : "No live key"}>
      <p>Clients need a key to submit. A key is shown once, when it is created.</p>
      {onNew && <Button onClick={onNew}>Create a key</Button>}
    </EmptyState>
  );
}
