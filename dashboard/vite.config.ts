import { defineConfig } from "vite";
import { fewerColours } from "./build/fewer-colours.ts";
import { precompress } from "./build/precompress.ts";
import { strictStyles } from "./build/strict-styles.ts";

/** The editor without its grammars, of which a page needs one. */
const EDITOR = /@codemirror\/(view|state|language|commands|search)\/|@lezer\/(common|highlight|lr)\//;
const BASE =
  /node_modules\/(react|react-dom|scheduler|clsx|@tanstack\/(query-core|react-query|react-store|store|react-router|router-core|history)|@mantine\/(hooks|core\/esm\/(core|utils)))\//;
/** Menus and dialogs, which pages load when they are opened. */
const OVERLAYS =
  /@mantine\/core\/esm\/components\/(Menu|Popover|Tooltip|Modal|ModalBase|Drawer|Floating|Overlay)\/|@floating-ui\/|react-remove-scroll|src\/components\/modal\./;

/** Not charts and the editor, which few pages need: they are in folders below the components. */
function isComponent(id: string): boolean {
  return /src\/(components\/[^/]+$|client\/session)|@mantine\//.test(id) && !OVERLAYS.test(id);
}

export default defineConfig({
  base: "/dashboard/",
  plugins: [strictStyles(), fewerColours(), precompress()],
  build: {
    target: "es2024",
    emptyOutDir: true,
    // Inlined files would need `data:` in the policy, and the browser could not cache them.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Read by the test of the first page's size.
    manifest: true,
    // Authors and licences of the bundled packages, for the list of a release's parts.
    license: { fileName: "licenses.json" },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      // "use client" in packages is for server rendering, and times of plugins are noise.
      checks: { moduleLevelDirective: false, pluginTimings: false },
      output: {
        // One file for the code that pages share; otherwise a page would need thirty requests.
        codeSplitting: {
          groups: [
            { name: "codemirror", test: EDITOR, priority: 4 },
            { name: "base", test: BASE, priority: 3 },
            { name: "components", test: isComponent, minShareCount: 4, priority: 2 },
            { name: "overlays", test: OVERLAYS, priority: 1, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
