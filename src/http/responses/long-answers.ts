import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { jsonPieces, longBytes } from "../../domain/json-pieces.ts";
import type { Meter } from "../../domain/meter.ts";
import { Budget } from "../../fairness/budget.ts";
import type { EventLoopTurns } from "../../fairness/turn.ts";
import type { Admit } from "../../store/submissions/types.ts";
import { disconnected } from "./client-disconnect.ts";
import { DRAIN, type DrainLimits, endSlowReader } from "./drain.ts";

/** Limit on output held by responses, for all accounts together, in bytes as written by programs. */
const ANSWERS_BYTES = 40 * 1_048_576;

/** The part of the limit that an account may hold in any case, so that a short result never waits for slow readers of long ones. */
const SHORT_ANSWERS_BYTES = 65_536;

/** Text up to this size is sent in one piece, with a Content-Length. */
const SHORT_BYTES = 16_384;

/** JSON can write a byte of a text as six. */
const LONGEST_ESCAPE = 6;

/** Yields copies: an idle connection can keep the last slice, which would otherwise keep the memory of the whole output. */
function* slicesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SHORT_BYTES) yield Buffer.from(bytes.subarray(at, at + SHORT_BYTES));
}

/** A client that reads at a normal speed has received its response by then. */
const RETRY_SECS = 5;

/**
 * Responses with program output. A record with 2 MiB of output is up to 12.6 MB of JSON. It is never held in memory as
 * a whole, but generated piece by piece as the client reads, and its output counts against the limit until the client
 * has received it.
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
   * @param owner whose share of the limit is used until the response has been sent.
   * @returns a function that throws the ClientError noRoom.
   */
  admitFor(owner: string, request: FastifyRequest, reply: FastifyReply): Admit {
    const releases: (() => void)[] = [];
    return async (bytes) => {
      const release = await this.budget.takeInTime(owner, bytes, disconnected(reply));
      if (!release) throw noRoom(request);
      if (reply.raw.closed) release();
      // One listener, as a response can have the outputs of many runs.
      else if (releases.push(release) === 1)
        reply.raw.once("close", () => {
          for (const one of releases) one();
        });
      await this.eventLoop.turn(owner);
    };
  }

  /**
   * Sends a value as JSON. A long one is sent at the client's speed. The caller has admitted the long texts of the value. If the
   * rest of the value is long, for example a judgement with hundreds of messages, it counts against the limit here.
   * @throws ClientError noRoom.
   */
  async send(owner: string, reply: FastifyReply, value: unknown): Promise<FastifyReply> {
    reply.type("application/json; charset=utf-8");
    if (longBytes(value) > SHORT_BYTES) return this.sendPieces(owner, reply, jsonPieces(value));
    const text = [...jsonPieces(value)].join("");
    if (text.length <= LONGEST_ESCAPE * SHORT_BYTES) return reply.send(text);
    const bytes = Buffer.from(text);
    await this.admitFor(owner, reply.request, reply)(bytes.length);
    return this.sendPieces(owner, reply, slicesOf(bytes));
  }

  /** Sends the pieces at the client's speed. */
  sendPieces(
    owner: string,
    reply: FastifyReply,
    pieces: Iterable<string | Buffer> | AsyncIterable<string | Buffer>,
  ): FastifyReply {
    const passed = endSlowReader(reply.raw, this.drain, () =>
      this.#meter.count("connectionsRefused", { limit: "reading" }),
    );
    // Fastify would read pieces for a HEAD request as fast as they come, and discard them, until long after the response.
    const sent = reply.request.method === "HEAD" ? [] : this.paced(owner, pieces, passed);
    const stream = Readable.from(sent, { highWaterMark: 1 });
    // After the response, the resources of the pieces are not needed any more.
    reply.raw.once("close", () => stream.destroy());
    return reply.send(stream);
  }

  /** The pieces, at most one per turn of the event loop. */
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

/** @param request If it created a submission, the error contains the id, so that the client can fetch the result. */
export function noRoom({ submissionId }: Pick<FastifyRequest, "submissionId">): Error {
  const fields = submissionId === null ? {} : { id: submissionId };
  return clientError("noRoom", [], { headers: { "retry-after": String(RETRY_SECS) }, fields });
}
