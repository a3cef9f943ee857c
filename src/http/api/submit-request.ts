import { z } from "zod";
import { ANSWERS_LANGUAGE } from "../../domain/answers.ts";
import { type NetworkPolicy, PolicyError, parseNetworkPolicy } from "../../domain/egress/policy.ts";
import { type ClientError, clientError, type ErrorCode, echo } from "../../domain/error.ts";
import type { Language } from "../../domain/language.ts";
import { isProfileName, type ProfileName } from "../../domain/limits.ts";
import { MAX_RUNS } from "../../domain/program-options.ts";
import {
  type Caller,
  MAX_CODE_BYTES,
  MAX_FOREIGN_INPUT_BYTES,
  MAX_STDIN_BYTES,
  type SubmitRequest,
} from "../../domain/submission.ts";
import { listed } from "../../languages/load.ts";
import type { Dependencies } from "../dependencies.ts";
import { named } from "../named-schemas.ts";
import { profile } from "./fields.ts";
import { additionFields, decodeBase64, leastBytes, toProgramOptions } from "./program-options.ts";
import { networkBody } from "./sandboxes/bodies.ts";

/**
 * The body of POST /api/submit. toSubmitRequest() checks sizes in bytes. The `maxLength` of the schema, in characters, is only for
 * generated clients.
 */
export const submitBody = named(
  "SubmitRequest",
  z
    .strictObject({
      language: z
        .string()
        .describe(
          "Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile",
        ),
      code: z
        .string()
        .meta({
          minLength: 1,
          maxLength: MAX_CODE_BYTES,
          description: `Source of the program, 1 to ${MAX_CODE_BYTES} bytes of UTF-8. It is required unless the request has \`code_base64\` or \`entry\``,
        })
        .optional(),
      stdin: z
        .string()
        .meta({ maxLength: MAX_STDIN_BYTES, description: `Standard input, up to ${MAX_STDIN_BYTES} bytes of UTF-8` })
        .optional(),
      profile: profile
        .describe(
          "Set of limits. The key must allow the profile. Without this field, the default profile of the key holds",
        )
        .optional(),
      code_base64: z.string().describe("Source of the program in base64, instead of `code`").optional(),
      stdin_base64: z.string().describe("Standard input in base64, instead of `stdin`").optional(),
      stream: z
        .boolean()
        .describe("Whether GET /api/result/{id}/events sends the output while the program runs")
        .optional(),
      live_input: z
        .boolean()
        .describe(
          "Whether clients can send input and signals to the program while it runs. It includes `stream`. `stdin` is the beginning of the input",
        )
        .optional(),
      runs: z
        .int()
        .min(1)
        .max(MAX_RUNS)
        .describe(
          `How often the program runs, up to ${MAX_RUNS}: one run after the other, until one has a verdict other than AC. The record shows ` +
            "the last run, and GET /api/result/{id}/runs the means. Each run counts as a request. Not together with `stream`",
        )
        .optional(),
      ...additionFields,
      network: networkBody
        .optional()
        .describe(
          'What the program may reach over the network, by default "none". It must be within what `GET /api/network` returns. Only with the profile `agent`, and not ' +
            "together with `files`, `entry`, `stderr_to_stdout`, `live_input` or several `runs`. GET /api/result/{id}/egress returns what the program has reached",
        ),
    })
    .meta({ examples: [{ language: "python", code: "print(6 * 7)\n" }] }),
);

type Fields = z.output<typeof submitBody>;

const WEBHOOK_LIKE = /webhook|callback/i;
/** The most unknown fields that an error names. */
const MAX_NAMED = 5;
/** The most characters of a message of the schema that an error repeats. */
const MAX_MESSAGE = 200;
/** A client should repeat its request after this time, because the smoke tests of all languages take a few seconds after the start. */
const UNPROVEN_RETRY_SECS = 2;

/** The errors of toSubmitRequest() and accept(). */
export const SUBMIT_ERRORS = [
  "bodyNotObject",
  "fieldMissing",
  "fieldNotString",
  "notUnicode",
  "unknownFields",
  "webhookField",
  "codeEmpty",
  "codeTooLarge",
  "stdinTooLarge",
  "unsupportedLanguage",
  "unknownProfile",
  "invalidRequest",
  "profileForbidden",
  "networkOff",
  "networkForbidden",
  "languagesUnproven",
  "queueFull",
] as const satisfies readonly ErrorCode[];

/** A valid request. */
export interface ValidatedRequest {
  readonly submit: SubmitRequest;
  /** The error while the language is unavailable; null otherwise. A repetition of an accepted request still gets its record. */
  readonly refusal: ClientError | null;
  /** Whether the output can be watched while the program runs. */
  readonly live: boolean;
  /** Whether clients can also give the program input while it runs. */
  readonly takesInput: boolean;
  /** The JSON of its network policy; undefined if it has none. */
  readonly networkJson?: unknown;
}

