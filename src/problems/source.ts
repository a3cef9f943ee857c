import { basename, extname } from "node:path";
import type { Language } from "../domain/language.ts";
import { MAX_FILES, MAX_FILES_BYTES, toFilePath } from "../domain/program-options.ts";
import type { WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import { type Languages, listed } from "../languages/load.ts";
import { filesBelow, PackageError, type PackageFiles, renamed, sizeOf } from "./files.ts";

/** A program of a package: a file, or a directory of files. */
export interface Source {
  /** Its path in the package. */
  readonly path: string;
  readonly files: PackageFiles;
}

/** The programs in a directory of the package. */
export function sourcesIn(files: PackageFiles, directory: string): Source[] {
  return byName(filesBelow(files, directory)).map(([name, own]) => ({ path: `${directory}/${name}`, files: own }));
}

/** The submissions of the package: programs in the directories of `submissions`. */
export function submissionsOf(files: PackageFiles): Source[] {
  const submissionFiles = filesBelow(files, "submissions");
  // A file there, such as submissions.yaml, is no submission.
  const directories = byName(submissionFiles)
    .filter(([name]) => !submissionFiles.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return directories.flatMap(([directory, own]) =>
    byName(own).map(([name, source]) => ({ path: `submissions/${directory}/${name}`, files: source })),
  );
}

/**
 * The entries of a directory by name, each with its files. For a file, this is the file itself under its name; for a directory,
 * its files under their paths below it.
 */
function byName(files: PackageFiles): [string, PackageFiles][] {
  const entries = Map.groupBy(files.keys(), (path) => path.split("/")[0] ?? "");
  return [...entries].map(([name, paths]) => {
    const below = paths.map((path) => [path === name ? name : path.slice(name.length + 1), path] as const);
    return [name, renamed(files, new Map(below))];
  });
}

/** Codes of the format for languages that have another name here. */
const CODES: Readonly<Record<string, string>> = { python3: "python" };

/** The name of the language with a code of the format. */
export function languageName(code: string): string {
  return Object.hasOwn(CODES, code) ? (CODES[code] ?? "") : code;
}

/**
 * Makes a program of a source.
 * @param given a language that counts instead of that of the files, and the name of the file to run.
 * @returns null if the program is in no installed language. @throws PackageError if the source is no valid program.
 */
export function toProgram(
  { path, files }: Source,
  languages: Languages,
  given: { readonly language?: string; readonly entrypoint?: string } = {},
): { readonly language: Language; readonly program: Program } | null {
  if (SCRIPTS.some((name) => files.has(name) && !path.endsWith(`/${name}`)))
    return scripted({ path, files }, languages);
  const found = [...files.keys()].flatMap((name) => {
    const language = languageOf(name, languages);
    return language ? [{ name, language }] : [];
  });
  const language = given.language === undefined ? found[0]?.language : languages.resolve(languageName(given.language));
  if (!language) return null;
  const [first = [...files.keys()][0] ?? ""] = found.flatMap((one) => (one.language === language ? [one.name] : []));
  const other = found.find((one) => one.language !== language);
  if (other && given.language === undefined)
    throw new PackageError(placeOf({ path, files }, other.name), `is in another language than ${first}`);
  const { entrypoint } = given;
  const named = entrypoint === undefined ? [] : [entrypoint, `${entrypoint}${extname(first)}`];
  const candidates = [...named, language.source, "__main__.py", "Main.java", "main.py"];
  const entry = candidates.find((name) => files.has(name)) ?? first;
  const content = contentsOf({ path, files });
  if (given.language === undefined && language.name === "python" && isPython2(content, entry)) return null;
  return { language, program: programOf(content, entry) };
}

/** Scripts in the directory of a program: the first one makes its executable files, the second one is what is run. */
const SCRIPTS = ["build", "run"];
/** The language of programs with steps of their own, the name of the script that it starts as a compiler, and the program to run. */
const MULTI_FILE = { language: "multifile", compile: "compile.sh", run: "run-program.sh" } as const;
const COMPILE = `chmod u+x ${SCRIPTS.join(" ")} 2>/dev/null
if [ -e build ]; then ./build || exit; fi
if [ ! -x run ]; then echo "there is no program with the name run" >&2; exit 1; fi
`;
const RUN = `exec ./run "$@"\n`;

/** A program that is built and run by scripts of its own. */
function scripted(source: Source, languages: Languages): ReturnType<typeof toProgram> {
  const language = languages.resolve(MULTI_FILE.language);
  if (!language) return null;
  const files = contentsOf(source, 2);
  for (const name of [MULTI_FILE.compile, MULTI_FILE.run, "compile"])
    if (source.files.has(name))
      throw new PackageError(`${source.path}/${name}`, "has the name of a script that runs build and run");
  const scripts = { [MULTI_FILE.compile]: COMPILE, [MULTI_FILE.run]: RUN };
  const own = Object.entries(scripts).map(([name, text]) => ({ name, data: Buffer.from(text) }));
  return { language, program: programOf([...files, ...own], MULTI_FILE.run) };
}

/** The place of a file of a program, for faults. The path of a program that is a single file is that of the file. */
function placeOf({ path, files }: Source, name: string): string {
  return files.size === 1 && (path === name || path.endsWith(`/${name}`)) ? path : `${path}/${name}`;
}

/** The files of a program. @param more how many files are added to them. @throws PackageError beyond the bounds of a program. */
function contentsOf(source: Source, more = 0): WorkFile[] {
  const { path, files } = source;
  let bytes = 0;
  const names = new Set<string>();
  for (const name of files.keys()) {
    const plain = toFilePath(name);
    if (plain === null) throw new PackageError(placeOf(source, name), "is not a valid name of a file");
    if (names.has(plain)) throw new PackageError(`${path}/${name}`, "has the name of another file in another encoding");
    names.add(plain);
    bytes += sizeOf(files, name) ?? 0;
  }
  // This is checked before any file is read.
  if (files.size > MAX_FILES - more || bytes > MAX_FILES_BYTES)
    throw new PackageError(path, `a program has at most ${MAX_FILES} files and ${MAX_FILES_BYTES} bytes`);
  return [...files].map(([name, data]) => ({ name: toFilePath(name) ?? name, data }));
}

function programOf(files: readonly WorkFile[], entry: string): Program {
  const options = { files, entry: toFilePath(entry), args: [], env: {}, limits: {} };
  return { code: Buffer.alloc(0), stdin: Buffer.alloc(0), options };
}

/** Both versions of Python have the same ending; the format tells them apart by the first line of the program. */
function isPython2(files: readonly WorkFile[], entry: string): boolean {
  const data = files.find(({ name }) => name === entry)?.data;
  return /^#!.*python2/.test(data?.toString("latin1", 0, MAX_FIRST_LINE) ?? "");
}

const MAX_FIRST_LINE = 200;

/** Finds the language whose source files have the ending of a file, or else the language that has this ending as its name or alias. */
function languageOf(name: string, languages: Languages): Language | undefined {
  const ending = extname(basename(name));
  if (ending === "" || /^\.(h|hpp|hh)$/.test(ending)) return undefined;
  return (
    listed(languages).find(({ source, sources = [] }) => [extname(source), ...sources].includes(ending)) ??
    languages.resolve(ending.slice(1))
  );
}
