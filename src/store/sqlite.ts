import Database from "better-sqlite3";
import { CompiledQuery, type DatabaseConnection, Kysely, SqliteDialect, SqliteDriver, sql } from "kysely";
import type { Engine } from "./engine.ts";
import type { Schema } from "./schema.ts";

/** How long a statement waits for another process that writes (the key commands, a backup). */
const BUSY_MS = 5_000;
/** Prepared statements kept; their texts are few, so reaching this means that one varies. */
const MAX_STATEMENTS = 500;

/**
 * The embedded engine: one file, one connection, durable at every commit.
 * WAL lets the key commands read and write while the service runs; synchronous=FULL makes a
 * commit survive a power cut, not only a crash of the process.
 * @throws when the file cannot be opened; its directory must exist.
 */
export function openSqlite(path: string): Engine {
  const database = new Database(path, { timeout: BUSY_MS });
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.pragma("foreign_keys = ON");
  const config = { database: withStatementCache(database) };
  const db = new Kysely<Schema>({ dialect: new ImmediateDialect(config) });
  return {
    db,
    abilities: {
      oneWriter: true,
      // In WAL mode, NORMAL leaves out the flush and nothing else: a power cut takes the newest
      // commits away, whole ones, and the next full commit flushes these as well. The connection
      // is held meanwhile, so no other commit is without its flush.
      unflushed: (work) =>
        db.connection().execute(async (connection) => {
          database.pragma("synchronous = NORMAL");
          try {
            return await connection.transaction().execute(work);
          } finally {
            database.pragma("synchronous = FULL");
          }
        }),
      snapshot: (work) =>
        db.connection().execute(async (connection) => {
          // In WAL mode a reader sees what was there when it began, and nobody waits for it.
          await sql`begin deferred`.execute(connection);
          try {
            return await work(connection);
          } finally {
            await sql`rollback`.execute(connection);
          }
        }),
      patient: async () => {},
      lock: async () => {},
      lostToAnother: () => false,
      notify: null,
      hasTable: async (any, name) => {
        const { rows } = await sql`select 1 from sqlite_schema where type = 'table' and name = ${name}`.execute(any);
        return rows.length > 0;
      },
      columns: {
        bytes: "blob",
        sequenceType: "integer",
        sequence: (column) => column.primaryKey().autoIncrement(),
      },
      givenNumbers: sql``,
      countOn: async () => {}, // it counts on from the highest by itself
    },
  };
}

type SqliteConfig = ConstructorParameters<typeof SqliteDriver>[0];
type SqliteDatabase = Exclude<SqliteConfig["database"], (...args: never) => unknown>;

/** Kysely prepares a statement each time it runs; preparing costs more than running a small one. */
function withStatementCache(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, ReturnType<SqliteDatabase["prepare"]>>();
  return {
    close: () => {
      database.close();
    },
    prepare: (text) => {
      const known = statements.get(text);
      if (known) return known;
      if (statements.size >= MAX_STATEMENTS) statements.clear();
      const statement = database.prepare(text) as ReturnType<SqliteDatabase["prepare"]>;
      statements.set(text, statement);
      return statement;
    },
  };
}

/**
 * Transactions take the write lock when they begin. A plain `begin` takes it at the first
 * write, and then fails at once, without waiting, if another process wrote in between.
 */
class ImmediateDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }
}

class ImmediateDialect extends SqliteDialect {
  readonly #config: SqliteConfig;

  constructor(config: SqliteConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): ImmediateDriver {
    return new ImmediateDriver(this.#config);
  }
}
