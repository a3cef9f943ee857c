import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export const LANGUAGES = join(import.meta.dirname, "../../../languages");

/** The file name extension of test programs by language. */
export const ENDINGS: Readonly<Record<string, string>> = {
  c: "c",
  cpp: "cpp",
  go: "go",
  java: "java",
  javascript: "js",
  python: "py",
  rust: "rs",
  typescript: "ts",
};

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
