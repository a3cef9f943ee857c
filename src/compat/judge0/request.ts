import { echo } from "../../domain/error.ts";
import type { Language } from "../../domain/language.ts";
import { MAX_FILES, MAX_FILES_BYTES, PATH_RULE, toFilePath } from "../../domain/program-options.ts";
import { type Caller, MAX_CODE_BYTES, MAX_FOREIGN_INPUT_BYTES } from "../../domain/submission.ts";
import { toSubmitRequest, unproven, type ValidatedRequest } from "../../http/api/submit-request.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { PackageError } from "../../problems/files.ts";
import { filesFromZip } from "../../problems/zip.ts";
import { callbackOf } from "./callback.ts";
import { SCRIPTS } from "./conventions.ts";
import { asFieldErrors, Faults, FieldErrors } from "./field-errors.ts";
import { byNumber, MULTI_FILE, numbered } from "./numbers.ts";
import { numberOf, settingsOf } from "./settings.ts";
import type { Judge0Request } from "./submission.ts";
import { UnclosedQuoteError, wordsOf } from "./words.ts";

/** The most characters of `compiler_options` and of `command_line_arguments`. */
const MAX_LINE = 512;
/** The most entries of an archive; directories are entries, too. */
const MAX_ENTRIES = 4 * MAX_FILES;
/** The most bytes of an archive: those of its files, and 128 KiB for names and headers. */
const MAX_ARCHIVE_BYTES = MAX_FILES_BYTES + 131_072;

const NOTHING = Buffer.alloc(0);

type Known = Pick<Dependencies, "languages" | "workers" | "store">;
type Fields = Readonly<Record<string, unknown>>;

/** A request of a Judge0 client. */
export interface Translated {
  /** The request as one of our own API. */
  readonly valid: ValidatedRequest;
  /** What our own API does not have; it is stored with the submission. */
  readonly judge0: Judge0Request;
  /** The size of program, input and expected output. */
  readonly bytes: number;
}

/**
 * Translates parsed JSON, or the fields of a form, into a submission. As in Judge0, unknown fields are ignored.
 * @param base64 whether the client sent texts in base64. @throws FieldErrors for faults of fields, and ClientError for other errors.
 */
export async function translate(body: unknown, caller: Caller, base64: boolean, known: Known): Promise<Translated> {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new FieldErrors({ language_id: ["can't be blank"] });
  const fields = body as Fields;
  const faults = new Faults();
  const languageId = numberOf(fields, "language_id", faults);
  if (languageId === null && !faults.has("language_id")) faults.add("language_id", "can't be blank");
  // Before the first smoke test has passed, no number is known.
  if (known.workers.languages().length === 0) throw unproven();
  const language = byNumber(known, languageId ?? 0);
  if (languageId !== null && !language) faults.add("language_id", `language with id ${languageId} doesn't exist`);
  if (!language || languageId === null) {
    faults.check();
    throw new Error("a language is missing without a fault");
  }
  const { execute } = known.languages.limitsFor(language, caller.defaultProfile);
  const { settings, limits } = settingsOf(fields, execute, faults);
  const bytes = (name: string, most: number) => bytesOf(fields, name, { base64, most }, faults);
  const code = bytes("source_code", MAX_FILES_BYTES);
  const [stdin, expectedOutput] = [
    bytes("stdin", MAX_FOREIGN_INPUT_BYTES),
    bytes("expected_output", MAX_FOREIGN_INPUT_BYTES),
  ];
  const compilerOptions = lineOf(fields, "compiler_options", faults);
  const args = lineOf(fields, "command_line_arguments", faults);
  checkOptions(compilerOptions, language, known, faults);
  const archive = { base64: true, most: MAX_ARCHIVE_BYTES };
  const additionalFiles = bytesOf(fields, "additional_files", archive, faults);
  const files = await filesOf(additionalFiles, faults);
  const script = checkSource({ language, code, files, additionalFiles }, faults);
  const longSource = code && code.length > MAX_CODE_BYTES ? language.source : null;
  if (longSource !== null && files.has(longSource))
    faults.add("additional_files", `${echo(longSource)} has the place of the source`);
  const callback = await callbackOf(fields.callback_url, caller, known.store, faults);
  faults.check();
  const program = {
    language: language.name,
    ...((script ?? longSource) === null ? { code_base64: code?.toString("base64") } : { entry: script ?? longSource }),
    files: Object.fromEntries([
      ...[...files].map(([path, data]) => [path, { base64: data.toString("base64") }]),
      // A source that is longer than `code` may be is one of the files.
      ...(longSource === null ? [] : [[longSource, { base64: code?.toString("base64") }]]),
    ]),
    args: args?.words ?? [],
    limits,
    compiler_options: [...(language.lenientOptions ?? []), ...(compilerOptions?.words ?? [])],
    stderr_to_stdout: settings.redirect_stderr_to_stdout,
    runs: settings.number_of_runs,
  };
  try {
    const valid = toSubmitRequest(program, caller, known, { input: stdin ?? NOTHING });
    const lines = { compiler_options: compilerOptions?.text ?? null, command_line_arguments: args?.text ?? null };
    const judge0 = { languageId, settings: { ...settings, ...lines }, expectedOutput, additionalFiles, callback };
    const contents = [code, stdin, expectedOutput, ...files.values()];
    return { valid, judge0, bytes: contents.reduce((sum, one) => sum + (one?.length ?? 0), 0) };
  } catch (error) {
    throw asFieldErrors(error);
  }
}

