import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  createServer as createHttp,
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createHttps } from "node:https";
import { createSecureContext } from "node:tls";
import type { Meter } from "../../domain/meter.ts";
import type { Transport } from "../../domain/transport.ts";
import { answerConnect, answerExpectation, answerUnknownMethod } from "../responses/errors.ts";
import { lingerAfter } from "../responses/linger.ts";
import { admitPipelined, BurstGuard, limitChunks } from "./burst-guard.ts";
import type { Clients } from "./connections.ts";
import { BodyTimeLimit } from "./time-limit.ts";
import { asksForWebSocket } from "./upgrade.ts";

/** Limits on connections. All times are in milliseconds. */
export interface ListenerLimits {
  /** The longest time from the beginning of the connection, or from the end of the previous response, to the end of the headers. */
  readonly headersTimeout: number;
  /**
   * The longest time from the end of the headers to the end of the body. The time in which `wait=true` waits for a result does not count.
   * A body that is passed on while it arrives has limits of its own, see withoutTimeLimit().
   */
  readonly requestTimeout: number;
  /** Interval at which the two limits above are checked. A connection can exceed them by this much. */
  readonly connectionsCheckingInterval: number;
  /** The longest time that a TLS handshake may take. */
  readonly handshakeTimeout: number;
  /** The longest time between two requests. It is longer than that of common load balancers, so that they close the connection first. */
  readonly keepAliveTimeout: number;
  /**
   * How long nothing may be transferred while a request is in progress. Without this limit, responses would be kept indefinitely for a
   * client that does not read. The longest time that `wait=true` waits is added, because nothing is transferred during it.
   */
  readonly inactivityTimeout: number;
  /** The most bytes of the request line and the headers together. */
  readonly maxHeaderSize: number;
}

/** The most bytes of the request line and the headers together. */
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
 * Creates a listener with the limits above. It uses HTTPS if the transport is `https`, otherwise plain HTTP.
 * @param holdMs the longest time that `wait=true` waits for a result. @param meter counts connections that are closed without a
 * response. @param takesWebSocket whether the route with this URL takes a WebSocket. @param limits replace some of LIMITS, in tests.
 */
export function createListener(
  transport: Transport,
  handler: RequestListener,
  holdMs: number,
  meter: Meter,
  clients: Clients,
  takesWebSocket: (url: string) => boolean,
  limits: Partial<ListenerLimits> = {},
): Server {
  // Node would reject a request without Host in a response without a body. checkHost() in server.ts rejects it like any other error.
  const { inactivityTimeout, requestTimeout, ...others } = { ...LIMITS, ...limits };
  const options = {
    ...others,
    // Node's limit would also hold for bodies that are passed on while they arrive.
    requestTimeout: 0,
    requireHostHeader: false,
    // Other upgrades are ignored, as HTTP permits: the request gets an ordinary response, and its connection keeps Node's limits.
    shouldUpgradeCallback: (request: IncomingMessage) => asksForWebSocket(request) && takesWebSocket(request.url ?? ""),
  };
  const bodies = new BodyTimeLimit(requestTimeout, options.connectionsCheckingInterval, ({ socket }, error) =>
    server.emit("clientError", error, socket),
  );
  const listener: RequestListener = (request, response) => {
    if (!admitPipelined(request, response, meter)) return;
    limitChunks(request, meter);
    bodies.watch(request, response);
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
 * The groups that are offered for the key exchange. All clients support one of them. A handshake with another group that Node supports
 * occupies the event loop for at least three times as long, and a client could ask for it without any computation of its own.
 */
const KEY_EXCHANGES = ["X25519MLKEM768", "X25519", "prime256v1"];

/** Reads certificate and key. @throws if a file is unreadable or invalid, or if the two do not match. */
export function tls({ certPath, keyPath }: Extract<Transport, { kind: "https" }>) {
  const cert = readFileSync(certPath);
  // Clients with TLS 1.2 need the curve of the certificate among the groups.
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
