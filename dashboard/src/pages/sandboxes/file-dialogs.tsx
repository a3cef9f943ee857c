import { Checkbox, TextInput } from "@mantine/core";
import { useRef, useState } from "react";
import { mutations } from "../../client/api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../../components/use-action.ts";
import { nameOf } from "./file-name.ts";
import css from "./files.module.css";

/** The longest path of Linux, in bytes. */
const MOST = 4_095;

interface InDirectory {
  readonly sandboxId: string;
  readonly directory: string;
  readonly onClose: () => void;
}

/** @param name a name in the directory, or an absolute path. */
function inDirectory(directory: string, name: string): string {
  if (name.startsWith("/")) return name;
  return directory.endsWith("/") ? `${directory}${name}` : `${directory}/${name}`;
}

/** The text as a person typed it: a name can begin and end with a space. */
const nameIn = (form: FormData): string => String(form.get("name") ?? "");

export function DirectoryDialog({ sandboxId, directory, onClose }: InDirectory) {
  const making = useAction(
    (name: string) => mutations.makeDirectory(sandboxId, { path: inDirectory(directory, name) }),
    { toast: () => "Directory made.", done: onClose },
  );
  return (
    <Dialog title="New directory" onClose={onClose}>
      <Form
        submit="Make directory"
        busy={making.isPending}
        error={making.error}
        onCancel={onClose}
        onSubmit={(form) => making.mutate(nameIn(form))}
      >
        <TextInput label="Name" name="name" required data-autofocus maxLength={MOST} autoComplete="off" />
      </Form>
    </Dialog>
  );
}

interface OfFile {
  readonly sandboxId: string;
  readonly path: string;
  readonly onClose: () => void;
}

export function RenameDialog({ sandboxId, path, onClose }: OfFile) {
  const directory = path.slice(0, path.lastIndexOf("/") + 1);
  const moving = useAction(
    (name: string) => mutations.moveFile(sandboxId, { path, to: inDirectory(directory, name) }),
    { toast: () => "Renamed.", done: onClose },
  );
  return (
    <Dialog title="Rename" onClose={onClose}>
      <Form
        submit="Rename file"
        busy={moving.isPending}
        error={moving.error}
        onCancel={onClose}
        onSubmit={(form) => moving.mutate(nameIn(form))}
      >
        <TextInput
          label="New name"
          description="A name in this directory, or an absolute path"
          name="name"
          required
          data-autofocus
          maxLength={MOST}
          autoComplete="off"
          defaultValue={nameOf(path)}
        />
      </Form>
    </Dialog>
  );
}

export function UploadDialog({ sandboxId, directory, onClose }: InDirectory) {
  const [sent, setSent] = useState(0);
  const stop = useRef<AbortController>(null);
  const uploading = useAction(
    (form: FormData) => {
      setSent(0);
      stop.current = new AbortController();
      const file = form.get("file") as File;
      const path = inDirectory(directory, file.name);
      return mutations.writeFile(sandboxId, path, file, form.has("replace"), {
        onSent: setSent,
        signal: stop.current.signal,
      });
    },
    { toast: () => "File uploaded.", done: onClose },
  );
  const cancel = () => {
    stop.current?.abort();
    onClose();
  };
  return (
    <Dialog title="Upload a file" onClose={cancel}>
      <Form
        submit="Upload file"
        busy={uploading.isPending}
        error={uploading.error}
        onCancel={cancel}
        onSubmit={(form) => uploading.mutate(form)}
      >
        <TextInput
          label="File"
          description={`It gets its name in ${directory}.`}
          name="file"
          type="file"
          required
          data-autofocus
        />
        <Checkbox label="Replace a file of this name" name="replace" />
        {uploading.isPending && (
          <div className={css.progress}>
            <progress aria-label="Upload" max={1} value={sent} />
            <span role="status">{sent < 1 ? `Uploading: ${Math.floor(sent * 100)}%` : "Writing the file"}</span>
          </div>
        )}
      </Form>
    </Dialog>
  );
}
