import type { ColumnDataType, ColumnDefinitionBuilder, Kysely, RawBuilder, Transaction } from "kysely";
import type { StoreNotification } from "./notifier.ts";
import type { OperationCall } from "./operations.ts";
import type { Schema } from "./schema.ts";

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
   * Whether only one transaction can write at a time, with a flush to the disk at each commit. Waiting transactions are then committed
   * together.
   */
  readonly oneWriter: boolean;
  /**
   * Runs a transaction without waiting for the flush of its commit: the commit survives the end of the process, but possibly not a power
   * failure. Other transactions are not affected.
   */
  readonly unflushed: <T>(work: (trx: Transaction<Schema>) => Promise<T>) => Promise<T>;
  /**
   * Performs operations in one transaction, in the thread of the connection. Each operation has its own savepoint, so that a
   * failure does not undo the others. Null for an engine without such a thread: operations then run like other work.
   * @param flushed whether the commit waits for its flush to the disk; otherwise, the commit is like that of `unflushed`.
   * @returns the result of each operation, in order, after the commit.
   */
  readonly performAll:
    | ((calls: readonly OperationCall[], flushed: boolean) => Promise<PromiseSettledResult<unknown>[]>)
    | null;
  /** Runs reads that see one consistent state of the database, without a time limit, and without blocking writers. */
  readonly snapshot: <T>(work: (db: Kysely<Schema>) => Promise<T>) => Promise<T>;
  /** Removes the time limits of a transaction: for each statement, and for pauses between statements. Does nothing without such limits. */
  readonly disableStatementTimeout: (trx: Transaction<Schema>) => Promise<void>;
  /**
   * Takes a lock until the end of the transaction. Later statements of this transaction see all
   * commits of previous holders. Does nothing on an engine with a single writer.
   */
  readonly lock: (trx: Transaction<Schema>, name: string) => Promise<void>;
  /** Whether the error of a transaction was caused by a concurrent transaction, so that it can be retried. */
  readonly isRetryable: (error: unknown) => boolean;
  /** Notifications between processes; null if only one process can serve the database. */
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
  /** The clause between the columns and the values of an insert with explicit sequence numbers. */
  readonly overridingSequence: RawBuilder<unknown>;
  /** After such inserts, makes the sequence continue after the highest number. */
  readonly advanceSequence: (trx: Transaction<Schema>, table: string, column: string) => Promise<void>;
}

export interface Notify {
  /** Sends notifications to other processes with the commit of the transaction. */
  readonly publish: (trx: Transaction<Schema>, notifications: readonly StoreNotification[]) => Promise<void>;
  /**
   * Receives notifications of other processes. It connects again after each loss of the connection, and never throws.
   * @param onGap called when notifications may have been lost, so that all listeners query again.
   */
  readonly listen: (onNotification: (notification: StoreNotification) => void, onGap: () => void) => Listening;
}

export interface Listening {
  stop(): Promise<void>;
}
