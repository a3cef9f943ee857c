import { readFileSync } from "node:fs";

/** The documents by kind, in the order of the menu: the sections of docs/README.md, and the links in them. */
export const GUIDES_BY_KIND: Readonly<Record<string, readonly string[]>> = kindsIn(
  readFileSync(new URL("../../../docs/README.md", import.meta.url), "utf8"),
);

/** The paths of all documents below docs/, without their suffix. */
export const GUIDES: readonly string[] = Object.values(GUIDES_BY_KIND).flat();

function kindsIn(markdown: string): Record<string, string[]> {
  const [, ...sections] = markdown.split(/^## /m);
  return Object.fromEntries(
    sections.map((section) => {
      const [kind = ""] = section.split("\n", 1);
      return [kind, [...section.matchAll(/^- \[[^\]]*\]\(([a-z0-9/-]+)\.md\)/gm)].map(([, name = ""]) => name)];
    }),
  );
}
