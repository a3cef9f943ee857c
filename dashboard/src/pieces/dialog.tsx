import { Modal } from "@mantine/core";
import { type ReactNode, useLayoutEffect } from "react";
import css from "./dialog.module.css";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  /** Nothing closes it but what is in it. */
  readonly insists?: boolean;
  readonly children: ReactNode;
}

/** A dialog; there as long as it is open, so what is in it begins anew each time. Its head is no `header`: a page has one of those. */
export function Dialog({ title, onClose, insists = false, children }: Props) {
  useLayoutEffect(() => {
    const from = opener();
    return () => from?.focus();
  }, []);
  return (
    // Locking the scroll bar writes a style element, which the policy forbids: theme.css does it instead.
    <Modal.Root
      opened
      centered
      lockScroll={false}
      returnFocus={false}
      size={insists ? "lg" : "md"}
      onClose={onClose}
      closeOnClickOutside={!insists}
      closeOnEscape={!insists}
    >
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body>
          <div className={css.head}>
            <Modal.Title className={css.title}>{title}</Modal.Title>
            {!insists && <Modal.CloseButton aria-label="Close" />}
          </div>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

/** Where the focus goes back to: what was pressed, or what opened the menu in which it was. */
function opener(): HTMLElement | null {
  const { activeElement } = document;
  const menu = activeElement?.closest('[role="menu"]')?.getAttribute("aria-labelledby");
  if (menu) return document.getElementById(menu);
  return activeElement instanceof HTMLElement ? activeElement : null;
}
