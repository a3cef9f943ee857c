import { readFileSync } from "node:fs";
import { basename, extname } from "node:path";
import type { CheckerSpec, ProgramChecker } from "../domain/check.ts";
import { exclude, faultOfHarness, type Harness, type HarnessPart } from "../domain/harness.ts";
import type { Language } from "../domain/language.ts";
import { LIMIT_FIELDS, type RequestedLimits } from "../domain/limits.ts";
import { MAX_WORDS, refusedOption, toFilePath } from "../domain/program-options.ts";
import type { Program } from "../domain/submission.ts";
import { type Languages, listed } from "../languages/load.ts";
import { FILES } from "../worker/checker-interfaces.ts";
import { fileOf, type LazyFile, type PackageError, type PackageFiles, renamed } from "./files.ts";
import { toProgram } from "./source.ts";

/** The programs of packages of DMOJ, in our own concepts: checkers, interactors, graders, generators, and what is added to submissions. */

/** Makes an error whose place is the part of init.yml that names the program. */
export type Fail = (message: string) => PackageError;

export interface FoundProgram {
  readonly language: Language;
  readonly program: Program;
}

/** Our names of languages by those of DMOJ without the version at the end. */
const LANGUAGES: Readonly<Record<string, string>> = {
  PY: "python",
  PYPY: "pypy",
  CPP: "cpp",
  CLPP: "cpp",
  CLANG: "c",
  CLANGX: "cpp",
  PAS: "pascal",
  MONOCS: "csharp",
  RKT: "racket",
  NODEJS: "javascript",
  TS: "typescript",
};

/** The language of DMOJ's name, such as CPP17 or PY3. */
function languageOf(name: string, languages: Languages): Language | undefined {
  const version = name.replace(/\d+$/, "");
  const key = [name, version].find((one) => Object.hasOwn(LANGUAGES, one));
  const ours = key === undefined ? version.toLowerCase() : LANGUAGES[key];
  return ours === undefined ? undefined : languages.resolve(ours);
}

/**
 * Whether a program for Python 2 can run with Python 3: it says so by this import, without which it cannot print in the same way. Others
 * could end without an error and mean something else.
 */
function isForBothPythons(source: Buffer): boolean {
  return /^from __future__ import [^\n]{0,200}\bprint_function\b/m.test(source.toString("latin1"));
}

const PYTHON_2 = /^(PY2|PYPY|PYPY2)$/;

/** DMOJ takes C++ if any of the files is C++, and otherwise C if any is C. Other programs have only one file. */
const BY_ENDING: readonly (readonly [endings: readonly string[], language: string])[] = [
  [[".cpp", ".cc"], "cpp"],
  [[".c"], "c"],
];

export interface ProgramParts {
  readonly names: readonly string[];
  readonly lang?: string | undefined;
  readonly flags?: readonly string[] | undefined;
  readonly timeLimitSecs?: number | undefined;
  readonly memoryKib?: number | undefined;
  /** Whether its standard output has no buffer, so that it need not flush it. */
  readonly unbuffered?: boolean;
}

