import { lazy, type ReactNode, Suspense } from "react";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether only its content can close the dialog, and neither Escape nor a click outside. */
  readonly isPersistent?: boolean;
  readonly children: ReactNode;
}

/** Mantine's overlays are a tenth of a page: loaded with the first dialog. */
const ModalDialog = lazy(() => import("./modal.tsx"));

/** A dialog, mounted while it is open, so that its content starts fresh. */
export function Dialog(props: DialogProps) {
  return (
    <Suspense>
      <ModalDialog {...props} />
    </Suspense>
  );
}
