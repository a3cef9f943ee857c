import { accessSync, constants, existsSync, statSync, writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import type { Call } from "./operations.ts";
import type { Performer } from "./sqlite-performer.ts";

/**
 * The program of a thread with one connection to a database file. All SQLite calls are made in such a thread, so
 * that a slow disk, a flush or a lock of another process blocks it and not the event loop of the service.
 */

/** `read` rejects writing statements, which must be sent to `write`. */
export interface Opening {
  readonly path: string;
  readonly role: "read" | "write";
}

/** Requests are answered in order. */
export type Request = Statement | Calls;

export interface Statement {
  readonly kind: "statement";
  /** Begins a transaction first. A power failure may lose an unflushed commit. */
  readonly begin: "flushed" | "unflushed" | null;
  /** Run before the statement; if one of them fails, the statement is not run. */
  readonly first: readonly string[];
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** Operations in a transaction of their own, which is committed. */
export interface Calls {
  readonly kind: "calls";
  readonly flushed: boolean;
  readonly calls: readonly Call[];
}

/** An error as a message between threads. */
export interface Failure {
  readonly message: string;
  readonly code: string | undefined;
}

export type Answer =
  | {
      readonly kind: "rows";
      readonly rows: Record<string, unknown>[];
      /** Columns with bytes. */
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
  /** The statement writes, and this connection only reads. */
  | { readonly kind: "writes" };

/** How long a statement waits for a writer in another process (the key commands, a restore). */
const BUSY_MS = 5_000;
/** Maximum number of cached statements. There are few texts, so more of them mean that one varies. */
const MAX_STATEMENTS = 500;
/** 1,000 pages with their headers: SQLite's own threshold for a checkpoint. */
const WAL_BYTES = 1_000 * (4_096 + 24) + 32;
/** Larger values are transferred between threads instead of copied. */
const TRANSFER_BYTES = 65_536;

const { path, role } = workerData as Opening;
const port = parentPort as NonNullable<typeof parentPort>;
const statements = new Map<string, Database.Statement>();
let flushes = true;
let performs: Performer | undefined;

try {
  const database = open();
  port.postMessage(null);
  let turn = Promise.resolve();
  port.on("message", (request: Request | null) => {
    turn = turn.then(() => handle(database, request));
  });
} catch (error) {
  port.postMessage({ message: (error as Error).message });
}

/**
 * With WAL, the key commands and the reading thread continue while this one writes. With synchronous=FULL, a
 * commit survives a power failure, not only a crash of the process.
 */
function open(): Database.Database {
  // SQLite opens an unwritable file read-only, and it stays read-only after the disk is writable again.
  if (existsSync(path)) accessSync(path, constants.W_OK);
  const database = new Database(path, { timeout: BUSY_MS });
  try {
    if (role === "write") {
      database.pragma("journal_mode = WAL");
      database.pragma(`journal_size_limit = ${WAL_BYTES}`);
      // SQLite's automatic checkpoints hide their errors.
      database.pragma("wal_autocheckpoint = 0");
    } else {
      database.pragma("query_only = ON");
    }
    database.pragma("synchronous = FULL");
    database.pragma("foreign_keys = ON");
    // After a process ended because of a failed flush, its data may be in the page cache only.
    if (role === "write") checkpoint(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** @param request null for the end. */
async function handle(database: Database.Database, request: Request | null): Promise<void> {
  if (!request) {
    database.close();
    port.close();
    return;
  }
  const [answer, transfer] =
    request.kind === "calls" ? [await perform(database, request), []] : answerTo(database, request);
  port.postMessage(answer, transfer);
  if (role === "write" && !database.inTransaction) checkpointIfLarge(database);
}

async function perform(database: Database.Database, { calls, flushed }: Calls): Promise<Answer> {
  try {
    performs ??= await performerOf(database);
    const ended = await performs(calls, flushed);
    return {
      kind: "performed",
      ended: ended.map((one) => (one.status === "fulfilled" ? one : { ...one, reason: failureOf(one.reason) })),
    };
  } catch (error) {
    return { kind: "failed", ...failureOf(error), inTransaction: database.inTransaction };
  }
}

/** Loaded at its first use, because operator commands do not need it. */
async function performerOf(database: Database.Database): Promise<Performer> {
  const { performer } = await import("./sqlite-performer.ts");
  return performer({
    prepare: (text) => prepared(database, text),
    begin: (flushed) => beginIn(database, flushed),
    inTransaction: () => database.inTransaction,
  });
}

function answerTo(database: Database.Database, request: Statement): [Answer, ArrayBuffer[]] {
  const { begin, first, text, parameters } = request;
  try {
    if (begin) beginIn(database, begin === "flushed");
    else if (role === "write" && !database.inTransaction) flushCommits(database, true);
    for (const one of first) prepared(database, one).run();
    const statement = prepared(database, text);
    if (role === "read" && !statement.readonly) return [{ kind: "writes" }, []];
    if (statement.reader) {
      const rows = statement.all(...parameters) as Record<string, unknown>[];
      const [bytes, transfer] = bytesIn(rows);
      return [{ kind: "rows", rows, bytes, inTransaction: database.inTransaction }, transfer];
    }
    const { changes, lastInsertRowid } = statement.run(...parameters);
    const inserted = Number(lastInsertRowid);
    return [{ kind: "changed", changes, lastInsertRowid: inserted, inTransaction: database.inTransaction }, []];
  } catch (error) {
    return [{ kind: "failed", ...failureOf(error), inTransaction: database.inTransaction }, []];
  }
}

function failureOf(error: unknown): Failure {
  endIfNotFlushed(error);
  const { message, code } = error as Error & { code?: string };
  return { message, code };
}

/**
 * Takes the write lock at once. A plain `begin` takes it at the first write, which then fails without waiting
 * if another process wrote in between.
 */
function beginIn(database: Database.Database, flushed: boolean): void {
  flushCommits(database, flushed);
  prepared(database, "begin immediate").run();
}

/**
 * In WAL mode, NORMAL only omits the flush: a power failure can lose the newest commits, but only complete ones, and
 * the next full commit flushes them as well.
 */
function flushCommits(database: Database.Database, flushed: boolean): void {
  if (flushes === flushed) return;
  database.pragma(`synchronous = ${flushed ? "FULL" : "NORMAL"}`);
  flushes = flushed;
}

/** Preparing costs more than running a small statement. */
function prepared(database: Database.Database, text: string): Database.Statement {
  const known = statements.get(text);
  if (known) return known;
  if (statements.size >= MAX_STATEMENTS) statements.clear();
  const statement = database.prepare(text);
  // A pragma may take effect only once, when it is prepared.
  if (!/^\s*pragma/i.test(text)) statements.set(text, statement);
  return statement;
}

/** @returns the columns with bytes, and the memory of the large ones. */
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

/** Runs after the response, so that no request waits for the checkpoint that its commit requires. */
function checkpointIfLarge(database: Database.Database): void {
  const { size = 0 } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? {};
  if (size > WAL_BYTES) checkpoint(database);
}

/** Moves pages that no reader needs from the -wal file into the database, without waiting for other processes. */
function checkpoint(database: Database.Database): void {
  try {
    database.pragma("wal_checkpoint(PASSIVE)");
  } catch (error) {
    endIfNotFlushed(error);
    // Such as a full disk: the -wal file keeps the data, and the next commit tries again.
  }
}

/**
 * After a failed flush, the kernel marks the unwritten pages as clean. A second flush would succeed without writing
 * them, and later commits would be lost as well. The process therefore ends before it confirms another commit.
 */
function endIfNotFlushed(error: unknown): void {
  const { code, message } = error as Error & { code?: string };
  if (!/^SQLITE_IOERR_(DIR_)?FSYNC$/.test(code ?? "")) return;
  writeSync(2, `assay: the disk did not keep what was written to ${path} (${message}); the process ends\n`);
  process.kill(process.pid, "SIGKILL");
}
