import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer as createHttp, METHODS, type RequestListener, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { createSecureContext } from "node:tls";
import type { Meter } from "../../domain/meter.ts";
import type { Transport } from "../../domain/transport.ts";
import { answerConnect, answerExpectation, answerUnknownMethod } from "../responses/errors.ts";
import { lingerAfter } from "../responses/linger.ts";
import { admitPipelined, BurstGuard, limitChunks } from "./burst-guard.ts";
import type { Clients } from "./connections.ts";
import { isWebSocketRequest } from "./upgrade.ts";

/** Limits on connections; all times in milliseconds. */
export interface ListenerLimits {
  /** The time limit from the connection, or the end of the previous response, to the end of the headers. */
  readonly headersTimeout: number;
  /** The time limit from the same moment to the end of the body. Excludes the hold of `wait=true`. */
  readonly requestTimeout: number;
  /** Interval at which the two timeouts above are checked: they can be late by this much. */
  readonly connectionsCheckingInterval: number;
  /** The time limit of the TLS handshake. */
  readonly handshakeTimeout: number;
  /** The time limit of a connection between two requests. Longer than that of common load balancers, so that they close it first. */
  readonly keepAliveTimeout: number;
  /**
   * Inactivity limit for a connection with a request in progress: otherwise responses would be kept indefinitely for a
   * client that does not read. The longest hold of `wait=true` is added, because nothing is transferred during it.
   */
  readonly inactivityTimeout: number;
  /** Bytes. */
  readonly maxHeaderSize: number;
}

/** Maximum size of the request line and headers. */
export const MAX_HEADER_BYTES = 16_384;

const LIMITS: ListenerLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  handshakeTimeout: 10_000,
  keepAliveTimeout: 75_000,
  inactivityTimeout: 30_000,
  maxHeaderSize: MAX_HEADER_BYTES,
};

/**
 * Creates a listener with these limits, HTTPS unless the transport allows otherwise.
 * @param holdMs the longest time that a response may be held. @param meter counts connections closed without a
 * response.
 * @param limits overrides, for tests.
 */
export function createListener(
  transport: Transport,
  handler: RequestListener,
  holdMs: number,
  meter: Meter,
  clients: Clients,
  limits: Partial<ListenerLimits> = {},
): Server {
  // Node would reject a missing Host without a body; server.ts rejects it like every other error.
  const { inactivityTimeout, ...options } = {
    ...LIMITS,
    ...limits,
    requireHostHeader: false,
    shouldUpgradeCallback: isWebSocketRequest,
  };
  const listener: RequestListener = (request, response) => {
    if (!admitPipelined(request, response, meter)) return;
    limitChunks(request, meter);
    lingerAfter(request);
    if (METHODS.includes(request.method ?? "")) handler(request, response);
    else answerUnknownMethod(response, meter);
  };
  const server =
    transport.kind === "https"
      ? createHttps({ ...options, ...tls(transport) }, listener)
      : createHttp(options, listener);
  clients.watch(server);
  if (transport.kind === "https") new BurstGuard(meter).watch(server);
  server.timeout = holdMs + inactivityTimeout;
  server.on("drop", () => meter.count("connectionsRefused", { limit: "all" }));
  // Node would send `100 Continue` before the request is checked; readJsonOnly sends it once the body is accepted.
  server.on("checkContinue", listener);
  server.on("checkExpectation", (_request, response) => answerExpectation(response, meter));
  server.on("connect", (_request, socket) => answerConnect(socket, meter));
  return server;
}

/**
 * The groups for the exchange of keys. All clients have one of them. A handshake with one of Node's other groups takes the event
 * loop three times as long or more, and a client can ask for it without computing anything itself.
 */
const KEY_EXCHANGES = ["X25519MLKEM768", "X25519", "prime256v1"];

/** Reads certificate and key. @throws when a file is unreadable or invalid, or when the two do not match. */
export function tls({ certPath, keyPath }: Extract<Transport, { kind: "https" }>) {
  const cert = readFileSync(certPath);
  // Clients of TLS 1.2 need the curve of the certificate as well.
  const curve = new X509Certificate(cert).publicKey.asymmetricKeyDetails?.namedCurve;
  const options = {
    cert,
    key: readFileSync(keyPath),
    minVersion: "TLSv1.2" as const,
    ecdhCurve: [...new Set([...KEY_EXCHANGES, ...(curve ? [curve] : [])])].join(":"),
  };
  createSecureContext(options);
  return options;
}
