import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";
import { jsonPieces, longBytes } from "../domain/json-pieces.ts";
import type { Meter } from "../domain/meter.ts";
import type { Pace } from "../domain/pace.ts";
import type { Admit } from "../store/port.ts";
import { DRAIN, type DrainLimits, endSlowReader } from "./drain.ts";
import { disconnected } from "./gone.ts";
import { Room } from "./room.ts";

/** Output that answers hold at once, all accounts together, as the bytes that programs wrote. */
const ANSWERS_BYTES = 40 * 1_048_576;

/** Text up to this size is sent at once, with a Content-Length. */
const SHORT_BYTES = 16_384;

/** By then a client that reads well has taken what it was sent. */
const RETRY_SECS = 5;

/**
 * Answers with the output of programs. A record with 2 MiB of output is up to 12.6 MB of JSON: it is never whole in memory, but made
 * piece by piece as the client reads, and its output counts against the room until the client has it.
 */
export class LongAnswers {
  readonly room = new Room(ANSWERS_BYTES);
  readonly pace: Pace;
  readonly #meter: Meter;
  readonly #drain: DrainLimits;

  constructor(pace: Pace, meter: Meter, drain: DrainLimits = DRAIN) {
    this.pace = pace;
    this.#meter = meter;
    this.#drain = drain;
  }

  /**
   * @param owner of the room that is taken until the answer has left.
   * @returns a function that throws the ClientError noRoom.
   */
  admitFor(owner: string, request: FastifyRequest, reply: FastifyReply): Admit {
    return async (bytes) => {
      const give = await this.room.take(owner, bytes, disconnected(reply));
      if (!give) throw noRoom(request);
      if (reply.raw.closed) give();
      else reply.raw.once("close", give);
      await this.pace.turn(owner);
    };
  }

  /** Sends a value as JSON, at the client's speed where it has long text. */
  send(owner: string, reply: FastifyReply, value: unknown): FastifyReply {
    reply.type("application/json; charset=utf-8");
    if (longBytes(value) <= SHORT_BYTES) return reply.send([...jsonPieces(value)].join(""));
    const passed = endSlowReader(reply.raw, this.#drain, () =>
      this.#meter.count("connectionsRefused", { limit: "reading" }),
    );
    return reply.send(Readable.from(this.paced(owner, jsonPieces(value), passed), { highWaterMark: 1 }));
  }

  /** The pieces, no more than one in each turn of the event loop. */
  async *paced(owner: string, pieces: Iterable<string>, passed?: (bytes: number) => void): AsyncGenerator<string> {
    for (const piece of pieces) {
      yield piece;
      passed?.(piece.length);
      await this.pace.turn(owner);
    }
  }
}

/** @param request one that made a submission tells its id, so that the client can ask for the result. */
export function noRoom({ submissionId }: Pick<FastifyRequest, "submissionId">): Error {
  const fields = submissionId === null ? {} : { id: submissionId };
  return clientError("noRoom", [], { headers: { "retry-after": String(RETRY_SECS) }, fields });
}
