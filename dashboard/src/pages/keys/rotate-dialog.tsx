import type { KeyResource } from "../../../../src/http/dashboard/api/keys.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { OverlapSelect } from "../../components/overlap-select.tsx";
import { useAction } from "../../components/use-action.ts";
import { KeySecret } from "./key-secret.tsx";

export function RotateDialog({ apiKey: key, onClose }: { apiKey: KeyResource; onClose: () => void }) {
  const rotating = useAction((overlapMs: number) => mutations.rotateKey(key.id, { overlapMs }));
  if (rotating.data) return <KeySecret made={rotating.data} title="Key rotated" onClose={onClose} />;
  return (
    <Dialog title={`Rotate the key ${key.name}?`} onClose={onClose}>
      <Form
        submit="Rotate key"
        busy={rotating.isPending}
        error={rotating.error}
        onCancel={onClose}
        onSubmit={(form) => rotating.mutate(Number(text(form, "overlap")))}
      >
        <p>
          This creates a key with the same limits and shows it once. The old key stays valid during the overlap, so that
          clients can switch without interruption.
        </p>
        <OverlapSelect none="No overlap: the old key is revoked now" />
      </Form>
    </Dialog>
  );
}
