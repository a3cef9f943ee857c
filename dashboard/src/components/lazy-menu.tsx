import { type ReactElement, type ReactNode, Suspense, useState } from "react";

interface Handlers {
  readonly onClick: () => void;
  readonly onPointerEnter: () => void;
  readonly onFocus: () => void;
}

interface Props {
  /** Renders the button until it is first used. */
  readonly button: (handlers: Handlers) => ReactElement;
  readonly load: () => Promise<unknown>;
  /** The lazy component that replaces the button. It renders the button and its menu, which is open at first. */
  readonly children: ReactNode;
}

/**
 * A button whose menu is loaded when the button is first used: menus would be a tenth of the code of a page, and few visits need
 * one.
 */
export function LazyMenu({ button, load, children }: Props) {
  const [isOpened, open] = useState(false);
  const preload = () => void load();
  const closed = button({ onClick: () => open(true), onPointerEnter: preload, onFocus: preload });
  return isOpened ? <Suspense fallback={closed}>{children}</Suspense> : closed;
}
