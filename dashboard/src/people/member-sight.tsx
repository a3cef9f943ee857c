import { Checkbox } from "@mantine/core";
import type { Member } from "../../../src/http/dashboard/answers.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { useDoing } from "../pieces/doing.ts";
import { Form } from "../pieces/form.tsx";
import { usePerson } from "../session.ts";

export function MemberSight({ of: member, onClose }: { of: Member; onClose: () => void }) {
  const { accounts } = usePerson();
  const changing = useDoing(
    (form: FormData) =>
      change.member(member.id, {
        administrator: form.get("administrator") !== null,
        accountIds: form.getAll("accounts").map(String),
      }),
    { said: ({ name }) => `Changed: what ${name} sees.`, done: onClose },
  );
  return (
    <Dialog title={`What ${member.name} sees`} onClose={onClose}>
      <Form
        submit="Change"
        busy={changing.isPending}
        error={changing.error}
        onCancel={onClose}
        onSubmit={(form) => changing.mutate(form)}
      >
        <Checkbox name="administrator" label="Everything: an administrator" defaultChecked={member.administrator} />
        <Checkbox.Group label="Accounts" defaultValue={member.accounts.map(({ id }) => id)}>
          {accounts.map(({ id, name }) => (
            <Checkbox key={id} name="accounts" value={id} label={name} mt="xs" />
          ))}
        </Checkbox.Group>
      </Form>
    </Dialog>
  );
}
