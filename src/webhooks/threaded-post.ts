import { Worker } from "node:worker_threads";
import type { HttpResponse, Post, PostTo } from "./post.ts";
import type { ThreadError, ThreadReply, ThreadRequest, ThreadSettings } from "./post-thread.ts";
import { BlockedError } from "./target.ts";

/** How long an aborted request waits for the thread: a response that has begun still has a status. */
const ABORT_MS = 1_000;

interface Waiting {
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that sends requests in a thread of its own (post-thread.ts), so that a receiver cannot occupy the event loop. The
 * thread starts with the first request. If it ends, its requests fail, and the next request starts another one.
 */
export function threadedPost(settings: ThreadSettings): PostTo {
  let thread: PostThread | null = null;
  return async (post, { signal }) => {
    signal.throwIfAborted();
    if (!thread || thread.hasEnded) thread = new PostThread(settings);
    return await thread.post(post, signal);
  };
}

class PostThread {
  hasEnded = false;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(settings: ThreadSettings) {
    this.#worker = new Worker(new URL("./post-thread.ts", import.meta.url), { workerData: settings });
    this.#worker.on("message", (reply: ThreadReply) => this.#take(reply));
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", () => this.#end(new Error("the thread that sends webhooks has ended")));
    this.#worker.unref();
  }

  post({ target, body, ...rest }: Post, signal: AbortSignal): Promise<HttpResponse> {
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

  #take(reply: ThreadReply): void {
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
