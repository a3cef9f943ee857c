import { defineConfig } from "vite";
import { precompress } from "./build/precompress.ts";

export default defineConfig({
  base: "/dashboard/",
  plugins: [precompress()],
  build: {
    target: "es2024",
    emptyOutDir: true,
    // Files in text would need `data:` in the policy, and could not be kept by the browser.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The test of what the first page loads reads it.
    manifest: true,
    // Whose code is in it, with what they ask to be told of it; a release's list of its parts has them from there.
    license: { fileName: "licenses.json" },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      // "use client" in packages is for servers that render, and here is none; how long it took is nobody's question.
      checks: { moduleLevelDirective: false, pluginTimings: false },
      output: {
        // What pages share is one file; each by itself would be thirty requests for a page.
        codeSplitting: { groups: [{ name: "pieces", test: /src\/pieces\/|@mantine\//, minShareCount: 2 }] },
      },
    },
  },
});
