import { Button, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Project } from "../../../src/http/dashboard/answers.ts";
import { asking } from "../api.ts";
import { Answered, Empty } from "../pieces/answered.tsx";
import { Icon } from "../pieces/icon.tsx";
import { Moment } from "../pieces/moment.tsx";
import { Page } from "../pieces/page.tsx";
import { type Column, Rows, RowsWaiting } from "../pieces/rows.tsx";
import { State } from "../pieces/state.tsx";
import { count } from "../pieces/words.ts";
import { NewProject } from "./new-project.tsx";

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
  { head: "Made", cell: ({ createdAt }) => <Moment at={createdAt} /> },
  {
    head: "State",
    cell: ({ archivedAt }) => <State tone={archivedAt ? "idle" : "good"}>{archivedAt ? "archived" : "open"}</State>,
  },
];

export function ProjectsPage() {
  const projects = useQuery(asking.projects());
  const [making, { open, close }] = useDisclosure();
  const [archived, showArchived] = useState(false);
  const shown = (all: readonly Project[]) => all.filter(({ archivedAt }) => archived || archivedAt === null);
  return (
    <Page
      title="Projects"
      lead="A project is what webhook endpoints belong to, and keys may: its results go to its endpoints."
      actions={
        <>
          <Switch label="Archived, too" checked={archived} onChange={(e) => showArchived(e.currentTarget.checked)} />
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New project
          </Button>
        </>
      }
    >
      <Answered of={projects} waiting={<RowsWaiting />}>
        {(all) =>
          shown(all).length === 0 ? (
            <Empty title={all.length === 0 ? "No project yet" : "All projects are archived"}>
              Keys work without one; webhooks need one.
            </Empty>
          ) : (
            <Rows
              caption="Projects"
              columns={COLUMNS}
              rows={shown(all)}
              of={({ id }) => id}
              faded={({ archivedAt }) => archivedAt !== null}
            />
          )
        }
      </Answered>
      {making && <NewProject onClose={close} />}
    </Page>
  );
}
