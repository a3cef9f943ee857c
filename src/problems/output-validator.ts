import { CHECKER_RESERVED, type ProgramChecker } from "../domain/check.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { filesBelow, type LazyFile, LazyFiles, PackageError, type PackageFiles } from "./files.ts";
import { type Source, sourcesIn, toProgram } from "./source.ts";

/** The programs in the directories of output validators. */
export function validatorsIn(files: PackageFiles, directories: readonly string[]): Source[] {
  return directories.flatMap((directory) =>
    // output_validator/ is the program itself, unless it contains only directories.
    directory === "output_validator" && [...files.keys()].some((path) => /^output_validator\/[^/]+$/.test(path))
      ? [{ path: directory, files: filesBelow(files, directory) }]
      : sourcesIn(files, directory),
  );
}

/** The most output validators of a package; the known packages with several of them have two. */
const MAX_VALIDATORS = 4;

/**
 * The output validator of a package. The format legacy can have several: an output is then right if all of them accept it.
 * @param isOne whether the format permits only one. @throws PackageError
 */
export function readValidator(
  validators: readonly Source[],
  { directory, isOne }: { readonly directory: string; readonly isOne: boolean },
  languages: Languages,
  kind: Pick<ProgramChecker, "interactive" | "passes">,
): { readonly spec: ProgramChecker; readonly program: Program } {
  const [source, second] = validators;
  if (!source) throw new PackageError(directory, "has no validator");
  if (second && isOne) throw new PackageError(second.path, "a second output validator is not supported");
  if (second && (kind.interactive || kind.passes !== undefined))
    throw new PackageError(second.path, "an interactive or multi-pass problem has only one output validator");
  for (const { path, files } of validators) {
    const reserved = [...files.keys()].find((name) => CHECKER_RESERVED.test(name));
    if (reserved !== undefined)
      throw new PackageError(`${path}/${reserved}`, "has the place of a directory of the validator's box");
  }
  const found = second ? inSequence(validators, languages) : toProgram(source, languages);
  if (!found) throw new PackageError(source.path, "is in no installed language");
  const spec = { type: "program", interface: "kattis", language: found.language.name, args: [], ...kind } as const;
  return { spec, program: found.program };
}

const MULTI_FILE = "multifile";
/** The commands that compile and run a validator in its directory. They are those of every image, because the program is stored. */
const COMMANDS: Readonly<
  Record<string, { readonly compile?: string; readonly run: (directory: string, entry: string) => string }>
> = {
  cpp: {
    compile: "g++ -std=gnu++20 -O2 -w -include cstdint -o program *.cpp *.cc *.cxx",
    run: (directory) => `${directory}/program`,
  },
  c: { compile: "gcc -std=gnu17 -O2 -w -o program *.c -lm", run: (directory) => `${directory}/program` },
  python: { run: (directory, entry) => `python3 ${quoted(`${directory}/${entry}`)}` },
};

/** One program that runs several validators, one after the other, and ends as the first one that does not accept. */
function inSequence(validators: readonly Source[], languages: Languages): ReturnType<typeof toProgram> {
  const last = validators.at(-1)?.path ?? "";
  if (validators.length > MAX_VALIDATORS)
    throw new PackageError(last, `a package has at most ${MAX_VALIDATORS} output validators`);
  const files = new Map<string, LazyFile>();
  const scripts = { "compile.sh": ["shopt -s nullglob"], "run.sh": ["cat >judged-output || exit 1"] };
  for (const [at, source] of validators.entries()) {
    const found = toProgram(source, languages);
    const commands = found && COMMANDS[found.language.name];
    if (!found || !commands)
      throw new PackageError(source.path, "one of several output validators must be in C, C++ or Python");
    const directory = `validator-${at + 1}`;
    for (const { name, data } of found.program.options?.files ?? [])
      files.set(`${directory}/${name}`, { size: data.length, read: () => data });
    if (commands.compile !== undefined) scripts["compile.sh"].push(`(cd ${directory} && ${commands.compile}) || exit`);
    scripts["run.sh"].push(
      `${commands.run(directory, found.program.options?.entry ?? "")} "$@" <judged-output`,
      "code=$?; if [ $code -ne 42 ]; then exit $code; fi",
    );
  }
  scripts["run.sh"].push("exit 42");
  for (const [name, lines] of Object.entries(scripts)) {
    const text = Buffer.from(`${lines.join("\n")}\n`);
    files.set(name, { size: text.length, read: () => text });
  }
  return toProgram({ path: last, files: new LazyFiles(files) }, languages, {
    language: MULTI_FILE,
    entrypoint: "run.sh",
  });
}

/** A word for a shell. The names of files of a package can have any character. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
