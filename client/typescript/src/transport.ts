import { AssayError, errorOf } from "./error.ts";

export interface AssayOptions {
  /** The address of the service, such as `https://assay.example`. */
  readonly url: string;
  /** API key. */
  readonly key: string;
  /**
   * The function that sends requests; by default the global `fetch`. Another one is needed for a proxy, or for a service with its own
   * certificate authority, unless NODE_EXTRA_CA_CERTS adds that authority in Node.
   */
  readonly fetch?: typeof fetch;
  /**
   * How often a request is repeated after a lost connection, 408, 429, 502, 503 or 504; by default 5 times. A request is not repeated
   * if that could run a program twice.
   */
  readonly retries?: number;
  /** The longest time of one request; by default 120 s. The service holds a request that waits for an end for 30 s. */
  readonly requestTimeoutMs?: number;
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** A body that is not JSON. */
  readonly raw?: Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Whether a second request has no further effect. */
  readonly isRepeatable: boolean;
}

const TEMPORARY = new Set([408, 429, 502, 503, 504]);
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;
/** If Retry-After is longer, the call fails, so that the caller decides whether to wait. */
const MAX_RETRY_AFTER_SECS = 120;

/** Sends requests, and repeats those that fail temporarily. */
export class Transport {
  readonly retries: number;
  readonly #base: URL;
  readonly #key: string;
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;

  constructor({ url, key, fetch: given, retries = 5, requestTimeoutMs = 120_000 }: AssayOptions) {
    this.#base = new URL(url.endsWith("/") ? url : `${url}/`);
    this.#key = key;
    // Browsers reject a `fetch` that is called as a method of another object.
    this.#fetch = given ?? ((input, init) => fetch(input, init));
    this.retries = retries;
    this.#timeoutMs = requestTimeoutMs;
  }

  async json<T>(call: Call): Promise<T> {
    return await this.#repeating(call, (signal) =>
      this.#fetched(call, signal, async (response) => (await response.json()) as T),
    );
  }

  async bytes(call: Call): Promise<Uint8Array> {
    return await this.#repeating(call, (signal) =>
      this.#fetched(call, signal, async (response) => new Uint8Array(await response.arrayBuffer())),
    );
  }

  /** @returns the body as a stream. @param signal also ends the stream. */
  async open(call: Call, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return await this.#repeating({ ...call, signal }, async () => {
      // This timeout ends when the headers have arrived; that of other requests includes the body.
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), this.#timeoutMs);
      try {
        return await this.#fetched(call, AbortSignal.any([signal, late.signal]), async ({ body }) => {
          if (!body) throw new Error("the response has no body");
          return body;
        });
      } finally {
        clearTimeout(timer);
      }
    });
  }

  async #repeating<T>(call: Call, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      call.signal?.throwIfAborted();
      const timeout = new Timeout(this.#timeoutMs, call.signal);
      try {
        return await send(timeout.signal);
      } catch (error) {
        call.signal?.throwIfAborted();
        if (!call.isRepeatable || tries >= this.retries || !isTemporary(error)) throw error;
        await pause(delayMs(tries, error.retryAfterSecs), call.signal);
      } finally {
        timeout.clear();
      }
    }
  }

  async #fetched<T>(call: Call, signal: AbortSignal, read: (response: Response) => Promise<T>): Promise<T> {
    const { method, path, query = {}, body, raw, headers } = call;
    const url = new URL(path.replace(/^\//, ""), this.#base);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    try {
      const response = await this.#fetch(url, {
        method,
        headers: {
          "X-API-Key": this.#key,
          ...(body !== undefined && { "Content-Type": "application/json" }),
          ...(raw !== undefined && { "Content-Type": "application/octet-stream" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(raw !== undefined && { body: raw as NonNullable<NonNullable<Parameters<typeof fetch>[1]>["body"]> }),
        ...(raw instanceof ReadableStream && { duplex: "half" }),
        // A redirect would send the key to another address.
        redirect: "error",
        signal,
      });
      if (!response.ok) throw await errorOf(response);
      return await read(response);
    } catch (cause) {
      if (cause instanceof AssayError) throw cause;
      throw new AssayError({ code: "connection", message: `no complete response: ${method} ${url}`, cause });
    }
  }
}

function isTemporary(error: unknown): error is AssayError {
  if (!(error instanceof AssayError)) return false;
  if (isAccepted(error) || (error.retryAfterSecs ?? 0) > MAX_RETRY_AFTER_SECS) return false;
  return error.code === "connection" || TEMPORARY.has(error.status);
}

/** Whether the error means that the service accepted a run, and did not wait longer for its end. */
export function isAccepted(error: AssayError): boolean {
  return error.status === 408 && error.id !== null;
}

/**
 * @returns the pause before the next try, which is never shorter than Retry-After. It grows with each try and is random, so that not
 * all clients come back at the same time.
 */
export function delayMs(tries: number, retryAfterSecs: number | null): number {
  const random = Math.random() * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** tries);
  return (retryAfterSecs ?? 0) * 1000 + random;
}

/**
 * Aborts its signal after a time, or when another signal aborts. An AbortSignal.timeout() that is passed to AbortSignal.any() can be
 * collected as garbage in Node, and then aborts nothing; the timer of this class keeps the signal until `clear` is called.
 */
export class Timeout {
  readonly signal: AbortSignal;
  readonly #late = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number, signal: AbortSignal | undefined) {
    this.#timer = setTimeout(() => this.#late.abort(new DOMException("The time is over", "TimeoutError")), ms);
    this.signal = signal ? AbortSignal.any([signal, this.#late.signal]) : this.#late.signal;
  }

  get isOver(): boolean {
    return this.#late.signal.aborted;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** Waits for a time. @throws the reason of the signal as soon as the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
