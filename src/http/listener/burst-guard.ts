import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Meter } from "../../domain/meter.ts";
import { network } from "./network.ts";

/** The most unanswered requests of a connection. One turn of the event loop parses all requests that have arrived. */
const MAX_PIPELINED = 16;

/**
 * Waste is the overhead of TLS records, beyond what is free. Each record costs some 40 us of the event loop, and has 22 to 29 bytes of
 * overhead. So records with at least 1 KiB of content are free, and so is one record for each request and each message of a WebSocket.
 */
const CONTENT_FOR_EACH_FREE_BYTE = 32;
const FREE_BYTES_FOR_EACH_REQUEST = 64;
const FREE_BYTES_FOR_EACH_MESSAGE = 32;
const FREE_HANDSHAKE_BYTES = 2_048;
/** A record that has arrived only in part has no content yet, but is not waste. It can stay so for long, for example while a body is paused. */
const INCOMPLETE_RECORD_BYTES = 16_640;
/**
 * A handshake takes some 0.75 ms of the event loop, like UNUSED_HANDSHAKE_BYTES of waste. It is charged if no request has followed when
 * the connection ends, or UNUSED_AFTER_MS after it began. A connection on which the client sends no byte is free: a load balancer may
 * look in this way whether the port is open.
 */
const UNUSED_HANDSHAKE_BYTES = 512;
const UNUSED_AFTER_MS = 2_000;
const CHECK_MS = 100;

/** The waste of a network drains at this rate. While it is above MAX_WASTE_BYTES, new connections of the network are closed. */
const MAX_WASTE_BYTES = 131_072;
const DRAINED_BYTES_PER_S = 32_768;
/** The waste of a network is counted up to here, so the network can connect again at most 12 s after its last waste. */
const CEILING_BYTES = 524_288;
/** Above MAX_WASTE_BYTES, open connections with no more waste than this in CHECK_MS stay open: other clients of the network may own them. */
const SPARED_BYTES = 512;
/** The most networks whose waste is kept in memory. */
const MAX_NETWORKS = 10_000;

/** The most chunks of a body, apart from one for each CHUNK_BYTES of it. Each chunk costs some 3 us of the event loop. */
const MAX_CHUNKS = 4_096;
const CHUNK_BYTES = 64;

interface Connection {
  readonly network: string;
  /** The TLS socket; undefined before the end of the handshake. */
  secure: Socket | undefined;
  /** The waste that has been added to the bucket of the network. */
  chargedBytes: number;
  /** When its handshake counts as unused, in milliseconds of `performance.now()`; 0 if it has been charged. */
  unusedAtMs: number;
}

/** The waste of a network. */
interface Bucket {
  /** The waste at the time `atMs`. */
  bytes: number;
  /** In milliseconds of `performance.now()`. */
  atMs: number;
}

/** Closes connections of networks that occupy the event loop for long although they send few bytes. */
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

  /** Charges the handshake of a connection on which no request has arrived. Each handshake is charged at most once. */
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

/** The number of all requests of each connection so far. */
const admitted = new WeakMap<Socket, number>();
/** The number of unanswered requests of each connection. */
const pending = new WeakMap<Socket, number>();
/** The number of messages of each WebSocket so far, plus UNREAD_MESSAGES. */
const messages = new WeakMap<Socket, number>();
/** How many short messages can have arrived without being read, because the buffers between the kernel and a session hold them. */
const UNREAD_MESSAGES = 2_048;

/** Counts a message of a WebSocket, so that its record is free. The number of messages has a limit of its own (message-socket.ts). */
export function admitMessage(socket: Socket): void {
  messages.set(socket, (messages.get(socket) ?? UNREAD_MESSAGES) + 1);
}

/** Counts a request of a connection. A request for a WebSocket counts as well. */
export function countRequest(socket: Socket): void {
  admitted.set(socket, (admitted.get(socket) ?? 0) + 1);
}

/**
 * Counts a request of a connection, among all requests and among the unanswered ones.
 * @returns whether the request may be handled; if not, the connection has been closed.
 */
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

/** Closes the connection of a request whose body arrives in too many chunks for its size. */
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
