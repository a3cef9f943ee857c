import { createTheme, Drawer, Modal, NativeSelect, Tooltip } from "@mantine/core";

/** Only what components are told; what they look like is theme.css. */
export const theme = createTheme({
  primaryColor: "teal",
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // Locking writes a style element, which the policy forbids: theme.css does it instead.
    Modal: Modal.extend({ defaultProps: { lockScroll: false, centered: true } }),
    Drawer: Drawer.extend({ defaultProps: { lockScroll: false } }),
    NativeSelect: NativeSelect.extend({ defaultProps: { size: "sm" } }),
    Tooltip: Tooltip.extend({ defaultProps: { events: { hover: true, focus: true, touch: true }, multiline: true } }),
  },
});
