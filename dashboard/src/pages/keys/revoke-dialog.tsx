import type { KeyResource } from "../../../../src/http/dashboard/api/keys.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";

export function RevokeDialog({ apiKey: key, onClose }: { apiKey: KeyResource; onClose: () => void }) {
  const revoking = useAction(() => mutations.revokeKey(key.id), {
    toast: ({ name }) => `Key ${name} revoked.`,
    done: onClose,
  });
  return (
    <Dialog title={`Revoke the key ${key.name}?`} onClose={onClose}>
      <Form
        submit="Revoke key"
        danger
        busy={revoking.isPending}
        error={revoking.error}
        onCancel={onClose}
        onSubmit={() => revoking.mutate()}
      >
        <p>
          Requests with <code>{key.prefix}…</code> are rejected at once. This cannot be undone. Submissions that the
          service has already received still run, and their records stay. To replace the key without interruption,
          rotate it.
        </p>
      </Form>
    </Dialog>
  );
}
