import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import type { Language } from "../domain/language.ts";
import { invalidFile, LanguageFileError, packSchema, readDataFile } from "./schema.ts";

/** A language pack: the language, and what its layer of the image and its tests need. */
export type Pack = z.output<typeof packSchema>;

/** The names of all packs, whether or not they are installed. */
export function packNames(directory: string): readonly string[] {
  return readdirSync(join(directory, "packs"))
    .filter((file) => file.endsWith(".json"))
    .map((file) => file.slice(0, -".json".length))
    .sort();
}

/** Reads a pack. @throws LanguageFileError for an unknown name or an invalid file. */
export function loadPack(directory: string, name: string): Pack {
  const path = pathOf(directory, name);
  if (!existsSync(path)) throw new LanguageFileError(`there is no language pack '${name}': see 'assay languages list'`);
  const pack = readDataFile<Pack>(path, packSchema as unknown as z.ZodType<Pack>);
  if (pack.tests.uncaught && "code" in pack.tests.uncaught) {
    const { exitCode, signal } = pack.tests.uncaught;
    if ((exitCode === undefined) === (signal === undefined))
      invalidFile(path, "uncaught needs an exit code or a signal");
  }
  if ((pack.compile === null) !== (pack.tests.includes === undefined))
    invalidFile(path, "includes is for packs with a compile step");
  return pack;
}

/** The pack as a language, without its parts for set-up and tests. */
export function readPack(directory: string, name: string): { readonly path: string; readonly language: Language } {
  const {
    npm: _npm,
    pypi: _pypi,
    compat: _compat,
    trim: _trim,
    links: _links,
    tests: _tests,
    grammar: _grammar,
    ...language
  } = loadPack(directory, name);
  return { path: pathOf(directory, name), language: language as Language };
}

/**
 * The names of the packs that a choice means: `all`, `none`, or names separated by commas.
 * @throws LanguageFileError for an unknown name.
 */
export function chosenPacks(directory: string, choice: string): readonly string[] {
  const names = packNames(directory);
  const chosen = choice.split(",").flatMap((word) => {
    const name = word.trim();
    // Set-up uses no other registries than those of Debian and npm, unless the operator names a pack that needs one.
    if (name === "all") return names.filter((one) => loadPack(directory, one).pypi.length === 0);
    if (name === "" || name === "none" || names.includes(name)) return name;
    throw new LanguageFileError(`there is no language pack '${name}': see 'assay languages list'`);
  });
  return [...new Set(chosen)].filter((name) => name !== "" && name !== "none").sort();
}

/** The input of image/layer for a pack; empty if the pack needs only the base image. Packs with equal lines share a layer. */
export function layerLines({ packages, npm, pypi, compat, trim, links }: Pack): string {
  const lines = [
    ...(packages.length > 0 ? [`debian ${[...packages].sort().join(" ")}`] : []),
    ...npm.map(({ arch, target, name, version, sha512 }) => `npm ${arch} ${target} ${name} ${version} ${sha512}`),
    ...pypi.map(({ target, name, version, sha256, file }) => `pypi ${target} ${name} ${version} ${sha256} ${file}`),
    ...(compat ? [`compat ${compat}`] : []),
    ...trim.map((pattern) => `trim ${pattern}`),
    ...Object.entries(links).map(([path, target]) => `link ${path} ${target}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function pathOf(directory: string, name: string): string {
  return join(directory, "packs", `${name}.json`);
}
