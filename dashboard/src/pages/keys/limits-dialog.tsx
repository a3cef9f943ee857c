import type { KeyResource } from "../../../../src/http/dashboard/api/keys.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";
import { LimitFields, limitsIn } from "./limit-fields.tsx";

export function LimitsDialog({ apiKey: key, onClose }: { apiKey: KeyResource; onClose: () => void }) {
  const changing = useAction((form: FormData) => mutations.key(key.id, limitsIn(form)), {
    toast: ({ name }) => `Limits of ${name} saved.`,
    done: onClose,
  });
  return (
    <Dialog title={`Limits of ${key.name}`} onClose={onClose}>
      <Form
        submit="Save limits"
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
