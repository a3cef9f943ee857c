import { basename, extname } from "node:path";
import { FILE_PATH, MAX_FILES, MAX_FILES_BYTES } from "../domain/additions.ts";
import type { Language } from "../domain/language.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { filesBelow, PackageError, type PackageFiles, renamed, sizeOf } from "./files.ts";

/** A program of a package: a file, or a directory of files. */
export interface Source {
  /** Its path in the package. */
  readonly path: string;
  readonly files: PackageFiles;
}

/** The programs in a directory of the package. */
export function sourcesIn(files: PackageFiles, directory: string): Source[] {
  const groups = Map.groupBy(filesBelow(files, directory).keys(), (path) => path.split("/")[0] ?? "");
  return [...groups].map(([name, [first]]) => {
    const path = `${directory}/${name}`;
    return { path, files: first === name ? renamed(files, new Map([[name, path]])) : filesBelow(files, path) };
  });
}

/** Codes of languages in the formats that are not also names or aliases here. */
const CODES: Readonly<Record<string, string>> = { python3: "python" };

/**
 * @param given the file to run and the code of the language, if the package names them.
 * @returns null if no installed language has the program. @throws PackageError
 */
export function toProgram(
  { path, files }: Source,
  languages: Languages,
  given: { readonly entrypoint?: string; readonly language?: string } = {},
): { readonly language: Language; readonly program: Program } | null {
  for (const name of ["build", "run"])
    if (files.has(name))
      throw new PackageError(`${path}/${name}`, "programs with a script of their own are not supported");
  const code = given.language;
  const wanted = code === undefined ? undefined : languages.resolve(CODES[code] ?? code);
  if (code !== undefined && !wanted) return null;
  const found = [...files.keys()].flatMap((name) => {
    const language = languageOf(name, languages);
    return language && (!wanted || language === wanted) ? [{ name, language }] : [];
  });
  const [first] = found;
  if (!first && wanted) throw new PackageError(path, `has no file with an ending of the language ${code}`);
  if (!first) return null;
  const other = found.find(({ language }) => language !== first.language);
  if (other) throw new PackageError(`${path}/${other.name}`, `is in another language than ${first.name}`);
  checkSize(path, files);
  const { entrypoint } = given;
  const named = entrypoint === undefined ? [] : [entrypoint, `${entrypoint}${extname(first.name)}`];
  const candidates = [...named, first.language.source, "__main__.py", "Main.java", "main.py"];
  const entry = candidates.find((name) => files.has(name)) ?? first.name;
  const content = [...files].map(([name, data]) => ({ name, data }));
  for (const { name } of content)
    if (!FILE_PATH.test(name)) throw new PackageError(`${path}/${name}`, "is not a valid name of a file");
  const additions = { files: content, entry, args: [], env: {}, limits: {} };
  return { language: first.language, program: { code: Buffer.alloc(0), stdin: Buffer.alloc(0), additions } };
}

/** The bounds of a submission: larger programs would not fit into a box together with an input. */
function checkSize(path: string, files: PackageFiles): void {
  const bytes = [...files.keys()].reduce((sum, name) => sum + (sizeOf(files, name) ?? 0), 0);
  if (files.size > MAX_FILES || bytes > MAX_FILES_BYTES)
    throw new PackageError(path, `a program has at most ${MAX_FILES} files and ${MAX_FILES_BYTES} bytes`);
}

/** By the ending of a file, or by an alias of a language that is the ending. */
function languageOf(name: string, languages: Languages): Language | undefined {
  const ending = extname(basename(name));
  if (ending === "" || /^\.(h|hpp|hh)$/.test(ending)) return undefined;
  return (
    languages.list().find(({ source, sources = [] }) => extname(source) === ending || sources.includes(ending)) ??
    languages.resolve(ending.slice(1))
  );
}
