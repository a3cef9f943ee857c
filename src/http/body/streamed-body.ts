import { IncomingMessage } from "node:http";
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

/** So many bytes of a body may wait for its reader. The listener can have read as many more. */
const AHEAD_BYTES = 65_536;

/**
 * The body of a request of a route with `streams`, as it arrives. No more of it is in memory than the listener reads at once, and the
 * client has to wait while the reader of this body is busy.
 * @returns chunks, each of which has its bytes only until the next one is asked for.
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
  const chunks = new Chunks(body);
  const late = () => body.destroy();
  let timer = setTimeout(late, STILL_MS);
  let bytes = 0; // since the last turn
  try {
    for (let chunk = await chunks.next(); chunk; chunk = await chunks.next()) {
      clearTimeout(timer);
      bytes += chunk.length;
      yield chunk;
      if (body instanceof IncomingMessage) free(chunk);
      if (bytes >= AHEAD_BYTES || chunks.isEmpty) {
        await eventLoop.turn(owner);
        bytes = 0;
      }
      timer = setTimeout(late, STILL_MS);
    }
  } finally {
    clearTimeout(timer);
    chunks.stop();
  }
}

/** The chunks of a body. Unlike an iteration of a Readable, it does not copy those that wait into one. */
class Chunks {
  readonly #body: Readable;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #state: "arrives" | "over" | "broken";
  #woken = Promise.withResolvers<void>();

  constructor(body: Readable) {
    this.#body = body;
    this.#state = body.destroyed ? "broken" : body.readableEnded ? "over" : "arrives";
    body.on("data", this.#add).on("end", this.#end).on("error", this.#break).on("close", this.#break);
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  /** @returns undefined at the end. @throws ClientError requestTimeout if the body breaks off. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk) {
        this.#bytes -= chunk.length;
        return chunk;
      }
      if (this.#state === "over") return undefined;
      if (this.#state === "broken") throw clientError("requestTimeout", []); // only counted: the connection is closed
      this.#woken = Promise.withResolvers();
      this.#body.resume();
      await this.#woken.promise;
    }
  }

  /** Leaves the rest of the body unread. The connection stays, and with it the response. */
  stop(): void {
    this.#body.off("data", this.#add).off("end", this.#end).off("error", this.#break).off("close", this.#break);
    if (this.#state === "arrives") this.#body.pause();
  }

  readonly #add = (chunk: Buffer) => {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= AHEAD_BYTES) this.#body.pause();
    this.#woken.resolve();
  };

  readonly #end = () => this.#finish("over");
  readonly #break = () => this.#finish("broken");

  #finish(state: "over" | "broken"): void {
    if (this.#state === "arrives") this.#state = state;
    this.#woken.resolve();
  }
}

/** Node's memory for small buffers, which share it, is no larger. */
const SHARED_BYTES = 8_192;

/**
 * Gives the memory of a chunk that nobody uses any more back at once. Otherwise, the bytes of a large body bring about a garbage collection of the
 * whole heap after each 64 MB, which takes more time than to receive them.
 */
function free(chunk: Buffer): void {
  const { buffer, length } = chunk;
  if (length > SHARED_BYTES && length === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
