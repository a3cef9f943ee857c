import { readdirSync, readFileSync } from "node:fs";

// Facts of JSON files, for scripts that run before there is a Node: shell does not parse JSON.

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => JSON.parse(readFileSync(new URL(path, ROOT), "utf8"));

/** setup/version: the version in package.json. */
export function version(): string {
  return `${read("package.json").version}\n`;
}

/** image/language-packages: the Debian packages of the languages, without those of packs. */
export function languagePackages(): string {
  const files = readdirSync(new URL("languages/", ROOT)).filter((file) => file.endsWith(".json"));
  const names = files.flatMap((file) => (read(`languages/${file}`).packages ?? []) as string[]);
  return `${[...new Set(names)].sort().join("\n")}\n`;
}
