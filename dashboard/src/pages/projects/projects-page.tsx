import { Button, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Project } from "../../../../src/http/dashboard/api/projects.ts";
import { part } from "../../client/api.ts";
import { useParts } from "../../client/use-paginated-query.ts";
import { type Column, DataTable, RowsWaiting } from "../../components/data-table.tsx";
import { count } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { More } from "../../components/load-more.tsx";
import { Page } from "../../components/page.tsx";
import { Empty, QueryBoundary } from "../../components/query-boundary.tsx";
import { State } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { NewProject } from "./new-project-dialog.tsx";

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
    cell: ({ archivedAt }) => <State tone={archivedAt ? "idle" : "good"}>{archivedAt ? "archived" : "open"}</State>,
  },
];

export function ProjectsPage() {
  const [making, { open, close }] = useDisclosure();
  const [archived, showArchived] = useState(false);
  const state = archived ? "any" : "open";
  const parts = useParts(["/projects", state], (before) => part.projects(state, before), ["settings"]);
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
      <QueryBoundary query={parts} waiting={<RowsWaiting />}>
        {(pages) => {
          const projects = pages.flatMap((page) => page.projects);
          return projects.length === 0 ? (
            <Empty title={archived ? "No project yet" : "No open project"}>
              <p>Results of the keys of a project are sent to its webhook endpoints.</p>
              <Button onClick={open}>Create a project</Button>
            </Empty>
          ) : (
            <>
              <DataTable
                caption="Projects"
                columns={COLUMNS}
                rows={projects}
                rowKey={({ id }) => id}
                faded={({ archivedAt }) => archivedAt !== null}
              />
              <More query={parts} />
            </>
          );
        }}
      </QueryBoundary>
      {making && <NewProject onClose={close} />}
    </Page>
  );
}
