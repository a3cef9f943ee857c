import type { AccountResource } from "../../../../src/http/dashboard/api/settings.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";

export function SuspendDialog({ of: account, onClose }: { of: AccountResource; onClose: () => void }) {
  const suspend = account.suspendedAt === null;
  const word = suspend ? "Suspend" : "Resume";
  const changing = useAction(() => (suspend ? mutations.suspend(account.id) : mutations.resume(account.id)), {
    toast: ({ name }) => `Account ${name} ${suspend ? "suspended" : "resumed"}.`,
    done: onClose,
  });
  return (
    <Dialog title={`${word} ${account.name}?`} onClose={onClose}>
      <Form
        submit={`${word} account`}
        danger={suspend}
        busy={changing.isPending}
        error={changing.error}
        onCancel={onClose}
        onSubmit={() => changing.mutate()}
      >
        <p>
          {suspend
            ? "Requests with keys of the account are rejected at once, and none of its pending submissions is started. Running submissions finish. Pending submissions stay in the queue until you resume the account or drop them. Members can still read the records of the account."
            : "The keys of the account work again, and its pending submissions run."}
        </p>
      </Form>
    </Dialog>
  );
}
