/** GET /audit?account=&before=&limit=100 → Audit, newest first. */
export interface Audit {
  readonly entries: readonly AuditEntry[];
  readonly next: string | null;
}

export interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly account: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /**
   * Address of the client that made the request; null for a command, and for entries older than the recording of
   * addresses.
   */
  readonly address: string | null;
}
