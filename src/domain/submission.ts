import { createHash, randomUUID } from "node:crypto";
import { type NetworkPolicy, toNetworkJson } from "./egress/policy.ts";
import type { ProfileName } from "./limits.ts";
import type { Outcome } from "./outcome.ts";
import { encodeProgramOptions, type ProgramOptions } from "./program-options.ts";

/** The most bytes of code and input in a request, in UTF-8. */
export const MAX_CODE_BYTES = 65_536;
export const MAX_STDIN_BYTES = 262_144;
/** The most bytes of an input, or of an expected output, in the API of another service, which has no smaller limit. */
export const MAX_FOREIGN_INPUT_BYTES = 4_194_304;

/** Attempts to run one submission before it ends as `error`. */
export const MAX_ATTEMPTS = 3;

/** A validated request: the language has its canonical name, and all sizes are within their limits. */
export interface SubmitRequest {
  readonly language: string;
  readonly profile: ProfileName;
  /** Text, or bytes if the request has them in base64. */
  readonly code: string | Buffer;
  readonly stdin: string | Buffer;
  /** Undefined if the request adds nothing to code and input. */
  readonly options?: ProgramOptions | undefined;
  /** What the program may reach over the network; absent: nothing. Only with the profile `agent`. */
  readonly network?: NetworkPolicy;
}

/** The caller of a request: a valid key with its permissions. */
export interface Caller {
  readonly keyId: string;
  readonly accountId: string;
  /** The project whose webhooks receive the results; null for a key without a project. */
  readonly projectId: string | null;
  readonly requestsPerMinute: number;
  /** Submissions of this key that may run at the same time. */
  readonly concurrency: number;
  /** Executions, with requests for files, of all sandboxes of the account that may run at the same time. */
  readonly executions: number;
  readonly profiles: readonly ProfileName[];
  readonly defaultProfile: ProfileName;
}

export const STATUSES = ["pending", "running", "completed", "error"] as const;
export type Status = (typeof STATUSES)[number];

/** A program and its input as bytes; immutable, and interpreted only inside the box. */
export interface Program {
  /** Empty if one of the files of `options` is the source. */
  readonly code: Buffer;
  readonly stdin: Buffer;
  readonly options?: ProgramOptions | undefined;
}

/** All times are milliseconds since the epoch, UTC. */
export interface Submission {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly projectId: string | null;
  readonly language: string;
  readonly profile: ProfileName;
  readonly status: Status;
  /** How often the submission was claimed, without the claims that were given back. */
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly completedAtMs: number | null;
  /** Null until the submission has ended, and where the outcome was not read. */
  readonly outcome: Outcome | null;
}

export function isTerminal(status: Status): boolean {
  return status === "completed" || status === "error";
}

/** A new submission of this caller: `pending`, with a fresh id. */
export function newSubmission(request: SubmitRequest, caller: Caller, nowMs: number): Submission {
  return {
    id: randomUUID(),
    accountId: caller.accountId,
    keyId: caller.keyId,
    projectId: caller.projectId,
    language: request.language,
    profile: request.profile,
    status: "pending",
    attempts: 0,
    createdAtMs: nowMs,
    startedAtMs: null,
    completedAtMs: null,
    outcome: null,
  };
}

export function programOf(request: SubmitRequest): Program {
  const bytes = (content: string | Buffer) => (Buffer.isBuffer(content) ? content : Buffer.from(content, "utf8"));
  return { code: bytes(request.code), stdin: bytes(request.stdin), options: request.options };
}

/**
 * Identifies a request for idempotency keys. It uses the validated request, so that aliases of
 * a language and the order of fields make no difference.
 * @returns a SHA-256, in hexadecimal.
 */
export function requestHash({ language, profile, code, stdin, options, network, ...others }: SubmitRequest): string {
  others satisfies Record<string, never>; // a new field must become part of the hash
  const content = (value: string | Buffer) => (Buffer.isBuffer(value) ? { base64: value.toString("base64") } : value);
  const fields = [
    language,
    profile,
    content(code),
    content(stdin),
    ...(options ? [encodeProgramOptions(options)] : []),
    ...(network ? [{ network: toNetworkJson(network) }] : []),
  ];
  return createHash("sha256").update(JSON.stringify(fields), "utf8").digest("hex");
}
