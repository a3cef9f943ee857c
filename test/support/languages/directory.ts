import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { TestContext } from "node:test";
import { listed, loadLanguages, readBuiltIns } from "../../../src/languages/load.ts";
import { packNames } from "../../../src/languages/packs.ts";

export const LANGUAGES = join(import.meta.dirname, "../../../languages");

/** Names of all languages. */
export const NAMES: readonly string[] = loadLanguages(LANGUAGES)
  .list()
  .map(({ name }) => name);

/** Names of those that the API lists. */
export const LISTED: readonly string[] = listed(loadLanguages(LANGUAGES)).map(({ name }) => name);

/** Names of all packs, installed or not. */
export const PACKS = packNames(LANGUAGES);

/** The file name extension of test programs by language, without the dot. */
export const ENDINGS: Readonly<Record<string, string>> = Object.fromEntries(
  loadLanguages(LANGUAGES)
    .list()
    .map(({ name, source }) => [name, extname(source).slice(1)]),
);

const EXAMPLES = new Map(readBuiltIns(LANGUAGES).map(({ data }) => [data.name, data.examples ?? {}]));

/** The source of a program: an example of the language, or a file in test/programs/; undefined if the language does not have it. */
export function programOf(language: string, program: string): string | undefined {
  const path = new URL(`../../programs/${language}/${program}.${ENDINGS[language]}`, import.meta.url);
  return EXAMPLES.get(language)?.[program] ?? (existsSync(path) ? readFileSync(path, "utf8") : undefined);
}

/** Names of the languages that have a program. */
export const languagesOf = (program: string) => NAMES.filter((name) => programOf(name, program) !== undefined);

/** Parsed JSON that a test makes invalid. */
// biome-ignore lint/suspicious/noExplicitAny: tests make it invalid
export type Data = any;

/** A copy of languages/ with one file changed; removed after the test. */
export function languagesWith(test: TestContext, file: string, change: (data: Data) => void): string {
  const directory = mkdtempSync(join(tmpdir(), "assay-languages-"));
  test.after(() => rmSync(directory, { recursive: true }));
  cpSync(LANGUAGES, directory, { recursive: true });
  const path = join(directory, file);
  const data = JSON.parse(readFileSync(path, "utf8"));
  change(data);
  writeFileSync(path, JSON.stringify(data));
  return directory;
}
