import type { Endpoint } from "../../../../src/http/dashboard/api/endpoints.ts";
import { change } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { Overlap } from "../../components/overlap-select.tsx";
import { useAction } from "../../components/use-action.ts";
import { EndpointSecret } from "./endpoint-secret.tsx";

export function RotateSecret({ endpoint: { id }, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const rotating = useAction((overlapMs: number) => change.rotateSecret(id, { overlapMs }));
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
          Creates a secret and shows it once. During the overlap each delivery has two signatures, so that receivers
          with either secret accept it. Afterwards only the new secret is valid.
        </p>
        <Overlap none="No overlap: receivers with the old secret reject deliveries" />
      </Form>
    </Dialog>
  );
}
