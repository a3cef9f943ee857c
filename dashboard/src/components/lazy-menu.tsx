import { type ReactElement, type ReactNode, Suspense, useState } from "react";

interface Handlers {
  readonly onClick: () => void;
  readonly onPointerEnter: () => void;
  readonly onFocus: () => void;
}

interface Props {
  /** The button before its first use. */
  readonly button: (handlers: Handlers) => ReactElement;
  readonly load: () => Promise<unknown>;
  /** The lazy component that replaces the button. It has a button and the menu, which is open at first. */
  readonly children: ReactNode;
}

/** A button whose menu is loaded at its first use: menus are a tenth of a page, and few visits need one. */
export function LazyMenu({ button, load, children }: Props) {
  const [isOpened, open] = useState(false);
  const preload = () => void load();
  const closed = button({ onClick: () => open(true), onPointerEnter: preload, onFocus: preload });
  return isOpened ? <Suspense fallback={closed}>{children}</Suspense> : closed;
}
