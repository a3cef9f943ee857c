import { Button, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Project } from "../../../../src/http/dashboard/api/projects.ts";
import { asking, change, isNotThere } from "../../client/api.ts";
import { UseOverTime } from "../../components/charts/usage-over-time.tsx";
import { Confirm } from "../../components/confirm-button.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { RowsWaiting } from "../../components/data-table.tsx";
import { Facts } from "../../components/description-list.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { NotFoundPage } from "../../components/not-found-page.tsx";
import { Page, Section } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { State } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { useAction } from "../../components/use-action.ts";
import { LatestRuns } from "../../lists/latest-runs.tsx";
import { Keys } from "../keys/key-table.tsx";
import { NewKey } from "../keys/new-key-dialog.tsx";
import { Endpoints } from "../webhooks/endpoint-table.tsx";
import { FailingOf } from "../webhooks/failing-endpoints.tsx";
import { NewEndpoint } from "../webhooks/new-endpoint-dialog.tsx";

const route = getRouteApi("/inside/projects/$id");

export function ProjectPage() {
  const { id } = route.useParams();
  const project = useQuery(asking.project(id));
  if (isNotThere(project.error)) return <NotFoundPage />;
  return (
    <QueryBoundary query={project} waiting={<RowsWaiting />}>
      {(found) => <One project={found} />}
    </QueryBoundary>
  );
}

function One({ project }: { project: Project }) {
  const [renaming, rename] = useDisclosure();
  const [key, newKey] = useDisclosure();
  const [endpoint, newEndpoint] = useDisclosure();
  const open = project.archivedAt === null;
  return (
    <Page
      title={project.name}
      actions={
        <>
          <Button variant="default" onClick={rename.open}>
            Rename
          </Button>
          <Archive project={project} />
        </>
      }
    >
      <FailingOf project={project.id} />
      <Facts
        of={[
          [
            "State",
            <State key="state" tone={open ? "good" : "idle"}>
              {open ? "open" : "archived"}
            </State>,
          ],
          ["Account", project.account.name],
          ["Created", <Timestamp key="made" at={project.createdAt} />],
          ["Id", <Copyable key="id" text={project.id} what="id of the project" />],
        ]}
      />
      <UseOverTime of={{ project: project.id }} />
      <LatestRuns of={{ project: project.id }} />
      <Section
        title="Keys"
        actions={
          open && (
            <Button size="compact-sm" variant="default" onClick={newKey.open}>
              New key
            </Button>
          )
        }
      >
        <Keys project={project.id} onNew={open ? newKey.open : undefined} />
      </Section>
      <Section
        title="Webhook endpoints"
        actions={
          open && (
            <Button size="compact-sm" variant="default" onClick={newEndpoint.open}>
              New endpoint
            </Button>
          )
        }
      >
        <Endpoints project={project.id} onNew={open ? newEndpoint.open : undefined} />
      </Section>
      {renaming && <Rename project={project} onClose={rename.close} />}
      {key && <NewKey projectId={project.id} onClose={newKey.close} />}
      {endpoint && <NewEndpoint projectId={project.id} onClose={newEndpoint.close} />}
    </Page>
  );
}

function Rename({ project, onClose }: { project: Project; onClose: () => void }) {
  const renaming = useAction((name: string) => change.project(project.id, { name }), {
    toast: ({ name }) => `Renamed to ${name}.`,
    done: onClose,
  });
  return (
    <Dialog title={`Rename ${project.name}`} onClose={onClose}>
      <Form
        submit="Rename project"
        busy={renaming.isPending}
        error={renaming.error}
        onCancel={onClose}
        onSubmit={(form) => renaming.mutate(text(form, "name"))}
      >
        <TextInput label="Name" name="name" defaultValue={project.name} required data-autofocus maxLength={100} />
      </Form>
    </Dialog>
  );
}

function Archive({ project: { id, name, archivedAt } }: { project: Project }) {
  const button = { size: "sm" } as const;
  return archivedAt === null ? (
    <Confirm
      label="Archive"
      submit="Archive project"
      title={`Archive ${name}?`}
      act={() => change.project(id, { archived: true })}
      said={`${name} archived.`}
      button={button}
    >
      No keys or endpoints can be added. Existing keys work, results are delivered, and records stay. You can reopen the
      project.
    </Confirm>
  ) : (
    <Confirm
      label="Reopen"
      submit="Reopen project"
      title={`Reopen ${name}?`}
      act={() => change.project(id, { archived: false })}
      said={`${name} reopened.`}
      harmless
      button={button}
    >
      Keys and endpoints can be added again.
    </Confirm>
  );
}
