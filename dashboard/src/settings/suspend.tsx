import type { Account } from "../../../src/http/dashboard/api/settings.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { Form } from "../pieces/form.tsx";
import { useAction } from "../pieces/use-action.ts";

export function Suspend({ of: account, onClose }: { of: Account; onClose: () => void }) {
  const suspend = account.suspendedAt === null;
  const word = suspend ? "Suspend" : "Resume";
  const changing = useAction(() => (suspend ? change.suspend(account.id) : change.resume(account.id)), {
    toast: ({ name }) => `${name} is ${suspend ? "suspended" : "active again"}.`,
    done: onClose,
  });
  return (
    <Dialog title={`${word} ${account.name}?`} onClose={onClose}>
      <Form
        submit={word}
        danger={suspend}
        busy={changing.isPending}
        error={changing.error}
        onCancel={onClose}
        onSubmit={() => changing.mutate()}
      >
        <p>
          {suspend
            ? "Every request of its keys is refused from now on, and nothing more of it is run. What runs now ends by itself. What waits stays in the queue until you resume the account or drop it. Members still see its records."
            : "Its keys work again, and what waits in the queue runs."}
        </p>
      </Form>
    </Dialog>
  );
}
