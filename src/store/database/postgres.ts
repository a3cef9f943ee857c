import { Kysely, PostgresDialect, type PostgresPool, sql } from "kysely";
import pg from "pg";
import type { Database } from "./database.ts";
import { StoreError, StoreUnavailable } from "./errors.ts";
import { notifyBy } from "./listener.ts";
import { isOutage, reasonOf } from "./outage.ts";
import type { Schema } from "./schema.ts";

/** The oldest supported release of PostgreSQL, which Debian 12 has. */
const OLDEST_VERSION = 15;
/** The most connections of a process. Each transaction needs one for its duration. */
const MAX_CONNECTIONS = 10;
const CONNECT_MS = 5_000;
/** Bounds how long a process that is paused inside a transaction holds its locks. */
const IDLE_IN_TRANSACTION_MS = 10_000;
const STATEMENT_MS = 30_000;
/**
 * How long a process waits for the response to a statement. The server ends a statement that takes too long, and reports this. If the
 * network drops packets, there is no report, and the kernel would send again for 15 minutes.
 */
const SILENCE_MS = STATEMENT_MS + 5_000;
const PATIENT = "set local statement_timeout = 0";
/**
 * A cached plan fits the tables at the time of planning. A sequential scan is best for small tables, but was still used after
 * they had grown, until the server analysed them again. Sequential scans are therefore disabled. Where there is no alternative to one,
 * its high nominal cost would trigger JIT compilation, which takes longer than any statement of the store.
 */
export const BY_INDEX = "-c enable_seqscan=off -c jit=off";
const INT8 = pg.types.builtins.INT8;

/**
 * The codes of a deadlock and of a serialization failure, after which a transaction is retried. A claim of submissions and a claim of
 * deliveries can deadlock, because they update rows of `accounts` in different orders under different locks.
 */
const LOST_TO_ANOTHER = new Set(["40P01", "40001"]);

/**
 * The engine for many processes and machines: a PostgreSQL server of version 15 or newer.
 * Advisory locks of transactions serialise operations of several processes that must be exact. Notifications use LISTEN and NOTIFY.
 * @throws StoreError if the server is unusable; the message has its address without the password.
 */
export async function openPostgres(url: string): Promise<Database> {
  const config: pg.ClientConfig = {
    connectionString: url,
    application_name: "assay",
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    statement_timeout: STATEMENT_MS,
    options: BY_INDEX,
    types: { getTypeParser: parserOf as typeof pg.types.getTypeParser },
  };
  const databaseName = nameOf(url);
  const pool = new pg.Pool({ ...config, max: MAX_CONNECTIONS });
  // The pool replaces a connection that is lost while it is idle. If it is lost in use, the statement fails.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: explaining(pool) }) });
  try {
    await checkServer(db);
  } catch (error) {
    await pool.end();
    throw new StoreError(`cannot use the database ${databaseName}: ${reasonOf(error)}`);
  }
  return {
    db,
    abilities: {
      oneWriter: false,
      performAll: null,
      unflushed: (work) =>
        db
          .transaction()
          .setIsolationLevel("read committed")
          .execute(async (trx) => {
            await sql`set local synchronous_commit = off`.execute(trx);
            return await work(trx);
          }),
      snapshot: (work) =>
        db
          .transaction()
          .setIsolationLevel("repeatable read")
          .setAccessMode("read only")
          .execute(async (trx) => {
            // The consumer of the rows may be slow, so that the transaction is idle.
            await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
            return await work(trx);
          }),
      disableStatementTimeout: async (trx) => {
        await sql.raw(PATIENT).execute(trx);
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
      },
      lock: async (trx, name) => {
        await sql`select pg_advisory_xact_lock(hashtextextended(${`assay ${name}`}, 0))`.execute(trx);
      },
      isRetryable: (error) => LOST_TO_ANOTHER.has((error as { code?: string }).code ?? ""),
      notify: notifyBy(config),
      // Not to_regclass: within a transaction, it may not see a table that another process has just created.
      hasTable: async (any, name) => {
        const { rows } = await sql`select from pg_class
          where relname = ${name} and relkind = 'r' and relnamespace = current_schema::regnamespace`.execute(any);
        return rows.length > 0;
      },
      columns: {
        bytes: "bytea",
        sequenceType: "bigint",
        sequence: (column) => column.primaryKey().generatedAlwaysAsIdentity(),
      },
      overridingSequence: sql`overriding system value`,
      advanceSequence: async (trx, table, column) => {
        await sql`select setval(pg_get_serial_sequence(${table}, ${column}), coalesce(max(${sql.ref(column)}), 0) + 1, false)
          from ${sql.table(table)}`.execute(trx);
      },
    },
  };
}

