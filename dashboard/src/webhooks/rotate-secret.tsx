import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { Endpoint } from "../../../src/http/dashboard/api/endpoints.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { Form, text } from "../pieces/form.tsx";
import { Overlap } from "../pieces/overlap.tsx";
import { useAction } from "../pieces/use-action.ts";
import { EndpointSecret } from "./endpoint-secret.tsx";

export function RotateSecret({ of: { id } }: { of: Endpoint }) {
  const [open, { open: show, close }] = useDisclosure();
  const rotating = useAction((overlapMs: number) => change.rotateSecret(id, { overlapMs }));
  const closed = () => {
    close();
    rotating.reset();
  };
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={show}>
        Rotate secret
      </Button>
      {open && rotating.data && <EndpointSecret made={rotating.data} title="Secret rotated" onClose={closed} />}
      {open && !rotating.data && (
        <Dialog title="Rotate the secret?" onClose={closed}>
          <Form
            submit="Rotate secret"
            busy={rotating.isPending}
            error={rotating.error}
            danger
            onCancel={closed}
            onSubmit={(form) => rotating.mutate(Number(text(form, "overlap")))}
          >
            <p>
              Creates a secret and shows it once. During the overlap each delivery has two signatures, so that receivers
              with either secret accept it. Afterwards only the new secret is valid.
            </p>
            <Overlap none="no overlap: receivers with the old secret reject deliveries" />
          </Form>
        </Dialog>
      )}
    </>
  );
}
