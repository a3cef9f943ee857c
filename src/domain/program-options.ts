import { LIMIT_FIELD_NAMES, LIMIT_FIELDS, type LimitField, type Limits, type RequestedLimits } from "./limits.ts";
import type { WorkFile } from "./report.ts";

/**
 * Bounds of what a request adds to source and input: files, and words (arguments and environment variables). Bytes are those of the
 * decoded content, in UTF-8 for text.
 */
export const MAX_FILES = 48;
export const MAX_FILES_BYTES = 1_048_576;
export const MAX_WORDS = 32;
export const MAX_WORDS_BYTES = 16_384;
/** How often a submission can ask to run its program. */
export const MAX_RUNS = 20;

/** The most bytes of a path in UTF-8, which every path of Windows has, and of each of its names, as on Linux. */
export const MAX_PATH_BYTES = 1_024;
const MAX_NAME_BYTES = 255;
const MAX_NAMES = 8;

/**
 * A name in a path. Names are arguments of compilers, for which `-` begins an option and `@` the name of a file with options. Without the
 * characters that Windows forbids, every system can store a file that is downloaded, and no runtime takes a name for a URL, a pipe or a
 * pattern. Control characters, those that set the direction of text, and other invisible ones could make a name look like another one.
 * U+FFFD is in texts that were decoded wrongly.
 */
const FORBIDDEN = String.raw`[\p{DI}\u2800\/\\:*?"<>\|\uFFFD]`;
const FIRST = String.raw`[[\p{L}\p{N}\p{P}\p{S}]--${FORBIDDEN}--[\-.@]]`;
const LAST = String.raw`[[\p{L}\p{M}\p{N}\p{P}\p{S}]--${FORBIDDEN}]`;
const PLAIN_NAME = new RegExp(`^${FIRST}(?:[${LAST}\\p{Zs}]*${LAST})?$`, "v");

/** The rule for paths, for errors. */
export const PATH_RULE =
  `a path has up to ${MAX_NAMES} names, each of at most ${MAX_NAME_BYTES} bytes, and ${MAX_PATH_BYTES} bytes in all. A name has letters, digits, ` +
  'punctuation and symbols of any script except `\\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`';

/**
 * The path of a file below /box: its names, separated by `/`, in Unicode's normal form C, so that no two files of a program have names that
 * differ only in how accents are encoded. @returns null for a text that is no such path.
 */
export function toFilePath(text: string): string | null {
  if (text.length > MAX_PATH_BYTES) return null;
  const path = text.normalize("NFC");
  const names = path.split("/");
  const fits = Buffer.byteLength(path) <= MAX_PATH_BYTES && names.length <= MAX_NAMES;
  return fits && names.every((name) => Buffer.byteLength(name) <= MAX_NAME_BYTES && PLAIN_NAME.test(name))
    ? path
    : null;
}

export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** The most characters of an option of a compiler. */
const MAX_OPTION = 100;

/** The first compiler option that the language does not list; such an option could name a file, a plugin or a program. */
export function refusedOption(
  options: readonly string[],
  { compilerOptions = [] }: { readonly compilerOptions?: readonly string[] | undefined },
): string | undefined {
  const known = compilerOptions.map((expression) => new RegExp(`^(?:${expression})$`));
  return options.find((option) => option.length > MAX_OPTION || !known.some((one) => one.test(option)));
}

/** The standard streams by the names of the files that stand for them. */
export type StreamFiles = Readonly<Record<string, "stdin" | "stdout" | "stderr">>;

/** What a request adds to the source and the input of its program. */
export interface ProgramOptions {
  /** Files that are placed in /box with the source. Their names are paths. */
  readonly files: readonly WorkFile[];
  /** The path of the file that takes the place of the source; null: the source is `code`. */
  readonly entry: string | null;
  /** Arguments of the program. */
  readonly args: readonly string[];
  /** Environment variables of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Lower limits for the execute step. */
  readonly limits: RequestedLimits;
  /** Lower limits for the compile step; undefined if none is lower. */
  readonly compileLimits?: RequestedLimits;
  /** Options of the compiler, after those of the language. */
  readonly compilerOptions?: readonly string[];
  /** Names of files in /box that stand for standard streams of the program, such as input.txt. A test adds them for one run. */
  readonly streamFiles?: StreamFiles;
  /** Set if these files take the place of the streams: what the program reads from or writes to the streams themselves has no effect. */
  readonly streamFilesOnly?: true;
  /** Files of a test that are in /box when the program starts, but not when it is compiled. They replace those of the program. */
  readonly testFiles?: readonly WorkFile[];
  /** If true, what the program writes to stderr becomes part of its stdout. */
  readonly stderrToStdout?: boolean;
  /** How often the program runs: one run after the other, until one is not accepted. Undefined for once. */
  readonly runs?: number;
}

