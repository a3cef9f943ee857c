import type { AuditAction } from "../../../domain/audit.ts";

/**
 * GET /audit?account=&actor=&action=&subject=&since=&until=&before=&limit=100 → Audit, newest first. A search reads a bounded number of
 * entries, so a page can have fewer than `limit` matches, or none, although `next` is not null.
 */
export interface Audit {
  readonly entries: readonly AuditEntry[];
  /** The objects that ids in the entries name, with their present names. Ids of deleted objects are absent. */
  readonly named: Readonly<Record<string, NamedObject>>;
  readonly next: string | null;
}

export type AuditedAction = AuditAction;

export interface NamedObject {
  readonly kind: "account" | "project" | "key" | "endpoint" | "person" | "problem";
  readonly name: string;
  /** Whether the object, an endpoint, was removed; it then has no page. */
  readonly isGone: boolean;
}

export interface AuditEntry {
  /** The number of this entry; no other entry has it. */
  readonly seq: number;
  readonly at: string;
  readonly actor: string;
  readonly action: AuditAction;
  readonly subject: string;
  readonly account: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /**
   * Address of the client that made the request. Null for a command, and for an entry of a release that did not record addresses.
   */
  readonly address: string | null;
}
