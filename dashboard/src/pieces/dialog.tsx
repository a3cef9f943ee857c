import { Modal } from "@mantine/core";
import { type ReactNode, useLayoutEffect } from "react";
import css from "./dialog.module.css";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  /** Only its content closes it, not Escape or a click outside. */
  readonly insists?: boolean;
  readonly children: ReactNode;
}

/** A dialog, mounted while it is open, so that its content starts fresh. Its title is no `header` element, because a page has one. */
export function Dialog({ title, onClose, insists = false, children }: Props) {
  useLayoutEffect(() => {
    const from = opener();
    return () => from?.focus();
  }, []);
  return (
    // Scroll locking adds a style element, which the policy forbids; theme.css locks instead.
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

/** The element that gets the focus back: the pressed button, or the opener of its menu. */
function opener(): HTMLElement | null {
  const { activeElement } = document;
  const menu = activeElement?.closest('[role="menu"]')?.getAttribute("aria-labelledby");
  if (menu) return document.getElementById(menu);
  return activeElement instanceof HTMLElement ? activeElement : null;
}
