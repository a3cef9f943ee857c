import { NativeSelect, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { mutations } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { ProjectSelect, useOpenProjects } from "../../components/project-select.tsx";
import { EmptyState } from "../../components/query-boundary.tsx";
import { useAction } from "../../components/use-action.ts";
import { KeySecret } from "./key-secret.tsx";
import { LimitFields, limitsIn } from "./limit-fields.tsx";

export function NewKeyDialog({ projectId, onClose }: { projectId?: string; onClose: () => void }) {
  const { accounts } = usePerson();
  const projects = useOpenProjects(projectId);
  const [project, choose] = useState<string>();
  const making = useAction((form: FormData) => {
    const [id, accountId] = [text(form, "project"), text(form, "account")];
    const owner = id === "" ? { accountId: accountId || (accounts[0]?.id ?? "") } : { projectId: id };
    return mutations.makeKey({ name: text(form, "name"), ...owner, ...limitsIn(form) });
  });
  if (making.data) return <KeySecret made={making.data} title="Key created" onClose={onClose} />;
  const chosen = project ?? projectId ?? projects.open[0]?.id ?? "";
  return (
    <Dialog title="New key" onClose={onClose}>
      {accounts.length === 0 ? (
        <EmptyState title="You have no account">
          A key belongs to an account. Ask an administrator for access; <Link to="/profile">your profile</Link> shows
          your e-mail address.
        </EmptyState>
      ) : (
        <Form
          submit="Create key"
          busy={making.isPending}
          error={making.error}
          onCancel={onClose}
          onSubmit={(form) => making.mutate(form)}
        >
          <TextInput
            label="Name"
            description="User or purpose of the key"
            name="name"
            required
            data-autofocus
            maxLength={100}
          />
          <ProjectSelect
            from={projects}
            value={chosen}
            onChange={choose}
            none={projectId === undefined}
            description={
              <>
                Results are sent to the webhook endpoints of the project.{" "}
                {projectId === undefined && <Link to="/projects">Projects</Link>}
              </>
            }
          />
          {chosen === "" && accounts.length > 1 && (
            <NativeSelect
              label="Account"
              description="The owner of the key and of its submissions"
              name="account"
              data={accounts.map(({ id, name }) => ({ value: id, label: name }))}
            />
          )}
          <LimitFields />
        </Form>
      )}
    </Dialog>
  );
}
