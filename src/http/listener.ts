import { readFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { createSecureContext } from "node:tls";
import type { Meter } from "../domain/meter.ts";
import type { Transport } from "../domain/transport.ts";
import { admitPipelined, BurstGuard } from "./burst-guard.ts";
import type { Clients } from "./connections.ts";
import { answerConnect, answerExpectation } from "./errors.ts";
import { lingerAfter } from "./linger.ts";

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
  clients: Clients,
  limits: Partial<ListenerLimits> = {},
): Server {
  // Node would answer a missing Host by itself, without a body; server.ts does it as every other error.
  const { stillTimeout, ...options } = {
    ...LIMITS,
    ...limits,
    requireHostHeader: false,
  };
  const listener: RequestListener = (request, response) => {
    if (!admitPipelined(request, response, meter)) return;
    lingerAfter(request);
    handler(request, response);
  };
  const server =
    transport.kind === "https"
      ? createHttps({ ...options, ...tls(transport) }, listener)
      : createHttp(options, listener);
  clients.watch(server);
  if (transport.kind === "https") new BurstGuard(meter).watch(server);
  server.timeout = holdMs + stillTimeout;
  server.on("drop", () => meter.count("connectionsRefused", { limit: "all" }));
  // Node would say `100 Continue` before anything is known of the request; readJsonOnly says it when the body is wanted.
  server.on("checkContinue", listener);
  server.on("checkExpectation", (_request, response) => answerExpectation(response, meter));
  server.on("connect", (_request, socket) => answerConnect(socket, meter));
  return server;
}

/** Reads certificate and key. @throws when a file cannot be read, is broken, or the two do not belong together. */
export function tls({ certPath, keyPath }: Extract<Transport, { kind: "https" }>) {
  const options = { cert: readFileSync(certPath), key: readFileSync(keyPath), minVersion: "TLSv1.2" as const };
  createSecureContext(options);
  return options;
}
