import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const XTERM = /@xterm\/xterm\/lib\/xterm\.mjs$/;
const OWN = fileURLToPath(new URL("../src/pages/sandboxes/style-element.ts", import.meta.url));

/** What xterm does that the content security policy of the page forbids: how often, and what replaces it. */
const REPLACED: readonly (readonly [what: string, pattern: RegExp, times: number, by: string])[] = [
  ["style elements", /\b[\w.]+\.createElement\("style"\)/g, 3, "styleElement()"],
  [
    "style attributes",
    /\b(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g,
    1,
    "$1.style.cssText+=$2",
  ],
];
const LEFT = /createElement\(["']style["']\)|setAttribute\(["']style["']/;

/**
 * Replaces the style elements and style attributes of xterm by constructed style sheets and properties of the DOM, so that the page needs
 * no `unsafe-inline` for styles. @throws if the release of xterm has another code.
 */
export function strictStyles(): Plugin {
  return {
    name: "assay-strict-styles",
    apply: "build",
    transform(code, id) {
      if (!XTERM.test(id)) return null;
      let changed = code;
      for (const [what, pattern, times, by] of REPLACED) {
        const found = [...changed.matchAll(pattern)].length;
        if (found !== times) throw new Error(`xterm has ${found} ${what} instead of ${times}`);
        changed = changed.replaceAll(pattern, by);
      }
      if (LEFT.test(changed)) throw new Error("xterm has other style elements or attributes");
      return { code: `import { styleElement } from ${JSON.stringify(OWN)};\n${changed}`, map: null };
    },
  };
}
