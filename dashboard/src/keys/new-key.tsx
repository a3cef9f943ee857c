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
  if (making.data) return <KeySecret made={making.data} title="The key is made" onClose={onClose} />;
  return (
    <Dialog title="New key" onClose={onClose}>
      {projects.open.length === 0 ? (
        <Empty title="There is no open project">
          A key belongs to one, and gets its account. Make a project first.
        </Empty>
      ) : (
        <Form
          submit="Make it"
          busy={making.isPending}
          error={making.error}
          onCancel={onClose}
          onSubmit={(form) => making.mutate(form)}
        >
          <TextInput
            label="Name"
            description="Who uses it, or what for"
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
