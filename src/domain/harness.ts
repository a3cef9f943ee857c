import { extname } from "node:path";
import type { Language } from "./language.ts";
import type { WorkFile } from "./report.ts";
import type { Program } from "./submission.ts";

/** What a problem adds to the submissions in some languages, such as a main function that calls a function of the submission. */
export interface HarnessPart {
  /**
   * Files beside those of the submission. They take the place of files of the submission with the same names. If one of them has the name
   * of the usual source of the language, such as main.py, it is what runs.
   */
  readonly files: readonly WorkFile[];
  /** Text before each source of the submission. */
  readonly prefix: string;
  /** Environment variables of the program. */
  readonly env: Readonly<Record<string, string>>;
}

/** The parts by language: by its name, or by the ending of its source file, such as `.cpp`. */
export type Harness = Readonly<Record<string, HarnessPart>>;

/** Bounds of a part. With the files of a submission, its files fit into one request to the launcher. */
export const MAX_HARNESS_FILES = 12;
export const MAX_HARNESS_BYTES = 1_048_576;

/** Why a harness cannot be used; null if it can. */
export function faultOfHarness(harness: Harness): string | null {
  for (const { files, prefix } of Object.values(harness)) {
    const bytes = files.reduce((sum, { data }) => sum + data.length, prefix.length);
    if (files.length > MAX_HARNESS_FILES || bytes > MAX_HARNESS_BYTES)
      return `adds more than ${MAX_HARNESS_FILES} files or ${MAX_HARNESS_BYTES} bytes to submissions`;
  }
  return null;
}

/** Whether the name of a language or the ending of its source file is among the keys. */
export function isAmong(keys: readonly string[], language: Pick<Language, "name" | "source">): boolean {
  return keys.includes(language.name) || keys.includes(extname(language.source));
}

/** The program as it is compiled and run. The stored program and its record are those of the submission. */
export function withHarness(program: Program, language: Language, harness: Harness | null): Program {
  const part = harness?.[language.name] ?? harness?.[extname(language.source)];
  if (!part) return program;
  const own = program.options ?? { files: [], entry: null, args: [], env: {}, limits: {} };
  const prefixed = (source: Buffer) => Buffer.concat([Buffer.from(part.prefix), source]);
  const isSource = (name: string) =>
    name === own.entry || (language.sources ?? []).some((ending) => name.endsWith(ending));
  const files = own.files
    .filter(({ name }) => !part.files.some((added) => exclude(added.name, name)))
    .map((file) => (isSource(file.name) ? { ...file, data: prefixed(file.data) } : file));
  const entry = part.files.some(({ name }) => name === language.source) ? language.source : own.entry;
  const options = { ...own, entry, files: [...files, ...part.files], env: { ...part.env, ...own.env } };
  return { ...program, code: own.entry === null ? prefixed(program.code) : program.code, options };
}

/** Whether two paths cannot both be files, because they are equal or one is below the other. */
export function exclude(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}

/** JSON for the database. */
export function encodeHarness(harness: Harness): string {
  const parts = Object.entries(harness).map(([key, { files, ...part }]) => {
    const encoded = files.map(({ name, data }) => [name, data.toString("base64")]);
    return [key, { files: encoded, ...part }];
  });
  return JSON.stringify(Object.fromEntries(parts));
}

export function decodeHarness(text: string): Harness {
  type Encoded = Omit<HarnessPart, "files"> & { readonly files: readonly [string, string][] };
  const parts = Object.entries(JSON.parse(text) as Readonly<Record<string, Encoded>>).map(
    ([key, { files, ...part }]) => {
      const decoded = files.map(([name, data]) => ({ name, data: Buffer.from(data, "base64") }));
      return [key, { files: decoded, ...part }];
    },
  );
  return Object.fromEntries(parts);
}
