import type { Member } from "../../../src/http/dashboard/api/members.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { Form } from "../pieces/form.tsx";
import { useAction } from "../pieces/use-action.ts";
import { OneTimeLink } from "./one-time-link.tsx";

export function MemberReset({ member, onClose }: { member: Member; onClose: () => void }) {
  const resetting = useAction(() => change.reset(member.id));
  if (resetting.data) return <OneTimeLink link={resetting.data} title="The link is made" onClose={onClose} />;
  return (
    <Dialog title={`A new password for ${member.name}`} onClose={onClose}>
      <Form
        submit="Make a link"
        busy={resetting.isPending}
        error={resetting.error}
        onCancel={onClose}
        onSubmit={() => resetting.mutate()}
      >
        <p>The link sets a new password for {member.email}. Until then the old password works.</p>
      </Form>
    </Dialog>
  );
}
