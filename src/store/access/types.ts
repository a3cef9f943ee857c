import type { AuditAction } from "../../domain/audit.ts";
import type { ProfileName } from "../../domain/limits.ts";

/** A part of a list; lists are newest first. */
export interface ListPage {
  /** Only rows of these accounts; null or undefined for all. */
  readonly accountIds?: readonly string[] | null | undefined;
  /** Only rows after the row with this id. */
  readonly after?: string | undefined;
  /** Maximum number of rows; 1,000 by default. */
  readonly max?: number | undefined;
}

/** Limits of the keys of an account. The account's row is locked for the check, so they hold for all processes. */
export interface KeyBounds {
  /** Live keys, including the new one. */
  readonly liveKeys: number;
  /** Keys created in any 24 hours, including dead ones, because each has its own quota. */
  readonly aDay: number;
}

/** A key for lists and pages; the key itself is not stored. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  /** Null for a key without a project. */
  readonly projectId: string | null;
  readonly projectName: string | null;
  readonly name: string;
  /** First characters of the key, so that users can recognise it. */
  readonly prefix: string;
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
  /** Null: the tier's value. */
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly profiles: readonly ProfileName[];
  readonly defaultProfile: ProfileName;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
  /** Expiry of a rotated key; null for none. */
  readonly expiresAtMs: number | null;
  /** Id of the key that this one replaces. */
  readonly replaces: string | null;
  readonly lastUsedAtMs: number | null;
  /** Neither revoked nor expired. */
  readonly isLive: boolean;
}

/** The mutable settings of a key. */
export type KeyChanges = Pick<ApiKey, "requestsPerMinute" | "concurrency" | "profiles" | "defaultProfile">;

export type NewApiKey = KeyChanges & Pick<ApiKey, "id" | "accountId" | "projectId" | "name" | "prefix" | "hash">;

/** `full`: too many live keys; `spent`: too many new keys in 24 hours. */
export type KeysRefused = "full" | "spent";

export interface KeyUsage {
  /** Requests of the last minute, as counted for the quota. */
  readonly requests: number;
  readonly pending: number;
  readonly running: number;
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  /** The limits of the tier. */
  readonly requestsPerMinute: number;
  readonly concurrency: number;
  readonly createdAtMs: number;
  /** Null if not suspended. */
  readonly suspendedAtMs: number | null;
}

/** Limits of an account's keys without their own limits. */
export interface Tier {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly concurrency: number;
}

export interface Project {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  /** Unique per account. */
  readonly name: string;
  readonly createdAtMs: number;
  /** An archived project gets no new keys and endpoints. */
  readonly archivedAtMs: number | null;
}

/** An entry of the audit trail. */
export interface AuditEntry {
  /** Increasing, with gaps. */
  readonly seq: number;
  readonly atMs: number;
  readonly actor: string;
  readonly action: AuditAction;
  /** Id of the changed object, or name of the changed tier. */
  readonly subject: string;
  /** Null for objects without an account. */
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /** Address of the client; null for a command, and for entries of releases that did not store it. */
  readonly address: string | null;
}
