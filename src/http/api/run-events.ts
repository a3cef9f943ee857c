import { Readable } from "node:stream";
import { TextDecoder } from "node:util";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Conversation, follow } from "../../conversation/conversation.ts";
import { ClientError, clientError } from "../../domain/error.ts";
import { jsonPieces } from "../../domain/json-pieces.ts";
import { isTerminal, type Status } from "../../domain/submission.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import type { LiveMark, LivePiece } from "../../store/live/types.ts";
import type { ReserveMemory } from "../../store/submissions/types.ts";
import { ownerOf } from "../access/caller.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { DRAIN, endSlowReader } from "../responses/drain.ts";
import { type LongAnswers, noRoom } from "../responses/long-answers.ts";

/** Interval of heartbeats while nothing else is sent. It is shorter than the idle timeout of common proxies. */
const HEARTBEAT_MS = 15_000;

/** Time limit for sending what one read returned: at most 2 MiB, so 16 KiB a second. The stream of a slower client ends, and the client reconnects. */
const READ_MS = 128_000;

/** The most bytes of output in an event. As JSON, they can be six times as long. */
const SLICE = 8_192;

/** Interval of the checks whether the client may still watch. While it receives what one read returned, there is no check. */
const CHECK_MS = 1_000;

/** A run that a client watches. */
export interface Watched {
  readonly conversation: Conversation;
  /** The client has received the output up to this mark; null or absent: none. */
  readonly after?: LiveMark | null;
  /** Whether the client may still watch. */
  readonly isAllowed: () => Promise<boolean>;
  /** Reads the end of the run; undefined if the submission has been deleted. */
  readonly ended: (admit: ReserveMemory) => Promise<EndOfRun | undefined>;
  readonly heartbeatMs?: number | undefined;
}

export interface EndOfRun {
  /** The data of the event `ended`. */
  readonly record: unknown;
  /** The whole output. Before the event `ended`, a client that has followed the run gets what it lacks. Null if it gets nothing. */
  readonly output: Readonly<Record<LivePiece["stream"], Buffer>> | null;
}

/** An event of a run. Server-sent events and the messages of a WebSocket are two forms of it. */
export type RunEvent =
  | { readonly type: "status"; readonly status: Status }
  /** `id` is the mark of a piece of output; only the last event of the piece has it. */
  | { readonly type: "stdout" | "stderr"; readonly at: number; readonly text: string; readonly id: string | null }
  | { readonly type: "ended"; readonly record: unknown }
  /** A heartbeat. */
  | { readonly type: "alive" };

/**
 * The events of a run: changes of its status, its output so far and then new output, and its end. They end after `ended`, or when `over`
 * aborts.
 * @throws ClientError unauthorized if the client may no longer watch. ClientError submissionNotFound if the submission has been deleted.
 * ClientError noRoom if there is no memory for output or the record, or the client reads too slowly. It can connect again, and continue
 * after the last mark.
 */
export async function* runEvents(
  answers: LongAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
  { conversation, after = null, isAllowed, ended, heartbeatMs = HEARTBEAT_MS }: Watched,
  over: AbortSignal,
): AsyncGenerator<RunEvent, void, undefined> {
  const owner = ownerOf(request);
  const texts = new Texts();
  let sentStatus: string | undefined;
  let checkedAt = performance.now();
  let lastSentAt = checkedAt;
  const check = async () => {
    if (performance.now() - checkedAt < CHECK_MS) return;
    if (!(await isAllowed())) throw clientError("unauthorized", []);
    checkedAt = performance.now();
  };
  const take = (bytes: number) => answers.budget.takeInTime(owner, bytes, over);
  const everyMs = Math.min(CHECK_MS, heartbeatMs);
  for await (const followed of follow(conversation, { after, take, over, everyMs })) {
    const { status, fence, pieces, position, isWithheld } = followed;
    await answers.eventLoop.turn(owner);
    const began = performance.now();
    await check();
    if (isWithheld) throw noRoom(request);
    if (!isTerminal(status) && status !== sentStatus) yield { type: "status", status };
    sentStatus = status;
    for (const piece of pieces) {
      for (let at = 0; at < piece.bytes.length || at === 0; at += SLICE) {
        const slice = { ...piece, bytes: piece.bytes.subarray(at, at + SLICE) };
        const id = at + SLICE >= piece.bytes.length ? `${piece.fence}-${piece.n}` : null;
        yield { type: piece.stream, at: piece.at + at, text: texts.of(slice), id };
        if (performance.now() - began > READ_MS) throw noRoom(request);
        await answers.eventLoop.turn(owner);
      }
    }
    if (isTerminal(status)) {
      const end = await ended(answers.admitFor(owner, request, reply));
      if (!end) break;
      // A client that has seen nothing of the log has everything in the record.
      for (const stream of ["stdout", "stderr"] as const) {
        const rest = position && end.output ? texts.rest(fence, stream, end.output[stream], position[stream]) : [];
        for (const event of rest) {
          yield event;
          if (performance.now() - began > READ_MS) throw noRoom(request);
          await check();
          await answers.eventLoop.turn(owner);
        }
      }
      yield { type: "ended", record: end.record };
      return;
    }
    if (pieces.length > 0) lastSentAt = performance.now();
    if (performance.now() - lastSentAt < heartbeatMs) continue;
    yield { type: "alive" };
    lastSentAt = performance.now();
  }
  if (!over.aborted) throw clientError("submissionNotFound", []);
}

