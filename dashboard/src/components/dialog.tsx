import { lazy, type ReactNode, Suspense } from "react";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether only the content of the dialog can close it, and neither Escape nor a click outside. */
  readonly isPersistent?: boolean;
  readonly children: ReactNode;
}

/** Loaded with the first dialog, because Mantine's overlays would be a tenth of the code of a page. */
const ModalDialog = lazy(() => import("./modal.tsx"));

/** A dialog. It is open while it is mounted, so that its content has a new state each time. */
export function Dialog(props: DialogProps) {
  return (
    <Suspense>
      <ModalDialog {...props} />
    </Suspense>
  );
}
