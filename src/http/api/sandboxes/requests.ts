import type { z } from "zod";
import { type NetworkPolicy, PolicyError, parseNetworkPolicy } from "../../../domain/egress/policy.ts";
import { clientError, type ErrorCode, echo } from "../../../domain/error.ts";
import type { LIMIT_FIELDS, RequestedLimits } from "../../../domain/limits.ts";
import { VARIABLE_NAME } from "../../../domain/program-options.ts";
import { EXECUTION_BOUNDS, type ExecutionRequest } from "../../../domain/sandboxes/execution.ts";
import type { SandboxChange } from "../../../domain/sandboxes/host.ts";
import {
  DEFAULT_DISK_BYTES,
  DISK_INODE_BYTES,
  DISK_SIZES,
  SANDBOX_BOUNDS,
  SANDBOX_LIMITS,
  type SandboxLimitName,
  type SandboxLimits,
  type SandboxRequest,
} from "../../../domain/sandboxes/sandbox.ts";
import { SNAPSHOT_NAME_CHARACTERS } from "../../../domain/sandboxes/snapshot.ts";
import type { Caller } from "../../../domain/submission.ts";
import { listed } from "../../../languages/load.ts";
import type { Dependencies } from "../../dependencies.ts";
import { decodeBase64, leastBytes } from "../program-options.ts";
import { isStorable } from "../storable.ts";
import { invalidPart, unproven } from "../submit-request.ts";
import { type changeBody, createBody, executeBody, snapshotRequestBody } from "./bodies.ts";

/** The errors of the checks of this file. */
export const CREATE_ERRORS = ["bodyNotObject", "invalidRequest"] as const satisfies readonly ErrorCode[];
export const EXECUTE_ERRORS = [
  ...CREATE_ERRORS,
  "notUnicode",
  "unsupportedLanguage",
  "languagesUnproven",
] as const satisfies readonly ErrorCode[];

/** The longest reason why a policy is not valid, which can repeat what the client chose. */
const MAX_REASON = 300;

/** @throws ClientError invalidRequest, or bodyNotObject. */
export function checked<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw clientError("bodyNotObject", []);
  throw invalidPart(parsed.error.issues[0]);
}

/** Zod would leave this name out of its result without an error. */
function checkMap(field: string, map: unknown): void {
  if (Object.hasOwn(Object(map), "__proto__")) throw invalid(field, '"__proto__" is no name');
}

/**
 * Validates a request for a sandbox.
 * @param caller whose network bound is the upper one of budgets that the request does not state.
 * @throws ClientError, one of CREATE_ERRORS.
 */
export async function toSandboxRequest(
  body: unknown,
  caller: Pick<Caller, "accountId" | "projectId">,
  dependencies: Pick<Dependencies, "store">,
): Promise<SandboxRequest> {
  for (const field of ["env", "metadata"] as const) checkMap(field, Object(body)[field]);
  const { network = "none" } = Object(body) as { readonly network?: unknown };
  const policy = await toNetworkPolicy(network, caller, dependencies);
  const given = checked(createBody, body);
  const limit = (name: SandboxLimitName) => given.limits?.[SANDBOX_LIMITS[name].field] ?? SANDBOX_LIMITS[name].default;
  return {
    limits: {
      memoryBytes: limit("memoryBytes"),
      processes: limit("processes"),
      ...filesOf(given.limits ?? {}),
      cpus: limit("cpus"),
    },
    lifetimeSecs: given.lifetime_secs ?? SANDBOX_BOUNDS.lifetimeSecs.default,
    idleSecs: given.idle_secs ?? SANDBOX_BOUNDS.idleSecs.default,
    env: checkEnv(given.env ?? {}, SANDBOX_BOUNDS.env),
    metadata: checkMetadata(given.metadata ?? {}),
    from: given.from ?? null,
    onTimeout: given.on_timeout ?? "end",
    network: policy,
  };
}

/**
 * Parses a network policy. A mistake is an error with its place, and never means a wider policy.
 * @param owner whose network bound is the upper one of budgets that the policy does not state. Whether it is within the bound is decided when it is stored.
 * @param field of which the policy is the value; empty: it is the body.
 * @throws ClientError invalidRequest.
 */
export async function toNetworkPolicy(
  value: unknown,
  { accountId, projectId }: Pick<Caller, "accountId" | "projectId">,
  { store }: Pick<Dependencies, "store">,
  field = "network",
): Promise<NetworkPolicy> {
  return namingPart(field, async () => {
    parseNetworkPolicy(value); // a mistake costs no read of the bound
    return value === "none"
      ? "none"
      : parseNetworkPolicy(value, (await store.egress.bound(accountId, projectId)).policy);
  });
}

