import { clientError, echo } from "../../domain/error.ts";
import type { Language } from "../../domain/language.ts";
import { LIMIT_FIELDS, type Limits } from "../../domain/limits.ts";
import { MAX_FILES_BYTES, PATH_RULE, toFilePath } from "../../domain/program-options.ts";
import { type Caller, MAX_CODE_BYTES, MAX_FOREIGN_INPUT_BYTES } from "../../domain/submission.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { findRuntime, type Runtime } from "./runtimes.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A program as Piston's clients send it. */
export interface PistonProgram {
  readonly runtime: Runtime;
  readonly language: Language;
  /** The fields of POST /api/submit that submit this program, without its input. */
  readonly fields: Fields;
  readonly stdin: Buffer;
}

/** Piston's fields for limits, each with our step and field. In Piston's fields, times are in milliseconds and memory in bytes. */
const LIMITS = [
  ["compile_memory_limit", "compile", "memory_bytes"],
  ["run_memory_limit", "execute", "memory_bytes"],
  ["compile_timeout", "compile", "wall_time_secs"],
  ["run_timeout", "execute", "wall_time_secs"],
  ["compile_cpu_time", "compile", "cpu_time_secs"],
  ["run_cpu_time", "execute", "cpu_time_secs"],
] as const;

/** Piston's value for a memory limit that is not lower than that of the service. */
const SERVICE_LIMIT = -1;

/**
 * Makes Piston's checks in Piston's order, then checks the fields that Piston does not check. The caller then makes the checks of
 * POST /api/submit. As in Piston, unknown fields have no effect.
 * @throws ClientError for the first fault.
 */
export function readProgram(
  body: unknown,
  caller: Caller,
  dependencies: Pick<Dependencies, "workers" | "languages">,
): PistonProgram {
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw clientError("bodyNotObject", []);
  const given = body as Fields;
  const name = required(given, "language");
  const selector = required(given, "version");
  const files = readFiles(given.files);
  const { runtime, language } = findRuntime(name, selector, dependencies);
  const limits = readLimits(given, language, dependencies.languages.limitsFor(language, caller.defaultProfile));
  const { stdin = "", args = [] } = withoutNulls(given);
  if (typeof stdin !== "string") throw invalid("stdin must be a string");
  if (stdin.length > MAX_FOREIGN_INPUT_BYTES)
    throw clientError("stdinTooLarge", [stdin.length, MAX_FOREIGN_INPUT_BYTES]);
  if (!stdin.isWellFormed()) throw clientError("notUnicode", ["stdin"]);
  if (!Array.isArray(args) || args.some((one) => typeof one !== "string"))
    throw invalid("args must be an array of strings");
  // Piston ends every input with a line break.
  const lines = stdin.endsWith("\n") ? stdin : `${stdin}\n`;
  return {
    runtime,
    language,
    fields: {
      language: language.name,
      ...place(files, language),
      args,
      ...limits,
      compiler_options: language.lenientOptions ?? [],
    },
    stdin: Buffer.from(lines),
  };
}

interface File {
  /** Undefined if the file has no name. */
  readonly name: string | undefined;
  readonly content: string | { readonly base64: string };
}

function readFiles(files: unknown): File[] {
  if (!Array.isArray(files)) throw invalid("files is required and must be an array");
  return files.map((file: unknown, at) => {
    const { name, content, encoding = "utf8" } = withoutNulls(file);
    const where = `files[${at}]`;
    if (typeof content !== "string") throw invalid(`${where}.content is required and must be a string`);
    // No encoding has more than two characters for a byte.
    if (content.length > 2 * MAX_FILES_BYTES) throw invalid(`${where}.content has more than ${MAX_FILES_BYTES} bytes`);
    if (name !== undefined && typeof name !== "string") throw invalid(`${where}.name must be a string`);
    const path = name ? toFilePath(name) : undefined;
    if (path === null) throw invalid(`${where}.name is not possible: ${echo(name as string)}: ${PATH_RULE}`);
    if (encoding === "utf8") return { name: path, content };
    if (encoding === "base64") return { name: path, content: { base64: content } };
    if (encoding !== "hex") throw invalid(`${where}.encoding must be utf8, base64 or hex`);
    const bytes = Buffer.from(content, "hex");
    if (bytes.length * 2 !== content.length) throw invalid(`${where}.content is not hex`);
    return { name: path, content: { base64: bytes.toString("base64") } };
  });
}

/**
 * Returns the fields for the files. The first file in `utf8` is the program. It keeps its name if the language can run it by that name;
 * otherwise it gets the name of the language's source. Other files without a name get the name that Piston gives them, such as
 * `file1.code`.
 */
function place(files: readonly File[], { source, sources = [], compile }: Language): Fields {
  const at = files.findIndex(({ content }) => typeof content === "string");
  const main = files[at];
  if (!main) throw invalid("files must have at least one file in utf8");
  const suffixes = [source.slice(source.lastIndexOf(".")), ...sources];
  const isKept = main.name !== undefined && (!compile || suffixes.some((suffix) => main.name?.endsWith(suffix)));
  const entry = isKept && main.name !== undefined ? main.name : source;
  const placed = new Map<string, File["content"]>();
  for (const [i, { name = `file${i}.code`, content }] of files.entries()) {
    const path = i === at ? entry : name;
    if (placed.has(path)) throw invalid(`files[${i}].name: another file is ${echo(path)}`);
    placed.set(path, content);
  }
  const code = placed.get(entry);
  // A program in `code` instead of a file can run in a parked runtime, which is faster.
  if (entry !== source || typeof code !== "string" || code === "" || Buffer.byteLength(code) > MAX_CODE_BYTES)
    return { entry, files: Object.fromEntries(placed) };
  placed.delete(entry);
  return { code, files: Object.fromEntries(placed) };
}

function readLimits(
  given: Fields,
  language: Language,
  steps: { readonly compile?: Limits; readonly execute: Limits },
): Fields {
  const lower = { compile: {} as Record<string, number>, execute: {} as Record<string, number> };
  for (const [name, step, field] of LIMITS) {
    const { [name]: value } = withoutNulls(given);
    const { limit, scale, least } = LIMIT_FIELDS[field];
    // In Piston, 0 means that the request sets no limit.
    if (value === undefined || value === 0 || (value === SERVICE_LIMIT && field === "memory_bytes")) continue;
    if (typeof value !== "number") throw invalid(`${name} must be a number`);
    const most = steps[step]?.[limit];
    if (value < least * scale) throw invalid(`${name} must be at least ${least * scale}`);
    if (most === undefined) continue; // there is no compile step to limit
    if (value > most) throw invalid(`${name} must be at most ${most} for ${language.name}`);
    lower[step][field] = scale === 1 ? Math.floor(value) : value / scale;
  }
  return { limits: lower.execute, compile_limits: lower.compile };
}

function required(given: Fields, name: string): string {
  const { [name]: value } = given;
  if (typeof value !== "string" || value === "") throw invalid(`${name} is required and must be a string`);
  return value;
}

/** The members of an object that are not null. Clients in typed languages send null for members that are not set. */
function withoutNulls(value: unknown): Fields {
  const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(members.filter(([, member]) => member !== null));
}

function invalid(text: string): Error {
  return clientError("foreignRequest", [text]);
}
