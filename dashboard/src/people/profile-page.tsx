import { PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { change } from "../api.ts";
import { Facts } from "../pieces/facts.tsx";
import { Form, text } from "../pieces/form.tsx";
import { Page, Section } from "../pieces/page.tsx";
import { useAction } from "../pieces/use-action.ts";
import { usePerson } from "../session.ts";
import css from "./profile.module.css";

export function ProfilePage() {
  const { name, email, administrator, accounts } = usePerson();
  // Its number changes when the password has, so that the fields are empty again.
  const [times, setTimes] = useState(0);
  const renaming = useAction(change.me, { toast: () => "Your name is changed." });
  const changing = useAction(change.me, { toast: () => "Your password is changed.", done: () => setTimes(times + 1) });
  return (
    <Page title="My profile">
      <Facts
        of={[
          ["E-mail", email],
          [
            "Sees",
            administrator ? "everything: an administrator" : accounts.map((each) => each.name).join(", ") || "nothing",
          ],
        ]}
      />
      <Section title="Name">
        <div className={css.narrow}>
          <Form
            submit="Change the name"
            busy={renaming.isPending}
            error={renaming.error}
            onSubmit={(form) => renaming.mutate({ name: text(form, "name") })}
          >
            <TextInput label="Name" name="name" defaultValue={name} required maxLength={100} autoComplete="name" />
          </Form>
        </div>
      </Section>
      <Section title="Password">
        <div className={css.narrow}>
          <Form
            key={times}
            submit="Change the password"
            busy={changing.isPending}
            error={changing.error}
            onSubmit={(form) =>
              changing.mutate({
                password: { current: String(form.get("current")), next: String(form.get("next")) },
              })
            }
          >
            <PasswordInput label="Current password" name="current" autoComplete="current-password" required />
            <PasswordInput
              label="New password"
              description="12 characters or more; length counts more than signs"
              name="next"
              autoComplete="new-password"
              minLength={12}
              required
            />
          </Form>
        </div>
      </Section>
    </Page>
  );
}
