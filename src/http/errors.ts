import { randomUUID } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AdminError } from "../admin/error.ts";
import { ClientError, clientError, type ErrorCode } from "../domain/error.ts";
import type { Meter } from "../domain/meter.ts";
import { StoreUnavailable } from "../store/errors.ts";
import { awaitsContinue } from "./continue.ts";
import { ALWAYS } from "./headers.ts";
import { linger } from "./linger.ts";

/** A database that is restarted is back within seconds. */
const AWAY = { "retry-after": "2" };

/** Errors that the framework finds before our code runs, and what they are in our list. */
const FRAMEWORK: Readonly<Record<string, (request: FastifyRequest) => ClientError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions }) => tooLarge(routeOptions.url, routeOptions.bodyLimit),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => clientError("notJson", []),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => clientError("malformedJson", []),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => clientError("badRequest", []),
  FST_ERR_BAD_URL: () => clientError("badRequest", []),
};

/** The contract answers 400 to code that is too large, however large it is, and knows no 413. */
export function tooLarge(route: string | undefined, bytes: number): ClientError {
  return clientError(route === "/api/submit" ? "submissionTooLarge" : "bodyTooLarge", [bytes]);
}

/** Every error leaves as JSON of the one list; what is not in it is logged and becomes `internal`. */
export function sendErrors(server: FastifyInstance, meter: Meter): void {
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply, meter));
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, meter: Meter): FastifyReply {
  const known = toClientError(error, request);
  meter.count("refusals", { reason: known?.code ?? "internal" });
  if (error instanceof StoreUnavailable) request.log.warn({ err: error }, "no database");
  if (!known) request.log.error({ err: error }, "request failed");
  const { status, body, headers } = known ?? clientError("internal", []);
  // The framework's own errors come before the hook that sets these.
  return reply
    .code(status)
    .headers({ ...ALWAYS, "x-request-id": request.id, ...headers, ...(awaitsContinue(request) && CLOSE) })
    .send(body);
}

function toClientError(error: unknown, request: FastifyRequest): ClientError | undefined {
  if (error instanceof ClientError) return error;
  if (error instanceof AdminError) return clientError("notPossible", [error.message]);
  if (error instanceof StoreUnavailable) return clientError("databaseAway", [], { headers: AWAY });
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const listed = FRAMEWORK[code ?? ""];
  if (listed) return listed(request);
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? clientError("badRequest", []) : undefined;
}

/** A client that is not told to continue may send its body or not: what comes next cannot be told apart. */
const CLOSE = { connection: "close" };

/** Errors of the HTTP parser come before there is a request: the answer is written by hand. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex, meter: Meter): void {
  // Each further piece of what could not be read comes here again, and is discarded.
  if (answered.has(socket)) return;
  // Before TLS is agreed on, an answer would wait for it, and the connection with it, for ever.
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

/** CONNECT asks for a tunnel: there is none, and Node would hang up without a word. */
export function answerConnect(socket: Duplex, meter: Meter): void {
  meter.count("refusals", { reason: "badRequest" });
  writeError(socket, "badRequest");
}

/** `Expect:` with anything but 100-continue: Node would answer without a body. */
export function answerExpectation(response: ServerResponse, meter: Meter): void {
  meter.count("refusals", { reason: "expectationFailed" });
  const { status, text, headers } = byHand("expectationFailed");
  response.writeHead(status, headers);
  response.end(text);
}

/** Who has been answered and does not hang up is hung up on; at once, some would not get to read it. */
const LAST_WORDS_MS = 1_000;

type ByHand = Extract<ErrorCode, "headersTooLarge" | "requestTimeout" | "badRequest" | "expectationFailed">;

function writeError(socket: Duplex, code: ByHand): void {
  const { status, text, headers } = byHand(code);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  // A socket that was handed over by CONNECT has nobody left who listens: a reset would end the process.
  socket.on("error", () => socket.destroy());
  answered.add(socket);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${text}`);
  const close = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref();
  };
  // Only a client that sends at its full speed is worth reading: one that was too slow would go on for as long as it may.
  if (code === "headersTooLarge") linger(socket as Socket, () => false, close);
  else close();
}

/** Connections that were answered by hand. */
const answered = new WeakSet<Duplex>();

/** The connection ends with it: what else is on it cannot be told apart any more. */
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
