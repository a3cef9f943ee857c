import type { UsedAccount } from "../../../../src/http/dashboard/api/settings.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { counted } from "../../components/format.ts";
import { useAction } from "../../components/use-action.ts";

export function DropPendingDialog({ of: account, onClose }: { of: UsedAccount; onClose: () => void }) {
  const dropping = useAction(() => mutations.dropPending(account.id), {
    toast: ({ dropped }) => `${counted(dropped, "pending submission")} of ${account.name} dropped.`,
    done: onClose,
  });
  return (
    <Dialog title={`Drop the pending submissions of ${account.name}?`} onClose={onClose}>
      <Form
        submit="Drop submissions"
        danger
        busy={dropping.isPending}
        error={dropping.error}
        onCancel={onClose}
        onSubmit={() => dropping.mutate()}
      >
        <p>
          {counted(account.pending, "submission is", "submissions are")} pending. Pending submissions end as{" "}
          <code>error</code> with the verdict IE without being run, and webhooks receive these results. This cannot be
          undone. To prevent more submissions, suspend the account first.
        </p>
      </Form>
    </Dialog>
  );
}
