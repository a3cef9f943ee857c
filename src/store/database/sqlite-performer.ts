import { type DatabaseConnection, Kysely, SqliteDialect, SqliteDriver, type Transaction } from "kysely";
import { asBuffers } from "./bytes.ts";
import { type OperationCall, type Operations, perform, runPieces } from "./operations.ts";
import type { Schema } from "./schema.ts";

type Config = ConstructorParameters<typeof SqliteDriver>[0];
type Prepare = Exclude<Config["database"], (...args: never) => unknown>["prepare"];

/** The connection of the thread that writes. */
interface Connection {
  readonly prepare: (text: string) => unknown;
  readonly begin: (flushed: boolean) => void;
  readonly inTransaction: () => boolean;
}

export type Performer = (calls: readonly OperationCall[], flushed: boolean) => Promise<PromiseSettledResult<unknown>[]>;

/** Performs operations in the thread of the connection. */
export function performer(operations: Operations, connection: Connection): Performer {
  const flush = { wanted: true };
  const db = new Kysely<Schema>({ dialect: new OwnDialect(connection, flush) });
  const locks = { lock: async () => {} };
  const pieceOf = (call: OperationCall) => (trx: Transaction<Schema>) =>
    perform(operations, trx, locks, { ...call, asked: asBuffers(call.asked) });
  return (calls, flushed) => {
    flush.wanted = flushed;
    return db.transaction().execute((trx) => runPieces(trx, calls.map(pieceOf)));
  };
}

class OwnDialect extends SqliteDialect {
  readonly #driver: () => OwnDriver;

  constructor(connection: Connection, flush: { readonly wanted: boolean }) {
    const config = { database: { prepare: connection.prepare as Prepare, close: () => {} } };
    super(config);
    this.#driver = () => new OwnDriver(config, connection, flush);
  }

  override createDriver(): OwnDriver {
    return this.#driver();
  }
}

class OwnDriver extends SqliteDriver {
  readonly #own: Connection;
  readonly #flush: { readonly wanted: boolean };

  constructor(config: Config, own: Connection, flush: { readonly wanted: boolean }) {
    super(config);
    this.#own = own;
    this.#flush = flush;
  }

  override async beginTransaction(): Promise<void> {
    this.#own.begin(this.#flush.wanted);
  }

  /** SQLite itself ends a transaction after a disk error. A second rollback would fail and hide the original error. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#own.inTransaction()) await super.rollbackTransaction(connection);
  }
}
