import { accessSync, constants, existsSync } from "node:fs";
import Database from "better-sqlite3";
import { CompiledQuery, type DatabaseConnection, Kysely, SqliteDialect, SqliteDriver, sql } from "kysely";
import type { Engine } from "./engine.ts";
import { StoreError, StoreUnavailable } from "./errors.ts";
import { isOutage, reasonOf } from "./outage.ts";
import type { Schema } from "./schema.ts";

/** How long a statement waits for another process that writes (the key commands, a backup). */
const BUSY_MS = 5_000;
/** Prepared statements kept; their texts are few, so reaching this means that one varies. */
const MAX_STATEMENTS = 500;

/**
 * The embedded engine: one file, one connection, durable at every commit.
 * WAL lets the key commands read and write while the service runs; synchronous=FULL makes a
 * commit survive a power cut, not only a crash of the process.
 * @throws StoreError when the file cannot be used; its directory must exist.
 */
export function openSqlite(path: string): Engine {
  const database = openFile(path);
  const config = { database: withStatementCache(database) };
  const db = new Kysely<Schema>({ dialect: new ImmediateDialect(config, () => database.inTransaction) });
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

function openFile(path: string): Database.Database {
  let database: Database.Database | undefined;
  try {
    // SQLite opens what it can't write to for reading alone, and that stays so when the disk is mended.
    if (existsSync(path)) accessSync(path, constants.W_OK);
    database = new Database(path, { timeout: BUSY_MS });
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    database.pragma("foreign_keys = ON");
    return database;
  } catch (error) {
    database?.close();
    throw new StoreError(`cannot use the database ${path}: ${reasonOf(error)}`);
  }
}

type SqliteConfig = ConstructorParameters<typeof SqliteDriver>[0];
type SqliteDatabase = Exclude<SqliteConfig["database"], (...args: never) => unknown>;
type Statement = ReturnType<SqliteDatabase["prepare"]>;

/** Kysely prepares a statement each time it runs; preparing costs more than running a small one. */
function withStatementCache(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, Statement>();
  return {
    close: () => {
      database.close();
    },
    prepare: (text) => {
      const known = statements.get(text);
      if (known) return known;
      if (statements.size >= MAX_STATEMENTS) statements.clear();
      const statement = explaining(database.prepare(text) as Statement);
      statements.set(text, statement);
      return statement;
    },
  };
}

/** A full disk, or one that can't be written to, is the database's absence and not the request's fault. */
function explaining(statement: Statement): Statement {
  const explained = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw isOutage(error) ? new StoreUnavailable(reasonOf(error)) : error;
    }
  };
  return {
    reader: statement.reader,
    all: (parameters) => explained(() => statement.all(parameters)),
    run: (parameters) => explained(() => statement.run(parameters)),
    iterate: (parameters) => statement.iterate(parameters),
  };
}

/**
 * Transactions take the write lock when they begin. A plain `begin` takes it at the first
 * write, and then fails at once, without waiting, if another process wrote in between.
 *
 * SQLite ends a transaction by itself when the disk is full or broken. A second rollback would
 * fail, and its words would stand in the place of the reason.
 */
class ImmediateDriver extends SqliteDriver {
  readonly #inTransaction: () => boolean;

  constructor(config: SqliteConfig, inTransaction: () => boolean) {
    super(config);
    this.#inTransaction = inTransaction;
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#inTransaction()) await super.rollbackTransaction(connection);
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }
}

class ImmediateDialect extends SqliteDialect {
  readonly #config: SqliteConfig;
  readonly #inTransaction: () => boolean;

  constructor(config: SqliteConfig, inTransaction: () => boolean) {
    super(config);
    this.#config = config;
    this.#inTransaction = inTransaction;
  }

  override createDriver(): ImmediateDriver {
    return new ImmediateDriver(this.#config, this.#inTransaction);
  }
}
