import type { ColumnDataType, ColumnDefinitionBuilder, Kysely, RawBuilder, Transaction } from "kysely";
import type { Schema } from "./schema.ts";

/**
 * A database with what it can do. Code asks for an ability, never for an engine's name, so
 * that the next engine is one more file like sqlite.ts.
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
  /** How the engine declares columns on which the two differ. */
  readonly columns: {
    readonly bytes: ColumnDataType | RawBuilder<unknown>;
    /** Turns a column into a primary key that counts up and never uses a number twice. */
    readonly sequence: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder;
    readonly sequenceType: ColumnDataType;
  };
}