/** The value of a limit in the unit of the field. */
export function inField(limits: Limits, field: LimitField): number {
  const { limit, scale } = LIMIT_FIELDS[field];
  return limits[limit] / scale;
}

/**
 * The limits with the requested values; a value above the present limit has no effect. Verdicts depend on two relations, which the result
 * keeps: the CPU time is at most the wall time, and the stack is at most half of the memory, so that endless
 * recursion ends at the stack before it reaches the memory limit.
 */
export function lowered(limits: Limits, requested: RequestedLimits): Limits {
  const values = Object.entries(requested).map(([field, value]) => {
    const { limit, scale } = LIMIT_FIELDS[field as LimitField];
    return [limit, Math.min(Math.round(value * scale), limits[limit])];
  });
  const changed: Limits = { ...limits, ...Object.fromEntries(values) };
  return {
    ...changed,
    cpuMs: Math.min(changed.cpuMs, changed.wallMs),
    stackBytes: Math.min(changed.stackBytes, Math.floor(changed.memoryBytes / 2)),
  };
}

/** What a test adds if its program reads its input from a file, or writes its output to one. @param input empty: from standard input. */
export function throughFiles(input: string, output: string): { streamFiles?: StreamFiles; streamFilesOnly?: true } {
  const streamFiles = {
    ...(input !== "" && { [input]: "stdin" as const }),
    ...(output !== "" && { [output]: "stdout" as const }),
  };
  return Object.keys(streamFiles).length === 0 ? {} : { streamFiles, streamFilesOnly: true };
}

/** What a test adds to the options of a program. */
export interface TestAdditions {
  readonly args?: readonly string[] | undefined;
  readonly streamFiles?: StreamFiles | undefined;
  readonly streamFilesOnly?: true | undefined;
  readonly testFiles?: readonly WorkFile[] | undefined;
}

/** The options of a program with what a test adds. */
export function withAdditions(
  options: ProgramOptions | undefined,
  { args = [], streamFiles, streamFilesOnly, testFiles = [] }: TestAdditions,
): ProgramOptions | undefined {
  if (args.length === 0 && !streamFiles && testFiles.length === 0) return options;
  const own = options ?? { files: [], entry: null, args: [], env: {}, limits: {} };
  return {
    ...own,
    args: [...own.args, ...args],
    ...(streamFiles && { streamFiles }),
    ...(streamFilesOnly && { streamFilesOnly }),
    ...(testFiles.length > 0 && { testFiles }),
  };
}

/** JSON for the database and for the hash of a request. The fields always have this order. */
export function encodeProgramOptions({
  files,
  entry,
  args,
  env,
  limits,
  compileLimits,
  compilerOptions,
  stderrToStdout,
  runs,
}: ProgramOptions): string {
  const encoded = files.map(({ name, data }) => [name, data.toString("base64")]);
  return JSON.stringify({
    files: sorted(encoded),
    entry,
    args,
    env: sorted(Object.entries(env)),
    limits: byField(limits),
    // JSON omits undefined fields, so requests without these newer fields have the hash that they had in older releases.
    compileLimits: compileLimits && byField(compileLimits),
    compilerOptions,
    stderrToStdout,
    runs,
  });
}

export function decodeProgramOptions(text: string): ProgramOptions {
  const { files, env, ...rest } = JSON.parse(text) as Omit<ProgramOptions, "files" | "env"> & {
    readonly files: readonly [string, string][];
    readonly env: readonly [string, string][];
  };
  return {
    ...rest,
    files: files.map(([name, data]) => ({ name, data: Buffer.from(data, "base64") })),
    env: Object.fromEntries(env),
  };
}

function sorted<T extends readonly (string | undefined)[]>(entries: readonly T[]): T[] {
  return [...entries].sort(([a = ""], [b = ""]) => (a < b ? -1 : 1));
}

function byField(limits: RequestedLimits): RequestedLimits {
  return Object.fromEntries(
    LIMIT_FIELD_NAMES.filter((field) => field in limits).map((field) => [field, limits[field]]),
  );
}
