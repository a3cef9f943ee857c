import { createHash } from "node:crypto";
import { pipeline, type Readable } from "node:stream";
import { promisify } from "node:util";
import { brotliCompress, constants, createBrotliCompress } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Shorter answers fit into one packet. */
const LEAST_BYTES = 1_024;

/** The result is at most a tenth larger than that of the best levels, at 50 MB/s. Each encoder takes some 1.5 MB of memory. */
const params = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 16 };
const compress = promisify(brotliCompress);

/**
 * Gives the answers of the dashboard's API tags, and compresses them. Only answers to GET: answers to changes, the only ones with
 * secrets, are never compressed, so that their length reveals nothing about a secret. Event streams are not compressed, because an
 * event would wait for the next one.
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

/** Answers with 304 if the client has the answer of this tag. @returns whether it did. */
export function isKnown(request: FastifyRequest, reply: FastifyReply, value: unknown): boolean {
  const tag = tagOf(JSON.stringify(value));
  reply.header("etag", tag);
  if (request.headers["if-none-match"] !== tag) return false;
  reply.code(304);
  return true;
}

/** A weak tag, because the compressed answer has the same one. */
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
