import { createHash } from "node:crypto";
import { pipeline, type Readable } from "node:stream";
import { promisify } from "node:util";
import { brotliCompress, constants, createBrotliCompress } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Shorter responses are not compressed, because they fit into one packet anyway. */
const LEAST_BYTES = 1_024;

/** With this level, the result is at most a tenth larger than with the best levels, at 50 MB/s. Each encoder takes some 1.5 MB of memory. */
const params = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 16 };
const compress = promisify(brotliCompress);

/**
 * Adds tags to the responses of the dashboard's API, and compresses them, if they are responses to GET. Only responses to changes contain
 * secrets; they are never compressed, so that their length reveals nothing about a secret. Event streams are not compressed, because
 * the compressor would hold each event back until the next one.
 */
export function compactAnswers(server: FastifyInstance): void {
  server.addHook("onSend", async (request, reply, payload) => {
    const { session } = request.routeOptions.config ?? {};
    if (session === undefined || session === "page" || request.method !== "GET" || reply.statusCode !== 200)
      return payload;
    if (typeof payload === "string") return await shortened(request, reply, payload);
    const type = String(reply.getHeader("content-type"));
    if (!isReadable(payload) || type.startsWith("text/event-stream") || !accepts(request)) return payload;
    reply.header("content-encoding", "br").header("vary", "accept-encoding").removeHeader("content-length");
    return pipeline(payload, createBrotliCompress({ params }), () => {});
  });
}

/** Sets the tag of a response by `value`, and the status 304 if the client already has the response. @returns whether the status is 304. */
export function isKnown(request: FastifyRequest, reply: FastifyReply, value: unknown): boolean {
  const tag = tagOf(JSON.stringify(value));
  reply.header("etag", tag);
  if (request.headers["if-none-match"] !== tag) return false;
  reply.code(304);
  return true;
}

/** A weak tag, because the compressed and the uncompressed response have the same tag. */
export function tagOf(text: string): string {
  return `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
}

async function shortened(request: FastifyRequest, reply: FastifyReply, text: string): Promise<string | Buffer> {
  if (!reply.hasHeader("etag")) {
    const tag = tagOf(text);
    reply.header("etag", tag);
    if (request.headers["if-none-match"] === tag) {
      reply.code(304).removeHeader("content-type").removeHeader("content-length");
      return "";
    }
  }
  if (text.length < LEAST_BYTES) return text;
  reply.header("vary", "accept-encoding");
  if (!accepts(request)) return text;
  reply.header("content-encoding", "br").removeHeader("content-length");
  return await compress(text, { params });
}

function accepts({ headers }: FastifyRequest): boolean {
  return /(^|[\s,])br\s*(,|$)/.test(String(headers["accept-encoding"] ?? ""));
}

function isReadable(payload: unknown): payload is Readable {
  return typeof payload === "object" && payload !== null && "pipe" in payload;
}
