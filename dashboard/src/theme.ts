import { createTheme, Menu, NativeSelect, Tooltip } from "@mantine/core";

/** Defaults of components; colours and sizes are in theme.css. */
export const theme = createTheme({
  primaryColor: "teal",
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // Inside the main landmark, as accessibility rules require; the focus placeholder is no valid child of a menu.
    Menu: Menu.extend({
      defaultProps: { position: "bottom-end", withInitialFocusPlaceholder: false, portalProps: { target: "#main" } },
    }),
    NativeSelect: NativeSelect.extend({ defaultProps: { size: "sm" } }),
    Tooltip: Tooltip.extend({ defaultProps: { events: { hover: true, focus: true, touch: true }, multiline: true } }),
  },
});
