import { readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import type { Command } from "commander";
import { ConfigError } from "../config.ts";
import type { Language } from "../domain/language.ts";
import type { Program } from "../domain/submission.ts";
import { type Languages, listed } from "../languages/load.ts";
import { packageFromDirectory } from "../problems/directory.ts";
import { toProgram } from "../problems/source.ts";

export interface ProgramFlags {
  readonly language?: string;
  readonly entry?: string;
  readonly arg: readonly string[];
  readonly env: readonly string[];
}

const repeated = (value: string, before: readonly string[]) => [...before, value];

/** Adds the argument and the options of a program. */
export function withProgram(command: Command): Command {
  return command
    .argument("<path>", "source file, or directory with all files of the program")
    .option("--language <name>", "language (default: from the file name extension)")
    .option(
      "--entry <file>",
      "the file of the directory that is run, or compiled (default: by its name, such as main.py)",
    )
    .option("--arg <text>", "argument of the program; can be repeated", repeated, [])
    .option("--env <name=value>", "environment variable of the program; can be repeated", repeated, []);
}

/** Reads a program; its input is empty. @throws ConfigError for wrong options, PackageError for files that cannot be a program. */
export async function readProgram(
  path: string,
  { language: named, entry, arg, env }: ProgramFlags,
  languages: Languages,
): Promise<{ readonly language: Language; readonly program: Program }> {
  const variables = env.map((one) => {
    const at = one.indexOf("=");
    if (at < 1) throw new ConfigError(`--env ${one} is not NAME=VALUE`);
    return [one.slice(0, at), one.slice(at + 1)];
  });
  const words = { args: arg, env: Object.fromEntries(variables) as Record<string, string> };
  if (!(await stat(path)).isDirectory()) {
    if (entry !== undefined) throw new ConfigError(`--entry is for a directory, and ${path} is a file`);
    const options = { files: [], entry: null, ...words, limits: {} };
    const program = { code: await readFile(path), stdin: Buffer.alloc(0), options };
    return { language: languageOf(path, named, languages), program };
  }
  const files = await packageFromDirectory(path);
  if (entry !== undefined && !files.has(entry)) throw new ConfigError(`${path} has no file ${entry}`);
  const wanted = {
    ...(entry !== undefined && { entrypoint: entry }),
    ...(named !== undefined && { language: languageOf(path, named, languages).name }),
  };
  const found = toProgram({ path, files }, languages, wanted);
  if (!found) throw new ConfigError(`no file of ${path} is in a known language`);
  const { options } = found.program;
  return { ...found, program: { ...found.program, ...(options && { options: { ...options, ...words } }) } };
}

/** The language that an option names, or else that of the ending of the file. @throws ConfigError for an unknown language. */
export function languageOf(file: string, named: string | undefined, languages: Languages): Language {
  const known = listed(languages).map(({ name }) => name);
  if (named !== undefined) {
    const language = languages.resolve(named);
    if (!language) throw new ConfigError(`unknown language ${named}; there are ${known.join(", ")}`);
    return language;
  }
  const ending = extname(file);
  const language = listed(languages).find(({ source }) => extname(source) === ending);
  const other = languages.resolve(ending.slice(1));
  if (language ?? other) return (language ?? other) as Language;
  throw new ConfigError(
    `the extension of ${file} is of no known language; use --language with one of ${known.join(", ")}`,
  );
}
