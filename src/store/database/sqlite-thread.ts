import { accessSync, constants, existsSync, statSync, writeSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import Database from "better-sqlite3";
import type { OperationCall, Operations } from "./operations.ts";
import type { Performer } from "./sqlite-performer.ts";

/*
 * The program of a thread with at most one connection to a database file. All SQLite calls are made in such a thread, so that a slow
 * disk, a flush or a lock of another process blocks the thread, and not the event loop of the service.
 */

/** Opens a connection. One with the role `read` rejects statements that write; the caller then sends them to one with `write`. */
export interface ConnectionRequest {
  readonly kind: "open";
  readonly path: string;
  readonly role: "read" | "write";
  /** The URL of the module that exports the operations (Operations); null if the connection performs none. */
  readonly operations: string | null;
}

/** Closes the connection; the thread can open another one. */
export interface Closing {
  readonly kind: "close";
}

/** A request to the thread, which answers requests in their order. */
export type Request = ConnectionRequest | Statement | Calls | Closing;

/** Runs one statement. */
export interface Statement {
  readonly kind: "statement";
  /** Whether the statement begins a transaction, and how that is committed: a power failure may lose an unflushed commit. */
  readonly begin: "flushed" | "unflushed" | null;
  /** Statements to run before this one, which is not run if one of them fails. */
  readonly first: readonly string[];
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** Performs operations in one transaction, and commits it. */
export interface Calls {
  readonly kind: "calls";
  readonly flushed: boolean;
  readonly calls: readonly OperationCall[];
}

/** An error as a message between threads. */
export interface Failure {
  readonly message: string;
  readonly code: string | undefined;
}

export type SqliteReply =
  | {
      readonly kind: "rows";
      readonly rows: Record<string, unknown>[];
      /** The names of the columns that have bytes. */
      readonly bytes: readonly string[];
      readonly inTransaction: boolean;
    }
  | {
      readonly kind: "changed";
      readonly changes: number;
      readonly lastInsertRowid: number;
      readonly inTransaction: boolean;
    }
  | (Failure & { readonly kind: "failed"; readonly inTransaction: boolean })
  | { readonly kind: "performed"; readonly ended: readonly PromiseSettledResult<unknown>[] }
  /** The statement was not run, because it writes, and the connection only reads. */
  | { readonly kind: "writes" }
  | { readonly kind: "opened" | "closed" };

/** How long a statement waits for a writer in another process, such as a command that changes keys, or a restore. */
const BUSY_MS = 5_000;
/** The most cached statements. There are few different texts, so if there are more, one of them varies. */
const MAX_STATEMENTS = 500;
/** The size of the -wal file that causes a checkpoint: 1,000 pages with their headers, as by default in SQLite. */
const WAL_BYTES = 1_000 * (4_096 + 24) + 32;
/** Values of this size or more are transferred between threads instead of copied. */
const TRANSFER_BYTES = 65_536;

const port = parentPort as NonNullable<typeof parentPort>;
let connection: Connection | undefined;
let turn = Promise.resolve();

port.on("message", (request: Request) => {
  turn = turn.then(() => handle(request));
});

async function handle(request: Request): Promise<void> {
  const [answer, transfer = []] = await answerTo(request);
  port.postMessage(answer, transfer);
  connection?.checkpointIfLarge();
}

async function answerTo(request: Request): Promise<[SqliteReply, ArrayBuffer[]?]> {
  try {
    if (request.kind === "open") {
      connection = new Connection(request);
      return [{ kind: "opened" }];
    }
    if (!connection) throw new Error("the thread has no connection");
    if (request.kind === "calls") return [await connection.perform(request)];
    if (request.kind === "statement") return connection.run(request);
    const closing = connection;
    connection = undefined;
    closing.close();
    return [{ kind: "closed" }];
  } catch (error) {
    return [{ kind: "failed", ...failureOf(error), inTransaction: connection?.inTransaction ?? false }];
  }
}

function failureOf(error: unknown): Failure {
  const { message, code } = error as Error & { code?: string };
  return { message, code };
}

class Connection {
  readonly #path: string;
  readonly #role: ConnectionRequest["role"];
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();
  readonly #operations: string | null;
  #flushes = true;
  #performs: Performer | undefined;

  /**
   * With WAL, commands and the reading thread can read while this thread writes. With synchronous=FULL, a commit survives a power
   * failure, not only a crash of the process.
   */
  constructor({ path, role, operations }: ConnectionRequest) {
    this.#path = path;
    this.#operations = operations;
    this.#role = role;
    // SQLite would open an unwritable file read-only, and the connection would stay read-only after the disk is writable again.
    if (existsSync(path)) accessSync(path, constants.W_OK);
    this.#database = new Database(path, { timeout: BUSY_MS });
    try {
      if (role === "write") {
        this.#database.pragma("journal_mode = WAL");
        this.#database.pragma(`journal_size_limit = ${WAL_BYTES}`);
        // Checkpoints are made explicitly, because the automatic ones of SQLite hide their errors.
        this.#database.pragma("wal_autocheckpoint = 0");
      } else {
        this.#database.pragma("query_only = ON");
      }
      this.#database.pragma("synchronous = FULL");
      this.#database.pragma("foreign_keys = ON");
      // If an earlier process ended because of a failed flush, its data may be in the page cache only; a checkpoint flushes it.
      if (role === "write") this.#checkpoint();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction;
  }

  close(): void {
    this.#database.close();
  }

  run({ begin, first, text, parameters }: Statement): [SqliteReply, ArrayBuffer[]?] {
    try {
      if (begin) this.#begin(begin === "flushed");
      else if (this.#role === "write" && !this.inTransaction) this.#flushCommits(true);
      for (const one of first) this.#prepared(one).run();
      const statement = this.#prepared(text);
      if (this.#role === "read" && !statement.readonly) return [{ kind: "writes" }];
      if (statement.reader) {
        const rows = statement.all(...parameters) as Record<string, unknown>[];
        const [bytes, transfer] = bytesIn(rows);
        return [{ kind: "rows", rows, bytes, inTransaction: this.inTransaction }, transfer];
      }
      const { changes, lastInsertRowid } = statement.run(...parameters);
      const inserted = Number(lastInsertRowid);
      return [{ kind: "changed", changes, lastInsertRowid: inserted, inTransaction: this.inTransaction }];
    } catch (error) {
      this.#endIfNotFlushed(error);
      throw error;
    }
  }

  async perform({ calls, flushed }: Calls): Promise<SqliteReply> {
    try {
      this.#performs ??= await this.#performer();
      const ended = await this.#performs(calls, flushed);
      for (const one of ended) if (one.status === "rejected") this.#endIfNotFlushed(one.reason);
      return {
        kind: "performed",
        ended: ended.map((one) => (one.status === "fulfilled" ? one : { ...one, reason: failureOf(one.reason) })),
      };
    } catch (error) {
      this.#endIfNotFlushed(error);
      throw error;
    }
  }

  /** Makes a checkpoint if the -wal file is large. This is called after the response, so that no request waits for a checkpoint. */
  checkpointIfLarge(): void {
    if (this.#role !== "write" || this.inTransaction) return;
    const { size = 0 } = statSync(`${this.#path}-wal`, { throwIfNoEntry: false }) ?? {};
    if (size > WAL_BYTES) this.#checkpoint();
  }

  /** The modules are loaded at their first use, because commands of operators do not need them. */
  async #performer(): Promise<Performer> {
    if (this.#operations === null) throw new Error("the connection was opened without operations");
    const { performer } = await import("./sqlite-performer.ts");
    const { OPERATIONS } = (await import(this.#operations)) as { readonly OPERATIONS: Operations };
    return performer(OPERATIONS, {
      prepare: (text) => this.#prepared(text),
      begin: (flushed) => this.#begin(flushed),
      inTransaction: () => this.inTransaction,
    });
  }

  /**
   * Begins a transaction that takes the write lock at once. After a plain `begin`, the first write takes the lock, and fails without
   * waiting if another process has written in between.
   */
  #begin(flushed: boolean): void {
    this.#flushCommits(flushed);
    this.#prepared("begin immediate").run();
  }

  /**
   * Sets whether commits wait for the flush. In WAL mode, NORMAL only omits the flush: a power failure can lose the newest commits, but
   * only whole ones, and the next commit with FULL flushes them as well.
   */
  #flushCommits(flushed: boolean): void {
    if (this.#flushes === flushed) return;
    this.#database.pragma(`synchronous = ${flushed ? "FULL" : "NORMAL"}`);
    this.#flushes = flushed;
  }

  /** A prepared statement from the cache, because preparing a small statement costs more than running it. */
  #prepared(text: string): Database.Statement {
    const known = this.#statements.get(text);
    if (known) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.#database.prepare(text);
    // A pragma may take effect only once, when it is prepared.
    if (!/^\s*pragma/i.test(text)) this.#statements.set(text, statement);
    return statement;
  }

  /** Moves pages that no reader needs from the -wal file into the database, without waiting for other processes. */
  #checkpoint(): void {
    try {
      this.#database.pragma("wal_checkpoint(PASSIVE)");
    } catch (error) {
      this.#endIfNotFlushed(error);
      // The disk may be full, for example: the -wal file keeps the data, and the next commit tries again.
    }
  }

  /**
   * Ends the process if a flush has failed. The kernel then marks the unwritten pages as clean: a second flush would succeed without
   * writing them, and later commits would be lost as well. The process therefore ends before it confirms another commit.
   */
  #endIfNotFlushed(error: unknown): void {
    const { code, message } = error as Error & { code?: string };
    if (!/^SQLITE_IOERR_(DIR_)?FSYNC$/.test(code ?? "")) return;
    writeSync(2, `assay: the disk did not keep what was written to ${this.#path} (${message}); the process ends\n`);
    process.kill(process.pid, "SIGKILL");
  }
}

/** @returns the names of the columns that have bytes, and the memory of the large values, which is transferred. */
function bytesIn(rows: readonly Record<string, unknown>[]): [string[], ArrayBuffer[]] {
  const columns = new Set<string>();
  const transfer: ArrayBuffer[] = [];
  for (const row of rows)
    for (const name in row) {
      const value = row[name];
      if (!(value instanceof Uint8Array)) continue;
      columns.add(name);
      const { buffer } = value;
      if (value.length >= TRANSFER_BYTES && buffer.byteLength === value.length) transfer.push(buffer as ArrayBuffer);
    }
  return [[...columns], transfer];
}
