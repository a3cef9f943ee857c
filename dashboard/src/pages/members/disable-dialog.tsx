import type { Member } from "../../../../src/http/dashboard/api/members.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";

export function DisableDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const disable = member.disabledAt === null;
  const word = disable ? "Disable" : "Enable";
  const changing = useAction(() => mutations.member(member.id, { disabled: disable }), {
    toast: ({ name }) => `Member ${name} ${disable ? "disabled" : "enabled"}.`,
    done: onClose,
  });
  return (
    <Dialog title={`${word} ${member.name}?`} onClose={onClose}>
      <Form
        submit={`${word} member`}
        danger={disable}
        busy={changing.isPending}
        error={changing.error}
        onCancel={onClose}
        onSubmit={() => changing.mutate()}
      >
        <p>
          {disable
            ? "The member is signed out everywhere and cannot sign in. API keys stay valid, because they belong to accounts. You can enable the member again."
            : "The member can sign in again, with the same access."}
        </p>
      </Form>
    </Dialog>
  );
}