/** The value of a field for texts. Judge0 takes a number as well, and many clients send one as input or as expected output. */
function textIn(fields: Fields, name: string): unknown {
  const value = fields[name];
  return typeof value === "number" && Number.isFinite(value) ? String(value) : value;
}

/** A text in base64 has at most so many characters for each of its bytes, with white space. */
const MOST_CHARACTERS = 2;

/** The bytes of a text, which are at most `most`; null if the field is absent or has a fault. A longer text is not decoded. */
function bytesOf(
  fields: Fields,
  name: string,
  { base64, most }: { readonly base64: boolean; readonly most: number },
  faults: Faults,
): Buffer | null {
  const value = textIn(fields, name) ?? null;
  if (value === null) return null;
  const fault = (text: string) => {
    faults.add(name, text);
    return null;
  };
  if (typeof value !== "string") return fault("is not a text");
  const tooLong = `is too long (maximum is ${most} bytes)`;
  if (value.length > (base64 ? MOST_CHARACTERS * most : most)) return fault(tooLong);
  if (!base64 && !value.isWellFormed()) return fault("has half of a surrogate pair");
  const bytes = base64 ? decodeBase64(value) : Buffer.from(value, "utf8");
  if (!bytes) return fault("is not base64");
  return bytes.length > most ? fault(tooLong) : bytes;
}

/**
 * Decodes base64 like Ruby's decoder, which ignores white space, because Ruby's encoder writes line feeds. White space is left out byte
 * by byte: replacing every second character of a text of 4 MiB would occupy the event loop for 0.2 s. Node's decoder ignores characters
 * that are not base64, so the result is encoded again and compared.
 * @returns null for a text that is not base64.
 */
export function decodeBase64(value: string): Buffer | null {
  const text = withoutSpace(value).replace(/={1,2}$/, "");
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64").replace(/={1,2}$/, "") === text ? bytes : null;
}

const SPACES = [" ", "\n", "\r", "\t", "\v", "\f"];

function withoutSpace(value: string): string {
  if (!SPACES.some((space) => value.includes(space))) return value;
  const text = Buffer.from(value, "utf8");
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number;
    if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) text[length++] = byte;
  }
  return text.toString("latin1", 0, length); // a character that is not ASCII becomes several, none of which is base64
}

function lineOf(fields: Fields, name: string, faults: Faults): { text: string; words: string[] } | null {
  const value = textIn(fields, name) ?? "";
  if (typeof value !== "string") faults.add(name, "is not a text");
  else if (value.length > MAX_LINE) faults.add(name, `is too long (maximum is ${MAX_LINE} characters)`);
  else if (!value.isWellFormed() || value.includes("\0")) faults.add(name, "is not plain text");
  else if (value.trim() !== "") {
    try {
      return { text: value, words: wordsOf(value) };
    } catch (error) {
      if (!(error instanceof UnclosedQuoteError)) throw error;
      faults.add(name, "has a quote without its end");
    }
  }
  return null;
}

function checkOptions(options: unknown, language: Language, known: Known, faults: Faults): void {
  if (options === null || language.compilerOptions) return;
  const names = new Set(
    numbered(known).flatMap((one) => (one.language.compilerOptions ? [familyOf(one.language)] : [])),
  );
  faults.add("compiler_options", `setting compiler options is only allowed for ${[...names].join(", ")}`);
}

/** The first word of a language's label, for example "C++" for "C++ (GCC 14, C++17)". */
export function familyOf({ label }: Language): string {
  return label.split(" ")[0] ?? label;
}

/** Files that macOS adds to an archive. No program can have them, because their names are not possible. */
const ADDED_BY_MACOS = /(?:^|\/)(?:\.DS_Store|\._[^/]*)$/;

/** Unpacks the files of an archive, with bounds for their number, sizes and paths. @returns no files if there is a fault. */
async function filesOf(archive: Buffer | null, faults: Faults): Promise<ReadonlyMap<string, Buffer>> {
  const refused = (fault: string) => {
    faults.add("additional_files", fault);
    return new Map<string, Buffer>();
  };
  if (archive === null || archive.length === 0) return new Map();
  try {
    const all = await filesFromZip(archive, { files: MAX_ENTRIES, bytes: MAX_FILES_BYTES });
    const files = new Map([...all].filter(([path]) => !ADDED_BY_MACOS.test(path)));
    const other = [...files.keys()].find((path) => toFilePath(path) === null);
    return other === undefined ? files : refused(`the path ${echo(other)} is not possible: ${PATH_RULE}`);
  } catch (error) {
    if (error instanceof PackageError) return refused(error.message);
    throw error;
  }
}

/** Checks that the program has a source, or that a program of several files has a script. @returns the script; otherwise null. */
function checkSource(
  program: {
    readonly language: Language;
    readonly code: Buffer | null;
    readonly files: ReadonlyMap<string, Buffer>;
    readonly additionalFiles: Buffer | null;
  },
  faults: Faults,
): string | null {
  const { language, code, files, additionalFiles } = program;
  const isBlank = (bytes: Buffer | null) => bytes === null || bytes.toString("latin1").trim() === "";
  if (language.name !== MULTI_FILE) {
    if (isBlank(code) && !faults.has("source_code")) faults.add("source_code", "can't be blank");
    return null;
  }
  if (!isBlank(code)) faults.add("source_code", "must be blank");
  if (faults.has("additional_files")) return null;
  const entry = SCRIPTS.find((path) => files.has(path));
  if (isBlank(additionalFiles)) faults.add("additional_files", "can't be blank");
  else if (entry === undefined) faults.add("additional_files", "has no file run");
  return entry ?? null;
}
