import { randomUUID } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AdminError } from "../../admin/error.ts";
import { ClientError, clientError, type ErrorCode } from "../../domain/error.ts";
import type { Meter } from "../../domain/meter.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import { awaitsContinue } from "./expect-continue.ts";
import { ALWAYS } from "./headers.ts";
import { linger } from "./linger.ts";

/** A client should repeat its request after this time, because a restarted database is available again within seconds. */
export const DATABASE_RETRY = { "retry-after": "2" };

/** The service's errors for errors that Fastify finds before a route runs. */
const FRAMEWORK: Readonly<Record<string, (request: FastifyRequest) => ClientError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (request) => tooLarge(request),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ({ routeOptions }) =>
    clientError(routeOptions.config?.archive ? "notZip" : "notJson", []),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => clientError("malformedJson", []),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => clientError("badRequest", []),
  FST_ERR_BAD_URL: () => clientError("badRequest", []),
};

/** The error for a body above the limit of the route. */
export function tooLarge({ routeOptions: { bodyLimit, config } }: FastifyRequest): ClientError {
  return clientError(config?.tooLarge ?? "bodyTooLarge", [bodyLimit]);
}

/** Sends every error as JSON from the list of errors; an unlisted error is logged and becomes `internal`. */
export function sendErrors(server: FastifyInstance, meter: Meter): void {
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply, meter));
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, meter: Meter): FastifyReply {
  const known = toClientError(error, request);
  meter.count("refusals", { reason: known?.code ?? "internal" });
  if (error instanceof StoreUnavailable) request.log.warn({ err: error }, "database unavailable");
  if (!known) request.log.error({ err: error }, "request failed");
  const sent = known ?? clientError("internal", []);
  const { status, body, headers } = sent;
  // Some errors of Fastify occur before the hook that sets these headers.
  return reply
    .code(status)
    .headers({ ...ALWAYS, "x-request-id": request.id, ...headers, ...(awaitsContinue(request) && CLOSE) })
    .send(request.server.foreignPaths.of(request.url)?.errorBody?.(sent) ?? body);
}

function toClientError(error: unknown, request: FastifyRequest): ClientError | undefined {
  if (error instanceof ClientError) return error;
  if (error instanceof AdminError) return clientError("notPossible", [error.message]);
  if (error instanceof StoreUnavailable) return clientError("databaseUnavailable", [], { headers: DATABASE_RETRY });
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const listed = FRAMEWORK[code ?? ""];
  if (listed) return listed(request);
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? clientError("badRequest", []) : undefined;
}

/**
 * The connection must close after an error for a client that awaits `100 Continue`. The client may send its body all the same, so the
 * next bytes on the connection could be the body or another request.
 */
const CLOSE = { connection: "close" };

/**
 * Responds to an error of the HTTP parser. It occurs before there is a request, so the response is written to the socket.
 */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex, meter: Meter): void {
  // The parser reports each further piece of input that it cannot parse. After the first one, nothing is left to do.
  if (answered.has(socket)) return;
  // Before the end of the TLS handshake, a response would wait for that end, possibly forever, and keep the connection open.
  if (!/^(HPE|ERR_HTTP)_/.test(error.code ?? "") || !socket.writable) {
    socket.destroy();
    return;
  }
  const code = BROKEN[error.code ?? ""] ?? "badRequest";
  meter.count("refusals", { reason: code });
  writeError(socket, code);
}

const BROKEN: Readonly<Record<string, ByHand>> = {
  HPE_HEADER_OVERFLOW: "headersTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "requestTimeout",
};

/** Rejects CONNECT, which requests a tunnel. Node would close the connection without a response. */
export function answerConnect(socket: Duplex, meter: Meter): void {
  meter.count("refusals", { reason: "badRequest" });
  writeError(socket, "badRequest");
}

/** Rejects `Expect:` values other than 100-continue. Node would respond without a body. */
export function answerExpectation(response: ServerResponse, meter: Meter): void {
  answerByHand(response, "expectationFailed", meter);
}

/** Rejects methods that Node's parser accepts, but that are not in METHODS, such as those of RTSP. Fastify would log all its routes. */
export function answerUnknownMethod(response: ServerResponse, meter: Meter): void {
  answerByHand(response, "badRequest", meter);
}

function answerByHand(response: ServerResponse, code: ByHand, meter: Meter): void {
  meter.count("refusals", { reason: code });
  const { status, text, headers } = byHand(code);
  response.writeHead(status, headers);
  response.end(text);
}

/**
 * Time between the last response on a connection and the destruction of the connection. If it were destroyed at once, some clients could
 * not read the response.
 */
const CLOSE_DELAY_MS = 1_000;

type ByHand = Extract<ErrorCode, "headersTooLarge" | "requestTimeout" | "badRequest" | "expectationFailed">;

function writeError(socket: Duplex, code: ByHand): void {
  const { status, text, headers } = byHand(code);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  // After CONNECT, the socket has no error listener left, so a reset by the client would end the process.
  socket.on("error", () => socket.destroy());
  answered.add(socket);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${text}`);
  const close = () => {
    socket.end();
    setTimeout(() => socket.destroy(), CLOSE_DELAY_MS).unref();
  };
  // A client with too large headers sends at full speed. Others could send slowly, so there is no lingering for them.
  if (code === "headersTooLarge") linger(socket as Socket, () => false, close);
  else close();
}

/** The connections on which writeError() has written a response. */
const answered = new WeakSet<Duplex>();

/** A response for an error without Fastify. It closes the connection, because it is unknown whether the next bytes begin a request. */
function byHand(code: ByHand) {
  const { status, body } = clientError(code, []);
  const text = JSON.stringify(body);
  const headers = {
    ...ALWAYS,
    "x-request-id": randomUUID(),
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  };
  return { status, text, headers };
}
