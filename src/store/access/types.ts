import type { AuditAction } from "../../domain/audit.ts";
import type { ProfileName } from "../../domain/limits.ts";

/** Which part of a list to read. Lists are newest first. */
export interface ListPage {
  /** Only rows of these accounts; null or undefined for all. */
  readonly accountIds?: readonly string[] | null | undefined;
  /** Only rows that follow the row with this id in the list. */
  readonly after?: string | undefined;
  /** The most rows; 1,000 by default. */
  readonly max?: number | undefined;
}

/** Limits of the keys of an account. The row of the account is locked for the check, so the limits hold for all processes. */
export interface KeyBounds {
  /** The most live keys. */
  readonly liveKeys: number;
  /** The most keys that are created in 24 hours. Keys that are no longer live count as well, because each key has its own quota. */
  readonly aDay: number;
}

/** What is stored about a key; the key itself is not. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  /** Null for a key without a project. */
  readonly projectId: string | null;
  readonly projectName: string | null;
  readonly name: string;
  /** The first characters of the key, so that users can recognise it. */
  readonly prefix: string;
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
  /** The limit of the key; null for that of the tier. */
  readonly requestsPerMinute: number | null;
  /** The limit of the key; null for that of the tier. */
  readonly concurrency: number | null;
  readonly profiles: readonly ProfileName[];
  readonly defaultProfile: ProfileName;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
  /** When a rotated key expires; null for a key that was not rotated. */
  readonly expiresAtMs: number | null;
  /** Id of the key that this one replaced; null for none. */
  readonly replaces: string | null;
  readonly lastUsedAtMs: number | null;
  /** Neither revoked nor expired. */
  readonly isLive: boolean;
}

/** The settings of a key that can change. */
export type KeyChanges = Pick<ApiKey, "requestsPerMinute" | "concurrency" | "profiles" | "defaultProfile">;

export type NewApiKey = KeyChanges & Pick<ApiKey, "id" | "accountId" | "projectId" | "name" | "prefix" | "hash">;

/** Why an account gets no key. `full`: it has too many live keys. `spent`: it has created too many keys in 24 hours. */
export type KeysRefused = "full" | "spent";

export interface KeyUsage {
  /** The requests of the last minute, as the quota counts them. */
  readonly requests: number;
  /** The number of pending submissions. */
  readonly pending: number;
  /** The number of running submissions. */
  readonly running: number;
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  /** `requestsPerMinute` and `concurrency` are those of the tier. */
  readonly requestsPerMinute: number;
  readonly concurrency: number;
  readonly createdAtMs: number;
  /** Null if the account is not suspended. */
  readonly suspendedAtMs: number | null;
}

/** The limits of keys that have no limits of their own. */
export interface Tier {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly concurrency: number;
}

export interface Project {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  /** Unique in the account. */
  readonly name: string;
  readonly createdAtMs: number;
  /** An archived project gets no new keys or endpoints. Null if it is not archived. */
  readonly archivedAtMs: number | null;
}

/** An entry of the audit trail. */
export interface AuditEntry {
  /** A newer entry has a higher number; numbers can be missing in between. */
  readonly seq: number;
  readonly atMs: number;
  readonly actor: string;
  readonly action: AuditAction;
  /** Id of the object that was changed or read. For a tier, it is the name; an object without id and name has a fixed text. */
  readonly subject: string;
  /** The account of the object; null for an object without an account. */
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /** The address of the client; for a refused sign-in, the network of the client. Null if it is unknown or the actor is a command. */
  readonly address: string | null;
}
