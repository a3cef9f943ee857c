import type { Plugin } from "vite";

/** Palettes of Mantine that no component here uses: an eighth of the style sheet. */
const UNUSED = "pink|grape|violet|indigo|cyan|green|lime|yellow|orange";
const DECLARED = new RegExp(`--mantine-color-(?:${UNUSED})-[\\w-]+:[^;}]+;?`, "g");
const USED = new RegExp(`var\\(--mantine-color-(?:${UNUSED})-[\\w-]+\\)`);

/** Removes the variables of unused palettes. @throws for a use that is left. */
export function fewerColours(): Plugin {
  return {
    name: "assay-fewer-colours",
    apply: "build",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "asset" || !file.fileName.endsWith(".css")) continue;
        const rest = String(file.source).replaceAll(DECLARED, "");
        const [used] = USED.exec(rest) ?? [];
        if (used) throw new Error(`${file.fileName} uses ${used}, whose palette is removed`);
        file.source = rest;
      }
    },
  };
}
