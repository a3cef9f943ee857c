import type { Member } from "../../../../src/http/dashboard/api/members.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";
import { OneTimeLink } from "./one-time-link.tsx";

export function ResetDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const resetting = useAction(() => mutations.reset(member.id));
  if (resetting.data) return <OneTimeLink link={resetting.data} title="Link created" onClose={onClose} />;
  return (
    <Dialog title={`Reset the password of ${member.name}?`} onClose={onClose}>
      <Form
        submit="Create link"
        busy={resetting.isPending}
        error={resetting.error}
        onCancel={onClose}
        onSubmit={() => resetting.mutate()}
      >
        <p>A one-time link lets {member.email} set a new password. The old password stays valid until then.</p>
      </Form>
    </Dialog>
  );
}
