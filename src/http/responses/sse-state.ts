import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { jsonPieces } from "../../domain/json-pieces.ts";
import { StoreUnavailable } from "../../store/database/errors.ts";
import { ownerOf } from "../access/caller.ts";
import { disconnected } from "./client-disconnect.ts";
import { endSlowReader } from "./drain.ts";
import type { LongAnswers } from "./long-answers.ts";

/** The shortest time between two states that are sent. The second state has all changes of this time. */
const LEAST_MS = 500;
/** Interval at which `isAllowed` is checked. */
const CHECK_MS = 1_000;
/** A heartbeat is sent after so many checks without a change: sooner than the idle timeout of common proxies. */
const CHECKS = 15;

/** A state that a client follows. */
export interface FollowedState {
  /** @returns a function that ends the subscription. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Whether the client may still read the state. */
  readonly isAllowed: () => Promise<boolean>;
  /** The present state as a value for JSON; undefined once it has been deleted. If the value is null, no state is sent. */
  readonly read: () => Promise<{ readonly isLast: boolean; readonly value: unknown } | undefined>;
  /** The text of an event that is sent as a heartbeat, and if the value is null. By default, the heartbeat is a comment, which scripts never get. */
  readonly heartbeat?: string;
}

/**
 * Streams a state as server-sent events: `state` with the whole state at the start and after changes, and `ended` with the last state.
 * Each event has the whole state, so a client that reconnects needs no earlier event.
 * @param stopping aborted when the service stops.
 */
export function sendChanges(
  answers: LongAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
  stopping: AbortSignal,
  followed: FollowedState,
): FastifyReply {
  // A buffering proxy would hold the events until the end.
  reply.header("content-type", "text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
  const signal = AbortSignal.any([disconnected(reply), stopping]);
  /** The time since which the client has something to read; null while it has nothing. */
  let sendingSince: number | null = null;
  const pieces = states(request, followed, signal, () => {
    sendingSince = null;
  });
  const owner = ownerOf(request);
  const isWaiting = () => sendingSince !== null && performance.now() - sendingSince >= answers.drain.windowMs;
  const passed = endSlowReader(reply.raw, answers.drain, () => {}, isWaiting);
  const paced = async function* () {
    for await (const piece of pieces) {
      sendingSince ??= performance.now();
      yield piece;
      passed(piece.length);
      await answers.eventLoop.turn(owner);
    }
  };
  return reply.send(Readable.from(paced(), { highWaterMark: 1 }));
}

/** The texts of the events. @param onSent called when the client has taken all texts so far. */
async function* states(
  request: FastifyRequest,
  followed: FollowedState,
  signal: AbortSignal,
  onSent: () => void,
): AsyncGenerator<string> {
  let woken = Promise.withResolvers<void>();
  const unsubscribe = followed.subscribe(() => woken.resolve());
  const stop = () => woken.resolve();
  signal.addEventListener("abort", stop);
  const { heartbeat } = followed;
  try {
    while (!signal.aborted) {
      woken = Promise.withResolvers(); // armed before the read, so that no change is missed
      if (!(await followed.isAllowed())) return;
      const state = await followed.read();
      if (!state) return;
      if (state.value === null) {
        if (heartbeat) yield heartbeat;
      } else {
        yield `event: ${state.isLast ? "ended" : "state"}\ndata: `;
        yield* jsonPieces(state.value);
        yield "\n\n";
      }
      onSent();
      if (state.isLast) return;
      await sleep(LEAST_MS, undefined, { signal }).catch(() => {});
      for (let checks = 1; !signal.aborted && !(await changed(woken.promise)); checks++) {
        if (!(await followed.isAllowed())) return;
        if (checks % CHECKS === 0) yield heartbeat ?? ": alive\n\n";
        onSent();
      }
    }
  } catch (error) {
    // If the database is unavailable, the stream ends, and the client reconnects.
    if (!(error instanceof StoreUnavailable)) throw error;
    request.log.warn({ err: error }, "database unavailable");
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", stop);
  }
}

/** Waits for a change until the next check. @returns false if nothing has changed. */
async function changed(woken: Promise<void>): Promise<boolean> {
  const timer = new AbortController();
  const silence = sleep(CHECK_MS, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([woken.then(() => true), silence]);
  } finally {
    timer.abort();
  }
}
