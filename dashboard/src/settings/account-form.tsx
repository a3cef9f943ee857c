import { NativeSelect, TextInput } from "@mantine/core";
import type { Account, Tier } from "../../../src/http/dashboard/answers.ts";
import { change } from "../api.ts";
import { Dialog } from "../pieces/dialog.tsx";
import { useDoing } from "../pieces/doing.ts";
import { Form, text } from "../pieces/form.tsx";

interface Props {
  readonly of?: Account;
  readonly tiers: readonly Tier[];
  readonly onClose: () => void;
}

export function AccountForm({ of, tiers, onClose }: Props) {
  const saving = useDoing(
    (form: FormData) => {
      const tier = text(form, "tier");
      return of ? change.account(of.id, { tier }) : change.makeAccount({ name: text(form, "name"), tier });
    },
    { said: ({ name }) => `Account ${name} is as you said.`, done: onClose },
  );
  return (
    <Dialog title={of ? `Account ${of.name}` : "New account"} onClose={onClose}>
      <Form
        submit={of ? "Change" : "Make it"}
        busy={saving.isPending}
        error={saving.error}
        onCancel={onClose}
        onSubmit={(form) => saving.mutate(form)}
      >
        {!of && <TextInput label="Name" name="name" required data-autofocus maxLength={100} />}
        <NativeSelect
          label="Tier"
          description="What its keys may do that have no limits of their own"
          name="tier"
          data={tiers.map(({ name }) => name)}
          {...(of && { defaultValue: of.tier })}
        />
      </Form>
    </Dialog>
  );
}
