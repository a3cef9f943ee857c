import type { Key } from "../../../src/http/dashboard/api/keys.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { Form, text } from "../pieces/form.tsx";
import { Overlap } from "../pieces/overlap.tsx";
import { useAction } from "../pieces/use-action.ts";
import { KeySecret } from "./key-secret.tsx";

export function Rotate({ apiKey: key, onClose }: { apiKey: Key; onClose: () => void }) {
  const rotating = useAction((overlapMs: number) => change.rotateKey(key.id, { overlapMs }));
  if (rotating.data) return <KeySecret made={rotating.data} title="The successor is made" onClose={onClose} />;
  return (
    <Dialog title={`Rotate ${key.name}`} onClose={onClose}>
      <Form
        submit="Rotate"
        busy={rotating.isPending}
        error={rotating.error}
        onCancel={onClose}
        onSubmit={(form) => rotating.mutate(Number(text(form, "overlap")))}
      >
        <p>
          A successor with the same limits is made and shown once. The old key goes on beside it for the overlap, so
          that callers can change over without a gap.
        </p>
        <Overlap none="no overlap: the old key ends now" />
      </Form>
    </Dialog>
  );
}
