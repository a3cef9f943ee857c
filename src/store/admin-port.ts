import type { AuditAction, AuditActor } from "../domain/audit.ts";
import type { ProfileName } from "../domain/limits.ts";
import type { Shares } from "../domain/status.ts";
import type { Caller } from "../domain/submission.ts";
import type { Signing } from "../domain/webhook.ts";

/**
 * The part of the port (port.ts) that operators change. Each change is noted in the audit trail
 * by the transaction that makes it; `actor` is its author, with the address of the client if a request made it.
 */

/** Which part of a list is read; lists are newest first. */
export interface Part {
  /** Only what belongs to one of these accounts; null, and nothing said, is all. */
  readonly accountIds?: readonly string[] | null | undefined;
  /** Only what comes behind the one of this id. */
  readonly after?: string | undefined;
  /** Rows at most; 1,000 unless something else is said. */
  readonly max?: number | undefined;
}

/** How many keys an account may have and make; the account's row is locked meanwhile, so it holds for all processes. */
export interface KeyBounds {
  /** Live keys afterwards. */
  readonly live: number;
  /** Keys made in any 24 hours, dead ones included: each has a quota of its own. */
  readonly aDay: number;
}

/** A key as an operator sees it; the key itself is never stored. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  /** Null for a key of the account alone. */
  readonly projectId: string | null;
  readonly projectName: string | null;
  readonly name: string;
  /** First characters of the key, so that a person can recognise it. */
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
  /** When a rotated key stops; null: never by itself. */
  readonly expiresAtMs: number | null;
  /** Id of the key that this one was rotated from. */
  readonly replaces: string | null;
  readonly lastUsedAtMs: number | null;
  /** Neither revoked nor at its end. */
  readonly live: boolean;
}

/** What of a key can be changed later. */
export type KeyChanges = Pick<ApiKey, "requestsPerMinute" | "concurrency" | "profiles" | "defaultProfile">;

export type NewApiKey = KeyChanges & Pick<ApiKey, "id" | "accountId" | "projectId" | "name" | "prefix" | "hash">;

export interface KeyStore {
  /**
   * Adds nothing when the project is archived or not of that account, or the account has as many live keys ("full") or
   * has made as many today ("spent") as it may.
   * @param bounds null: any number.
   */
  add(key: NewApiKey, actor: AuditActor, bounds?: KeyBounds | null): Promise<"added" | KeysRefused | "no-project">;

  /** @param which.projectId only those of a project; `live`: only live ones. */
  list(
    which?: Part & { readonly projectId?: string | undefined; readonly live?: boolean | undefined },
  ): Promise<ApiKey[]>;

  get(id: string): Promise<ApiKey | undefined>;

  /** How many live keys these projects have; those that have none are absent. */
  countLive(projectIds: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /** The profiles that live keys of the account may use, but for the key of that id. */
  profilesOf(accountId: string, exceptId: string): Promise<ReadonlySet<ProfileName>>;

  /** The key, dead or not, that has that id or that hash; else those that have that prefix. */
  match(which: Pick<ApiKey, "id" | "hash" | "prefix">): Promise<ApiKey[]>;

  /** @returns false when there is no such live key. */
  update(id: string, changes: KeyChanges, actor: AuditActor): Promise<boolean>;

  /**
   * Adds a key with the same settings, and ends the old one after the overlap.
   * @param bounds as in `add`: for the time of the overlap there is one key more.
   * @returns when the old one ends, in milliseconds since the epoch; undefined when there is
   * no such live key, or its end is already set.
   */
  rotate(
    id: string,
    successor: Pick<ApiKey, "id" | "prefix" | "hash">,
    overlapMs: number,
    actor: AuditActor,
    bounds?: KeyBounds | null,
  ): Promise<number | KeysRefused | undefined>;

  /** Ends a key now. @returns false when there is no such live key. */
  revoke(id: string, actor: AuditActor): Promise<boolean>;

  /** The caller behind the hash of a live key, that hash as stored, and whether the account is suspended. */
  findCaller(
    hash: string,
  ): Promise<{ readonly caller: Caller; readonly hash: string; readonly suspended: boolean } | undefined>;

  /** Notes that the key was used now. Written at most once a minute per key. */
  touch(id: string): Promise<void>;

  /** What these keys use now, by id; those that use nothing are absent. */
  usage(ids: readonly string[]): Promise<ReadonlyMap<string, KeyUsage>>;
}

/** `full`: too many live keys; `spent`: too many made in 24 hours. */
export type KeysRefused = "full" | "spent";

export interface KeyUsage {
  /** Of the last minute, as the quota counts them. */
  readonly requests: number;
  readonly pending: number;
  readonly running: number;
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  /** Those of the tier. */
  readonly requestsPerMinute: number;
  readonly concurrency: number;
  readonly createdAtMs: number;
  /** Null: not suspended. */
  readonly suspendedAtMs: number | null;
}

export interface AccountStore {
  /** The account of that name, made with the tier if there is none. @throws when there is no such tier. */
  ensure(name: string, tier: string, actor: AuditActor): Promise<{ readonly id: string; readonly made: boolean }>;

