import { Worker } from "node:worker_threads";
import type { HttpResponse, Post, PostTo } from "./post.ts";
import type { PostReply, ThreadError, ThreadRequest, ThreadSettings } from "./post-thread.ts";
import { BlockedError } from "./target.ts";

/** How long an aborted request waits for the thread: a response that has begun still has a status. */
const ABORT_MS = 1_000;

interface Waiting {
  readonly accountId: string;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The most threads, each of which needs some 25 MB. While at most as many accounts have requests in progress, a receiver with expensive
 * certificates delays no other account. Beyond that, it delays only the accounts that share its thread.
 */
const MOST_THREADS = 4;

/**
 * Returns a function that sends requests in threads of their own (post-thread.ts), so that a receiver cannot occupy the event loop. The
 * requests of an account that are in progress at the same time share a thread. A new thread starts if all others have requests. If a
 * thread ends, its requests fail, and another one can take its place.
 */
export function threadedPost(settings: ThreadSettings): PostTo {
  let threads: readonly PostThread[] = [];
  return async (post, { signal, accountId }) => {
    signal.throwIfAborted();
    threads = threads.filter(({ hasEnded }) => !hasEnded);
    let thread = threads.find((one) => one.isUsedBy(accountId)) ?? threads.find(({ requests }) => requests === 0);
    if (!thread && threads.length < MOST_THREADS) {
      thread = new PostThread(settings);
      threads = [...threads, thread];
    }
    thread ??= threads.reduce((one, other) => (other.requests < one.requests ? other : one));
    return await thread.post(post, signal, accountId);
  };
}

class PostThread {
  hasEnded = false;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(settings: ThreadSettings) {
    this.#worker = new Worker(new URL("./post-thread.ts", import.meta.url), { workerData: settings });
    this.#worker.on("message", (reply: PostReply) => this.#take(reply));
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", () => this.#end(new Error("the thread that sends webhooks has ended")));
    this.#worker.unref();
  }

  /** The requests in progress. */
  get requests(): number {
    return this.#waiting.size;
  }

  isUsedBy(accountId: string): boolean {
    return [...this.#waiting.values()].some((waiting) => waiting.accountId === accountId);
  }

  post({ target, body, ...rest }: Post, signal: AbortSignal, accountId: string): Promise<HttpResponse> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const abort = () => {
        this.#send({ kind: "abort", id, reason: String((signal.reason as Error)?.message ?? signal.reason) });
        timer = setTimeout(() => this.#settle(id)?.reject(signal.reason), ABORT_MS);
      };
      signal.addEventListener("abort", abort, { once: true });
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          signal.removeEventListener("abort", abort);
          settle(value);
        };
      // A thread that waits for a receiver keeps the process alive, like a connection.
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, {
        accountId,
        resolve: settled(resolve),
        reject: settled((error) => reject(signal.aborted ? signal.reason : error)),
      });
      // Copies, because a piece can be a part of memory that others use, of which a message would copy all.
      const pieces = body.map((piece) => new Uint8Array(piece));
      const request = { ...rest, target: { ...target, url: target.url.href }, body: pieces };
      this.#send({ kind: "post", id, request }, pieces);
    });
  }

  #send(request: ThreadRequest, moved: readonly Uint8Array[] = []): void {
    this.#worker.postMessage(
      request,
      moved.map(({ buffer }) => buffer as ArrayBuffer),
    );
  }

  #take(reply: PostReply): void {
    const waiting = this.#settle(reply.id);
    if (reply.kind === "failed") waiting?.reject(errorOf(reply.error));
    else {
      const { begin, broken, ...response } = reply.response;
      waiting?.resolve({ ...response, begin: Buffer.from(begin), broken: broken && errorOf(broken) });
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker.unref();
    return waiting;
  }

  #end(error: unknown): void {
    this.hasEnded = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function errorOf({ name, message, code, isBlocked }: ThreadError): Error {
  if (isBlocked) return new BlockedError(message);
  return Object.assign(new Error(message), { name, ...(code !== undefined && { code }) });
}
