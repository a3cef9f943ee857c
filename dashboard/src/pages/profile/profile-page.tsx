import { PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { mutations } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { DescriptionList } from "../../components/description-list.tsx";
import { Form, text } from "../../components/form.tsx";
import { Page, Section } from "../../components/page.tsx";
import { useAction } from "../../components/use-action.ts";
import css from "./profile.module.css";

export function ProfilePage() {
  const { name, email, administrator, accounts } = usePerson();
  // This number is a React key. A new number empties the fields after the password was changed.
  const [times, setTimes] = useState(0);
  const renaming = useAction(mutations.me, { toast: () => "Name saved." });
  const changing = useAction(mutations.me, { toast: () => "Password changed.", done: () => setTimes(times + 1) });
  return (
    <Page title="My profile">
      <DescriptionList
        of={[
          ["E-mail", email],
          [
            "Access",
            administrator
              ? "Administrator: all accounts"
              : accounts.map((each) => each.name).join(", ") || "no account",
          ],
        ]}
      />
      <Section title="Name">
        <div className={css.narrow}>
          <Form
            submit="Change name"
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
            submit="Change password"
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
              description="12 characters or more; length matters more than special characters"
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
