import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { mutations } from "../../client/api.ts";
import { usePerson } from "../../client/session.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form, text } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";
import css from "./problem.module.css";
import { storeVerification } from "./verifications.ts";

/** Uploads a ZIP archive. Shows a fault of the package, with file and line, as the error of the form. */
export function ImportDialog({ onClose }: { onClose: () => void }) {
  const { accounts } = usePerson();
  const navigate = useNavigate();
  const [sent, setSent] = useState(0);
  const stop = useRef<AbortController>(null);
  const importing = useAction(
    (form: FormData) => {
      setSent(0);
      stop.current = new AbortController();
      const options = {
        account: text(form, "account"),
        name: text(form, "name") || undefined,
        time_limit: text(form, "limit") || undefined,
        verify: form.has("verify") ? "true" : undefined,
        allow_faults: form.has("faults") ? "true" : undefined,
      };
      return mutations.importProblem(form.get("archive") as File, options, {
        onSent: setSent,
        signal: stop.current.signal,
      });
    },
    {
      toast: ({ version, isNew }) =>
        isNew ? `Imported as version ${version}.` : `Nothing changed: version ${version} already has this content.`,
      done: ({ id, verification }) => {
        storeVerification(id, verification);
        return navigate({ to: "/problems/$id", params: { id } });
      },
    },
  );
  const cancel = () => {
    stop.current?.abort();
    onClose();
  };
  return (
    <Dialog title="Import a package" onClose={cancel}>
      <Form
        submit="Import package"
        busy={importing.isPending}
        error={importing.error && new Error(`not imported: ${importing.error.message}`)}
        onCancel={cancel}
        onSubmit={(form) => importing.mutate(form)}
      >
        <TextInput
          label="ZIP archive"
          description="A package in the format legacy, 2025-09 or DMOJ, at most 64 MiB. A problem of the same name gets a new version."
          name="archive"
          type="file"
          accept=".zip,application/zip"
          required
          data-autofocus
        />
        <NativeSelect
          label="Account"
          name="account"
          data={accounts.map(({ id, name }) => ({ value: id, label: name }))}
        />
        <TextInput
          label="Name"
          description="Empty: the name of the directory in the archive"
          name="name"
          maxLength={64}
        />
        <TextInput
          label="CPU time limit in seconds"
          description="Empty: the limit of the package"
          name="limit"
          inputMode="decimal"
          maxLength={9}
        />
        <Checkbox
          label="Verify the submissions of the package"
          description="Judges each program in submissions/ with the playground key of the account, and compares the verdicts with those that the package expects. If nothing changed since the current version, only the verification runs."
          name="verify"
        />
        <Checkbox
          label="Allow faults of programs"
          description="Stores a package whose checker or another program cannot work as a faulty version, on which each judgement ends with IE. Import a mended package later."
          name="faults"
        />
        {importing.isPending && (
          <div className={css.progress}>
            <progress aria-label="Upload" max={1} value={sent} />
            <span role="status">{sent < 1 ? `Uploading: ${Math.floor(sent * 100)}%` : "Reading the package"}</span>
          </div>
        )}
      </Form>
    </Dialog>
  );
}
