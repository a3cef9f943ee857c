import type { AuditAction, AuditActor } from "../../domain/audit.ts";
import type { ProfileName } from "../../domain/limits.ts";
import type { Caller } from "../../domain/submission.ts";

/**
 * The part of the store's interface (port.ts) for administration. The transaction of each change also adds its audit
 * entry; `actor` is the author, with the address of the client for a request.
 */

/** A part of a list; lists are newest first. */
export interface Part {
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
  readonly live: number;
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
  readonly live: boolean;
}

/** The mutable settings of a key. */
export type KeyChanges = Pick<ApiKey, "requestsPerMinute" | "concurrency" | "profiles" | "defaultProfile">;

export type NewApiKey = KeyChanges & Pick<ApiKey, "id" | "accountId" | "projectId" | "name" | "prefix" | "hash">;

export interface KeyStore {
  /**
   * Adds nothing if the project is archived or of another account, or if the account has reached its limit of live keys
   * ("full") or of new keys in 24 hours ("spent").
   * @param bounds null for no limits.
   */
  add(key: NewApiKey, actor: AuditActor, bounds?: KeyBounds | null): Promise<"added" | KeysRefused | "no-project">;

  /** @param which.projectId only keys of a project; `live`: only live keys. */
  list(
    which?: Part & { readonly projectId?: string | undefined; readonly live?: boolean | undefined },
  ): Promise<ApiKey[]>;

  get(id: string): Promise<ApiKey | undefined>;

  /** Number of live keys by project; projects without live keys are absent. */
  countLive(projectIds: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /** The profiles of the account's live keys, without the key of that id. */
  profilesOf(accountId: string, exceptId: string): Promise<ReadonlySet<ProfileName>>;

  /** The live or dead key with that id or hash; otherwise the keys with that prefix. */
  match(which: Pick<ApiKey, "id" | "hash" | "prefix">): Promise<ApiKey[]>;

  /** @returns false without such a live key. */
  update(id: string, changes: KeyChanges, actor: AuditActor): Promise<boolean>;

  /**
   * Adds a key with the same settings. The old key expires after the overlap.
   * @param bounds as in `add`: during the overlap there is one more key.
   * @returns the expiry of the old key in milliseconds since the epoch; undefined without such a
   * live key, or if its expiry is already set.
   */
  rotate(
    id: string,
    successor: Pick<ApiKey, "id" | "prefix" | "hash">,
    overlapMs: number,
    actor: AuditActor,
    bounds?: KeyBounds | null,
  ): Promise<number | KeysRefused | undefined>;

  /** Revokes a key now. @returns false without such a live key. */
  revoke(id: string, actor: AuditActor): Promise<boolean>;

  /** The caller with the hash of a live key, the stored hash, and whether the account is suspended. */
  findCaller(
    hash: string,
  ): Promise<{ readonly caller: Caller; readonly hash: string; readonly suspended: boolean } | undefined>;

  /** Stores the time of use of the key, at most once per minute and key. */
  touch(id: string): Promise<void>;

  /** Present usage by key id; unused keys are absent. */
  usage(ids: readonly string[]): Promise<ReadonlyMap<string, KeyUsage>>;
}

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

export interface AccountStore {
  /** Finds the account of that name, or creates it with the tier. @throws for an unknown tier. */
  ensure(name: string, tier: string, actor: AuditActor): Promise<{ readonly id: string; readonly made: boolean }>;

  /** The accounts with these ids, or all; oldest first. */
  list(ids?: readonly string[] | null): Promise<Account[]>;

  /** The account with that id, otherwise with that name. */
  find(nameOrId: string): Promise<Account | undefined>;

  /** @returns false for an unknown account or a name of another account. */
  rename(id: string, name: string, actor: AuditActor): Promise<boolean>;

  /** @returns false for an unknown account. @throws for an unknown tier. */
  setTier(id: string, tier: string, actor: AuditActor): Promise<boolean>;

  /**
   * Suspends or resumes an account. While it is suspended, its keys are refused and its submissions are not claimed; running
   * ones continue.
   * @returns false for an unknown account.
   */
  setSuspended(id: string, suspended: boolean, actor: AuditActor): Promise<boolean>;
}

/** Limits of an account's keys without their own limits. */
export interface Tier {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly concurrency: number;
}

export interface TierStore {
  list(): Promise<Tier[]>;

  /** Creates or changes the tier, with immediate effect on its accounts. */
  set(tier: Tier, actor: AuditActor): Promise<void>;
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

export interface ProjectStore {
  /**
   * @param most maximum number of projects of the account, including archived ones; null for no limit.
   * @returns its id; undefined if the account has a project of that name, null at the limit.
   */
  create(accountId: string, name: string, actor: AuditActor, most?: number | null): Promise<string | undefined | null>;

  /** Includes archived projects unless only open ones are requested. */
  list(which?: Part & { readonly open?: boolean | undefined }): Promise<Project[]>;

  get(id: string): Promise<Project | undefined>;

  /** The project with that id, otherwise those with that name, at most one per account. */
  find(nameOrId: string): Promise<Project[]>;

  /** @returns false for an unknown project or a name of another project of the account. */
  rename(id: string, name: string, actor: AuditActor): Promise<boolean>;

  /** @returns the number of its live keys; it is archived only if there are none. */
  archive(id: string, actor: AuditActor): Promise<number>;

  restore(id: string, actor: AuditActor): Promise<void>;
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

/** The audit trail. The transaction of each change adds its entry; entries of changes are never modified. */
export interface AuditStore {
  /** Adds an entry when an administrator reads the program and output of a submission, at most once per hour for the pair. */
  noteReading(reading: {
    readonly actor: string;
    readonly address: string;
    readonly submissionId: string;
    readonly accountId: string;
  }): Promise<void>;

  /**
   * Newest first.
   * @param which.before only entries with a lower `seq`; `accountIds`: only entries of these accounts, null for all.
   */
  list(which: {
    readonly max: number;
    readonly before?: number | undefined;
    readonly accountIds?: readonly string[] | null | undefined;
  }): Promise<AuditEntry[]>;
}
