import { NativeSelect, TextInput } from "@mantine/core";
import { mutations } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";

export function NewProjectDialog({ onClose }: { onClose: () => void }) {
  const { accounts } = usePerson();
  const making = useAction(mutations.makeProject, { toast: ({ name }) => `Project ${name} created.`, done: onClose });
  return (
    <Dialog title="New project" onClose={onClose}>
      <Form
        submit="Create project"
        busy={making.isPending}
        error={making.error}
        onCancel={onClose}
        onSubmit={(form) => making.mutate({ name: text(form, "name"), accountId: text(form, "account") })}
      >
        <TextInput label="Name" name="name" required data-autofocus maxLength={100} />
        <NativeSelect
          label="Account"
          name="account"
          data={accounts.map(({ id, name }) => ({ value: id, label: name }))}
        />
      </Form>
    </Dialog>
  );
}
