import { Button, type ButtonProps } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";
import { Dialog } from "./dialog.tsx";
import { Form } from "./form.tsx";
import { useAction } from "./use-action.ts";

interface Props<T> {
  readonly label: string;
  /** The label for screen readers, where `label` does not say what the action is about. */
  readonly ariaLabel?: string;
  /** Label of the button in the dialog. It names the action, such as "Delete problem". */
  readonly submit: string;
  readonly title: string;
  /** What the action does, and whether it can be undone. */
  readonly children: ReactNode;
  readonly act: () => Promise<T>;
  readonly successMessage: string;
  readonly done?: (result: T) => void;
  readonly harmless?: boolean;
  readonly button?: ButtonProps;
}

/** A button that asks for confirmation in a dialog. */
export function ConfirmButton<T>({
  label,
  ariaLabel,
  submit,
  title,
  children,
  act,
  successMessage,
  done,
  harmless,
  button,
}: Props<T>) {
  const [open, { open: show, close }] = useDisclosure();
  const doing = useAction(act, {
    toast: () => successMessage,
    done: (result) => {
      close();
      done?.(result);
    },
  });
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={show} aria-label={ariaLabel} {...button}>
        {label}
      </Button>
      {open && (
        <Dialog title={title} onClose={close}>
          <Form
            submit={submit}
            busy={doing.isPending}
            error={doing.error}
            danger={!harmless}
            onSubmit={() => doing.mutate()}
            onCancel={close}
          >
            <div>{children}</div>
          </Form>
        </Dialog>
      )}
    </>
  );
}
