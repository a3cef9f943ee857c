import type { ColumnDataType, ColumnDefinitionBuilder, Kysely, RawBuilder, Transaction } from "kysely";
import type { Call } from "./operations.ts";
import type { Schema } from "./schema.ts";
import type { Word } from "./wakeups.ts";

/**
 * A database with what it can do. Code asks for an ability, never for an engine's name, so
 * that the next engine is one more file like sqlite.ts and postgres.ts.
 */
export interface Engine {
  readonly db: Kysely<Schema>;
  readonly abilities: Abilities;
}

export interface Abilities {
  /**
   * Only one transaction can write at a time, and each commit costs a flush to the disk:
   * transactions that wait together are committed together.
   */
  readonly oneWriter: boolean;
  /**
   * Runs a transaction whose commit need not be on the disk when it returns: it survives the
   * end of the process, but perhaps not a power cut. Nothing before or after it is touched.
   */
  readonly unflushed: <T>(work: (trx: Transaction<Schema>) => Promise<T>) => Promise<T>;
  /**
   * Performs operations in one transaction where the connection is, each all or nothing; null: they are run as any other work.
   * @returns how each ended, in order, once the transaction is committed.
   */
  readonly performAll: ((calls: readonly Call[], flushed: boolean) => Promise<PromiseSettledResult<unknown>[]>) | null;
  /** Reads everything as it is at one moment, for as long as that takes, and keeps nobody from writing. */
  readonly snapshot: <T>(work: (db: Kysely<Schema>) => Promise<T>) => Promise<T>;
  /** Lets the statements of this transaction take as long as they need. */
  readonly patient: (trx: Transaction<Schema>) => Promise<void>;
  /**
   * Makes other transactions that take the same lock wait until this one has ended, and lets
   * what follows in this one see all that they committed. Nothing where there is one writer.
   */
  readonly lock: (trx: Transaction<Schema>, name: string) => Promise<void>;
  /** Whether a transaction failed only because of another one, and is worth a second try. */
  readonly lostToAnother: (error: unknown) => boolean;
  /** Word between processes; null: none is needed, because one process serves the database. */
  readonly notify: Notify | null;
  /** Whether there is a table of this name where ours are. */
  readonly hasTable: (db: Kysely<Schema>, name: string) => Promise<boolean>;
  /** How the engine declares columns on which the two differ. */
  readonly columns: {
    readonly bytes: ColumnDataType | RawBuilder<unknown>;
    /** Turns a column into a primary key that counts up and never uses a number twice. */
    readonly sequence: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder;
    readonly sequenceType: ColumnDataType;
  };
  /** Stands between columns and values where an insert gives the numbers of a sequence itself. */
  readonly givenNumbers: RawBuilder<unknown>;
  /** After such inserts: the sequence goes on behind the highest number. */
  readonly countOn: (trx: Transaction<Schema>, table: string, column: string) => Promise<void>;
}

export interface Notify {
  /** Says these words to the other processes at the moment in which the transaction is committed. */
  readonly tell: (trx: Transaction<Schema>, words: readonly Word[]) => Promise<void>;
  /**
   * Hears what other processes say. Tries for ever; never throws.
   * @param onGap called when words may have been missed: everything has to be looked at.
   */
  readonly listen: (onWord: (word: Word) => void, onGap: () => void) => Listening;
}

export interface Listening {
  stop(): Promise<void>;
}
