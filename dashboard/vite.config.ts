import { defineConfig } from "vite";
import { precompress } from "./build/precompress.ts";

export default defineConfig({
  base: "/dashboard/",
  plugins: [precompress()],
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
        codeSplitting: { groups: [{ name: "pieces", test: /src\/pieces\/|@mantine\//, minShareCount: 2 }] },
      },
    },
  },
});
