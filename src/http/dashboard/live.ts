import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { TextDecoder } from "node:util";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ClientError, clientError } from "../../domain/error.ts";
import { jsonPieces } from "../../domain/json-pieces.ts";
import { isTerminal, MAX_CODE_BYTES, MAX_STDIN_BYTES } from "../../domain/submission.ts";
import { StoreUnavailable } from "../../store/engine/errors.ts";
import type { LiveMark, LivePiece } from "../../store/history/types.ts";
import { DRAIN, endSlowReader } from "../drain.ts";
import { disconnected } from "../gone.ts";
import type { LongAnswers } from "../long-answers.ts";
import { ownerOf } from "../owner.ts";
import type { LiveEvent } from "./api/submissions.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { maySee, personOf } from "./session.ts";
import { detailOf } from "./submission-detail.ts";
import { noteReading, SUBMISSIONS } from "./submissions.ts";

/** Runs that a person can watch at once. Each holds a connection, and connections per address are limited. */
const MAX_WATCHED = 8;

/** Shorter than the idle timeout of common proxies. */
const HEARTBEAT_MS = 15_000;

/** The most output that one look returns: the maximum output of a run. */
const LOOK_BYTES = 2 * 1_048_576;

/** Time limit for reading one look: 16 KiB a second. The page of a slower viewer reconnects by itself. */
const LOOK_MS = 128_000;

/** Output bytes per event; as JSON, up to six times as long. */
const SLICE = 8_192;

/**
 * Interval at which the session and the membership are checked, also during output; a view ends this soon after either.
 */
const CHECK_MS = 1_000;

/** Streams a submission while it runs, as server-sent events; see LiveEvent. */
export function liveRoute(
  server: FastifyInstance,
  d: DashboardDependencies,
  answers: LongAnswers,
  ended: AbortSignal,
): void {
  const watching = new Map<string, number>();

  server.get(`${SUBMISSIONS}/:id/live`, { config: { session: "member" } }, async (request, reply) => {
    const { id } = request.params as { id: string };
    const which = { id: id.toLowerCase(), accountIds: personOf(request).accountIds, max: 1 };
    const [found] = (await d.store.records.search(which)).found;
    if (!found) throw clientError("notFound", []);
    request.submissionId = found.id;
    await noteReading(d.store, request, found);
    const { id: personId } = personOf(request);
    const others = watching.get(personId) ?? 0;
    if (others >= MAX_WATCHED) throw clientError("tooManyWatched", []);
    watching.set(personId, others + 1);
    const leave = () => {
      const left = (watching.get(personId) ?? 1) - 1;
      if (left > 0) watching.set(personId, left);
      else watching.delete(personId);
    };
    // If the client disconnected during the search, its event has already fired.
    if (reply.raw.closed) leave();
    else reply.raw.once("close", leave);
    // A buffering proxy would hold the output until the end.
    reply.header("content-type", "text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
    const signal = AbortSignal.any([disconnected(reply), ended]);
    const watched = { id: found.id, accountId: found.account.id };
    return reply.send(Readable.from(events(d, answers, request, reply, watched, signal), { highWaterMark: 1 }));
  });
}

/** The output so far, then new output. Ends with the run, the signal or the session. */
async function* events(
  d: DashboardDependencies,
  answers: LongAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const owner = ownerOf(request);
  const heartbeatMs = d.heartbeatMs ?? HEARTBEAT_MS;
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  const unsubscribe = d.store.live.onChange(id, wake);
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
        if (!(await isStillAllowed(d, request, accountId))) return;
        checkedAt = performance.now();
      }
      woken = Promise.withResolvers(); // armed before the look, so that no change is missed
      const began = performance.now();
      release = await answers.room.take(owner, LOOK_BYTES, signal);
      if (!release) return;
      const look = await d.store.live.look(id, seen);
      if (!look) return;
      const { status, pieces } = look;
      if (pieces.length === 0) release();
      if ((status === "pending" || status === "running") && status !== sentStatus) yield event("status", { status });
      sentStatus = status;
      for (const piece of pieces) {
        seen = { fence: piece.fence, n: piece.n };
        for (let at = 0; at < piece.bytes.length; at += SLICE) {
          const slice = { ...piece, bytes: piece.bytes.subarray(at, at + SLICE) };
          yield event(piece.stream, { at: piece.at + at, text: text.of(slice) });
          if (performance.now() - began > LOOK_MS) return;
          await answers.pace.turn(owner);
        }
      }
      release();
      if (isTerminal(status)) {
        const admit = answers.admitFor(owner, request, reply);
        await admit(MAX_CODE_BYTES + MAX_STDIN_BYTES);
        const read = await d.store.records.read(id, [accountId], admit);
        if (!read) return;
        yield "event: ended\ndata: ";
        const detail = await detailOf(d.store, read);
        yield* answers.paced(
          owner,
          jsonPieces(detail),
          endSlowReader(reply.raw, DRAIN, () => {}),
        );
        yield "\n\n";
        return;
      }
      if (pieces.length > 0) {
        lastSentAt = performance.now();
        continue;
      }
      await quiet(woken.promise, Math.min(CHECK_MS, heartbeatMs));
      if (performance.now() - lastSentAt >= heartbeatMs) {
        yield ": alive\n\n";
        lastSentAt = performance.now();
      }
    }
  } catch (error) {
    // The page reconnects and receives the output so far.
    if (error instanceof ClientError) return; // no room
    if (!(error instanceof StoreUnavailable)) throw error;
    request.log.warn({ err: error }, "database unavailable");
  } finally {
    release?.();
    unsubscribe();
    signal.removeEventListener("abort", wake);
  }
}

/** Waits for a change, at most `ms` milliseconds. */
async function quiet(woken: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController();
  const over = sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
  try {
    await Promise.race([woken, over]);
  } finally {
    timer.abort();
  }
}

/** A session can end, and a person can lose an account, while a stream is open. */
async function isStillAllowed(
  { store }: DashboardDependencies,
  request: FastifyRequest,
  accountId: string,
): Promise<boolean> {
  const person = await store.sessions.find(request.sessionHash ?? "");
  return person !== undefined && maySee(person, accountId);
}

function event<Name extends Exclude<LiveEvent["event"], "ended">>(
  name: Name,
  data: Extract<LiveEvent, { event: Name }>["data"],
): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Pieces can end within a character; the next piece has its remaining bytes. */
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
