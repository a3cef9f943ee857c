import { resolve } from "node:path";
import { readBuiltIns } from "../../src/languages/load.ts";
import { loadPack, packNames } from "../../src/languages/packs.ts";

const LANGUAGES = resolve(import.meta.dirname, "../../languages");

/** dashboard/src/components/editor/grammar-names.ts: the grammar of each language that has one. */
export function grammarNames(): string {
  const all = [
    ...readBuiltIns(LANGUAGES).map(({ data }) => data),
    ...packNames(LANGUAGES).map((name) => loadPack(LANGUAGES, name)),
  ];
  const rows = all.flatMap(({ name, grammar }) => (grammar === undefined ? [] : [`  ${name}: "${grammar}",`]));
  return `// Generated from languages/: npm run generate.

/** The names of grammars by language. */
export const GRAMMAR_NAMES: Readonly<Record<string, string>> = {
${rows.join("\n")}
};
`;
}
