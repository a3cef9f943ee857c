import type { AuditActor } from "../../domain/audit.ts";
import type { Shares } from "../../domain/status.ts";

/** An account, or one key of it. */
export interface Whose {
  readonly accountId: string;
  readonly keyId?: string | undefined;
}

/** The queue for operators. */
export interface QueueStore {
  /** Adds an audit entry for a drop of pending submissions. @returns the last of them, an argument of `drop`. */
  beginDrop(whose: Whose, actor: AuditActor): Promise<number>;

  /**
   * Ends up to `max` pending submissions as `error` with IE, and adds their deliveries to the outbox.
   * @returns their number; 0 if none up to `last` is pending.
   */
  drop(whose: Whose, last: number, max: number): Promise<number>;

  /** The accounts' present use of shared resources. @param max number of accounts. */
  shares(max: number): Promise<Shares>;
}