/** @param parse can throw PolicyError. @param field of which the policy is a part. @throws ClientError invalidRequest. */
export async function namingPart<T>(field: string, parse: () => Promise<T>): Promise<T> {
  try {
    return await parse();
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const where = [field, error.path].filter((part) => part !== "").join(".");
    throw invalid(where || "the body", error.reason.slice(0, MAX_REASON));
  }
}

/** The limits of the files. @throws ClientError invalidRequest. */
function filesOf({
  storage = "memory",
  disk_bytes: bytes,
  inodes,
}: NonNullable<z.output<typeof createBody>["limits"]>): Pick<SandboxLimits, "storage" | "diskBytes" | "inodes"> {
  if (storage === "memory") {
    const { most, default: usual } = SANDBOX_LIMITS.diskBytes;
    if (bytes !== undefined && bytes > most)
      throw invalid("limits.disk_bytes", `at most ${most} for files in memory; "storage": "disk" permits more`);
    if (inodes !== undefined && inodes > SANDBOX_LIMITS.inodes.most)
      throw invalid("limits.inodes", `at most ${SANDBOX_LIMITS.inodes.most} for files in memory`);
    return { storage, diskBytes: bytes ?? usual, inodes: inodes ?? SANDBOX_LIMITS.inodes.default };
  }
  const diskBytes = bytes ?? DEFAULT_DISK_BYTES;
  if (!DISK_SIZES.includes(diskBytes)) throw invalid("limits.disk_bytes", `a disk has ${DISK_SIZES.join(", ")} bytes`);
  const follows = diskBytes / DISK_INODE_BYTES;
  if (inodes !== undefined && inodes !== follows)
    throw invalid("limits.inodes", `a disk of ${diskBytes} bytes has ${follows}`);
  return { storage, diskBytes, inodes: follows };
}

/** @returns null if the request has no name. @throws ClientError invalidRequest, bodyNotObject. */
export function toSnapshotName(body: unknown): string | null {
  const { name } = checked(snapshotRequestBody, body);
  if (name === undefined) return null;
  if (name === "" || name.length > SNAPSHOT_NAME_CHARACTERS)
    throw invalid("name", `does not have 1 to ${SNAPSHOT_NAME_CHARACTERS} characters`);
  if (!isStorable(name)) throw invalid("name", "has U+0000 or half of a surrogate pair, which cannot be stored");
  return name;
}

export function toChange(given: z.output<typeof changeBody>): SandboxChange {
  const { lifetime_secs: lifetimeSecs, idle_secs: idleSecs, metadata } = given;
  return {
    ...(lifetimeSecs !== undefined && { lifetimeSecs }),
    ...(idleSecs !== undefined && { idleSecs }),
    ...(metadata && { metadata: checkMetadata(metadata) }),
  };
}

/** @throws ClientError invalidRequest. */
export function checkMetadata(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  checkMap("metadata", metadata);
  const { entries, keyCharacters, valueCharacters, bytes } = SANDBOX_BOUNDS.metadata;
  const pairs = Object.entries(metadata);
  if (pairs.length > entries) throw invalid("metadata", `more than ${entries} names`);
  for (const [name, value] of pairs) {
    if (name === "" || name.length > keyCharacters)
      throw invalid("metadata", `${echo(name)} does not have 1 to ${keyCharacters} characters`);
    if (value.length > valueCharacters)
      throw invalid("metadata", `the value of ${echo(name)} has more than ${valueCharacters} characters`);
    if (!isStorable(name) || !isStorable(value))
      throw invalid("metadata", "has U+0000 or half of a surrogate pair, which cannot be stored");
  }
  if (pairs.reduce((sum, pair) => sum + Buffer.byteLength(pair.join("")), 0) > bytes)
    throw invalid("metadata", `more than ${bytes} bytes`);
  return metadata;
}

function checkEnv(
  env: Readonly<Record<string, string>>,
  { entries, variableBytes, bytes }: typeof SANDBOX_BOUNDS.env,
): Readonly<Record<string, string>> {
  const pairs = Object.entries(env);
  if (pairs.length > entries) throw invalid("env", `more than ${entries} variables`);
  for (const [name] of pairs)
    if (!VARIABLE_NAME.test(name)) throw invalid("env", `${echo(name)} is not the name of a variable`);
  checkWords("env", pairs.flat(), bytes);
  for (const pair of pairs) checkWords("env", [pair.join("=")], variableBytes);
  return env;
}

