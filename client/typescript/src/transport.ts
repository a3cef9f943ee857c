import { AssayError, errorOf } from "./error.ts";

export interface AssayOptions {
  /** Where the service is, such as `https://assay.example`. */
  readonly url: string;
  /** API key. */
  readonly key: string;
  /** For a service with its own authority or a proxy; by default the global `fetch`. In Node, `NODE_EXTRA_CA_CERTS` adds an authority. */
  readonly fetch?: typeof fetch;
  /** How often a call is repeated after a lost connection, 408, 429, 502, 503 or 504, if that cannot run it twice. 5 by default. */
  readonly retries?: number;
  /** Of one request. The service holds a waiting one for 30 s. 120 s by default. */
  readonly requestTimeoutMs?: number;
}

export interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Whether a second request has no further effect. */
  readonly isRepeatable: boolean;
}

const TEMPORARY = new Set([408, 429, 502, 503, 504]);
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;
/** A longer Retry-After is left to the caller. */
const MAX_RETRY_AFTER_SECS = 120;

/** Sends requests, and repeats those that failed for a time. */
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
      // Unlike that of other requests, the timeout ends with the headers.
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
    const { method, path, query = {}, body, headers } = call;
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
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
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

/** Whether the service did not wait for the end of a run. */
export function isAccepted(error: AssayError): boolean {
  return error.status === 408 && error.id !== null;
}

/** Grows with each try and is random, so that clients do not come back together; never less than Retry-After. */
export function delayMs(tries: number, retryAfterSecs: number | null): number {
  const random = Math.random() * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** tries);
  return (retryAfterSecs ?? 0) * 1000 + random;
}

/**
 * Aborts its signal after a time, or with another signal. An AbortSignal.timeout() that is passed to AbortSignal.any() can be collected
 * as garbage in Node, and then aborts nothing; this timer keeps its signal until it is cleared.
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

/** @throws the reason of the signal once it aborts. */
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
