import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Meter } from "../domain/meter.ts";
import { network } from "./network.ts";

/** Unanswered requests per connection. One turn of the event loop parses all that have arrived. */
const MAX_PIPELINED = 16;

/**
 * Allowance for TLS records that carry little or no data: each costs some 40 us of the event loop. A legitimate request
 * has 22 to 29 bytes of overhead per record of at least 100 bytes, and a handshake is smaller than this allowance.
 */
const MAX_OVERHEAD_BYTES = 32_768;
const CHECK_MS = 100;

/** Chunks of a body: each costs some 3 us of the event loop. 64 KiB in chunks of 16 bytes are allowed. */
const MAX_CHUNKS = 4_096;
const CHUNK_BYTES = 64;

/**
 * One turn reads up to 512 KiB of a connection before it can be closed, so the client is blocked from reconnecting at
 * once.
 */
const BLOCKED_MS = 10_000;
const MAX_BLOCKED = 10_000;

/** Closes connections that occupy the event loop for long with few bytes of requests. */
export class BurstGuard {
  readonly #meter: Meter;
  readonly #open = new Map<Socket, Socket | null>();
  /** When the block of a network ends, in milliseconds of `performance.now()`. */
  readonly #blocked = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** @param server a TLS server. */
  watch(server: Server): void {
    server.on("connection", (raw: Socket) => {
      if ((this.#blocked.get(network(raw.remoteAddress ?? "")) ?? 0) > performance.now()) {
        this.#close(raw);
        return;
      }
      this.#open.set(raw, null);
      this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
      raw.once("close", () => {
        this.#open.delete(raw);
        if (this.#open.size > 0) return;
        clearInterval(this.#timer);
        this.#timer = undefined;
      });
    });
    server.on("secureConnection", (secure: Socket & { readonly _parent?: Socket }) => {
      const raw = secure._parent;
      if (raw && this.#open.has(raw)) this.#open.set(raw, secure);
    });
  }

  #check(): void {
    for (const [raw, secure] of this.#open) {
      const content = secure?.bytesRead ?? 0;
      if (raw.bytesRead - content <= MAX_OVERHEAD_BYTES + content) continue;
      const from = network(raw.remoteAddress ?? "");
      this.#blocked.delete(from);
      this.#blocked.set(from, performance.now() + BLOCKED_MS);
      const [oldest] = this.#blocked.keys();
      if (oldest !== undefined && this.#blocked.size > MAX_BLOCKED) this.#blocked.delete(oldest);
      this.#close(raw);
    }
  }

  #close(raw: Socket): void {
    this.#meter.count("connectionsRefused", { limit: "records" });
    raw.destroy();
  }
}

const pending = new WeakMap<Socket, number>();

/** Counts a request of a connection. @returns whether it may be handled; if not, the connection is closed. */
export function admitPipelined({ socket }: IncomingMessage, response: ServerResponse, meter: Meter): boolean {
  if (socket.destroyed) return false;
  const count = (pending.get(socket) ?? 0) + 1;
  if (count > MAX_PIPELINED) {
    meter.count("connectionsRefused", { limit: "pipelining" });
    socket.destroy();
    return false;
  }
  pending.set(socket, count);
  response.once("close", () => pending.set(socket, (pending.get(socket) ?? 1) - 1));
  return true;
}

/** Closes the connection of a request whose body arrives in too many chunks for its bytes. */
export function limitChunks(request: IncomingMessage, meter: Meter): void {
  if (request.headers["transfer-encoding"] === undefined) return;
  const push = request.push.bind(request);
  let [chunks, bytes] = [0, 0];
  // The parser calls `push` for each chunk. A data listener would start the body before its reader exists.
  request.push = (chunk: Buffer | null) => {
    if (request.socket.destroyed) return false;
    chunks += 1;
    bytes += chunk?.length ?? 0;
    if (chunks <= MAX_CHUNKS + bytes / CHUNK_BYTES) return push(chunk);
    meter.count("connectionsRefused", { limit: "chunks" });
    request.socket.destroy();
    return false;
  };
}