async function checkServer(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ version: string; encoding: string; standby: boolean }>`
    select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
      pg_is_in_recovery() as standby`.execute(db);
  const [server] = rows;
  const version = Math.floor(Number(server?.version) / 10_000);
  if (version < OLDEST_VERSION) {
    throw new StoreError(`it is PostgreSQL ${version}; Assay needs ${OLDEST_VERSION} or newer`);
  }
  if (server?.encoding !== "UTF8") throw new StoreError(`its encoding is ${server?.encoding}; Assay needs UTF8`);
  if (server.standby) throw new StoreError("it is a standby, which cannot be written to");
}

/** Parses 64-bit integers as numbers: the store has times, counts and positions, which are all below 2^53. */
function parserOf(oid: number, format?: "text" | "binary") {
  return oid === INT8 ? parseInt8 : pg.types.getTypeParser(oid, format as "text");
}

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is too large for an exact number`);
  return value;
}

/** The pool for Kysely, which turns every loss of a connection into StoreUnavailable. */
function explaining(pool: pg.Pool): PostgresPool {
  const named = namesOfStatements();
  const explain = (error: unknown): never => {
    throw isOutage(error) ? new StoreUnavailable(reasonOf(error)) : error;
  };
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect().catch(explain);
      let bound = SILENCE_MS;
      return {
        release: (destroy?: boolean) => client.release(destroy),
        query: (text: string, values: readonly unknown[]) => {
          if (text === PATIENT) bound = 0;
          return client
            .query({ ...named(text, [...values]), query_timeout: bound } as pg.QueryConfig)
            .catch((error) => {
              // Otherwise, later statements on this connection would wait for this one.
              if (/^Query read timeout/.test(error.message)) client.end().catch(() => {});
              return explain(error);
            });
        },
      } as unknown as Awaited<ReturnType<PostgresPool["connect"]>>;
    },
  };
}

/** The most values of a named statement. A statement with more values serves a group, and its text varies with the size of the group. */
const MAX_VALUES = 16;
/** The most names. The server stores a prepared statement for each name and connection. */
const MAX_NAMES = 200;

/**
 * Whether a statement gets a name. Statements with `*` do not: if a later release adds a column, the server rejects their prepared forms,
 * because their result type has changed.
 */
function isNamed(text: string, values: readonly unknown[]): boolean {
  return values.length > 0 && values.length <= MAX_VALUES && !/[\s.]\*/.test(text);
}

/**
 * Gives names to statements. A named statement is parsed once per connection and planned only a few times: parsing and planning took the
 * server longer than running the statements. Statements compare the columns of partial indexes with literals, so that every plan can use
 * these indexes.
 */
function namesOfStatements(): (text: string, values: unknown[]) => pg.QueryConfig {
  const names = new Map<string, string>();
  return (text, values) => {
    const known = names.get(text);
    if (known === undefined && (names.size >= MAX_NAMES || !isNamed(text, values))) return { text, values };
    const name = known ?? `assay ${names.size}`;
    names.set(text, name);
    return { name, text, values };
  };
}

/** `user@host:port/database`: identifies the database without secrets. */
function nameOf(url: string): string {
  const { user, host, port, database } = new pg.Client({ connectionString: url });
  return `postgres://${user}@${host}:${port}/${database}`;
}
