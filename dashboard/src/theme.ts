import { createTheme } from "@mantine/core";

/**
 * Default properties of components. The components are named by text, because an import would load their code. Colours and sizes
 * are in theme.css.
 */
export const theme = createTheme({
  primaryColor: "teal",
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // Menus are inside the main landmark, as accessibility rules require. The focus placeholder is no valid child of a menu.
    Menu: {
      defaultProps: { position: "bottom-end", withInitialFocusPlaceholder: false, portalProps: { target: "#main" } },
    },
    NativeSelect: { defaultProps: { size: "sm" } },
  },
});
