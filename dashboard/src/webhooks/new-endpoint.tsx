import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Endpoint } from "../../../src/http/dashboard/answers.ts";
import { asking, change } from "../api.ts";
import { Empty } from "../pieces/answered.tsx";
import { Dialog } from "../pieces/dialog.tsx";
import { useDoing } from "../pieces/doing.ts";
import { Form, text } from "../pieces/form.tsx";
import { EndpointSecret } from "./endpoint-secret.tsx";
import { SIGNINGS } from "./signings.ts";

export function NewEndpoint({ projectId, onClose }: { projectId?: string; onClose: () => void }) {
  const { data } = useQuery(asking.openProjects());
  const { data: only } = useQuery({ ...asking.project(projectId ?? ""), enabled: projectId !== undefined });
  const open = projectId === undefined ? (data?.projects ?? []) : only ? [only] : [];
  const making = useDoing(change.makeEndpoint);
  if (making.data) return <EndpointSecret made={making.data} title="The endpoint is made" onClose={onClose} />;
  return (
    <Dialog title="New endpoint" onClose={onClose}>
      {open.length === 0 ? (
        <Empty title="There is no open project">An endpoint belongs to one. Make a project first.</Empty>
      ) : (
        <Form
          submit="Make it"
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
          <NativeSelect
            label="Project"
            description="Results of its keys are sent there"
            name="project"
            data={open.map(({ id, name, account }) => ({ value: id, label: `${name} (${account.name})` }))}
          />
          <NativeSelect label="Signing" name="signing" data={SIGNINGS} />
        </Form>
      )}
    </Dialog>
  );
}
