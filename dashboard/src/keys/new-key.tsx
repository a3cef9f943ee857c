import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { asking, change } from "../api.ts";
import { Empty } from "../pieces/answered.tsx";
import { Dialog } from "../pieces/dialog.tsx";
import { useDoing } from "../pieces/doing.ts";
import { Form, text } from "../pieces/form.tsx";
import { KeySecret } from "./key-secret.tsx";
import { LimitFields, limitsIn } from "./limit-fields.tsx";

export function NewKey({ projectId, onClose }: { projectId?: string; onClose: () => void }) {
  const { data } = useQuery(asking.openProjects());
  const { data: only } = useQuery({ ...asking.project(projectId ?? ""), enabled: projectId !== undefined });
  const open = projectId === undefined ? (data?.projects ?? []) : only ? [only] : [];
  const making = useDoing((form: FormData) =>
    change.makeKey({ name: text(form, "name"), projectId: text(form, "project"), ...limitsIn(form) }),
  );
  if (making.data) return <KeySecret made={making.data} title="The key is made" onClose={onClose} />;
  return (
    <Dialog title="New key" onClose={onClose}>
      {open.length === 0 ? (
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
          <NativeSelect
            label="Project"
            name="project"
            data={open.map(({ id, name, account }) => ({ value: id, label: `${name} (${account.name})` }))}
          />
          <LimitFields />
        </Form>
      )}
    </Dialog>
  );
}
