import { Kysely, sql } from "kysely";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";
import { SqliteLinks, sqliteDialect } from "./sqlite-driver.ts";
import { SqliteLink } from "./sqlite-link.ts";

/**
 * The embedded engine: one file, durable at every commit. One thread writes and another one reads, so that no statement
 * blocks the event loop and no read waits for a transaction.
 * @param operations the URL of the module with the operations that the writing thread performs; null for none.
 * @throws StoreError if the file is unusable; its directory must exist.
 */
export async function openSqlite(path: string, operations: string | null): Promise<Database> {
  const writer = await SqliteLink.open({ path, role: "write", operations });
  const links = new SqliteLinks(writer, () => openReader(path));
  const db = new Kysely<Schema>({ dialect: sqliteDialect(links, true) });
  await db.connection().execute(async () => {}); // Kysely closes only connections that it has used
  const unflushedDb = new Kysely<Schema>({ dialect: sqliteDialect(links, false) });
  return {
    db,
    abilities: {
      oneWriter: true,
      unflushed: (work) => unflushedDb.transaction().execute(work),
      performAll: operations === null ? null : (calls, flushed) => links.performAll(calls, flushed),
      snapshot: (work) => snapshot(path, work),
      disableStatementTimeout: async () => {},
      lock: async () => {},
      isRetryable: () => false,
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
      overridingSequence: sql``,
      advanceSequence: async () => {}, // SQLite continues after the highest number by itself
    },
  };
}

function openReader(path: string): Promise<SqliteLink> {
  return SqliteLink.open({ path, role: "read", operations: null });
}

/** In WAL mode, a reader sees the state at the beginning of its transaction, and blocks no writer. This reader has its own thread. */
async function snapshot<T>(path: string, work: (db: Kysely<Schema>) => Promise<T>): Promise<T> {
  const link = await openReader(path);
  const db = new Kysely<Schema>({ dialect: sqliteDialect(new SqliteLinks(link, async () => link), true) });
  try {
    await sql`begin deferred`.execute(db);
    return await work(db);
  } finally {
    await db.destroy(); // ends the transaction
  }
}
