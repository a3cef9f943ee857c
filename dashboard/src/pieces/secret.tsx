import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { copy } from "./copyable.tsx";
import { Dialog } from "./dialog.tsx";
import css from "./secret.module.css";

interface Props {
  readonly title: string;
  readonly what: string;
  readonly secret: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A secret that is shown once. Only its button closes the dialog, because a click outside would lose the secret. */
export function Secret({ title, what, secret, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose} insists>
      <div className={css.body}>
        <div>{children}</div>
        <code className={css.secret}>{secret}</code>
        <div className={css.buttons}>
          <Button variant="default" data-autofocus onClick={() => copy(secret, what)}>
            Copy
          </Button>
          <Button onClick={onClose}>Done</Button>
        </div>
      </div>
    </Dialog>
  );
}