/** Checks texts that become arguments or variables of a program. */
function checkWords(field: string, words: readonly string[], mostBytes: number): void {
  for (const word of words) {
    if (word.includes("\0")) throw invalid(field, "contains U+0000");
    if (!word.isWellFormed()) throw clientError("notUnicode", [field]);
  }
  if (words.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0) > mostBytes)
    throw invalid(field, `more than ${mostBytes} bytes`);
}

/**
 * Validates a request for an execution.
 * @throws ClientError, one of EXECUTE_ERRORS.
 */
export function toExecutionRequest(
  body: unknown,
  dependencies: Pick<Dependencies, "languages" | "workers">,
): ExecutionRequest {
  checkMap("env", Object(body).env);
  const given = checked(executeBody, body);
  const { argv, shell, cwd, background = false, terminal = null } = given;
  const code = bytesOf(given, "code", EXECUTION_BOUNDS.codeBytes);
  const kinds = [argv, shell, code].filter((one) => one !== undefined);
  if (kinds.length !== 1) throw invalid("the body", "must have exactly one of argv, shell and code");
  if (code === undefined && given.language !== undefined) throw invalid("language", "is only for code");
  if (argv) {
    if (argv[0] === undefined || argv[0] === "") throw invalid("argv", "must begin with a program");
    if (argv.length > EXECUTION_BOUNDS.arguments)
      throw invalid("argv", `more than ${EXECUTION_BOUNDS.arguments} arguments`);
    checkWords("argv", argv, EXECUTION_BOUNDS.argvBytes);
    for (const argument of argv) checkWords("argv", [argument], EXECUTION_BOUNDS.argumentBytes);
  }
  if (shell !== undefined) {
    if (shell === "") throw invalid("shell", "must not be empty");
    checkWords("shell", [shell], EXECUTION_BOUNDS.argumentBytes);
  }
  if (cwd !== undefined) checkWords("cwd", [cwd], EXECUTION_BOUNDS.cwdBytes);
  return {
    kind: argv ? "argv" : code ? "code" : "shell",
    ...(argv && { argv }),
    ...(shell !== undefined && { shell }),
    ...(code && { code, language: languageOf(given.language, dependencies) }),
    stdin: bytesOf(given, "stdin", EXECUTION_BOUNDS.stdinBytes) ?? Buffer.alloc(0),
    openInput: given.open_input ?? false,
    cwd: cwd ?? null,
    env: checkEnv(given.env ?? {}, EXECUTION_BOUNDS.env),
    limits: checkLimits(given.limits ?? {}),
    background,
    terminal,
  };
}

/** The limits of time are bounded here, and those of memory and processes by the sandbox. */
function checkLimits(limits: NonNullable<z.output<typeof executeBody>["limits"]>): RequestedLimits {
  for (const field of ["wall_time_secs", "cpu_time_secs"] as const satisfies (keyof typeof LIMIT_FIELDS)[])
    if ((limits[field] ?? 0) > EXECUTION_BOUNDS.seconds)
      throw invalid(`limits.${field}`, `at most ${EXECUTION_BOUNDS.seconds} in a sandbox`);
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

function languageOf(
  name: string | undefined,
  { languages, workers }: Pick<Dependencies, "languages" | "workers">,
): string {
  if (name === undefined) throw invalid("language", "is required for code");
  const language = languages.resolve(name);
  const available = workers.languages();
  if (language && available.includes(language.name)) return language.name;
  if (language && available.length === 0) throw unproven();
  throw clientError("unsupportedLanguage", [echo(name), listed(languages, available).map(({ name }) => name)]);
}

/** The bytes of a field that is a text or, with the ending `_base64`, bytes; undefined if the request has neither. */
function bytesOf(given: z.output<typeof executeBody>, name: "code" | "stdin", mostBytes: number): Buffer | undefined {
  const [text, base64] = [given[name], given[`${name}_base64`]];
  if (base64 === undefined) {
    if (text === undefined) return undefined;
    if (!text.isWellFormed()) throw clientError("notUnicode", [name]);
    if (Buffer.byteLength(text) > mostBytes) throw invalid(name, `more than ${mostBytes} bytes`);
    return Buffer.from(text);
  }
  if (text !== undefined) throw invalid(`${name}_base64`, `${name} is given as well`);
  if (leastBytes({ base64 }) > mostBytes) throw invalid(`${name}_base64`, `more than ${mostBytes} bytes`);
  return decodeBase64(`${name}_base64`, base64);
}

function invalid(field: string, reason: string) {
  return clientError("invalidRequest", [field, reason]);
}
