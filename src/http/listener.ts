import { readFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createHttps } from "node:https";
import type { Transport } from "../domain/transport.ts";
import { answerExpectation } from "./errors.ts";

/** Slow senders hold a connection for this long at most; the hold of `wait=true` is not part of it. */
const LIMITS: ServerOptions = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  /** How often the two above are looked at: they may be late by this much. */
  connectionsCheckingInterval: 5_000,
  /** Longer than the idle time of common load balancers, so that they end a connection first. */
  keepAliveTimeout: 75_000,
  maxHeaderSize: 16_384,
};

/** A listener with our limits, HTTPS unless the transport allows otherwise. */
export function createListener(transport: Transport, handler: RequestListener): Server {
  const server =
    transport.kind === "https" ? createHttps({ ...LIMITS, ...tls(transport) }, handler) : createHttp(LIMITS, handler);
  server.on("checkExpectation", answerExpectation);
  return server;
}

function tls({ certPath, keyPath }: Extract<Transport, { kind: "https" }>) {
  return { cert: readFileSync(certPath), key: readFileSync(keyPath), minVersion: "TLSv1.2" as const };
}