/** The fields that do not go together with a network, because the program then runs as an execution in a sandbox, which has nothing like them. */
const NOT_WITH_NETWORK = [
  "files",
  "entry",
  "stderr_to_stdout",
  "live_input",
  "runs",
] as const satisfies readonly (keyof Fields)[];

/** What a request can have beyond the contract of POST /api/submit. */
interface BeyondContract {
  /** The most bytes of the source: for a judgement, the operator decides. */
  readonly mostCodeBytes?: number;
  /** The highest values of `limits` and `compile_limits`, if they are not those of the profile. */
  readonly limitsOf?: Dependencies["languages"]["limitsFor"];
  /** The input, instead of the field `stdin`, up to MAX_FOREIGN_INPUT_BYTES. */
  readonly input?: Buffer;
  /** Whether the program can ask for a network: not one that is judged, and not one of another service's API. */
  readonly mayHaveNetwork?: boolean;
}

/**
 * Validates parsed JSON: fields, sizes, language and profile. The result has the canonical name of the language.
 * @throws ClientError for the first fault, in the order of this function.
 */
export function toSubmitRequest(
  body: unknown,
  caller: Caller,
  { languages, workers }: Pick<Dependencies, "languages" | "workers">,
  {
    input,
    mostCodeBytes = MAX_CODE_BYTES,
    limitsOf = languages.limitsFor,
    mayHaveNetwork = false,
  }: BeyondContract = {},
): ValidatedRequest {
  const policy = mayHaveNetwork ? parsedNetwork(body) : "none";
  const shape = checkShape(body);
  if (!mayHaveNetwork && shape.network !== undefined) throw clientError("unknownFields", [echo("network")]);
  const code = contentOf(shape, "code", mostCodeBytes);
  const fields = code === undefined ? withFirstFile(shape) : shape;
  const stdin = input ?? contentOf(fields, "stdin", MAX_STDIN_BYTES) ?? "";
  if (code === undefined && fields.entry === undefined) throw clientError("fieldMissing", ["code"]);
  if (code !== undefined && code.length === 0) throw clientError("codeEmpty", []);
  const codeBytes = Buffer.byteLength(code ?? "");
  if (codeBytes > mostCodeBytes) throw clientError("codeTooLarge", [codeBytes, mostCodeBytes]);
  const stdinBytes = Buffer.byteLength(stdin);
  const mostStdin = input ? MAX_FOREIGN_INPUT_BYTES : MAX_STDIN_BYTES;
  if (stdinBytes > mostStdin) throw clientError("stdinTooLarge", [stdinBytes, mostStdin]);
  const language = languages.resolve(fields.language);
  const available = workers.languages();
  // The errors are created only if they are needed, because creating one captures the stack.
  const known = () => listed(languages, available).map(({ name }) => name);
  const unsupported = () => clientError("unsupportedLanguage", [echo(fields.language), known()]);
  if (language === undefined) throw unsupported();
  const profile = chooseProfile(fields.profile, caller);
  const limits = limitsOf(language, profile);
  const options = toProgramOptions(fields, { hasCode: code !== undefined, language, limits });
  const network = toNetwork(policy, fields, language, profile);
  const submit = {
    language: language.name,
    code: code ?? "",
    stdin,
    profile,
    ...(options && { options }),
    ...(network && { network }),
  };
  const takesInput = fields.live_input === true;
  const live = takesInput || fields.stream === true;
  const valid = { submit, live, takesInput, ...(network && { networkJson: fields.network }) };
  if (available.includes(language.name)) return { ...valid, refusal: null };
  return { ...valid, refusal: available.length > 0 ? unsupported() : unproven() };
}

/**
 * The network policy of a request; null if it asks for none. Whether it is within the bound of the account is decided when it is accepted.
 * @throws ClientError with what does not go together with a network.
 */
function toNetwork(
  policy: NetworkPolicy,
  fields: Fields,
  { name, unlisted }: Language,
  profile: ProfileName,
): NetworkPolicy | null {
  if (policy === "none") return null;
  if (profile !== "agent") return refuseNetwork("is only for the profile agent");
  if (unlisted) return refuseNetwork(`is not possible for ${name}`);
  const other = NOT_WITH_NETWORK.find((field) => isGiven(fields[field]));
  return other === undefined ? policy : refuseNetwork(`cannot be combined with ${other}`);
}

function refuseNetwork(why: string): never {
  throw clientError("invalidRequest", ["network", why]);
}

/** Whether a field has another value than one that means the same as its absence. */
function isGiven(value: unknown): boolean {
  if (value === undefined || value === false || value === 1) return false;
  return typeof value !== "object" || Object.keys(value ?? {}).length > 0;
}

