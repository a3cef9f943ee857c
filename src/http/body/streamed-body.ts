import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import type { EventLoopTurns } from "../../fairness/turn.ts";
import { ownerOf } from "../access/caller.ts";
import { withoutTimeLimit } from "../listener/time-limit.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route takes a body of any type and length, and passes it on while it arrives: see streamedBody(). */
    streams?: boolean;
  }
}

/** The client must send the next bytes within this time. */
const STILL_MS = 30_000;

/** Makes the routes of a scope take bodies of any media type, which nothing reads before the route. */
export function passBodiesOn(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
}

/** Lets a request with any Content-Type pass, also with one that is not valid, which Fastify would refuse. */
export function takeAnyType({ raw: { headers } }: FastifyRequest): void {
  if (headers["content-type"] !== undefined) headers["content-type"] = "application/octet-stream";
}

/** @throws ClientError invalidRequest for a compressed body, because a file would not have the bytes that the client means. */
export function checkPlain({ headers: { "content-encoding": encoding = "identity" } }: FastifyRequest): void {
  if (encoding.toLowerCase() === "identity") return;
  throw clientError("invalidRequest", ["Content-Encoding", "must be absent, because the body is taken as it is"]);
}

/**
 * The body of a request of a route with `streams`, as it arrives. No more of it is in memory than the listener reads at once, and the
 * client has to wait while the reader of this body is busy.
 * @throws ClientError requestTimeout if the client leaves, or sends nothing for STILL_MS.
 */
export async function* streamedBody(
  request: FastifyRequest,
  eventLoop: EventLoopTurns,
): AsyncGenerator<Buffer, void, undefined> {
  const body = request.body as Readable | undefined;
  if (!body) return;
  withoutTimeLimit(request.raw);
  const owner = ownerOf(request);
  const late = () => body.destroy();
  let timer = setTimeout(late, STILL_MS);
  try {
    // Without this option, the connection would be destroyed, and with it the response, when a reader wants no more.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      clearTimeout(timer);
      yield chunk as Buffer;
      await eventLoop.turn(owner);
      timer = setTimeout(late, STILL_MS);
    }
  } catch {
    throw clientError("requestTimeout", []); // only counted: the connection is closed
  } finally {
    clearTimeout(timer);
  }
}
