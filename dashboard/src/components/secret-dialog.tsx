import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { copy } from "./copyable.tsx";
import { Dialog } from "./dialog.tsx";
import css from "./secret-dialog.module.css";

interface Props {
  readonly title: string;
  readonly what: string;
  readonly secret: string;
  /** A second text to copy, and the label of its button. */
  readonly also?: { readonly label: string; readonly text: string };
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A secret that is shown once. Only the button "Done" closes the dialog, because the secret cannot be shown again. */
export function SecretDialog({ title, what, secret, also, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose} isPersistent>
      <div className={css.body}>
        <code className={css.secret}>{secret}</code>
        <div className={css.explanation}>{children}</div>
        <div className={css.buttons}>
          {also && (
            <Button variant="default" onClick={() => copy(also.text, also.label)}>
              {also.label}
            </Button>
          )}
          <Button variant="default" data-autofocus onClick={() => copy(secret, what)}>
            {`Copy ${what}`}
          </Button>
          <Button onClick={onClose}>Done</Button>
        </div>
      </div>
    </Dialog>
  );
}
