import type { AuditActor } from "../../domain/audit.ts";
import type { Signing } from "../../domain/webhook.ts";
import type { Part } from "../access/port.ts";

/** Interface for endpoints and their secrets; changes have audit entries as in access/port.ts. */

/** A receiver of a project's results. */
export interface Endpoint {
  readonly id: string;
  readonly projectId: string;
  readonly url: string;
  /** Sealed; the store does not receive the plain secret. */
  readonly secret: Buffer;
  readonly signing: Signing;
  readonly active: boolean;
  readonly createdAtMs: number;
}

/** Seals a secret before it is stored. Called in the transaction, with the lock of the secrets, possibly more than once. */
export type Seal = () => Buffer;

/** A sealed current or former secret of an endpoint that was not removed. */
export interface SealedSecret {
  readonly table: "endpoints" | "former_secrets";
  /** Id of the row. */
  readonly id: string;
  readonly endpointId: string;
  readonly sealed: Buffer;
}

/** The position before a part of the secrets. */
export type SecretPlace = Pick<SealedSecret, "table" | "id">;

/** The sealed secrets of all endpoints that were not removed, including former and expired ones. */
export interface SecretStore {
  /** @param max 500 by default. @returns `next`: the position of the next part; null for none. */
  part(
    after?: SecretPlace,
    max?: number,
  ): Promise<{ readonly secrets: readonly SealedSecret[]; readonly next: SecretPlace | null }>;

  /**
   * Replaces the secrets of one part in one transaction, with their number in an audit entry.
   * @param renew returns the new sealed secret, or null to keep it. If it throws, the part is unchanged.
   */
  reseal(
    renew: (endpointId: string, sealed: Buffer) => Buffer | null,
    actor: AuditActor,
    after?: SecretPlace,
    max?: number,
  ): Promise<{ readonly looked: number; readonly resealed: number; readonly next: SecretPlace | null }>;

  /** Passes every secret to `prove`, which may throw, then runs `then`. No secret can be added or changed in the meantime. */
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

  /** Number of endpoints by project; projects without endpoints are absent. */
  count(projectIds: readonly string[]): Promise<ReadonlyMap<string, number>>;

  get(id: string): Promise<Endpoint | undefined>;

  /** The following methods return false for an unknown endpoint. */
  setActive(id: string, active: boolean, actor: AuditActor): Promise<boolean>;
  setSigning(id: string, signing: Signing, actor: AuditActor): Promise<boolean>;
  remove(id: string, actor: AuditActor): Promise<boolean>;

  /**
   * Replaces the secret. During the overlap, deliveries are also signed with the old one. An overlap of 0 ends all old ones.
   * @returns the expiry of the old secret in milliseconds since the epoch; `full` if `mostFormer` old ones are still valid;
   * undefined for an unknown endpoint.
   */
  setSecret(
    id: string,
    seal: Seal,
    overlap: { readonly overlapMs: number; readonly mostFormer: number },
    actor: AuditActor,
  ): Promise<number | "full" | undefined>;
}
