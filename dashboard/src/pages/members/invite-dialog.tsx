import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { mutations } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";
import { OneTimeLink } from "./one-time-link.tsx";

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const { accounts } = usePerson();
  const [everything, setEverything] = useState(false);
  const inviting = useAction(mutations.invite);
  if (inviting.data) return <OneTimeLink link={inviting.data} title="Invitation created" onClose={onClose} />;
  return (
    <Dialog title="Invite member" onClose={onClose}>
      <Form
        submit="Create link"
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
          label="Administrator: access to all accounts"
          checked={everything}
          onChange={({ currentTarget }) => setEverything(currentTarget.checked)}
        />
        {!everything && (
          <NativeSelect
            label="Account"
            name="account"
            data={accounts.map(({ id, name }) => ({ value: id, label: name }))}
          />
        )}
      </Form>
    </Dialog>
  );
}
