import { createHash, randomUUID } from "node:crypto";
import type { ProfileName } from "./limits.ts";
import type { Outcome } from "./outcome.ts";

/** Contract limits of a request, in UTF-8 bytes. */
export const MAX_CODE_BYTES = 65_536;
export const MAX_STDIN_BYTES = 262_144;

/** Attempts to run one submission before it ends as `error`. */
export const MAX_ATTEMPTS = 3;

/** A validated request: canonical language, sizes within limits. */
export interface SubmitRequest {
  readonly language: string;
  readonly profile: ProfileName;
  readonly code: string;
  readonly stdin: string;
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
  readonly profiles: readonly ProfileName[];
  readonly defaultProfile: ProfileName;
}

export type Status = "pending" | "running" | "completed" | "error";

/** A program and its input as UTF-8 bytes; immutable, and interpreted only inside the box. */
export interface Program {
  readonly code: Buffer;
  readonly stdin: Buffer;
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
  /** Claims that were not released. */
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly completedAtMs: number | null;
  /** Present if and only if the status is terminal. */
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
  return { code: Buffer.from(request.code, "utf8"), stdin: Buffer.from(request.stdin, "utf8") };
}

/** Fields of a request in the order of its hash. The type demands every field. */
const HASHED: Readonly<Record<keyof SubmitRequest, true>> = { language: true, profile: true, code: true, stdin: true };

/**
 * Identifies a request for idempotency keys. It uses the validated request, so that aliases of
 * a language and the order of fields make no difference.
 * @returns SHA-256, hexadecimal.
 */
export function requestHash(request: SubmitRequest): string {
  const canonical = JSON.stringify((Object.keys(HASHED) as (keyof SubmitRequest)[]).map((field) => request[field]));
  return createHash("sha256").update(canonical, "utf8").digest("hex");
}
