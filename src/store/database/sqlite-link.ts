import { Worker } from "node:worker_threads";
import { StoreError } from "./errors.ts";
import type { ConnectionRequest, Request, SqliteReply } from "./sqlite-thread.ts";

interface Asked {
  readonly resolve: (answer: SqliteReply) => void;
  readonly reject: (error: Error) => void;
}

/** A connection to a database file in a thread (sqlite-thread.ts), as the thread of the event loop uses it. */
export class SqliteLink {
  readonly #thread: SqliteThread;
  #closed: Promise<void> | null = null;

  private constructor(thread: SqliteThread) {
    this.#thread = thread;
  }

  /** @throws StoreError if the file is unusable; its directory must exist. */
  static async open(opening: Omit<ConnectionRequest, "kind">): Promise<SqliteLink> {
    const thread = SqliteThread.take();
    const answer = await thread.ask({ kind: "open", ...opening });
    if (answer.kind === "opened") return new SqliteLink(thread);
    thread.giveBack();
    const message = answer.kind === "failed" ? answer.message : "the thread of the database gave an unexpected answer";
    throw new StoreError(`cannot use the database ${opening.path}: ${message}`);
  }

  async ask(request: Request): Promise<SqliteReply> {
    if (this.#closed) throw new Error("the database is closed");
    return await this.#thread.ask(request);
  }

  /** Closes the connection after all earlier requests have been answered. */
  close(): Promise<void> {
    this.#closed ??= this.#thread.ask({ kind: "close" }).then((answer) => {
      this.#thread.giveBack();
      if (answer.kind === "failed") throw new Error(answer.message);
    });
    return this.#closed;
  }
}

/** A thread. When its connection is closed, it is kept for another one, because starting a thread takes 40 ms of CPU time. */
class SqliteThread {
  static readonly #mostUnused = 2;
  static readonly #unused: SqliteThread[] = [];
  readonly #worker = new Worker(new URL("./sqlite-thread.ts", import.meta.url));
  #asked: Asked[] = [];
  #ending = false;

  static take(): SqliteThread {
    return SqliteThread.#unused.pop() ?? new SqliteThread();
  }

  private constructor() {
    this.#worker.on("message", (answer: SqliteReply) => {
      const asked = this.#asked.shift();
      // An open store must not keep a process alive.
      if (this.#asked.length === 0) this.#worker.unref();
      asked?.resolve(answer);
    });
    // The error is not caught, on purpose: a service without its database must end, and is then restarted.
    this.#worker.on("error", (error) => {
      throw error;
    });
    this.#worker.once("exit", () => {
      if (!this.#ending) throw new Error("the thread of the database has ended");
    });
    this.#worker.unref();
  }

  ask(request: Request): Promise<SqliteReply> {
    return new Promise((resolve, reject) => {
      this.#worker.postMessage(request); // throws for a parameter that is not a database value
      if (this.#asked.length === 0) this.#worker.ref();
      this.#asked.push({ resolve, reject });
    });
  }

  /** Keeps the thread for another connection, or ends it. Called when the thread has no connection. */
  giveBack(): void {
    if (SqliteThread.#unused.length < SqliteThread.#mostUnused) {
      SqliteThread.#unused.push(this);
      return;
    }
    this.#ending = true;
    void this.#worker.terminate();
  }
}
