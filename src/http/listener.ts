import { readFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import type { Socket } from "node:net";
import type { Meter } from "../domain/meter.ts";
import type { Transport } from "../domain/transport.ts";
import { answerConnect, answerExpectation } from "./errors.ts";
import { network } from "./network.ts";

/** What a client may take of the connections; all times in milliseconds. */
export interface ListenerLimits {
  /** From the connection, or the end of the answer before, to the end of the headers. */
  readonly headersTimeout: number;
  /** The same to the end of the body. The hold of `wait=true` is not part of it. */
  readonly requestTimeout: number;
  /** How often the two above are looked at: they may be late by this much. */
  readonly connectionsCheckingInterval: number;
  /** Of TLS, before there is HTTP. */
  readonly handshakeTimeout: number;
  /** Of a connection between two requests. Longer than that of common load balancers, so that they end one first. */
  readonly keepAliveTimeout: number;
  /**
   * How long nothing may move on a connection that is not between two requests: whoever does not read would have
   * its answers kept for ever. The longest hold of `wait=true` comes on top, because nothing moves during it.
   */
  readonly stillTimeout: number;
  /** Bytes. */
  readonly maxHeaderSize: number;
  /**
   * Open at once; one more is closed without an answer. Some 100 kB each with TLS, so this bounds what
   * silent clients cost to 200 MB.
   */
  readonly maxConnections: number;
  /**
   * The same for one address, so that it takes several to keep everyone else out. Not for proxies, behind which is
   * everyone, and not on a socket file, which has no addresses.
   */
  readonly maxConnectionsPerAddress: number;
}

/** No part of a request before its body is longer. */
export const MAX_HEADER_BYTES = 16_384;

const LIMITS: ListenerLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  handshakeTimeout: 10_000,
  keepAliveTimeout: 75_000,
  stillTimeout: 30_000,
  maxHeaderSize: MAX_HEADER_BYTES,
  maxConnections: 2_000,
  maxConnectionsPerAddress: 200,
};

/**
 * A listener with our limits, HTTPS unless the transport allows otherwise.
 * @param holdMs the longest time that an answer may be held back. @param meter told of connections that are closed unheard.
 * @param limits other ones, for tests.
 */
export function createListener(
  transport: Transport,
  handler: RequestListener,
  holdMs: number,
  meter: Meter,
  limits: Partial<ListenerLimits> = {},
): Server {
  // Node would answer a missing Host by itself, without a body; server.ts does it as every other error.
  const { maxConnections, maxConnectionsPerAddress, stillTimeout, ...options } = {
    ...LIMITS,
    ...limits,
    requireHostHeader: false,
  };
  const server =
    transport.kind === "https" ? createHttps({ ...options, ...tls(transport) }, handler) : createHttp(options, handler);
  server.maxConnections = maxConnections;
  server.timeout = holdMs + stillTimeout;
  server.on("drop", () => meter.count("connectionsRefused", { limit: "all" }));
  if (transport.kind !== "proxied") boundByAddress(server, maxConnectionsPerAddress, meter);
  server.on("checkExpectation", (_request, response) => answerExpectation(response, meter));
  server.on("connect", (_request, socket) => answerConnect(socket, meter));
  return server;
}

/** Closes connections of an address that has as many as it may; before TLS, so that they cost next to nothing. */
function boundByAddress(server: Server, limit: number, meter: Meter): void {
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    if (socket.remoteAddress === undefined) return;
    const from = network(socket.remoteAddress);
    const others = open.get(from) ?? 0;
    if (others >= limit) {
      meter.count("connectionsRefused", { limit: "address" });
      socket.destroy();
      return;
    }
    open.set(from, others + 1);
    socket.once("close", () => {
      const left = (open.get(from) ?? 1) - 1;
      if (left > 0) open.set(from, left);
      else open.delete(from);
    });
  });
}

function tls({ certPath, keyPath }: Extract<Transport, { kind: "https" }>) {
  return { cert: readFileSync(certPath), key: readFileSync(keyPath), minVersion: "TLSv1.2" as const };
}
