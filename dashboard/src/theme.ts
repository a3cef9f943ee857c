import { createTheme, Menu, NativeSelect, Tooltip } from "@mantine/core";

/** Only what components are told; what they look like is theme.css. */
export const theme = createTheme({
  primaryColor: "teal",
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // In the page's main part, where its landmarks have it; the placeholder is a child that no menu may have.
    Menu: Menu.extend({
      defaultProps: { position: "bottom-end", withInitialFocusPlaceholder: false, portalProps: { target: "#main" } },
    }),
    NativeSelect: NativeSelect.extend({ defaultProps: { size: "sm" } }),
    Tooltip: Tooltip.extend({ defaultProps: { events: { hover: true, focus: true, touch: true }, multiline: true } }),
  },
});
