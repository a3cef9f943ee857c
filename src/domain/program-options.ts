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

/**
 * A path below /box: at most eight names of letters, digits and `. _ - + $`. A name does not begin with a dot, and not with `-`,
 * because a compiler gets some paths as arguments.
 */
export const FILE_PATH = /^(?=.{1,200}$)[A-Za-z0-9_+$][A-Za-z0-9._+$-]*(\/[A-Za-z0-9_+$][A-Za-z0-9._+$-]*){0,7}$/;
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

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

/** The options of a program for one run, with additional arguments and limits. Of two values for a limit, the lower one holds. */
export function forRun(
  options: ProgramOptions | undefined,
  { args = [], limits }: { readonly args?: readonly string[] | undefined; readonly limits: RequestedLimits },
): ProgramOptions | undefined {
  if (args.length === 0 && Object.keys(limits).length === 0) return options;
  const own = options ?? { files: [], entry: null, args: [], env: {}, limits: {} };
  const lower = Object.entries(limits).map(([field, value]) => [
    field,
    Math.min(value, own.limits[field as LimitField] ?? value),
  ]);
  return { ...own, args: [...own.args, ...args], limits: { ...own.limits, ...Object.fromEntries(lower) } };
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
