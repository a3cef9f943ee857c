import { createMcpHandler, localhostAllowedOrigins, validateOriginHeader } from "@modelcontextprotocol/server";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { abortAfter } from "../../domain/abort-after.ts";
import { ClientError, clientError } from "../../domain/error.ts";
import { ownerOf } from "../access/caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { MCP_PATH } from "./conventions.ts";
import { refusedCall, toolServer } from "./tool-server.ts";

/** Bytes of a request besides the arguments of a tool. Answers and errors can repeat parts of it. */
const MAX_ENVELOPE = 4_096;
/** A call beyond the rate limit that is larger is refused before its body is read. */
const MAX_REFUSED_BYTES = 65_536;
/** Headers that the protocol defines. */
const HEADERS = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"] as const;

declare module "fastify" {
  interface FastifyRequest {
    /** The call is beyond the rate limit, and its answer has this error. */
    quotaError: ClientError | null;
  }
}

type Context = Parameters<typeof toolServer>[0];

/**
 * POST /mcp: the Model Context Protocol without sessions, by the SDK. It takes the same path as other requests: its key, rate
 * limit, body and queue. Other methods are 405, so a client opens no stream of its own.
 */
export function mcpRoute(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  const contexts = new WeakMap<Request, Context>();
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const context = requestInfo && contexts.get(requestInfo);
      if (!context) throw new Error("a tool ran outside of a request");
      return toolServer(context);
    },
    { maxSubscriptions: 0, onerror: (error) => dependencies.log.debug({ err: error }, "mcp") },
  );
  server.decorateRequest("quotaError", null);
  server.post(MCP_PATH, { onRequest: checkOrigin }, async (request, reply) => {
    checkMessage(request.body);
    const { quotaError } = request;
    if (quotaError) {
      const id = idOfCall(request.body);
      if (id === undefined) throw quotaError;
      dependencies.meter?.count("refusals", { reason: quotaError.code });
      return refusedCall(id, quotaError);
    }
    const disconnection = disconnected(reply);
    const signal = abortAfter(dependencies.holdMs, disconnection, stopping);
    const asked = new Request(`https://service${MCP_PATH}`, {
      method: "POST",
      headers: headersOf(request),
      signal: disconnection,
    });
    const admit = answers.admitFor(ownerOf(request), request, reply);
    const message = request.body;
    const forgetArguments = () => {
      const { params } = message as { params?: { arguments?: unknown } };
      if (params) params.arguments = undefined;
    };
    contexts.set(asked, { request, dependencies, answers, admit, signal, forgetArguments });
    return await send(await handler.fetch(asked, { parsedBody: message }), request, reply, answers);
  });
}

/** Sends a body as a whole, and events as they come. */
async function send(response: Response, request: FastifyRequest, reply: FastifyReply, answers: LongAnswers) {
  const type = response.headers.get("content-type");
  reply.code(response.status);
  if (type) reply.type(type);
  if (!response.body) return reply.send();
  if (type?.startsWith("text/event-stream")) return answers.sendPieces(ownerOf(request), reply, bytesOf(response.body));
  return reply.send(await response.text());
}

async function* bytesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of body) yield Buffer.from(piece);
}

/**
 * The protocol demands a check against pages that reach the service under a name of their own (DNS rebinding). No page can
 * use the route, except on this machine.
 * @throws ClientError foreignOrigin.
 */
async function checkOrigin({ headers: { origin } }: FastifyRequest): Promise<void> {
  if (!validateOriginHeader(origin, localhostAllowedOrigins()).ok) throw clientError("foreignOrigin", []);
}

/** Accepts only one message: several in an array would count as one request. @throws ClientError. */
function checkMessage(body: unknown): void {
  if (!isObject(body)) throw clientError("bodyNotObject", []);
  const { params, ...message } = body;
  const rest = isObject(params) ? { ...params, arguments: undefined } : params;
  if (JSON.stringify([message, rest]).length > MAX_ENVELOPE)
    throw clientError("invalidRequest", [
      "the body",
      `more than ${MAX_ENVELOPE} characters besides the arguments of a tool`,
    ]);
}

/**
 * A call beyond the rate limit is answered as the result of its tool, which its model reads, if its body is small.
 * @throws ClientError otherwise.
 */
export function deferQuota(request: FastifyRequest, error: unknown): void {
  const { "content-length": length } = request.headers;
  const isSmall = length !== undefined && Number(length) <= MAX_REFUSED_BYTES;
  if (!(error instanceof ClientError) || request.routeOptions.url !== MCP_PATH || !isSmall) throw error;
  request.quotaError = error;
}

/** @returns undefined for a message that is no call. */
function idOfCall(body: unknown): string | number | undefined {
  if (!isObject(body) || body.method !== "tools/call") return undefined;
  const { id } = body;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function headersOf({ headers }: FastifyRequest): Record<string, string> {
  return Object.fromEntries(
    HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}