  /** Oldest first; those of these ids, or all. */
  list(ids?: readonly string[] | null): Promise<Account[]>;

  /** The account of that id, or else of that name. */
  find(nameOrId: string): Promise<Account | undefined>;

  /** @returns false when another account has that name, or there is no such account. */
  rename(id: string, name: string, actor: AuditActor): Promise<boolean>;

  /** @returns false when there is no such account. @throws when there is no such tier. */
  setTier(id: string, tier: string, actor: AuditActor): Promise<boolean>;

  /**
   * From now on its keys are refused and nothing of it is claimed; what runs ends by itself. Not suspended: the opposite, and
   * what waits is claimed again.
   * @returns false when there is no such account.
   */
  setSuspended(id: string, suspended: boolean, actor: AuditActor): Promise<boolean>;
}

/** An account, or one key of it. */
export interface Whose {
  readonly accountId: string;
  readonly keyId?: string | undefined;
}

/** The queue as operators see and clear it. */
export interface QueueStore {
  /** Notes in the audit trail that pending submissions are dropped. @returns the last of them, an argument of `drop`. */
  beginDrop(whose: Whose, actor: AuditActor): Promise<number>;

  /**
   * Ends up to `max` pending submissions as `error` with IE, and puts their deliveries into the outbox.
   * @returns how many: 0 when nothing up to `last` is pending.
   */
  drop(whose: Whose, last: number, max: number): Promise<number>;

  /** What accounts use now of what they share. @param max accounts. */
  shares(max: number): Promise<Shares>;
}

/** Limits of the keys of an account that do not override them. */
export interface Tier {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly concurrency: number;
}

export interface TierStore {
  list(): Promise<Tier[]>;

  /** Makes the tier or changes it, for its accounts at once. */
  set(tier: Tier, actor: AuditActor): Promise<void>;
}

export interface Project {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  /** Unique in its account. */
  readonly name: string;
  readonly createdAtMs: number;
  /** An archived project gets no new keys and endpoints. */
  readonly archivedAtMs: number | null;
}

export interface ProjectStore {
  /**
   * @param most projects that the account may have afterwards, archived ones included, in all processes; null: any number.
   * @returns its id; undefined when the account has a project of that name, null when it has as many as it may.
   */
  create(accountId: string, name: string, actor: AuditActor, most?: number | null): Promise<string | undefined | null>;

  /** Archived ones included, unless only open ones are asked for. */
  list(which?: Part & { readonly open?: boolean | undefined }): Promise<Project[]>;

  get(id: string): Promise<Project | undefined>;

  /** The project of that id, or else those of that name, one per account at most. */
  find(nameOrId: string): Promise<Project[]>;

  /** @returns false when the account has another project of that name, or there is no such project. */
  rename(id: string, name: string, actor: AuditActor): Promise<boolean>;

  /** @returns its live keys: it was archived if they are 0. */
  archive(id: string, actor: AuditActor): Promise<number>;

