import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { Form, text } from "../pieces/form.tsx";
import { useAction } from "../pieces/use-action.ts";
import { usePerson } from "../session.ts";
import { OneTimeLink } from "./one-time-link.tsx";

export function Invite({ onClose }: { onClose: () => void }) {
  const { accounts } = usePerson();
  const [everything, setEverything] = useState(false);
  const inviting = useAction(change.invite);
  if (inviting.data) return <OneTimeLink link={inviting.data} title="The invitation is made" onClose={onClose} />;
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <Form
        submit="Make a link"
        busy={inviting.isPending}
        error={inviting.error}
        onCancel={onClose}
        onSubmit={(form) =>
          inviting.mutate({
            email: text(form, "email"),
            accountId: everything ? null : text(form, "account"),
            administrator: everything,
          })
        }
      >
        <TextInput label="E-mail" name="email" type="email" required data-autofocus />
        <Checkbox
          label="As an administrator, who sees and changes everything"
          checked={everything}
          onChange={({ currentTarget }) => setEverything(currentTarget.checked)}
        />
        {!everything && (
          <NativeSelect
            label="Account that they will see"
            name="account"
            data={accounts.map(({ id, name }) => ({ value: id, label: name }))}
          />
        )}
      </Form>
    </Dialog>
  );
}
