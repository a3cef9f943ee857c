import { NativeSelect, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { ProjectSelect, useOpenProjects } from "../../components/project-select.tsx";
import { EmptyState } from "../../components/query-boundary.tsx";
import { useAction } from "../../components/use-action.ts";
import { EndpointSecret } from "./endpoint-secret.tsx";
import { SIGNINGS } from "./signings.ts";

export function NewEndpointDialog({ projectId, onClose }: { projectId?: string; onClose: () => void }) {
  const projects = useOpenProjects(projectId);
  const making = useAction(mutations.makeEndpoint);
  if (making.data) return <EndpointSecret made={making.data} title="Endpoint created" onClose={onClose} />;
  return (
    <Dialog title="New endpoint" onClose={onClose}>
      {projects.open.length === 0 ? (
        <EmptyState title="No open project">
          An endpoint belongs to a project: <Link to="/projects">create one</Link> first.
        </EmptyState>
      ) : (
        <Form
          submit="Create endpoint"
          busy={making.isPending}
          error={making.error}
          onCancel={onClose}
          onSubmit={(form) =>
            making.mutate({
              projectId: text(form, "project"),
              url: text(form, "url"),
              signing: text(form, "signing") as Endpoint["signing"],
            })
          }
        >
          <TextInput label="URL" name="url" type="url" placeholder="https://" required data-autofocus />
          <ProjectSelect from={projects} description="Results of the keys of the project are sent to the URL" />
          <NativeSelect label="Signing" name="signing" data={SIGNINGS} />
        </Form>
      )}
    </Dialog>
  );
}
