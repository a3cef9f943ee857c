import { sql } from "kysely";
import type { DatabaseLocation } from "../../src/domain/database.ts";
import type { Database } from "../../src/store/database/database.ts";
import { openDatabase } from "../../src/store/open.ts";
import { nameOf, parentOf } from "./processes.ts";

/** A database that is created for the benchmark and removed by `drop`. */
export interface BenchDatabase {
  readonly kind: DatabaseLocation["kind"];
  readonly database: DatabaseLocation;
  /** The version of the PostgreSQL server; null for SQLite. */
  readonly version: string | null;
  /** The pid of the server's first process; null for SQLite, and if the server is not on this machine. */
  readonly server: number | null;
  /** The counters of the PostgreSQL server; null for SQLite. */
  readonly counted: () => Promise<Counted | null>;
  readonly bytes: () => Promise<number>;
  readonly drop: () => Promise<void>;
}

export interface Counted {
  readonly walBytes: number;
  readonly walFlushes: number;
  readonly transactions: number;
}

/**
 * Creates a new database on the PostgreSQL server of the URL, because the contents of the database in the URL must not be touched. Without
 * a URL, the new database is SQLite in the directory.
 */
export async function makeDatabase(url: string | undefined, directory: string): Promise<BenchDatabase> {
  if (url === undefined) return embedded(`${directory}/db/assay.sqlite`);
  const name = `assay_bench_${process.pid}_${made++}`;
  await within({ kind: "postgres", url }, ({ db }) => sql`create database ${sql.id(name)}`.execute(db));
  const own = new URL(url);
  own.pathname = `/${name}`;
  const database: DatabaseLocation = { kind: "postgres", url: own.href };
  const ask = <T>(work: (database: Database) => Promise<T>) => within(database, work);
  const { version, server } = await ask(async ({ db }) => {
    const { rows } = await sql<{ version: string; pid: number }>`
      select current_setting('server_version') as version, pg_backend_pid() as pid`.execute(db);
    const [{ version, pid }] = rows as [{ version: string; pid: number }];
    // The name is read during the connection, while that backend lives. If the server is on another machine, the pid can belong to any
    // local process.
    return { version, server: /^postgres/.test(nameOf(pid)) ? (parentOf(pid) ?? null) : null };
  });
  return {
    ...{ kind: "postgres", database, version, server },
    counted: () =>
      ask(async ({ db }) => {
        const { rows } = await sql<Counted>`
          select (pg_current_wal_lsn() - '0/0')::float8 as "walBytes",
            (select wal_sync from pg_stat_wal)::float8 as "walFlushes",
            (select xact_commit from pg_stat_database where datname = current_database())::float8 as "transactions"`.execute(
          db,
        );
        return rows[0] ?? null;
      }),
    bytes: () =>
      ask(async ({ db }) => {
        const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db);
        return rows[0]?.bytes ?? 0;
      }),
    drop: () =>
      within({ kind: "postgres", url }, async ({ db }) => {
        await sql`drop database ${sql.id(name)} with (force)`.execute(db);
      }),
  };
}

let made = 0;

function embedded(path: string): BenchDatabase {
  const database: DatabaseLocation = { kind: "sqlite", path };
  return {
    ...{ kind: "sqlite", database, version: null, server: null },
    counted: async () => null,
    bytes: () =>
      within(database, async ({ db }) => {
        const { rows } = await sql<{ bytes: number }>`
          select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`.execute(db);
        return rows[0]?.bytes ?? 0;
      }),
    drop: async () => {}, // the file is removed with the directory
  };
}

/** Calls `work` with a new connection to the database, below the store. */
export async function within<T>(database: DatabaseLocation, work: (database: Database) => Promise<T>): Promise<T> {
  const opened = await openDatabase(database);
  try {
    return await work(opened);
  } finally {
    await opened.db.destroy();
  }
}
