import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { jsonPieces, longBytes } from "../../domain/json-pieces.ts";
import type { Meter } from "../../domain/meter.ts";
import { Budget } from "../../fairness/budget.ts";
import type { EventLoopTurns } from "../../fairness/turn.ts";
import type { ReserveMemory } from "../../store/submissions/types.ts";
import { disconnected } from "./client-disconnect.ts";
import { DRAIN, type DrainLimits, endSlowReader } from "./drain.ts";

/** The most bytes of output that the responses of all accounts together hold. They are counted as the programs wrote them, not as JSON. */
const ANSWERS_BYTES = 40 * 1_048_576;

/** An account may always hold this much of the limit, so that a short result never waits for slow readers of long results. */
const SHORT_ANSWERS_BYTES = 65_536;

/** A response with more bytes of output than this is sent in pieces, without a Content-Length. */
const SHORT_BYTES = 16_384;

/** JSON can encode one byte of text as six. */
const LONGEST_ESCAPE = 6;

/** Yields copies of the parts. An idle connection can keep the last part, and if that were no copy, the memory of all bytes with it. */
function* slicesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SHORT_BYTES) yield Buffer.from(bytes.subarray(at, at + SHORT_BYTES));
}

/** A client should repeat its request after this time. Clients that read at a normal speed have received their responses by then. */
const RETRY_SECS = 5;

/**
 * Sends responses that can be long, because they have the output of programs. A record with 2 MiB of output is up to 12.6 MB of JSON. It is
 * never in memory as a whole, but generated piece by piece as the client reads. The output counts against the limit until the client has
 * received it.
 */
export class LongAnswers {
  readonly budget = new Budget({ total: ANSWERS_BYTES, perOwner: "shared", inAnyCase: SHORT_ANSWERS_BYTES });
  readonly eventLoop: EventLoopTurns;
  readonly #meter: Meter;
  readonly drain: DrainLimits;

  constructor(eventLoop: EventLoopTurns, meter: Meter, drain: DrainLimits = DRAIN) {
    this.eventLoop = eventLoop;
    this.#meter = meter;
    this.drain = drain;
  }

  /**
   * @param owner to whom the memory is charged until the response has been sent.
   * @returns a function that reserves memory for bytes of output. It throws the ClientError noRoom if there is none in time.
   */
  admitFor(owner: string, request: FastifyRequest, reply: FastifyReply): ReserveMemory {
    const releases: (() => void)[] = [];
    return async (bytes) => {
      const release = await this.budget.takeInTime(owner, bytes, disconnected(reply));
      if (!release) throw noRoom(request);
      if (reply.raw.closed) release();
      // There is one listener for all calls, because a response can have the outputs of many runs.
      else if (releases.push(release) === 1)
        reply.raw.once("close", () => {
          for (const one of releases) one();
        });
      await this.eventLoop.turn(owner);
    };
  }

  /**
   * Sends a value as JSON; a long value is sent as fast as the client reads. The caller must have reserved memory for the LongTexts in the
   * value. If the rest of the value is long, for example in a judgement with hundreds of messages, it counts against the limit here.
   * @throws ClientError noRoom.
   */
  async send(owner: string, reply: FastifyReply, value: unknown): Promise<FastifyReply> {
    reply.type("application/json; charset=utf-8");
    if (longBytes(value) > SHORT_BYTES) return this.sendPieces(owner, reply, jsonPieces(value));
    const text = JSON.stringify(value);
    if (text.length <= LONGEST_ESCAPE * SHORT_BYTES) return reply.send(text);
    const bytes = Buffer.from(text);
    await this.admitFor(owner, reply.request, reply)(bytes.length);
    return this.sendPieces(owner, reply, slicesOf(bytes));
  }

  /** Sends the pieces as fast as the client reads them. */
  sendPieces(
    owner: string,
    reply: FastifyReply,
    pieces: Iterable<string | Buffer> | AsyncIterable<string | Buffer>,
  ): FastifyReply {
    const passed = endSlowReader(reply.raw, this.drain, () =>
      this.#meter.count("connectionsRefused", { limit: "reading" }),
    );
    // For a HEAD request, Fastify would read all pieces and discard them, until long after the response.
    const sent = reply.request.method === "HEAD" ? [] : this.paced(owner, pieces, passed);
    const stream = Readable.from(sent, { highWaterMark: 1 });
    // Ends the generator of the pieces, so that it frees its resources, even if the client has left early.
    reply.raw.once("close", () => stream.destroy());
    return reply.send(stream);
  }

  /** Yields the pieces, at most one in each turn of the event loop. @param passed called with the length of each piece that was sent. */
  async *paced<T extends string | Buffer>(
    owner: string,
    pieces: Iterable<T> | AsyncIterable<T>,
    passed?: (bytes: number) => void,
  ): AsyncGenerator<T> {
    for await (const piece of pieces) {
      yield piece;
      passed?.(piece.length);
      await this.eventLoop.turn(owner);
    }
  }
}

/**
 * The error if there is no memory for a body or a response. If the request has created a submission, the error has its id, so that the
 * client can get the result later.
 */
export function noRoom({ submissionId }: Pick<FastifyRequest, "submissionId">): Error {
  const fields = submissionId === null ? {} : { id: submissionId };
  return clientError("noRoom", [], { headers: { "retry-after": String(RETRY_SECS) }, fields });
}
