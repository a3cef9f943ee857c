import { z } from "zod";
import { type ClientError, clientError, echo } from "../domain/error.ts";
import { isProfileName, PROFILE_NAMES, type ProfileName } from "../domain/limits.ts";
import { type Caller, MAX_CODE_BYTES, MAX_STDIN_BYTES, type SubmitRequest } from "../domain/submission.ts";
import type { Dependencies } from "./dependencies.ts";

/**
 * The body of POST /api/submit. Sizes are checked below in bytes; the schema gives them in characters, for generated
 * clients.
 */
export const submitBody = z
  .strictObject({
    language: z.string().describe("Name or alias of a language; GET /api/languages has the names"),
    code: z
      .string()
      .meta({ minLength: 1, maxLength: MAX_CODE_BYTES, description: `Source, 1 to ${MAX_CODE_BYTES} bytes of UTF-8` }),
    stdin: z
      .string()
      .meta({ maxLength: MAX_STDIN_BYTES, description: `Standard input, up to ${MAX_STDIN_BYTES} bytes of UTF-8` })
      .optional(),
    profile: z
      .enum(PROFILE_NAMES)
      .describe("A profile that the key allows. Defaults to the default profile of the key")
      .optional(),
  })
  .meta({ examples: [{ language: "python", code: "print(6 * 7)\n" }] });

const WEBHOOK_LIKE = /webhook|callback/i;
/** Maximum number of unknown fields named in an error. */
const MAX_NAMED = 5;
/** The smoke tests of all languages take a few seconds after the start. */
const UNPROVEN_RETRY_SECS = 2;

/** A valid request, and the error for it if it is new. */
export interface ValidatedRequest {
  readonly submit: SubmitRequest;
  /** Set while the language is unavailable. A request accepted earlier still returns its record. */
  readonly refusal: ClientError | null;
}

/**
 * Parsed JSON → SubmitRequest: known fields, sizes, canonical language, allowed profile.
 * @throws ClientError for the first fault, in the order of this function.
 */
export function toSubmitRequest(
  body: unknown,
  caller: Caller,
  { canonicalLanguage, engine }: Pick<Dependencies, "canonicalLanguage" | "engine">,
): ValidatedRequest {
  const fields = checkShape(body);
  const code = checkText("code", fields.code);
  const stdin = checkText("stdin", fields.stdin ?? "");
  if (code === "") throw clientError("codeEmpty", []);
  const codeBytes = Buffer.byteLength(code, "utf8");
  if (codeBytes > MAX_CODE_BYTES) throw clientError("codeTooLarge", [codeBytes]);
  const stdinBytes = Buffer.byteLength(stdin, "utf8");
  if (stdinBytes > MAX_STDIN_BYTES) throw clientError("stdinTooLarge", [stdinBytes]);
  const language = canonicalLanguage(fields.language);
  const available = engine.languages();
  // Created only when needed: an error captures the stack.
  const unsupported = () => clientError("unsupportedLanguage", [echo(fields.language), available]);
  if (language === undefined) throw unsupported();
  const submit = { language, code, stdin, profile: chooseProfile(fields.profile, caller) };
  if (available.includes(language)) return { submit, refusal: null };
  return { submit, refusal: available.length > 0 ? unsupported() : unproven() };
}

function unproven(): ClientError {
  return clientError("languagesUnproven", [], { headers: { "retry-after": String(UNPROVEN_RETRY_SECS) } });
}

function checkShape(body: unknown): z.output<typeof submitBody> {
  const parsed = submitBody.safeParse(body);
  if (parsed.success) return parsed.data;
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw clientError("bodyNotObject", []);
  checkNames(Object.keys(body));
  const field = String(parsed.error.issues[0]?.path[0]);
  const value: unknown = Object.getOwnPropertyDescriptor(body, field)?.value;
  if (value === undefined) throw clientError("fieldMissing", [field]);
  if (typeof value !== "string") throw clientError("fieldNotString", [field]);
  throw clientError("unknownProfile", [echo(value)]);
}

function checkNames(names: readonly string[]): void {
  const unknown = names.filter((name) => !Object.hasOwn(submitBody.shape, name));
  const webhook = unknown.find((name) => WEBHOOK_LIKE.test(name));
  if (webhook !== undefined) throw clientError("webhookField", [echo(webhook)]);
  if (unknown.length > 0) throw clientError("unknownFields", [unknown.slice(0, MAX_NAMED).map(echo).join(", ")]);
}

/** JSON can contain an unpaired surrogate, which UTF-8 cannot encode; text is never changed silently. */
function checkText(field: string, text: string): string {
  if (!text.isWellFormed()) throw clientError("notUnicode", [field]);
  return text;
}

function chooseProfile(asked: string | undefined, caller: Caller): ProfileName {
  if (asked === undefined) return caller.defaultProfile;
  if (!isProfileName(asked)) throw clientError("unknownProfile", [echo(asked)]);
  if (!caller.profiles.includes(asked)) throw clientError("profileForbidden", [asked]);
  return asked;
}
