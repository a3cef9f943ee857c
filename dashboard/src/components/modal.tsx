import { Modal } from "@mantine/core";
import { useLayoutEffect } from "react";
import css from "./dialog.module.css";
import type { DialogProps } from "./dialog.tsx";

/**
 * Renders a dialog (dialog.tsx). This module is loaded with the first dialog. The title is no `header` element, because the page
 * already has one.
 */
export default function ModalDialog({ title, onClose, isPersistent = false, children }: DialogProps) {
  useLayoutEffect(() => {
    const from = opener();
    return () => from?.focus();
  }, []);
  return (
    // Mantine's scroll lock adds a style element, which the Content-Security-Policy forbids. theme.css locks the page instead.
    <Modal.Root
      opened
      centered
      lockScroll={false}
      returnFocus={false}
      size={isPersistent ? "lg" : "md"}
      onClose={onClose}
      closeOnClickOutside={!isPersistent}
      closeOnEscape={!isPersistent}
    >
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body>
          <div className={css.head}>
            <Modal.Title className={css.title}>{title}</Modal.Title>
            {!isPersistent && <Modal.CloseButton aria-label="Close" />}
          </div>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

/** The element that gets the focus back: the pressed button, or, for an item of a menu, the button of the menu. */
function opener(): HTMLElement | null {
  const { activeElement } = document;
  const menu = activeElement?.closest('[role="menu"]')?.getAttribute("aria-labelledby");
  if (menu) return document.getElementById(menu);
  return activeElement instanceof HTMLElement ? activeElement : null;
}
