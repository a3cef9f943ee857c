import { Kysely, sql } from "kysely";
import type { Schema } from "../schema/schema.ts";
import type { Database } from "./database.ts";
import { SqliteLinks, sqliteDialect } from "./sqlite-driver.ts";
import { SqliteLink } from "./sqlite-link.ts";

/**
 * The embedded engine: one file, durable at every commit. One thread writes and another one reads, so that no statement
 * blocks the event loop and no read waits for a transaction.
 * @throws StoreError if the file is unusable; its directory must exist.
 */
export async function openSqlite(path: string): Promise<Database> {
  const writer = await SqliteLink.open({ path, role: "write" });
  const links = new SqliteLinks(writer, () => SqliteLink.open({ path, role: "read" }));
  const db = new Kysely<Schema>({ dialect: sqliteDialect(links, true) });
  await db.connection().execute(async () => {}); // Kysely closes only connections that it has used
  const forgetful = new Kysely<Schema>({ dialect: sqliteDialect(links, false) });
  return {
    db,
    abilities: {
      oneWriter: true,
      asyncCommit: (work) => forgetful.transaction().execute(work),
      performAll: (calls, flushed) => links.performAll(calls, flushed),
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

/** In WAL mode, a reader sees the state at the beginning of its transaction, and blocks no writer. This reader has its own thread. */
async function snapshot<T>(path: string, work: (db: Kysely<Schema>) => Promise<T>): Promise<T> {
  const link = await SqliteLink.open({ path, role: "read" });
  const db = new Kysely<Schema>({ dialect: sqliteDialect(new SqliteLinks(link, async () => link), true) });
  try {
    await sql`begin deferred`.execute(db);
    return await work(db);
  } finally {
    await db.destroy(); // ends the transaction
  }
}
