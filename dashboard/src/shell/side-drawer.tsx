import { Drawer } from "@mantine/core";
import type { ReactNode } from "react";
import css from "./shell.module.css";

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly brand: ReactNode;
  readonly children: ReactNode;
}

/**
 * The navigation on narrow screens. For the reasons in components/modal.tsx, it has neither Mantine's scroll lock nor a `header`
 * element.
 */
export default function SideDrawer({ opened, onClose, brand, children }: Props) {
  return (
    <Drawer.Root opened={opened} onClose={onClose} size="17rem" lockScroll={false}>
      <Drawer.Overlay />
      <Drawer.Content aria-label="Navigation">
        <Drawer.Body>
          <div className={css.drawer}>
            {brand}
            <Drawer.CloseButton aria-label="Close the navigation" />
          </div>
          {children}
        </Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}
