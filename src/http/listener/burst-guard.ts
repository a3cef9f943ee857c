import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Meter } from "../../domain/meter.ts";
import { network } from "./network.ts";

/** Unanswered requests per connection. One turn of the event loop parses all that have arrived. */
const MAX_PIPELINED = 16;

/**
 * Waste is the overhead of TLS records: each record costs some 40 us of the event loop and has 22 to 29 bytes
 * of overhead. A record of 1 KiB of content is free, and so is one record for each request and each message of a WebSocket.
 */
const CONTENT_FOR_EACH_FREE_BYTE = 32;
const FREE_BYTES_FOR_EACH_REQUEST = 64;
const FREE_BYTES_FOR_EACH_MESSAGE = 32;
const FREE_HANDSHAKE_BYTES = 2_048;
/** A record of which only a part has arrived has no content yet. It can wait long: on a slow network, or if the body is paused. */
const INCOMPLETE_RECORD_BYTES = 16_640;
/**
 * A handshake takes some 0.75 ms of the event loop, as long as so much waste. It is charged if no request has followed it when the
 * connection ends, or after this time. A connection without a byte, as from a load balancer that looks whether the port is open, is free.
 */
const UNUSED_HANDSHAKE_BYTES = 512;
const UNUSED_AFTER_MS = 2_000;
const CHECK_MS = 100;

/** Waste of a network. The level has a ceiling: the network can connect again 12 s after its last waste at the latest. */
const MAX_WASTE_BYTES = 131_072;
const DRAINED_BYTES_PER_S = 32_768;
const CEILING_BYTES = 524_288;
/** Connections with less waste in one interval stay open: they belong to other clients of the network. */
const SPARED_BYTES = 512;
const MAX_NETWORKS = 10_000;

/** Chunks of a body: each costs some 3 us of the event loop. 64 KiB in chunks of 16 bytes are allowed. */
const MAX_CHUNKS = 4_096;
const CHUNK_BYTES = 64;

interface Connection {
  readonly network: string;
  secure: Socket | undefined;
  chargedBytes: number;
  /** When its handshake counts as unused, in milliseconds of `performance.now()`; 0 if it has been charged. */
  unusedAtMs: number;
}

interface Bucket {
  bytes: number;
  /** In milliseconds of `performance.now()`. */
  atMs: number;
}

/** Closes connections of networks that occupy the event loop for long with few bytes of requests. */
export class BurstGuard {
  readonly #meter: Meter;
  readonly #open = new Map<Socket, Connection>();
  readonly #buckets = new Map<string, Bucket>();
  #timer: NodeJS.Timeout | undefined;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** @param server a TLS server. */
  watch(server: Server): void {
    server.on("connection", (raw: Socket) => {
      const from = network(raw.remoteAddress ?? "");
      if (this.#level(from) > MAX_WASTE_BYTES) {
        this.#close(raw);
        return;
      }
      const unusedAtMs = performance.now() + UNUSED_AFTER_MS;
      const connection: Connection = { network: from, secure: undefined, chargedBytes: 0, unusedAtMs };
      this.#open.set(raw, connection);
      this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
      raw.once("close", () => {
        this.#charge(raw, connection, 0);
        this.#chargeUnused(raw, connection);
        this.#open.delete(raw);
        if (this.#open.size > 0) return;
        clearInterval(this.#timer);
        this.#timer = undefined;
      });
    });
    server.on("secureConnection", (secure: Socket & { readonly _parent?: Socket }) => {
      const connection = secure._parent && this.#open.get(secure._parent);
      if (connection) connection.secure = secure;
    });
  }

  #check(): void {
    const wasters: [Socket, Connection][] = [];
    const now = performance.now();
    for (const [raw, connection] of this.#open) {
      if (now >= connection.unusedAtMs) this.#chargeUnused(raw, connection);
      if (this.#charge(raw, connection, INCOMPLETE_RECORD_BYTES) > SPARED_BYTES) wasters.push([raw, connection]);
    }
    for (const [raw, connection] of wasters) {
      if (this.#level(connection.network) > MAX_WASTE_BYTES) this.#close(raw);
    }
  }

  /** Adds the waste of a connection since the last call to the bucket of its network. @returns the waste in bytes. */
  #charge(raw: Socket, connection: Connection, incompleteBytes: number): number {
    const { secure, network: from, chargedBytes } = connection;
    const contentBytes = secure?.bytesRead ?? 0;
    const freeBytes =
      FREE_HANDSHAKE_BYTES +
      contentBytes / CONTENT_FOR_EACH_FREE_BYTE +
      (secure ? (admitted.get(secure) ?? 0) : 0) * FREE_BYTES_FOR_EACH_REQUEST +
      (secure ? (messages.get(secure) ?? 0) : 0) * FREE_BYTES_FOR_EACH_MESSAGE;
    const waste = raw.bytesRead - contentBytes - freeBytes - incompleteBytes - chargedBytes;
    if (waste <= 0) return 0;
    connection.chargedBytes += waste;
    this.#add(from, waste);
    return waste;
  }

  /** Charges the handshake of a connection that has sent no request, once. */
  #chargeUnused(raw: Socket, connection: Connection): void {
    const { secure, unusedAtMs, network: from } = connection;
    if (unusedAtMs === 0 || raw.bytesRead === 0 || (secure && admitted.has(secure))) return;
    connection.unusedAtMs = 0;
    this.#add(from, UNUSED_HANDSHAKE_BYTES);
  }

  #add(from: string, waste: number): void {
    const bytes = Math.min(CEILING_BYTES, this.#level(from) + waste);
    this.#buckets.delete(from);
    this.#buckets.set(from, { bytes, atMs: performance.now() });
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined && this.#buckets.size > MAX_NETWORKS) this.#buckets.delete(oldest);
  }

  #level(from: string): number {
    const bucket = this.#buckets.get(from);
    if (!bucket) return 0;
    return Math.max(0, bucket.bytes - ((performance.now() - bucket.atMs) * DRAINED_BYTES_PER_S) / 1_000);
  }

  #close(raw: Socket): void {
    this.#meter.count("connectionsRefused", { limit: "records" });
    raw.destroy();
  }
}

/** Requests of each connection so far. */
const admitted = new WeakMap<Socket, number>();
const pending = new WeakMap<Socket, number>();
/** Messages of each WebSocket so far, and those that can have arrived without being read. */
const messages = new WeakMap<Socket, number>();
/** The number of short messages that the buffers between the kernel and a session hold. */
const UNREAD_MESSAGES = 2_048;

/** Counts a message of a WebSocket, whose number has a limit of its own: clients send each in a record. */
export function admitMessage(socket: Socket): void {
  messages.set(socket, (messages.get(socket) ?? UNREAD_MESSAGES) + 1);
}

/** Counts a request of a connection, also one for a WebSocket. */
export function countRequest(socket: Socket): void {
  admitted.set(socket, (admitted.get(socket) ?? 0) + 1);
}

/** Counts a request of a connection, and those that wait for an answer. @returns whether it may be handled; if not, the connection is closed. */
export function admitPipelined({ socket }: IncomingMessage, response: ServerResponse, meter: Meter): boolean {
  if (socket.destroyed) return false;
  countRequest(socket);
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
