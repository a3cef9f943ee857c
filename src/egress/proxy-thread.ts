import { Worker } from "node:worker_threads";
import type { CallName, Calls, FromThread, ThreadSettings, ToThread } from "./messages.ts";

/** The most memory of JavaScript objects of the thread. Above it, the thread ends, and not the process. */
const HEAP_MB = 512;

/** The thread has ended before it answered. */
export class ThreadLost extends Error {
  override readonly name = "ThreadLost";
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export type Requested = Extract<FromThread, { kind: "lease" | "giveBack" }>;

export interface ThreadListeners {
  /** The thread asks for something, which is answered by `post`. */
  readonly requested: (request: Requested) => void;
  readonly traffic: (traffic: Extract<FromThread, { kind: "traffic" }>) => void;
  readonly trouble: (message: string) => void;
}

/** One thread with a proxy (thread.ts), as its process has it. */
export class ProxyThread {
  /** Resolves when it has ended, with the reason. */
  readonly ended: Promise<Error>;
  readonly #worker: Worker;
  readonly #calls = new Map<number, Waiting>();
  readonly #listening = Promise.withResolvers<void>();
  #lastId = 0;
  #hasEnded = false;

  private constructor(settings: ThreadSettings, { requested, traffic, trouble }: ThreadListeners) {
    this.#worker = new Worker(new URL("./thread.ts", import.meta.url), {
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const ended = Promise.withResolvers<Error>();
    this.ended = ended.promise;
    let reason: Error = new ThreadLost("the thread of the proxy has ended");
    this.#worker.on("error", (error: Error) => {
      reason = error;
    });
    this.#worker.on("exit", () => {
      this.#hasEnded = true;
      const lost = new ThreadLost(`the thread of the proxy has ended: ${reason.message}`);
      this.#listening.reject(reason);
      for (const { reject } of this.#calls.values()) reject(lost);
      this.#calls.clear();
      ended.resolve(reason);
    });
    this.#worker.on("message", (message: FromThread) => {
      switch (message.kind) {
        case "listening":
          this.#listening.resolve();
          return;
        case "answer":
          this.#settle(message.id)?.resolve(message.result);
          return;
        case "failed":
          this.#settle(message.id)?.reject(new Error(message.message));
          return;
        case "traffic":
          traffic(message);
          return;
        case "trouble":
          trouble(message.message);
          return;
        default:
          requested(message);
      }
    });
  }

  /** @throws if the proxy cannot listen; the thread has ended then. */
  static async start(settings: ThreadSettings, listeners: ThreadListeners): Promise<ProxyThread> {
    const thread = new ProxyThread(settings, listeners);
    await thread.#listening.promise;
    return thread;
  }

  /** @throws ThreadLost, or the error with which the call failed in the thread. */
  async call<Name extends CallName>(
    name: Name,
    token: string,
    args: Calls[Name]["args"],
  ): Promise<Calls[Name]["result"]> {
    if (this.#hasEnded) throw new ThreadLost("the thread of the proxy has ended");
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#calls.set(id, { resolve, reject });
    this.post({ kind: "call", id, name, token, args } as ToThread);
    return (await promise) as Calls[Name]["result"];
  }

  /** A thread that has ended gets nothing. */
  post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /** Ends the thread at once, with all connections. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#calls.get(id);
    this.#calls.delete(id);
    return waiting;
  }
}
