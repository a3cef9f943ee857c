import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { TextDecoder } from "node:util";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ClientError, clientError } from "../../domain/error.ts";
import { jsonPieces } from "../../domain/json-pieces.ts";
import { isTerminal, MAX_CODE_BYTES, MAX_STDIN_BYTES } from "../../domain/submission.ts";
import { StoreUnavailable } from "../../store/errors.ts";
import type { LiveMark, LivePiece } from "../../store/observe-port.ts";
import { DRAIN, endSlowReader } from "../drain.ts";
import { disconnected } from "../gone.ts";
import type { LongAnswers } from "../long-answers.ts";
import { ownerOf } from "../owner.ts";
import type { LiveEvent } from "./answers.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { maySee, personOf } from "./session.ts";
import { detailOf } from "./submission-detail.ts";
import { noteReading, SUBMISSIONS } from "./submissions.ts";

/** Runs that one person can watch at once; each holds a connection, and an address has not many. */
const MAX_WATCHED = 8;

/** Shorter than any proxy waits for something to move. */
const HEARTBEAT_MS = 15_000;

/** Output that a run can have: what one look returns at most. */
const LOOK_BYTES = 2 * 1_048_576;

/** Within which a viewer takes them: 16 KiB a second. The page of one that was too slow asks again by itself. */
const LOOK_MS = 128_000;

/** Output in one event; as JSON it is up to six times as long. */
const SLICE = 8_192;

/** How soon a view ends after its session, or after the person's membership: each is looked at so often, whatever is written. */
const CHECK_MS = 1_000;

/** A submission while it runs, as server-sent events; see LiveEvent. */
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
    if (!found) throw clientError("notThere", []);
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
    // The client may have left during the search; its event is over then.
    if (reply.raw.closed) leave();
    else reply.raw.once("close", leave);
    // A proxy that gathers what it passes on would keep it until the end.
    reply.header("content-type", "text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
    const signal = AbortSignal.any([disconnected(reply), ended]);
    const watched = { id: found.id, accountId: found.account.id };
    return reply.send(Readable.from(events(d, answers, request, reply, watched, signal), { highWaterMark: 1 }));
  });
}

/** Everything from the beginning, then what comes. Ends with the run, the signal or the session. */
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
  let give: (() => void) | undefined;
  let seen: LiveMark | null = null;
  let said: string | undefined;
  let checked = performance.now();
  let spoke = checked;
  try {
    while (!signal.aborted) {
      if (performance.now() - checked >= CHECK_MS) {
        if (!(await isStillAllowed(d, request, accountId))) return;
        checked = performance.now();
      }
      woken = Promise.withResolvers(); // armed before the look, so that nothing in between is missed
      const began = performance.now();
      give = await answers.room.take(owner, LOOK_BYTES, signal);
      if (!give) return;
      const look = await d.store.live.look(id, seen);
      if (!look) return;
      const { status, pieces } = look;
      if (pieces.length === 0) give();
      if ((status === "pending" || status === "running") && status !== said) yield event("status", { status });
      said = status;
      for (const piece of pieces) {
        seen = { fence: piece.fence, n: piece.n };
        for (let at = 0; at < piece.bytes.length; at += SLICE) {
          const slice = { ...piece, bytes: piece.bytes.subarray(at, at + SLICE) };
          yield event(piece.stream, { at: piece.at + at, text: text.of(slice) });
          if (performance.now() - began > LOOK_MS) return;
          await answers.pace.turn(owner);
        }
      }
      give();
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
        spoke = performance.now();
        continue;
      }
      await quiet(woken.promise, Math.min(CHECK_MS, heartbeatMs));
      if (performance.now() - spoke >= heartbeatMs) {
        yield ": alive\n\n";
        spoke = performance.now();
      }
    }
  } catch (error) {
    // Whoever watches asks again by itself, and begins with what is there.
    if (error instanceof ClientError) return; // no room
    if (!(error instanceof StoreUnavailable)) throw error;
    request.log.warn({ err: error }, "no database");
  } finally {
    give?.();
    unsubscribe();
    signal.removeEventListener("abort", wake);
  }
}

/** Waits until something happens, but no longer than that. */
async function quiet(woken: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController();
  const over = sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
  try {
    await Promise.race([woken, over]);
  } finally {
    timer.abort();
  }
}

/** A session may end, and a person lose an account, while nothing is asked. */
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

/** Pieces end anywhere, in a character too: the rest of it comes with the next one. */
class Decoders {
  #fence = 0;
  #streams: Partial<Record<LivePiece["stream"], TextDecoder>> = {};

  of({ fence, stream, bytes }: LivePiece & LiveMark): string {
    if (fence !== this.#fence) this.#streams = {}; // it began again
    this.#fence = fence;
    this.#streams[stream] ??= new TextDecoder("utf-8", { ignoreBOM: true });
    return this.#streams[stream].decode(bytes, { stream: true });
  }
}
