import type { Key } from "../../../src/http/dashboard/answers.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { useDoing } from "../pieces/doing.ts";
import { Form } from "../pieces/form.tsx";
import { LimitFields, limitsIn } from "./limit-fields.tsx";

export function ChangeLimits({ of: key, onClose }: { of: Key; onClose: () => void }) {
  const changing = useDoing((form: FormData) => change.key(key.id, limitsIn(form)), {
    said: ({ name }) => `Changed: the limits of ${name}.`,
    done: onClose,
  });
  return (
    <Dialog title={`Limits of ${key.name}`} onClose={onClose}>
      <Form
        submit="Change"
        busy={changing.isPending}
        error={changing.error}
        onCancel={onClose}
        onSubmit={(form) => changing.mutate(form)}
      >
        <LimitFields of={key} />
      </Form>
    </Dialog>
  );
}
