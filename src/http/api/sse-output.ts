import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { TextDecoder } from "node:util";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ClientError } from "../../domain/error.ts";
import { jsonPieces } from "../../domain/json-pieces.ts";
import { isTerminal } from "../../domain/submission.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import type { LiveMark, LivePiece } from "../../store/live/types.ts";
import type { Store } from "../../store/store.ts";
import type { Admit } from "../../store/submissions/types.ts";
import { ownerOf } from "../access/caller.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { DRAIN, endSlowReader } from "../responses/drain.ts";
import type { LongAnswers } from "../responses/long-answers.ts";

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
  readonly id: string;
  /** The client has received the output up to this mark; null or absent: none. */
  readonly after?: LiveMark | null;
  /** Whether the client may still watch. */
  readonly isAllowed: () => Promise<boolean>;
  /** Reads the data of the event `ended`; undefined if the submission has been deleted. */
  readonly ended: (admit: Admit) => Promise<unknown>;
  readonly heartbeatMs?: number | undefined;
}

/**
 * Streams a submission while it runs, as server-sent events: `status`; `stdout` and `stderr`, with the output so far and then
 * new output; and `ended`. The last event of each piece of output has the mark of the piece as its id.
 * @param stopping aborted when the service stops.
 */
export function sendEvents(
  store: Store,
  answers: LongAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
  watched: Watched,
  stopping: AbortSignal,
): FastifyReply {
  // A buffering proxy would hold the output until the end.
  reply.header("content-type", "text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
  const signal = AbortSignal.any([disconnected(reply), stopping]);
  return reply.send(Readable.from(events(store, answers, request, reply, watched, signal), { highWaterMark: 1 }));
}

/**
 * Ends after the event `ended`, and earlier if the signal aborts, the client may no longer watch, the submission has been deleted, or
 * there is no memory for its output.
 */
async function* events(
  store: Store,
  answers: LongAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
  { id, after = null, isAllowed, ended, heartbeatMs = HEARTBEAT_MS }: Watched,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const owner = ownerOf(request);
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  const unsubscribe = store.live.onChange(id, wake);
  signal.addEventListener("abort", wake);
  const text = new Decoders();
  let release: (() => void) | undefined;
  let seen: LiveMark | null = null;
  let sentStatus: string | undefined;
  let checkedAt = performance.now();
  let lastSentAt = checkedAt;
  try {
    while (!signal.aborted) {
      if (performance.now() - checkedAt >= CHECK_MS) {
        if (!(await isAllowed())) return;
        checkedAt = performance.now();
      }
      woken = Promise.withResolvers(); // armed before the read, so that no change is missed
      const began = performance.now();
      const output = await store.live.readAfter(id, seen, async (bytes) => {
        release = await answers.budget.takeInTime(owner, bytes, signal);
        return release !== undefined;
      });
      if (!output) return;
      if (output.isWithheld) return; // there is no memory for the output: the client connects again
      const { status, pieces } = output;
      if ((status === "pending" || status === "running") && status !== sentStatus) yield event("status", { status });
      sentStatus = status;
      for (const piece of pieces) {
        seen = { fence: piece.fence, n: piece.n };
        for (let at = 0; at < piece.bytes.length; at += SLICE) {
          const slice = { ...piece, bytes: piece.bytes.subarray(at, at + SLICE) };
          const data = { at: piece.at + at, text: text.of(slice) };
          const isLast = at + SLICE >= piece.bytes.length;
          if (isAfter(seen, after)) yield event(piece.stream, data, isLast ? seen : null);
          if (performance.now() - began > READ_MS) return;
          await answers.eventLoop.turn(owner);
        }
      }
      release?.();
      if (isTerminal(status)) {
        const data = await ended(answers.admitFor(owner, request, reply));
        if (data === undefined) return;
        yield "event: ended\ndata: ";
        yield* answers.paced(
          owner,
          jsonPieces(data),
          endSlowReader(reply.raw, DRAIN, () => {}),
        );
        yield "\n\n";
        return;
      }
      if (pieces.length > 0) {
        lastSentAt = performance.now();
        continue;
      }
      await changeOrTimeout(woken.promise, Math.min(CHECK_MS, heartbeatMs));
      if (performance.now() - lastSentAt >= heartbeatMs) {
        yield ": alive\n\n";
        lastSentAt = performance.now();
      }
    }
  } catch (error) {
    // After either error, the client reconnects and receives the output so far.
    if (error instanceof ClientError) return; // there is no memory for the record
    if (!(error instanceof StoreUnavailable)) throw error;
    request.log.warn({ err: error }, "database unavailable");
  } finally {
    release?.();
    unsubscribe();
    signal.removeEventListener("abort", wake);
  }
}

/** Waits for a change, at most `ms` milliseconds. */
export async function changeOrTimeout(woken: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController();
  const timeout = sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
  try {
    await Promise.race([woken, timeout]);
  } finally {
    timer.abort();
  }
}

function isAfter(mark: LiveMark, received: LiveMark | null): boolean {
  if (!received || mark.fence !== received.fence) return !received || mark.fence > received.fence;
  return mark.n > received.n;
}

function event(name: string, data: unknown, mark: LiveMark | null = null): string {
  const id = mark ? `id: ${mark.fence}-${mark.n}\n` : "";
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n${id}\n`;
}

/** @returns null if the header is missing, or is not the id of an event: the stream then begins with the output so far. */
export function readMark(lastEventId: string | string[] | undefined): LiveMark | null {
  const [, fence, n] = /^(\d{1,15})-(\d{1,15})$/.exec(String(lastEventId ?? "")) ?? [];
  return fence === undefined ? null : { fence: Number(fence), n: Number(n) };
}

/** Decodes the pieces of each stream. A piece can end within a character; the next piece of the stream then has the remaining bytes. */
class Decoders {
  #fence = 0;
  #streams: Partial<Record<LivePiece["stream"], TextDecoder>> = {};

  of({ fence, stream, bytes }: LivePiece & LiveMark): string {
    if (fence !== this.#fence) this.#streams = {}; // the program was started again
    this.#fence = fence;
    this.#streams[stream] ??= new TextDecoder("utf-8", { ignoreBOM: true });
    return this.#streams[stream].decode(bytes, { stream: true });
  }
}