  restore(id: string, actor: AuditActor): Promise<void>;
}

/** Where a project's results are sent. */
export interface Endpoint {
  readonly id: string;
  readonly projectId: string;
  readonly url: string;
  /** Sealed: the store never sees it open. */
  readonly secret: Buffer;
  readonly signing: Signing;
  readonly active: boolean;
  readonly createdAtMs: number;
}

/** Endpoints. A removed one is kept for its deliveries, and is nowhere to be seen here. */
/**
 * Seals a secret that is about to be stored. It is called in the transaction, under the lock of the secrets; perhaps more
 * than once.
 */
export type Seal = () => Buffer;

/** A sealed secret of an endpoint that was not removed: its own, or a former one. */
export interface SealedSecret {
  readonly table: "endpoints" | "former_secrets";
  /** Of the row. */
  readonly id: string;
  readonly endpointId: string;
  readonly sealed: Buffer;
}

/** A part of the secrets begins behind this row. */
export type SecretPlace = Pick<SealedSecret, "table" | "id">;

/** The sealed secrets of all endpoints that were not removed, former ones too, whether or not these have ended. */
export interface SecretStore {
  /** @param max 500 unless told otherwise. @returns `next`: where the next part begins; null: there is none. */
  part(
    after?: SecretPlace,
    max?: number,
  ): Promise<{ readonly secrets: readonly SealedSecret[]; readonly next: SecretPlace | null }>;

  /**
   * Replaces the secrets of one part in one transaction, and notes how many in the audit trail.
   * @param renew gives the secret as it is to be stored; null: it stays. If it throws, the part stays as it was.
   */
  reseal(
    renew: (endpointId: string, sealed: Buffer) => Buffer | null,
    actor: AuditActor,
    after?: SecretPlace,
    max?: number,
  ): Promise<{ readonly looked: number; readonly resealed: number; readonly next: SecretPlace | null }>;

  /** Shows every secret to `prove`, which throws, and then does `then`, while no secret can be added or changed. */
  proven<T>(prove: (endpointId: string, sealed: Buffer) => void, then: () => T): Promise<T>;
}

export interface EndpointStore {
  /**
   * Adds an active endpoint, unless the project has `most` already ("full") or is archived, or the account added `aDay` in the last
   * 24 hours, removed ones included ("spent").
   * @param aDay null: any number. Otherwise the account's row is locked, so the bound holds for all processes.
   */
  add(
    endpoint: Pick<Endpoint, "id" | "projectId" | "url" | "signing"> & { readonly seal: Seal },
    most: number,
    actor: AuditActor,
    aDay?: number | null,
  ): Promise<"added" | "full" | "spent" | "no-project">;

  list(which?: Part & { readonly projectId?: string | undefined }): Promise<Endpoint[]>;

  /** How many endpoints these projects have; those that have none are absent. */
  count(projectIds: readonly string[]): Promise<ReadonlyMap<string, number>>;

  get(id: string): Promise<Endpoint | undefined>;

  /** Each of the following returns false when there is no such endpoint. */
  setActive(id: string, active: boolean, actor: AuditActor): Promise<boolean>;
  setSigning(id: string, signing: Signing, actor: AuditActor): Promise<boolean>;
  remove(id: string, actor: AuditActor): Promise<boolean>;

  /**
   * Replaces the secret; deliveries are signed with the old one too for the overlap. One of 0 ends all old ones now.
   * @returns when the old one ends, in milliseconds since the epoch; `full` when `mostFormer` old ones have not ended;
   * undefined when there is no such endpoint.
   */
  setSecret(
    id: string,
    seal: Seal,
    overlap: { readonly overlapMs: number; readonly mostFormer: number },
    actor: AuditActor,
  ): Promise<number | "full" | undefined>;
}

/** A change of an operator. */
export interface AuditEntry {
  /** Rises from entry to entry; not without gaps. */
  readonly seq: number;
  readonly atMs: number;
  readonly actor: string;
  readonly action: AuditAction;
  /** Id of what was changed; the name of a tier. */
  readonly subject: string;
  /** Null for what belongs to no account. */
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /** Of the client that made the request; null for a command, and for entries from before addresses were noted. */
  readonly address: string | null;
}

/** Entries of changes are only ever added, by the transactions of the changes. */
export interface AuditStore {
  /** Notes that an administrator is shown the program and the output of a submission; once an hour for each of the two. */
  noteReading(reading: {
    readonly actor: string;
    readonly address: string;
    readonly submissionId: string;
    readonly accountId: string;
  }): Promise<void>;

  /**
   * Newest first.
   * @param which.before only those with a lower `seq`; `accountIds`: only what belongs to one of them, null is all.
   */
  list(which: {
    readonly max: number;
    readonly before?: number | undefined;
    readonly accountIds?: readonly string[] | null | undefined;
  }): Promise<AuditEntry[]>;
}