/** A program of the package. @throws PackageError for a missing file, an unknown language, or an option that is not permitted. */
export function readProgram(files: PackageFiles, parts: ProgramParts, languages: Languages, fail: Fail): FoundProgram {
  const { names, lang, flags = [], timeLimitSecs, memoryKib, unbuffered = false } = parts;
  const missing = names.find((name) => !files.has(name));
  if (missing !== undefined) throw fail(`${missing} is not in the package`);
  if (names.length === 0) throw fail("names no file");
  const endings = names.map((name) => extname(name));
  const [, byEnding] = BY_ENDING.find(([some]) => endings.some((ending) => some.includes(ending))) ?? [];
  const isPython2 = lang === undefined ? endings[0] === ".py2" : PYTHON_2.test(lang);
  const named = isPython2 ? "python" : lang === undefined ? byEnding : languageOf(lang, languages)?.name;
  if (lang !== undefined && named === undefined) throw fail(`${lang} is no installed language`);
  // DMOJ puts all files into one directory.
  const sources = renamed(files, new Map(names.map((name) => [basename(name), name])));
  if (sources.size < names.length) throw fail("two files have the same name");
  const found = toProgram({ path: names[0] ?? "", files: sources }, languages, named ? { language: named } : {});
  if (!found) throw fail(`${names[0]} is in no installed language`);
  const { language, program } = found;
  if (isPython2 && !program.options?.files.every(({ data }) => isForBothPythons(data)))
    throw fail(
      `${names[0]} is for Python 2, and does not import print_function, by which it would also be for Python 3`,
    );
  const refused = flags.length > MAX_WORDS ? "so many" : refusedOption(flags, language);
  if (refused !== undefined) throw fail(`flags: ${refused} is not allowed for ${language.name}`);
  const limits = {
    ...atLeast("cpu_time_secs", timeLimitSecs),
    ...atLeast("memory_bytes", memoryKib && memoryKib * 1_024),
  };
  const { files: own = [], entry = null } = program.options ?? {};
  const added = unbuffered ? (UNBUFFERED[extname(language.source)] ?? NOTHING_ADDED) : NOTHING_ADDED;
  const options = {
    ...{ files: [...own, ...added.files], entry, args: [], env: added.env, limits },
    ...(flags.length > 0 && { compilerOptions: flags }),
  };
  return { language, program: { ...program, options } };
}

/** A limit of the package. One below the least that a step can have is raised to it; one above that of the profile has no effect. */
function atLeast(field: keyof RequestedLimits, value: number | undefined): RequestedLimits {
  return value === undefined ? {} : { [field]: Math.max(value, LIMIT_FIELDS[field].least) };
}

const NOTHING_ADDED: HarnessPart = { files: [], prefix: "", env: {} };

/**
 * What makes the standard output of a program unbuffered, by the ending of its source file. Programs in other languages flush it
 * themselves. Like on DMOJ, a C++ program that separates its streams from those of C has a buffer nevertheless.
 */
const UNBUFFERED: Harness = Object.fromEntries([
  ...[".c", ".cpp"].map((ending) => {
    const source = `#include <stdio.h>
__attribute__((constructor)) static void remove_buffer(void) { setvbuf(stdout, NULL, _IONBF, 0); }
`;
    return [ending, { ...NOTHING_ADDED, files: [{ name: `unbuffered-output${ending}`, data: Buffer.from(source) }] }];
  }),
  [".py", { ...NOTHING_ADDED, env: { PYTHONUNBUFFERED: "1" } }],
]);

export interface Signature {
  readonly entry: LazyFile;
  readonly header: { readonly name: string; readonly file: LazyFile };
  readonly mayHaveMain: boolean;
}

/** What is added to submissions; null if nothing is. @throws PackageError for a header whose name cannot be used. */
export function harnessOf(
  { signature, unbuffered }: { readonly signature: Signature | null; readonly unbuffered: boolean },
  languages: Languages,
  fail: Fail,
): Harness | null {
  if (!signature) return unbuffered ? UNBUFFERED : null;
  const { entry, header, mayHaveMain } = signature;
  const define = "#define SIGNATURE_GRADER 1\n";
  const main = mayHaveMain ? "" : "#define main main_of_submission\n";
  const prefix = `${define}#include "${header.name}"\n${main}#line 1\n`;
  const isTaken = (name: string) => listed(languages).some(({ source }) => exclude(source, name));
  const parts = [".c", ".cpp"].map((ending) => {
    const { files, env } = (unbuffered && UNBUFFERED[ending]) || NOTHING_ADDED;
    const own = [
      { name: header.name, data: header.file.read() },
      { name: `signature-grader${ending}`, data: Buffer.concat([Buffer.from(`${define}#line 1\n`), entry.read()]) },
    ];
    if (
      toFilePath(header.name) !== header.name ||
      isTaken(header.name) ||
      own.some(({ name }, at) => at > 0 && exclude(name, header.name))
    )
      throw fail(`${header.name} is no possible name of a header`);
    return [ending, { files: [...own, ...files], prefix, env }] as const;
  });
  const harness = Object.fromEntries(parts);
  const fault = faultOfHarness(harness);
  if (fault !== null) throw fail(fault);
  return harness;
}

