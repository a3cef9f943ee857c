import { Button, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Project } from "../../../../src/http/dashboard/api/projects.ts";
import { isNotFound, mutations, queries } from "../../client/api.ts";
import { UsageOverTime } from "../../components/charts/usage-over-time.tsx";
import { ConfirmButton } from "../../components/confirm-button.tsx";
import { Copyable } from "../../components/copyable.tsx";
import { TableSkeleton } from "../../components/data-table.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { NotFoundPage } from "../../components/not-found-page.tsx";
import { Page, Section } from "../../components/page.tsx";
import { QueryBoundary } from "../../components/query-boundary.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { useAction } from "../../components/use-action.ts";
import { LatestRuns } from "../../lists/latest-runs.tsx";
import { KeyTable } from "../keys/key-table.tsx";
import { NewKeyDialog } from "../keys/new-key-dialog.tsx";
import { EndpointTable } from "../webhooks/endpoint-table.tsx";
import { FailingEndpoints } from "../webhooks/failing-endpoints.tsx";
import { NewEndpointDialog } from "../webhooks/new-endpoint-dialog.tsx";

const route = getRouteApi("/inside/projects/$id");

export function ProjectPage() {
  const { id } = route.useParams();
  const project = useQuery(queries.project(id));
  if (isNotFound(project.error)) return <NotFoundPage />;
  return (
    <QueryBoundary query={project} placeholder={<TableSkeleton />}>
      {(found) => <ProjectView project={found} />}
    </QueryBoundary>
  );
}

function ProjectView({ project }: { project: Project }) {
  const [renaming, rename] = useDisclosure();
  const [key, newKey] = useDisclosure();
  const [endpoint, newEndpoint] = useDisclosure();
  const open = project.archivedAt === null;
  const { data: session } = useQuery(queries.session());
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
      <FailingEndpoints project={project.id} />
      <DescriptionList
        of={[
          [
            "State",
            <StatusBadge key="state" tone={open ? "good" : "idle"}>
              {open ? "open" : "archived"}
            </StatusBadge>,
          ],
          ["Account", project.account.name],
          ...(session?.hasSandboxes
            ? [
                [
                  "Network of sandboxes",
                  <Link key="network" to="/network" search={{ account: project.account.id, project: project.id }}>
                    what they may reach
                  </Link>,
                ] as const,
              ]
            : []),
          ["Created", <Timestamp key="made" at={project.createdAt} />],
          ["Id", <Copyable key="id" text={project.id} what="id of the project" />],
        ]}
      />
      <UsageOverTime of={{ project: project.id }} />
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
        <KeyTable project={project.id} onNew={open ? newKey.open : undefined} />
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
        <EndpointTable project={project.id} onNew={open ? newEndpoint.open : undefined} />
      </Section>
      {renaming && <Rename project={project} onClose={rename.close} />}
      {key && <NewKeyDialog projectId={project.id} onClose={newKey.close} />}
      {endpoint && <NewEndpointDialog projectId={project.id} onClose={newEndpoint.close} />}
    </Page>
  );
}

function Rename({ project, onClose }: { project: Project; onClose: () => void }) {
  const renaming = useAction((name: string) => mutations.project(project.id, { name }), {
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
    <ConfirmButton
      label="Archive"
      submit="Archive project"
      title={`Archive ${name}?`}
      act={() => mutations.project(id, { archived: true })}
      successMessage={`${name} archived.`}
      button={button}
    >
      No keys or endpoints can be added to an archived project. Its existing keys still work, results are delivered, and
      records stay. You can reopen the project.
    </ConfirmButton>
  ) : (
    <ConfirmButton
      label="Reopen"
      submit="Reopen project"
      title={`Reopen ${name}?`}
      act={() => mutations.project(id, { archived: false })}
      successMessage={`${name} reopened.`}
      harmless
      button={button}
    >
      Keys and endpoints can be added again.
    </ConfirmButton>
  );
}
