import { Checkbox } from "@mantine/core";
import type { Member } from "../../../../src/http/dashboard/api/members.ts";
import { mutations } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";

export function AccessDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { accounts } = usePerson();
  const changing = useAction(
    (form: FormData) =>
      mutations.member(member.id, {
        administrator: form.get("administrator") !== null,
        accountIds: form.getAll("accounts").map(String),
      }),
    { toast: ({ name }) => `Access of ${name} saved.`, done: onClose },
  );
  return (
    <Dialog title={`Access of ${member.name}`} onClose={onClose}>
      <Form
        submit="Save access"
        busy={changing.isPending}
        error={changing.error}
        onCancel={onClose}
        onSubmit={(form) => changing.mutate(form)}
      >
        <Checkbox
          name="administrator"
          label="Administrator: access to all accounts"
          defaultChecked={member.administrator}
        />
        <Checkbox.Group label="Accounts" defaultValue={member.accounts.map(({ id }) => id)}>
          {accounts.map(({ id, name }) => (
            <Checkbox key={id} name="accounts" value={id} label={name} mt="xs" />
          ))}
        </Checkbox.Group>
      </Form>
    </Dialog>
  );
}
