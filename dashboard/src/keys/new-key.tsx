import { TextInput } from "@mantine/core";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { Form, text } from "../pieces/form.tsx";
import { Empty } from "../pieces/query-boundary.tsx";
import { useAction } from "../pieces/use-action.ts";
import { ProjectChoice, useOpenProjects } from "../projects/project-choice.tsx";
import { KeySecret } from "./key-secret.tsx";
import { LimitFields, limitsIn } from "./limit-fields.tsx";

export function NewKey({ projectId, onClose }: { projectId?: string; onClose: () => void }) {
  const projects = useOpenProjects(projectId);
  const making = useAction((form: FormData) =>
    change.makeKey({ name: text(form, "name"), projectId: text(form, "project"), ...limitsIn(form) }),
  );
  if (making.data) return <KeySecret made={making.data} title="Key created" onClose={onClose} />;
  return (
    <Dialog title="New key" onClose={onClose}>
      {projects.open.length === 0 ? (
        <Empty title="No open project">A key belongs to the account of its project. Create a project first.</Empty>
      ) : (
        <Form
          submit="Create"
          busy={making.isPending}
          error={making.error}
          onCancel={onClose}
          onSubmit={(form) => making.mutate(form)}
        >
          <TextInput
            label="Name"
            description="User or purpose of the key"
            name="name"
            required
            data-autofocus
            maxLength={100}
          />
          <ProjectChoice from={projects} />
          <LimitFields />
        </Form>
      )}
    </Dialog>
  );
}
