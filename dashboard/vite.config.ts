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
    reportCompressedSize: false,
    // "use client" in packages is for servers that render; here is none.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
});
