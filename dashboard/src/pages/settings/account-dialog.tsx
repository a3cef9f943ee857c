import { NativeSelect, TextInput } from "@mantine/core";
import type { AccountResource, Tier } from "../../../../src/http/dashboard/api/settings.ts";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";

interface Props {
  readonly of?: AccountResource;
  readonly tiers: readonly Tier[];
  readonly onClose: () => void;
}

export function AccountDialog({ of, tiers, onClose }: Props) {
  const saving = useAction(
    (form: FormData) => {
      const [name, tier] = [text(form, "name"), text(form, "tier")];
      if (!of) return mutations.makeAccount({ name, tier });
      return mutations.account(of.id, { ...(name !== of.name && { name }), ...(tier !== of.tier && { tier }) });
    },
    { toast: ({ name }) => `Account ${name} ${of ? "saved" : "created"}.`, done: onClose },
  );
  return (
    <Dialog title={of ? `Account ${of.name}` : "New account"} onClose={onClose}>
      <Form
        submit={of ? "Save account" : "Create account"}
        busy={saving.isPending}
        error={saving.error}
        onCancel={onClose}
        onSubmit={(form) => saving.mutate(form)}
      >
        <TextInput label="Name" name="name" required data-autofocus maxLength={100} defaultValue={of?.name ?? ""} />
        <NativeSelect
          label="Tier"
          description="Limits of keys without limits of their own"
          name="tier"
          data={tiers.map(({ name }) => name)}
          {...(of && { defaultValue: of.tier })}
        />
      </Form>
    </Dialog>
  );
}