/** A kind of programs that DMOJ calls its contrib modules. */
interface Kind {
  readonly interface: ProgramChecker["interface"];
  /** The arguments of an interactor; null if the kind has none. */
  readonly ofInteractor: readonly string[] | null;
}

const KINDS: Readonly<Record<string, Kind>> = {
  default: { interface: "dmoj", ofInteractor: [FILES.input, FILES.answer] },
  testlib: { interface: "dmoj-testlib", ofInteractor: [FILES.input, FILES.output, FILES.answer] },
  coci: { interface: "dmoj-coci", ofInteractor: [FILES.input, FILES.answer] },
  peg: { interface: "dmoj-peg", ofInteractor: null },
};

export interface Bridge {
  readonly type: string;
  readonly format: string | undefined;
  readonly interactive: boolean;
  readonly feedback: boolean;
}

/** How a checker or an interactor that is a program is called. */
export function bridgeSpec(
  { language }: FoundProgram,
  { type, format, interactive, feedback }: Bridge,
  fail: Fail,
): ProgramChecker {
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (!kind) throw fail(`type: ${type} is none of ${Object.keys(KINDS).join(", ")}`);
  const own = format === undefined ? (interactive ? kind.ofInteractor : undefined) : formatted(format, fail);
  if (own === null) throw fail(`type: ${type} has no interactors`);
  // Without feedback, DMOJ does not read the points that this type writes there.
  const called = type === "peg" && !feedback ? "dmoj" : kind.interface;
  const args = own ?? (called === kind.interface ? undefined : [FILES.answer, FILES.output, FILES.input]);
  return {
    ...{ type: "program", interface: called, language: language.name, args: args ?? [] },
    ...(args && { hasOwnArgs: true }),
    ...(interactive && { interactive }),
    ...(!feedback && { isSilent: true }),
  };
}

