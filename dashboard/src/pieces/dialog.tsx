import { Modal } from "@mantine/core";
import type { ReactNode } from "react";
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
  return (
    // Locking the scroll bar writes a style element, which the policy forbids: theme.css does it instead.
    <Modal.Root
      opened
      centered
      lockScroll={false}
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
