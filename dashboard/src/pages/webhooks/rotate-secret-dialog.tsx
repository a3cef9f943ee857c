import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { OverlapSelect } from "../../components/overlap-select.tsx";
import { useAction } from "../../components/use-action.ts";
import { EndpointSecret } from "./endpoint-secret.tsx";

export function RotateSecretDialog({ endpoint: { id }, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const rotating = useAction((overlapMs: number) => mutations.rotateSecret(id, { overlapMs }));
  if (rotating.data) return <EndpointSecret made={rotating.data} title="Secret rotated" onClose={onClose} />;
  return (
    <Dialog title="Rotate the secret?" onClose={onClose}>
      <Form
        submit="Rotate secret"
        busy={rotating.isPending}
        error={rotating.error}
        danger
        onCancel={onClose}
        onSubmit={(form) => rotating.mutate(Number(text(form, "overlap")))}
      >
        <p>
          This creates a secret and shows it once. During the overlap, each delivery has two signatures, so that
          receivers accept it with the old or the new secret. Afterwards, only the new secret is valid.
        </p>
        <OverlapSelect none="No overlap: receivers with the old secret reject deliveries" />
      </Form>
    </Dialog>
  );
}
