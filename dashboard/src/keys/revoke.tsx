import type { Key } from "../../../src/http/dashboard/answers.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { useDoing } from "../pieces/doing.ts";
import { Form } from "../pieces/form.tsx";

export function Revoke({ of: key, onClose }: { of: Key; onClose: () => void }) {
  const revoking = useDoing(() => change.revokeKey(key.id), {
    said: ({ name }) => `${name} is revoked.`,
    done: onClose,
  });
  return (
    <Dialog title={`Revoke ${key.name}?`} onClose={onClose}>
      <Form
        submit="Revoke"
        danger
        busy={revoking.isPending}
        error={revoking.error}
        onCancel={onClose}
        onSubmit={() => revoking.mutate()}
      >
        <p>
          Every request with <code>{key.prefix}…</code> is refused from now on, and nothing brings the key back. What it
          has submitted runs to its end, and its records stay. To change over without a gap, rotate it instead.
        </p>
      </Form>
    </Dialog>
  );
}
