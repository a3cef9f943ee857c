import { basename, extname } from "node:path/posix";
import { exclude, faultOfHarness, type Harness } from "../domain/harness.ts";
import { toFilePath } from "../domain/program-options.ts";
import { type Languages, listed } from "../languages/load.ts";
import { PackageError, type PackageFiles } from "./files.ts";

const HEADERS = [".h", ".hh", ".hpp", ".hxx"];
/** The endings of sources by the ending of the usual source of a language, by which a harness names languages. */
const SOURCES: Readonly<Record<string, readonly string[]>> = { ".c": [".c"], ".cpp": [".cpp", ".cc", ".cxx"] };

/** Whether the file can be compiled with submissions: a source or a header in C or C++. */
export function isCompiledWith(path: string): boolean {
  return [...HEADERS, ...Object.values(SOURCES).flat()].includes(extname(path));
}

/**
 * The harness of files that are compiled with each submission, such as a source with `main` that calls a function of the submission. Only
 * submissions in the languages of its sources are possible: others would be judged without it.
 * @param paths of the files in the package. @throws PackageError
 */
export function compiledWith(paths: readonly string[], files: PackageFiles, languages: Languages): Harness {
  const named = new Map<string, string>();
  for (const path of paths) {
    const name = basename(path);
    // A file with the name of the usual source of a language would take the place of the submission.
    const isTaken = listed(languages).some(({ source }) => exclude(source, name));
    if (toFilePath(name) !== name || isTaken || named.has(name))
      throw new PackageError(path, "has no possible name for a file that is compiled with submissions");
    named.set(name, path);
  }
  const ending = (path: string, endings: readonly string[]) => endings.includes(extname(path));
  const parts = Object.entries(SOURCES).flatMap(([key, sources]) => {
    if (!paths.some((path) => ending(path, sources))) return [];
    const own = [...named].filter(([, path]) => ending(path, [...sources, ...HEADERS]));
    const added = own.map(([name, path]) => ({ name, data: files.get(path) ?? Buffer.alloc(0) }));
    return [[key, { files: added, prefix: "", env: {} }] as const];
  });
  const [first = ""] = paths;
  if (parts.length === 0) throw new PackageError(first, "is compiled with submissions, but is no source in C or C++");
  const harness = Object.fromEntries(parts);
  const fault = faultOfHarness(harness);
  if (fault !== null) throw new PackageError(first, fault);
  return harness;
}
