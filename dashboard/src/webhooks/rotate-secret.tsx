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
        Rotate its secret
      </Button>
      {open && rotating.data && <EndpointSecret made={rotating.data} title="The secret is rotated" onClose={closed} />}
      {open && !rotating.data && (
        <Dialog title="Rotate the secret?" onClose={closed}>
          <Form
            submit="Rotate its secret"
            busy={rotating.isPending}
            error={rotating.error}
            danger
            onCancel={closed}
            onSubmit={(form) => rotating.mutate(Number(text(form, "overlap")))}
          >
            <p>
              A new secret is made and shown once. During the overlap every delivery has two signatures, one with each
              secret: a receiver that has either of them accepts it. After the overlap there is only the new one.
            </p>
            <Overlap none="no overlap: a receiver that has the old secret refuses deliveries" />
          </Form>
        </Dialog>
      )}
    </>
  );
}
