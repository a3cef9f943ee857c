import type { AuditAction } from "../../../domain/audit.ts";

/**
 * GET /audit?account=&actor=&action=&subject=&since=&until=&before=&limit=100 → Audit, newest first. A search reads a
 * bounded number of entries, so a page can have fewer, or none, before the last.
 */
export interface Audit {
  readonly entries: readonly AuditEntry[];
  /** What the ids in the entries name now; ids of deleted objects are absent. */
  readonly named: Readonly<Record<string, NamedObject>>;
  readonly next: string | null;
}

export type AuditedAction = AuditAction;

export interface NamedObject {
  readonly kind: "account" | "project" | "key" | "endpoint" | "person" | "problem";
  readonly name: string;
  /** Whether it was removed, and has no page. */
  readonly isGone: boolean;
}

export interface AuditEntry {
  /** A number that only this entry has. */
  readonly seq: number;
  readonly at: string;
  readonly actor: string;
  readonly action: AuditAction;
  readonly subject: string;
  readonly account: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /**
   * Address of the client that made the request; null for a command, and for entries older than the recording of
   * addresses.
   */
  readonly address: string | null;
}
