import { createTheme } from "@mantine/core";

/** Defaults of components, by name, so that menus are not loaded for them; colours and sizes are in theme.css. */
export const theme = createTheme({
  primaryColor: "teal",
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // Inside the main landmark, as accessibility rules require; the focus placeholder is no valid child of a menu.
    Menu: {
      defaultProps: { position: "bottom-end", withInitialFocusPlaceholder: false, portalProps: { target: "#main" } },
    },
    NativeSelect: { defaultProps: { size: "sm" } },
  },
});
