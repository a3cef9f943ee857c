import { z } from "zod";
import { clientError, echo } from "../../domain/error.ts";
import type { Language } from "../../domain/language.ts";
import {
  LIMIT_FIELD_NAMES,
  LIMIT_FIELDS,
  type LimitField,
  type Limits,
  type RequestedLimits,
  type StepLimits,
} from "../../domain/limits.ts";
import {
  inField,
  MAX_FILES,
  MAX_FILES_BYTES,
  MAX_WORDS,
  MAX_WORDS_BYTES,
  PATH_RULE,
  type ProgramOptions,
  refusedOption,
  toFilePath,
  VARIABLE_NAME,
} from "../../domain/program-options.ts";
import type { WorkFile } from "../../domain/report.ts";
import type { Program } from "../../domain/submission.ts";
import { named } from "../named-schemas.ts";

const word = z.string();
export const requestedLimits = named(
  "RunLimits",
  z
    .strictObject(
      Object.fromEntries(
        LIMIT_FIELD_NAMES.map((field) => [
          field,
          (LIMIT_FIELDS[field].scale === 1 ? z.int() : z.number()).min(LIMIT_FIELDS[field].least).optional(),
        ]),
      ) as Record<LimitField, z.ZodOptional<z.ZodNumber>>,
    )
    .describe(
      "Limits that replace those of the profile and are at most as high. `limits` holds for the run, `compile_limits` for the compiler",
    ),
);
/** Text, or bytes in base64. */
export const content = named("Content", z.union([z.string(), named("Base64", z.strictObject({ base64: z.string() }))]));

/** The optional fields of a program, other than its source and input. */
export const additionFields = {
  files: z
    .record(z.string(), content)
    .meta({
      description:
        `Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to ${MAX_FILES} files with ${MAX_FILES_BYTES} bytes ` +
        `in all. For C, C++, Go and Java, other source files, such as \`util.cpp\`, are compiled together with the program. ${PATH_RULE.replace("a path", "A path")}. ` +
        "Paths are normalized to Unicode's form NFC",
      examples: [{ "words.txt": "one\n", "data/table.bin": { base64: "AAEC" } }],
    })
    .optional(),
  entry: z.string().describe("Path of the file in `files` that is compiled and run instead of `code`").optional(),
  args: z
    .array(word)
    .describe(
      `Arguments of the program. There may be up to ${MAX_WORDS} arguments and ${MAX_WORDS} variables in \`env\`, together ${MAX_WORDS_BYTES} bytes`,
    )
    .optional(),
  env: z.record(z.string(), word).describe("Environment variables of the program").optional(),
  limits: requestedLimits.optional(),
  compile_limits: requestedLimits.optional(),
  compiler_options: z
    .array(word)
    .describe(
      "Options that are added to those of the compiler. Only options for optimisation, standard, warnings, strictness and macros are allowed",
    )
    .optional(),
  stderr_to_stdout: z.boolean().describe("Whether stderr is merged into stdout, in the order of the writes").optional(),
} as const;

type Fields = z.output<z.ZodObject<typeof additionFields>> & {
  /** How often the program runs. Only single submissions have this field. */
  readonly runs?: number | undefined;
};

interface Around {
  readonly hasCode: boolean;
  readonly language: Language;
  readonly limits: StepLimits;
}

/** @returns undefined if the request has none of these fields, or only empty ones. @throws ClientError for the first fault. */
export function toProgramOptions(fields: Fields, around: Around): ProgramOptions | undefined {
  const { files = {}, entry, args = [], env = {}, limits = {}, compile_limits: compileLimits = {} } = fields;
  const { compiler_options: options = [], stderr_to_stdout: stderrToStdout = false, runs = 1 } = fields;
  const parts = [files, args, env, limits, compileLimits, options];
  const isPlain = entry === undefined && !stderrToStdout && runs === 1;
  if (isPlain && parts.every((part) => Object.keys(part).length === 0)) return undefined;
  return {
    files: checkFiles(files, entry, around),
    entry: entry === undefined ? null : toFilePath(entry),
    args: checkWords("args", args, env),
    env,
    limits: checkLimits("limits", limits, around.limits.execute, around.language),
    ...(Object.keys(compileLimits).length > 0 && {
      compileLimits: checkLimits("compile_limits", compileLimits, around.limits.compile, around.language),
    }),
    ...(options.length > 0 && { compilerOptions: checkOptions(options, around) }),
    ...(stderrToStdout && { stderrToStdout }),
    ...(runs > 1 && { runs }),
  };
}

/** The fields with which a request would submit this program again. */
export function toFields({ code, stdin, options }: Program): Record<string, unknown> {
  const { files = [], entry, compileLimits, compilerOptions, stderrToStdout, ...rest } = options ?? {};
  const encoded = files.map(({ name, data }) => [name, { base64: data.toString("base64") }]);
  return {
    ...(entry === null || entry === undefined ? { code_base64: code.toString("base64") } : { entry }),
    stdin_base64: stdin.toString("base64"),
    ...(files.length > 0 && { files: Object.fromEntries(encoded) }),
    ...rest,
    ...(compileLimits && { compile_limits: compileLimits }),
    ...(compilerOptions && { compiler_options: compilerOptions }),
    ...(stderrToStdout && { stderr_to_stdout: true }),
  };
}

