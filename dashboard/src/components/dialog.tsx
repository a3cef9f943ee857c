import { lazy, type ReactNode, Suspense } from "react";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether only its content can close the dialog, and neither Escape nor a click outside. */
  readonly isPersistent?: boolean;
  readonly children: ReactNode;
}

/** Loaded with the first dialog, because Mantine's overlays are a tenth of a page. */
const ModalDialog = lazy(() => import("./modal.tsx"));

/** A dialog, mounted while it is open, so that its content starts fresh. */
export function Dialog(props: DialogProps) {
  return (
    <Suspense>
      <ModalDialog {...props} />
    </Suspense>
  );
}