/** The files that can stand in a format of arguments. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  input_file: FILES.input,
  output_file: FILES.output,
  answer_file: FILES.answer,
};

/** The arguments of a format: words as in a shell, with placeholders for the files. */
function formatted(format: string, fail: Fail): string[] {
  const text = format.replace(/\{\{|\}\}|\{[^{}]*\}|[{}]/g, (found) => {
    if (found === "{{" || found === "}}") return found.slice(1);
    const name = found.slice(1, -1);
    if (!Object.hasOwn(PLACEHOLDERS, name)) throw fail(`args_format_string: ${found} is not supported`);
    return PLACEHOLDERS[name] ?? "";
  });
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === "\\" && quote !== "'" && (quote === "" || /["\\]/.test(text[at + 1] ?? "")))
      word = (word ?? "") + (text[++at] ?? "");
    else if (char === quote) quote = "";
    else if (quote === "" && /["']/.test(char)) [quote, word] = [char, word ?? ""];
    else if (quote === "" && /\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (quote !== "") throw fail("args_format_string: a quotation mark is not closed");
  return word === null ? words : [...words, word];
}

/** Our modules, which offer checkers and graders in Python what they import, and the file that runs them. */
const MODULES = [
  "main.py",
  ...["__init__", "checkers", "error", "graders", "result", "utils"].map((name) => `dmoj/${name}.py`),
];
const MODULE_DIRECTORY = new URL("./dmoj-python/", import.meta.url);

/** Checkers of DMOJ that no comparison of ours equals. Our modules have them, and the others for programs that import them. */
export const MODULE_CHECKERS = ["easy", "linecount", "linematches", "rstripped", "sorted", "unordered"];
const COMPARISONS = ["standard", "identical", "floats", "floatsabs", "floatsrel"];
/** The module checkers that decide about failed runs. */
const CHECK_FAILURES = ["linecount"];

/** A checker that Python can call; null if it is none, such as a program in another language. */
export function pythonChecker(name: string, args: unknown): PythonChecker | null {
  if (name.includes(".")) return { what: { file: name }, args };
  return [...MODULE_CHECKERS, ...COMPARISONS].includes(name) ? { what: { name }, args } : null;
}

/** The program of all checkers and graders in Python of a package. @param names their files in the package. */
export function pythonProgram(
  files: PackageFiles,
  names: readonly string[],
  languages: Languages,
  fail: Fail,
): FoundProgram {
  const language = languages.resolve("python");
  if (!language) throw fail("python is no installed language");
  const modules = MODULES.map((name) => ({ name, data: readFileSync(new URL(name, MODULE_DIRECTORY)) }));
  const own = names.map((name) => {
    if (toFilePath(inProgram(name)) !== inProgram(name)) throw fail(`${name} is no valid name of a file`);
    const file = fileOf(files, name);
    if (!file) throw fail(`${name} is not in the package`);
    if (file.size > MAX_PYTHON_BYTES) throw fail(`${name} has more than ${MAX_PYTHON_BYTES} bytes`);
    return { name: inProgram(name), data: file.read() };
  });
  const options = { files: [...modules, ...own], entry: "main.py", args: [], env: {}, limits: {} };
  return { language, program: { code: Buffer.alloc(0), stdin: Buffer.alloc(0), options } };
}

const MAX_PYTHON_BYTES = 262_144;

function inProgram(name: string): string {
  return `package/${name}`;
}

/** A checker in Python: a file of the package, or the name of one of the module checkers. */
export interface PythonChecker {
  readonly what: { readonly file: string } | { readonly name: string };
  readonly args: unknown;
}

/** What main.py calls for a test: a grader, or a checker if there is none. */
export interface PythonCall {
  /** A grader that does not decide by itself calls the checker. */
  readonly checker: PythonChecker;
  readonly grader: { readonly file: string; readonly isInteractive: boolean } | null;
  readonly points: number;
  readonly position: number;
  readonly batch: number;
  readonly binary: boolean;
  readonly problem: string;
}

export function pythonSpec({ checker: { what, args }, grader, ...about }: PythonCall): CheckerSpec {
  const checker = { args, ...("file" in what ? { file: inProgram(what.file) } : what) };
  const call = grader ? { call: "grader", file: inProgram(grader.file) } : { call: "checker" };
  const interactive = grader?.isInteractive === true;
  // Whether a checker in a file decides about failed runs is known when it is loaded (`run_on_error`).
  const checksFailures = grader ? !interactive : "file" in what || CHECK_FAILURES.includes(what.name);
  return {
    ...{ type: "program", interface: "kattis-partial", language: "python", readsRun: true },
    args: [JSON.stringify({ ...about, ...call, checker, interactor: interactive })],
    ...(interactive && { interactive }),
    ...(checksFailures && { checksFailures }),
  };
}

/** The methods of graders that run the submission themselves, which only the platform does here. */
const REFUSED_METHOD =
  /^[ \t]+(?:async[ \t]+)?def[ \t]+(grade|populate_result|abort_grading|_generate_binary|_launch_process)[ \t]*\(/m;
/** With this method, also other graders talk with the submission. */
const TALKS = /^[ \t]+def[ \t]+_interact_with_process[ \t]*\(/m;

/**
 * Whether a grader in Python talks with the submission while it runs; otherwise, it decides afterwards. The source is searched as text,
 * and main.py refuses what is not found here. @throws PackageError for a grader that is neither.
 */
export function isInteractiveGrader(source: string, fail: Fail): boolean {
  const [, method] = REFUSED_METHOD.exec(source) ?? [];
  if (method !== undefined) throw fail(`a grader with a method ${method} is not supported`);
  const [, base = ""] = /^class[ \t]+Grader[ \t]*\(([^)\n]{0,200})\)/m.exec(source) ?? [];
  const name = base.trim().split(".").at(-1);
  if (name === "InteractiveGrader") return true;
  if (name === "StandardGrader") return TALKS.test(source);
  throw fail("the class Grader must be a subclass of InteractiveGrader or StandardGrader");
}