/** Parses a policy before the schema does, because its errors name the mistake. @throws ClientError with the place of the mistake. */
function parsedNetwork(body: unknown): NetworkPolicy {
  const { network = "none" } = Object(body) as { readonly network?: unknown };
  try {
    return parseNetworkPolicy(network);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const where = ["network", error.path].filter((part) => part !== "").join(".");
    throw clientError("invalidRequest", [where, error.reason.slice(0, MAX_MESSAGE)]);
  }
}

/** A text needs no name: without a source, it is the first file. A submission of answers has only files. */
function withFirstFile(fields: Fields): Fields {
  if (fields.language !== ANSWERS_LANGUAGE || fields.entry !== undefined) return fields;
  const [first] = Object.keys(fields.files ?? {});
  return first === undefined ? fields : { ...fields, entry: first };
}

/** The error of a submission before the first smoke test has passed: no language can be offered yet. */
export function unproven(): ClientError {
  return clientError("languagesUnproven", [], { headers: { "retry-after": String(UNPROVEN_RETRY_SECS) } });
}

function checkShape(body: unknown): Fields {
  const parsed = submitBody.safeParse(body);
  if (parsed.success) {
    checkMaps(body as Fields);
    return parsed.data;
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw clientError("bodyNotObject", []);
  checkNames(Object.keys(body));
  const [issue] = parsed.error.issues;
  const field = String(issue?.path[0]);
  const value: unknown = Object.getOwnPropertyDescriptor(body, field)?.value;
  if (value === undefined) throw clientError("fieldMissing", [field]);
  const isChecked = Object.hasOwn(additionFields, field) && field !== "entry";
  if (isChecked || ["stream", "live_input", "runs"].includes(field)) throw invalidPart(issue);
  if (typeof value !== "string") throw clientError("fieldNotString", [field]);
  throw clientError("unknownProfile", [echo(value)]);
}

/**
 * The error for a fault that the schema found. The schema's message can repeat long names that the client chose, so it is cut off.
 * @param whole names the checked value in the error, if the fault is not in one of its parts.
 */
export function invalidPart(found: z.core.$ZodIssue | undefined, whole = "the body"): ClientError {
  const issue = found && deepest(found);
  const where = issue?.path.map(echoPart).join(".") || whole;
  return clientError("invalidRequest", [where, issue?.message.slice(0, MAX_MESSAGE) ?? "is not valid"]);
}

/** The fault of a value that must be one of several things: the one of the form that it resembles most, which has the fewest faults, all of them in its parts. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const forms = issue.errors
    .map((faults) => faults.map(deepest))
    .filter((faults) => faults.length > 0 && faults.every(({ path }) => path.length > 0))
    .toSorted((a, b) => a.length - b.length);
  const [best] = forms[0] ?? [];
  return best ? { ...best, path: [...issue.path, ...best.path] } : issue;
}

/** Rejects the name `__proto__` in `files` and `env`: zod would leave it out of its result without an error. */
export function checkMaps(body: Pick<Fields, "files" | "env">): void {
  for (const field of ["files", "env"] as const)
    if (Object.hasOwn(body[field] ?? {}, "__proto__"))
      throw clientError("invalidRequest", [field, '"__proto__" is no name']);
}

/** A part of a field's path. If it has neither the form of our names nor that of an index, the client has chosen it, and it is quoted. */
function echoPart(part: PropertyKey): string {
  return /^[a-z_]{1,40}$|^\d{1,6}$/.test(String(part)) ? String(part) : echo(String(part));
}

function checkNames(names: readonly string[]): void {
  const unknown = names.filter((name) => !Object.hasOwn(submitBody.shape, name));
  const webhook = unknown.find((name) => WEBHOOK_LIKE.test(name));
  if (webhook !== undefined) throw clientError("webhookField", [echo(webhook)]);
  if (unknown.length > 0) throw clientError("unknownFields", [unknown.slice(0, MAX_NAMED).map(echo).join(", ")]);
}

/** The value of the field `name` as text, or of its form in base64 as bytes; undefined if the request has neither. */
function contentOf(fields: Fields, name: "code" | "stdin", mostBytes: number): string | Buffer | undefined {
  const [text, encoded] = [fields[name], fields[`${name}_base64`]];
  if (encoded === undefined) return text === undefined ? undefined : checkText(name, text);
  if (text !== undefined) throw clientError("invalidRequest", [`${name}_base64`, `${name} is given as well`]);
  const bytes = leastBytes({ base64: encoded });
  if (name === "code" && bytes > mostBytes) throw clientError("codeTooLarge", [bytes, mostBytes]);
  if (name === "stdin" && bytes > mostBytes) throw clientError("stdinTooLarge", [bytes, mostBytes]);
  return decodeBase64(`${name}_base64`, encoded);
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
