import type { ColumnDataType, ColumnDefinitionBuilder, Kysely, RawBuilder, Transaction } from "kysely";
import type { Schema } from "../schema/schema.ts";
import type { StoreNotification } from "./notifier.ts";
import type { Call } from "./operations.ts";

/**
 * A database with what its engine can do. Code depends on these abilities instead of the engine's name, so that
 * another engine is one more file like sqlite.ts and postgres.ts.
 */
export interface Database {
  readonly db: Kysely<Schema>;
  readonly abilities: Abilities;
}

export interface Abilities {
  /**
   * Only one transaction can write at a time, and each commit needs a flush to the disk. Waiting
   * transactions are therefore committed together.
   */
  readonly oneWriter: boolean;
  /**
   * Runs a transaction without waiting for the flush of its commit: it survives the end of the
   * process, but possibly not a power failure. Other transactions are not affected.
   */
  readonly asyncCommit: <T>(work: (trx: Transaction<Schema>) => Promise<T>) => Promise<T>;
  /**
   * Performs operations in one transaction, in the thread of the connection. Each operation has its own savepoint, so that a
   * failure does not undo the others. Null for an engine without such a thread: operations then run like other work.
   * @param flushed whether the commit waits for its flush to the disk; otherwise, it is like `asyncCommit`.
   * @returns the result of each, in order, after the commit.
   */
  readonly performAll: ((calls: readonly Call[], flushed: boolean) => Promise<PromiseSettledResult<unknown>[]>) | null;
  /** Reads a consistent snapshot without a time limit and without blocking writers. */
  readonly snapshot: <T>(work: (db: Kysely<Schema>) => Promise<T>) => Promise<T>;
  /** Removes the statement timeout of this transaction. */
  readonly disableStatementTimeout: (trx: Transaction<Schema>) => Promise<void>;
  /**
   * Takes a lock until the end of the transaction. Later statements of this transaction see all
   * commits of previous holders. Does nothing on an engine with a single writer.
   */
  readonly lock: (trx: Transaction<Schema>, name: string) => Promise<void>;
  /** Whether a transaction failed because of a concurrent one and can be retried. */
  readonly isRetryable: (error: unknown) => boolean;
  /** Notifications between processes; null if a single process serves the database. */
  readonly notify: Notify | null;
  /** Whether a table of this name exists in the schema of the store. */
  readonly hasTable: (db: Kysely<Schema>, name: string) => Promise<boolean>;
  /** Column declarations that differ between the engines. */
  readonly columns: {
    readonly bytes: ColumnDataType | RawBuilder<unknown>;
    /** Declares a primary key with increasing numbers that are never reused. */
    readonly sequence: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder;
    readonly sequenceType: ColumnDataType;
  };
  /** Clause between columns and values of an insert with explicit sequence numbers. */
  readonly overridingSequence: RawBuilder<unknown>;
  /** Continues the sequence after the highest number, after such inserts. */
  readonly advanceSequence: (trx: Transaction<Schema>, table: string, column: string) => Promise<void>;
}

export interface Notify {
  /** Sends notifications to other processes with the commit of the transaction. */
  readonly publish: (trx: Transaction<Schema>, notifications: readonly StoreNotification[]) => Promise<void>;
  /**
   * Receives notifications of other processes. Reconnects without limit; never throws.
   * @param onGap called when notifications may have been lost: all listeners must query again.
   */
  readonly listen: (onNotification: (notification: StoreNotification) => void, onGap: () => void) => Listening;
}

export interface Listening {
  stop(): Promise<void>;
}
