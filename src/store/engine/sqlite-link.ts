import { Worker } from "node:worker_threads";
import { StoreError } from "./errors.ts";
import type { Answer, Opening, Request } from "./sqlite-thread.ts";

interface Asked {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** The event loop's side of a thread with a connection (sqlite-thread.ts). */
export class SqliteLink {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #asked: Asked[] = [];
  #closing = false;

  private constructor(worker: Worker) {
    this.#worker = worker;
    this.#ended = new Promise((resolve) => worker.once("exit", () => resolve()));
    worker.on("message", (answer: Answer) => {
      const asked = this.#asked.shift();
      // An open store must not keep a process alive.
      if (this.#asked.length === 0 && !this.#closing) worker.unref();
      asked?.resolve(answer);
    });
    // Uncaught on purpose: a service without its database must end, and is then restarted.
    worker.on("error", (error) => {
      throw error;
    });
    worker.once("exit", () => {
      if (!this.#closing) throw new Error("the thread of the database has ended");
    });
    worker.unref();
  }

  /** @throws StoreError if the file is unusable; its directory must exist. */
  static open(opening: Opening): Promise<SqliteLink> {
    const worker = new Worker(new URL("./sqlite-thread.ts", import.meta.url), { workerData: opening });
    return new Promise((resolve, reject) => {
      worker.once("error", reject);
      worker.once("message", (failed: { message: string } | null) => {
        worker.off("error", reject);
        if (failed) reject(new StoreError(`cannot use the database ${opening.path}: ${failed.message}`));
        else resolve(new SqliteLink(worker));
      });
    });
  }

  ask(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closing) throw new Error("the database is closed");
      this.#worker.postMessage(request); // throws for a parameter that is not a database value
      if (this.#asked.length === 0) this.#worker.ref();
      this.#asked.push({ resolve, reject });
    });
  }

  /** Closes after all earlier requests. */
  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      this.#worker.ref();
      this.#worker.postMessage(null);
    }
    await this.#ended;
  }
}