function checkFiles(
  files: NonNullable<Fields["files"]>,
  entry: string | undefined,
  { hasCode, language }: Around,
): WorkFile[] {
  const paths = Object.keys(files);
  if (paths.length > MAX_FILES) throw invalid("files", `more than ${MAX_FILES} files`);
  if (Object.values(files).reduce((sum, content) => sum + leastBytes(content), 0) > MAX_FILES_BYTES)
    throw invalid("files", `more than ${MAX_FILES_BYTES} bytes`);
  const decoded = paths.map((path) => decodeFile(path, files[path] ?? ""));
  if (decoded.reduce((sum, { data }) => sum + data.length, 0) > MAX_FILES_BYTES)
    throw invalid("files", `more than ${MAX_FILES_BYTES} bytes`);
  if (entry !== undefined && hasCode) throw invalid("entry", "code is given as well");
  const names = decoded.map(({ name }) => name);
  const main = entry === undefined ? language.source : toFilePath(entry);
  if (entry !== undefined && !names.some((name) => name === main))
    throw invalid("entry", `${echo(entry)} is not one of the files`);
  const all = entry === undefined ? [...names, language.source] : names;
  for (const [at, path] of all.entries())
    for (const other of all.slice(at + 1)) {
      if (path === other)
        throw invalid("files", `${echo(path)} has the place of ${path === main ? "the source" : "another file"}`);
      const [above, below] = path.length < other.length ? [path, other] : [other, path];
      if (below.startsWith(`${above}/`)) throw invalid("files", `${echo(above)} has the place of ${echo(below)}`);
    }
  return decoded;
}

function decodeFile(path: string, content: Content): WorkFile {
  const field = `files.${echo(path)}`;
  const name = toFilePath(path);
  if (name === null) throw invalid(field, PATH_RULE);
  return { name, data: decodeContent(field, content) };
}

type Content = string | { readonly base64: string };

/** A lower bound for the size of a content in bytes. It needs no decoding, which takes 262 ms for 60 MB of base64. */
export function leastBytes(content: Content): number {
  return typeof content === "string" ? content.length : Math.floor((content.base64.length * 3) / 4) - 2;
}

/** The bytes of a content. The caller must bound leastBytes() of it first. */
export function decodeContent(field: string, content: Content): Buffer {
  if (typeof content === "object") return decodeBase64(`${field}.base64`, content.base64);
  if (!content.isWellFormed()) throw clientError("notUnicode", [field]);
  return Buffer.from(content, "utf8");
}

/** Checks the arguments together with the environment, because the kernel counts both. @returns the arguments. */
function checkWords(field: string, args: readonly string[], env: Readonly<Record<string, string>>): readonly string[] {
  const variables = Object.entries(env);
  if (args.length > MAX_WORDS) throw invalid(field, `more than ${MAX_WORDS} arguments`);
  if (variables.length > MAX_WORDS) throw invalid("env", `more than ${MAX_WORDS} variables`);
  for (const [name] of variables)
    if (!VARIABLE_NAME.test(name)) throw invalid("env", `${echo(name)} is not the name of a variable`);
  const words = [...args, ...variables.flat()];
  for (const text of words) {
    if (text.includes("\0")) throw invalid(args.includes(text) ? field : "env", "contains U+0000");
    if (!text.isWellFormed()) throw clientError("notUnicode", [args.includes(text) ? field : "env"]);
  }
  if (words.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0) > MAX_WORDS_BYTES)
    throw invalid(field, `with env more than ${MAX_WORDS_BYTES} bytes`);
  return args;
}

function checkLimits(
  field: "limits" | "compile_limits",
  requested: NonNullable<Fields["limits"]>,
  limits: Limits | undefined,
  language: Language,
): RequestedLimits {
  if (!limits) throw invalid(field, `${language.name} has no compile step`);
  for (const [name, value] of Object.entries(requested)) {
    const most = inField(limits, name as LimitField);
    if (value !== undefined && value > most)
      throw invalid(`${field}.${name}`, `at most ${most} for ${language.name} in this profile`);
  }
  return Object.fromEntries(Object.entries(requested).filter(([, value]) => value !== undefined));
}

/** Rejects options that the language does not list, because an option could name a file, a plugin or a program. */
function checkOptions(options: readonly string[], { language }: Around): readonly string[] {
  const { compilerOptions: allowed } = language;
  if (!allowed) throw invalid("compiler_options", `are not possible for ${language.name}`);
  if (options.length > MAX_WORDS) throw invalid("compiler_options", `more than ${MAX_WORDS} options`);
  const other = refusedOption(options, language);
  if (other !== undefined) throw invalid("compiler_options", `${echo(other)} is not allowed for ${language.name}`);
  return options;
}

/** Decodes base64. Unlike Node, it rejects characters outside of the alphabet, and missing padding. */
export function decodeBase64(field: string, text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw invalid(field, "is not base64");
  return bytes;
}

function invalid(field: string, reason: string) {
  return clientError("invalidRequest", [field, reason]);
}
