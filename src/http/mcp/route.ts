import { createMcpHandler, localhostAllowedOrigins, validateOriginHeader } from "@modelcontextprotocol/server";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { abortAfter } from "../../domain/abort-after.ts";
import { ClientError, clientError } from "../../domain/error.ts";
import { callerOf, ownerOf } from "../access/caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { MCP_PATH } from "./conventions.ts";
import { refusedCall, toolServer } from "./tool-server.ts";

/** The most characters of a message without the arguments of a tool. They are bounded, because responses and errors can repeat them. */
const MAX_ENVELOPE = 4_096;
/** If a call exceeds the rate limit and its body is larger than this, the call is refused before the body is read. */
const MAX_REFUSED_BYTES = 65_536;
/** The headers that the SDK gets: those that the protocol uses. */
const HEADERS = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"] as const;

declare module "fastify" {
  interface FastifyRequest {
    /** The error that the response to a call has, if the call exceeds the rate limit; otherwise null. */
    quotaError: ClientError | null;
  }
}

type Context = Parameters<typeof toolServer>[0];

/**
 * POST /mcp: the Model Context Protocol without sessions, with the SDK of the protocol. The requests pass the same checks of key, rate
 * limit, body and queue as all others. Other methods get 405, which tells clients that they cannot open a stream for notifications.
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
    const owner = ownerOf(request);
    const admit = answers.admitFor(owner, request, reply);
    const message = request.body;
    const forgetArguments = () => {
      const { params } = message as { params?: { arguments?: unknown } };
      if (params) params.arguments = undefined;
    };
    contexts.set(asked, {
      request,
      reply,
      caller: callerOf(request),
      owner,
      dependencies,
      answers,
      admit,
      signal,
      forgetArguments,
    });
    return await send(await handler.fetch(asked, { parsedBody: message }), request, reply, answers);
  });
}

/** Sends the response of the SDK: events as they come, and any other body as a whole. */
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
 * Refuses requests of pages, except of pages on localhost. The protocol demands a check against DNS rebinding, by which a page reaches the
 * service under the page's own name.
 * @throws ClientError foreignOrigin.
 */
async function checkOrigin({ headers: { origin } }: FastifyRequest): Promise<void> {
  if (!validateOriginHeader(origin, localhostAllowedOrigins()).ok) throw clientError("foreignOrigin", []);
}

/** Accepts only a single message, because several messages in an array would count as one request. @throws ClientError. */
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
 * If a call of a tool exceeds the rate limit and has a small body, notes the error, which then becomes the result of the tool, so that the
 * model reads it. @throws the error otherwise.
 */
export function deferQuota(request: FastifyRequest, error: unknown): void {
  const { "content-length": length } = request.headers;
  const isSmall = length !== undefined && Number(length) <= MAX_REFUSED_BYTES;
  if (!(error instanceof ClientError) || request.routeOptions.url !== MCP_PATH || !isSmall) throw error;
  request.quotaError = error;
}

/** The id of a call of a tool. @returns undefined for any other message. */
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
