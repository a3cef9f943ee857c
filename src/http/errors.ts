import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ClientError, clientError, type ErrorCode } from "../domain/error.ts";
import { StoreUnavailable } from "../store/errors.ts";
import { MAX_BODY_BYTES } from "./body.ts";

/** A database that is restarted is back within seconds. */
const AWAY = { "retry-after": "2" };

/** Errors that the framework finds before our code runs, and what they are in our list. */
const FRAMEWORK: Readonly<Record<string, () => ClientError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => clientError("bodyTooLarge", [MAX_BODY_BYTES]),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => clientError("notJson", []),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => clientError("malformedJson", []),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => clientError("badRequest", []),
  FST_ERR_BAD_URL: () => clientError("badRequest", []),
  FST_ERR_MAX_PARAM_LENGTH: () => clientError("submissionNotFound", []),
};

/** Every error leaves as JSON of the one list; what is not in it is logged and becomes `internal`. */
export function sendErrors(server: FastifyInstance): void {
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply));
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = toClientError(error);
  if (error instanceof StoreUnavailable) request.log.warn({ err: error }, "no database");
  if (!known) request.log.error({ err: error }, "request failed");
  const { status, body, headers } = known ?? clientError("internal", []);
  return reply.code(status).headers(headers).send(body);
}

function toClientError(error: unknown): ClientError | undefined {
  if (error instanceof ClientError) return error;
  if (error instanceof StoreUnavailable) return clientError("databaseAway", [], { headers: AWAY });
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const listed = FRAMEWORK[code ?? ""];
  if (listed) return listed();
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? clientError("badRequest", []) : undefined;
}

/** Errors of the HTTP parser come before there is a request: the answer is written by hand. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  if (error.code === "HPE_HEADER_OVERFLOW") writeError(socket, "headersTooLarge");
  else if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") writeError(socket, "requestTimeout");
  else writeError(socket, "badRequest");
}

function writeError(socket: Duplex, code: Extract<ErrorCode, "headersTooLarge" | "requestTimeout" | "badRequest">) {
  const { status, body } = clientError(code, []);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}

/** `Expect:` with anything but 100-continue: Node would answer without a body. */
export function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const { status, body } = clientError("expectationFailed", []);
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", connection: "close" });
  response.end(JSON.stringify(body));
}
