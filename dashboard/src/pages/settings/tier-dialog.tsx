import { TextInput } from "@mantine/core";
import type { Tier } from "../../../../src/http/dashboard/api/settings.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";

export function TierDialog({ of, onClose }: { of?: Tier; onClose: () => void }) {
  const saving = useAction(
    (form: FormData) =>
      mutations.tier(of?.name ?? text(form, "name"), {
        requestsPerMinute: Number(text(form, "requests")),
        concurrency: Number(text(form, "concurrency")),
      }),
    { toast: ({ name }) => `Tier ${name} saved.`, done: onClose },
  );
  return (
    <Dialog title={of ? `Tier ${of.name}` : "New tier"} onClose={onClose}>
      <Form
        submit={of ? "Save tier" : "Create tier"}
        busy={saving.isPending}
        error={saving.error}
        onCancel={onClose}
        onSubmit={(form) => saving.mutate(form)}
      >
        <p>
          The limits apply at once to the keys of all accounts with this tier, except to keys with limits of their own.
        </p>
        {!of && <TextInput label="Name" name="name" required data-autofocus />}
        <TextInput
          label="Requests in 60 seconds"
          name="requests"
          type="number"
          min={1}
          required
          defaultValue={of?.requestsPerMinute ?? ""}
        />
        <TextInput
          label="Running at once"
          name="concurrency"
          type="number"
          min={1}
          required
          defaultValue={of?.concurrency ?? ""}
        />
      </Form>
    </Dialog>
  );
}
