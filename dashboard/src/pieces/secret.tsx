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

/** What is told this once. Only its button closes it: a click beside it would lose the secret. */
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
          <Button onClick={onClose}>I have kept it</Button>
        </div>
      </div>
    </Dialog>
  );
}