/**
 * Streams a run as server-sent events: `status`; `stdout` and `stderr`; and `ended`. The last event of each piece of output has the mark
 * of the piece as its id.
 * @param stopping aborted when the service stops.
 */
export function sendEvents(
  answers: LongAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
  watched: Watched,
  stopping: AbortSignal,
): FastifyReply {
  // A buffering proxy would hold the output until the end.
  reply.header("content-type", "text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
  const over = AbortSignal.any([disconnected(reply), stopping]);
  const owner = ownerOf(request);
  const texts = async function* () {
    try {
      for await (const event of runEvents(answers, request, reply, watched, over)) {
        if (event.type === "ended") {
          yield "event: ended\ndata: ";
          const passed = endSlowReader(reply.raw, DRAIN, () => {});
          yield* answers.paced(owner, jsonPieces(event.record), passed);
          yield "\n\n";
        } else yield serverSentEvent(event);
      }
    } catch (error) {
      // The stream ends. A client that may watch connects again, and receives the rest.
      if (error instanceof ClientError) return;
      if (!(error instanceof StoreUnavailable)) throw error;
      request.log.warn({ err: error }, "database unavailable");
    }
  };
  return reply.send(Readable.from(texts(), { highWaterMark: 1 }));
}

function serverSentEvent(event: Exclude<RunEvent, { type: "ended" }>): string {
  if (event.type === "alive") return ": alive\n\n";
  if (event.type === "status") return `event: status\ndata: ${JSON.stringify({ status: event.status })}\n\n`;
  const { type, at, text, id } = event;
  return `event: ${type}\ndata: ${JSON.stringify({ at, text })}\n${id === null ? "" : `id: ${id}\n`}\n`;
}

/** @returns null if the id is missing, or is not the id of an event: the events then begin with the output so far. */
export function readMark(id: string | undefined): LiveMark | null {
  const [, fence, n] = /^(\d{1,15})-(\d{1,15})$/.exec(id ?? "") ?? [];
  return fence === undefined ? null : { fence: Number(fence), n: Number(n) };
}

/** Decodes the pieces of each stream. A piece can end within a character; the next piece of the stream then has the remaining bytes. */
class Texts {
  #fence = 0;
  #decoders: Partial<Record<LivePiece["stream"], TextDecoder>> = {};

  of({ fence, stream, bytes }: LivePiece & LiveMark): string {
    this.#begin(fence);
    return this.#decoder(stream).decode(bytes, { stream: true });
  }

  /** The last bytes of a stream, and the end of a character that never ended. @param from the position after what was decoded. */
  *rest(fence: number, stream: LivePiece["stream"], whole: Buffer, from: number): Generator<RunEvent, void, undefined> {
    this.#begin(fence);
    for (let at = from; at < whole.length || at === from; at += SLICE) {
      const isLast = at + SLICE >= whole.length;
      const text = this.#decoder(stream).decode(whole.subarray(at, at + SLICE), { stream: !isLast });
      if (text !== "") yield { type: stream, at, text, id: null };
    }
  }

  #begin(fence: number): void {
    if (fence !== this.#fence) this.#decoders = {}; // the program was started again
    this.#fence = fence;
  }

  #decoder(stream: LivePiece["stream"]): TextDecoder {
    this.#decoders[stream] ??= new TextDecoder("utf-8", { ignoreBOM: true });
    return this.#decoders[stream];
  }
}
