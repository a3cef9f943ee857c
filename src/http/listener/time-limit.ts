import type { IncomingMessage, ServerResponse } from "node:http";

/** Limits the time in which the bodies of requests must arrive. Requests without a body have no limit. */
export class BodyTimeLimit {
  readonly #limitMs: number;
  readonly #checkMs: number;
  readonly #expired: (request: IncomingMessage, error: Error) => void;
  /** When the time of each request is over, in the order of these times. */
  readonly #deadlines = new Map<IncomingMessage, number>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param checkMs interval of the checks; a body may take longer by this much.
   * @param expired called with the error that Node itself has for such a request.
   */
  constructor(limitMs: number, checkMs: number, expired: (request: IncomingMessage, error: Error) => void) {
    this.#limitMs = limitMs;
    this.#checkMs = checkMs;
    this.#expired = expired;
  }

  /** Begins to limit a request whose headers have arrived. */
  watch(request: IncomingMessage, response: ServerResponse): void {
    const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
    if (length === "0" && encoding === undefined) return;
    this.#deadlines.set(request, performance.now() + this.#limitMs);
    limits.set(request, this);
    this.#timer ??= setInterval(() => this.#check(), this.#checkMs).unref();
    response.once("close", () => this.forget(request));
  }

  forget(request: IncomingMessage): void {
    this.#deadlines.delete(request);
    if (this.#deadlines.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    const nowMs = performance.now();
    for (const [request, deadlineMs] of this.#deadlines) {
      if (deadlineMs > nowMs) return;
      this.forget(request);
      if (request.complete || request.socket.destroyed) continue;
      const error = new Error("the body did not arrive in time");
      this.#expired(request, Object.assign(error, { code: "ERR_HTTP_REQUEST_TIMEOUT" }));
    }
  }
}

const limits = new WeakMap<IncomingMessage, BodyTimeLimit>();

/** Lifts the time limit of a body. The caller must end a request whose client sends nothing for long. */
export function withoutTimeLimit(request: IncomingMessage): void {
  limits.get(request)?.forget(request);
}
