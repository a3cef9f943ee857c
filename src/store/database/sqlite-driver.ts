import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";
import { type Dialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { asBuffers } from "./bytes.ts";
import { StoreUnavailable } from "./errors.ts";
import type { OperationCall } from "./operations.ts";
import { isOutage } from "./outage.ts";
import type { SqliteLink } from "./sqlite-link.ts";
import type { Failure, Request, SqliteReply, Statement } from "./sqlite-thread.ts";

/**
 * A writing connection for one transaction at a time, and a read-only connection. The read-only one is opened only when a read would have
 * to wait for a transaction on the writing one, because most commands do not need a second thread.
 */
export class SqliteLinks {
  readonly #writer: SqliteLink;
  readonly #openReader: () => Promise<SqliteLink>;
  #reader: Promise<SqliteLink> | null = null;
  #turn: Promise<void> = Promise.resolve();
  #turns = 0;

  constructor(writer: SqliteLink, openReader: () => Promise<SqliteLink>) {
    this.#writer = writer;
    this.#openReader = openReader;
  }

  /** Waits for the turn to use the writing connection. @returns a function that ends the turn. */
  async takeTurn(): Promise<() => void> {
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    this.#turns++;
    await before;
    return () => {
      this.#turns--;
      resolve();
    };
  }

  /** Sends a request to the writing connection. The caller must have the turn. */
  write(request: Request): Promise<SqliteReply> {
    return this.#writer.ask(request);
  }

  async writeAlone(request: Request): Promise<SqliteReply> {
    const endTurn = await this.takeTurn();
    try {
      return await this.write(request);
    } finally {
      endTurn();
    }
  }

  /**
   * Runs a statement without waiting for a transaction: on the writing connection if that is free and there is no other one yet, otherwise
   * on the read-only one. If the read-only one gets a statement that writes, it answers `writes`, and does not run the statement.
   */
  async read(request: Request): Promise<SqliteReply> {
    if (!this.#reader && this.#turns === 0) return await this.writeAlone(request);
    this.#reader ??= this.#openReader().catch((error) => {
      this.#reader = null;
      throw error;
    });
    return await (await this.#reader).ask(request);
  }

  async performAll(calls: readonly OperationCall[], flushed: boolean): Promise<PromiseSettledResult<unknown>[]> {
    const answer = await this.writeAlone({ kind: "calls", calls, flushed });
    if (answer.kind === "failed") throw errorOf(answer);
    if (answer.kind !== "performed") throw new Error("the thread of the database gave an unexpected answer");
    return answer.ended.map((one) =>
      one.status === "fulfilled"
        ? { ...one, value: asBuffers(one.value) }
        : { ...one, reason: errorOf(one.reason as Failure) },
    );
  }

  async close(): Promise<void> {
    try {
      await (await this.#reader)?.close();
    } finally {
      await this.#writer.close(); // the last connection to close removes the -wal file
    }
  }
}

/** @param flushed whether commits wait for the flush to the disk. */
export function sqliteDialect(links: SqliteLinks, flushed: boolean): Dialect {
  return {
    createDriver: () => new LinkedDriver(links, flushed),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

class LinkedDriver implements Driver {
  readonly #links: SqliteLinks;
  readonly #flushed: boolean;

  constructor(links: SqliteLinks, flushed: boolean) {
    this.#links = links;
    this.#flushed = flushed;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<LinkedConnection> {
    return new LinkedConnection(this.#links);
  }

  beginTransaction(connection: LinkedConnection): Promise<void> {
    return connection.begin(this.#flushed);
  }

  commitTransaction(connection: LinkedConnection): Promise<void> {
    return connection.end("commit");
  }

  rollbackTransaction(connection: LinkedConnection): Promise<void> {
    return connection.end("rollback");
  }

  async releaseConnection(): Promise<void> {}

  destroy(): Promise<void> {
    return this.#links.close();
  }
}

/** Statements without a result are sent with the next statement, because each message between threads costs some 10 µs. */
const WITH_THE_NEXT = /^(savepoint|release) \w+$/;

class LinkedConnection implements DatabaseConnection {
  readonly #links: SqliteLinks;
  #endTurn: (() => void) | null = null;
  #begin: Statement["begin"] = null;
  #first: string[] = [];
  #inTransaction = false;

  constructor(links: SqliteLinks) {
    this.#links = links;
  }

  async begin(flushed: boolean): Promise<void> {
    this.#endTurn = await this.#links.takeTurn();
    this.#begin = flushed ? "flushed" : "unflushed";
  }

  /** A transaction stays open after a failed commit; Kysely then asks for the rollback. */
  async end(how: "commit" | "rollback"): Promise<void> {
    if (how === "rollback") this.#first = [];
    try {
      // SQLite itself ends a transaction after a disk error. A second rollback would fail, and its
      // message would replace the original error.
      if (how === "commit" || this.#inTransaction) await this.#write(how, []);
    } finally {
      if (how === "rollback" || !this.#inTransaction) {
        this.#endTurn?.();
        this.#endTurn = null;
      }
    }
  }

  async executeQuery<R>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#endTurn) {
      if (!WITH_THE_NEXT.test(text)) return result(await this.#write(text, parameters));
      this.#first.push(text);
      return { rows: [] };
    }
    const request = { kind: "statement", begin: null, first: [], text, parameters } as const;
    const answer = await this.#links.read(request);
    return result(answer.kind === "writes" ? await this.#links.writeAlone(request) : answer);
  }

  // biome-ignore lint/correctness/useYield: nothing is streamed
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("rows are not streamed");
  }

  async #write(text: string, parameters: readonly unknown[]): Promise<SqliteReply> {
    const request = { kind: "statement", begin: this.#begin, first: this.#first, text, parameters } as const;
    this.#begin = null;
    this.#first = [];
    const answer = await this.#links.write(request);
    if ("inTransaction" in answer) this.#inTransaction = answer.inTransaction;
    if (answer.kind === "failed") throw errorOf(answer);
    return answer;
  }
}

function result<R>(answer: SqliteReply): QueryResult<R> {
  switch (answer.kind) {
    case "rows":
      for (const column of answer.bytes) for (const row of answer.rows) row[column] = asBuffers(row[column]);
      return { rows: answer.rows as R[] };
    case "changed":
      return { rows: [], insertId: BigInt(answer.lastInsertRowid), numAffectedRows: BigInt(answer.changes) };
    case "failed":
      throw errorOf(answer);
    default:
      throw new Error("the thread of the database gave an unexpected answer");
  }
}

/** A full or unwritable disk counts as an unavailable database, not as a failure of the request. */
function errorOf({ message, code }: Failure): Error {
  const error = Object.assign(new Error(message), { code });
  return isOutage(error) ? new StoreUnavailable(message) : error;
}
