import { Button, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Project } from "../../../../src/http/dashboard/api/projects.ts";
import { fetchPage } from "../../client/api.ts";
import { usePaginatedQuery } from "../../client/use-paginated-query.ts";
import { type Column, DataTable, TableSkeleton } from "../../components/data-table.tsx";
import { count } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { LoadMore } from "../../components/load-more.tsx";
import { Page } from "../../components/page.tsx";
import { EmptyState, QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { NewProjectDialog } from "./new-project-dialog.tsx";

const COLUMNS: readonly Column<Project>[] = [
  {
    head: "Project",
    cell: ({ id, name }) => (
      <Link to="/projects/$id" params={{ id }}>
        {name}
      </Link>
    ),
  },
  { head: "Account", cell: ({ account }) => account.name },
  { head: "Live keys", number: true, cell: ({ liveKeys }) => count(liveKeys) },
  { head: "Endpoints", number: true, cell: ({ endpoints }) => count(endpoints) },
  { head: "Created", cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  {
    head: "State",
    cell: ({ archivedAt }) => (
      <StatusBadge tone={archivedAt ? "idle" : "good"}>{archivedAt ? "archived" : "open"}</StatusBadge>
    ),
  },
];

export function ProjectsPage() {
  const [making, { open, close }] = useDisclosure();
  const [archived, showArchived] = useState(false);
  const state = archived ? "any" : "open";
  const list = usePaginatedQuery(["/projects", state], (before) => fetchPage.projects(state, before), ["settings"]);
  return (
    <Page
      title="Projects"
      lead="A project groups API keys and webhook endpoints: results of its keys are sent to its endpoints."
      actions={
        <>
          <Switch label="Show archived" checked={archived} onChange={(e) => showArchived(e.currentTarget.checked)} />
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New project
          </Button>
        </>
      }
    >
      <QueryBoundary query={list} placeholder={<TableSkeleton />}>
        {(pages) => {
          const projects = pages.flatMap((page) => page.projects);
          return projects.length === 0 ? (
            <EmptyState title={archived ? "No project yet" : "No open project"}>
              <p>Results of the keys of a project are sent to its webhook endpoints.</p>
              <Button onClick={open}>Create a project</Button>
            </EmptyState>
          ) : (
            <>
              <DataTable
                caption="Projects"
                columns={COLUMNS}
                rows={projects}
                rowKey={({ id }) => id}
                faded={({ archivedAt }) => archivedAt !== null}
              />
              <LoadMore query={list} />
            </>
          );
        }}
      </QueryBoundary>
      {making && <NewProjectDialog onClose={close} />}
    </Page>
  );
}
