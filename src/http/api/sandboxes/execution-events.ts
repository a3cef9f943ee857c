import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { egressBytes } from "../../../domain/egress/egress-record.ts";
import { ClientError, clientError } from "../../../domain/error.ts";
import { jsonPieces } from "../../../domain/json-pieces.ts";
import type { Execution } from "../../../domain/sandboxes/execution.ts";
import type { ExecutionEvent, RunningExecution } from "../../../domain/sandboxes/host.ts";
import { toLongExecutionRecord } from "../../../domain/sandboxes/sandbox-record.ts";
import { StoreUnavailable } from "../../../store/database/errors.ts";
import { isStillValid } from "../../access/auth.ts";
import { ownerOf } from "../../access/caller.ts";
import { disconnected } from "../../responses/client-disconnect.ts";
import { endSlowReader } from "../../responses/drain.ts";
import type { Services } from "../../route.ts";
import { toActed } from "./bodies.ts";
import { OutputDecoder } from "./output-text.ts";

/** Interval of heartbeats while nothing else is sent. It is shorter than the idle timeout of common proxies. */
const HEARTBEAT_MS = 15_000;
/** Interval of the checks whether the client still has access. */
const CHECK_MS = 1_000;
/** The most bytes of output in an event. As JSON, they can be six times as long. */
const SLICE = 8_192;

/** How far a reader has read each stream, in bytes. */
export interface Position {
  readonly stdout: number;
  readonly stderr: number;
}

/** An execution as a reader follows it: one that runs, or one that the store has. */
export interface Followed extends Pick<RunningExecution, "execution" | "follow"> {
  /** Null if it has ended. */
  readonly running: RunningExecution | null;
}

export function runningExecution(running: RunningExecution): Followed {
  return {
    running,
    get execution() {
      return running.execution;
    },
    follow: (from, over) => running.follow(from, over),
  };
}

/** An execution that has ended, for readers: its output from any position on, and its end. */
export function endedExecution(execution: Execution): Followed {
  const { output } = execution.outcome ?? {};
  const follow = async function* (from: Position): AsyncGenerator<ExecutionEvent> {
    for (const stream of ["stdout", "stderr"] as const) {
      const bytes = output?.[stream].subarray(from[stream]);
      if (bytes && bytes.length > 0) yield { type: "output", stream, at: from[stream], bytes };
    }
    yield { type: "end", execution };
  };
  return { running: null, execution, follow };
}

/** @returns the position in the id of an event; undefined if the text is not the id of an event. */
export function readPosition(id: string | undefined): Position | undefined {
  const [, stdout, stderr] = /^(\d{1,15})-(\d{1,15})$/.exec(id ?? "") ?? [];
  return stdout === undefined ? undefined : { stdout: Number(stdout), stderr: Number(stderr) };
}

/**
 * Yields what `source` yields, and null whenever it has been silent for `silenceMs`. It ends when `over` aborts.
 */
async function* withSilence<T>(
  source: AsyncIterable<T>,
  silenceMs: number,
  over: AbortSignal,
): AsyncGenerator<T | null> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    let next = iterator.next();
    while (!over.aborted) {
      const silence = Promise.withResolvers<null>();
      const timer = setTimeout(() => silence.resolve(null), silenceMs);
      const first = await Promise.race([next, silence.promise]).finally(() => clearTimeout(timer));
      if (first === null) {
        yield null;
        continue;
      }
      if (first.done) return;
      yield first.value;
      next = iterator.next();
    }
  } finally {
    // It resolves only when the source has noticed `over`, so nothing waits for it.
    void iterator.return?.()?.catch(() => {});
  }
}

/**
 * Calls `check` at most every CHECK_MS while the events of a source are read, also while there are none. A null is a heartbeat.
 * @throws ClientError unauthorized if `check` resolves to false; otherwise, what it throws.
 */
export async function* checking<T>(
  source: AsyncIterable<T>,
  check: () => Promise<boolean>,
  over: AbortSignal,
): AsyncGenerator<T | null> {
  let [checkedAt, sentAt] = [performance.now(), performance.now()];
  for await (const event of withSilence(source, CHECK_MS, over)) {
    if (performance.now() - checkedAt >= CHECK_MS) {
      if (!(await check())) throw clientError("unauthorized", []);
      checkedAt = performance.now();
    }
    if (event === null && performance.now() - sentAt < HEARTBEAT_MS) continue;
    sentAt = performance.now();
    yield event;
  }
}

/**
 * Streams texts as server-sent events. The stream ends when the client leaves, the service stops, or the client reads too slowly.
 * @param make yields the texts until `over` aborts.
 */
export function sendTexts(
  { answers, stopping }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  make: (over: AbortSignal) => AsyncIterable<string>,
): FastifyReply {
  // A buffering proxy would hold the events until the end.
  reply.header("content-type", "text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
  const over = AbortSignal.any([disconnected(reply), stopping]);
  const owner = ownerOf(request);
  /** Since when the client has had something to read; null while it has nothing. */
  let sendingSince: number | null = null;
  const { windowMs } = answers.drain;
  const isWaiting = () => sendingSince !== null && performance.now() - sendingSince >= windowMs;
  const passed = endSlowReader(reply.raw, answers.drain, () => {}, isWaiting);
  const texts = async function* () {
    try {
      for await (const text of make(over)) {
        sendingSince ??= performance.now();
        yield text;
        passed(text.length);
        sendingSince = null;
        await answers.eventLoop.turn(owner);
      }
    } catch (error) {
      // The stream ends. A client that may read connects again, and receives the rest.
      if (error instanceof ClientError || over.aborted) return;
      if (!(error instanceof StoreUnavailable)) throw error;
      request.log.warn({ err: error }, "database unavailable");
    }
  };
  if (request.method === "HEAD") return reply.send();
  const stream = Readable.from(texts(), { highWaterMark: 1 });
  reply.raw.once("close", () => stream.destroy());
  return reply.send(stream);
}

/**
 * Streams an execution as server-sent events: `start`; `stdout` and `stderr`; and `ended`. The id of each event is the position up to
 * which the client has the output.
 */
export function sendExecution(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  followed: Followed,
  from: Position,
): FastifyReply {
  const { dependencies, answers } = services;
  const owner = ownerOf(request);
  const isAllowed = () => isStillValid(request, dependencies.store.keys);
  return sendTexts(services, request, reply, async function* (over) {
    const at = { stdout: from.stdout, stderr: from.stderr };
    const decoders = { stdout: new OutputDecoder(), stderr: new OutputDecoder() };
    yield `event: start\ndata: ${JSON.stringify(toActed(followed.execution))}\n\n`;
    const output = function* (stream: keyof Position, texts: ReturnType<OutputDecoder["end"]>) {
      for (const { at: position, text, until } of texts) {
        at[stream] = until;
        yield `event: ${stream}\nid: ${at.stdout}-${at.stderr}\ndata: ${JSON.stringify({ at: position, text })}\n\n`;
      }
    };
    for await (const event of checking(followed.follow(from, over), isAllowed, over)) {
      if (event === null) yield ": alive\n\n";
      else if (event.type === "output") {
        const { stream, bytes } = event;
        for (let offset = 0; offset < bytes.length; offset += SLICE) {
          const slice = bytes.subarray(offset, offset + SLICE);
          yield* output(stream, decoders[stream].texts(event.at + offset, slice));
        }
      } else {
        for (const stream of ["stdout", "stderr"] as const) yield* output(stream, decoders[stream].end());
        // That of an execution of the store was reserved before it was read.
        if (followed.running) await answers.admitFor(owner, request, reply)(recordBytes(event.execution));
        yield "event: ended\ndata: ";
        yield* jsonPieces(toLongExecutionRecord(event.execution));
        yield "\n\n";
        return;
      }
    }
  });
}

/** How much memory the output of an execution takes. */
export function outputBytes(output: { readonly stdout: Buffer; readonly stderr: Buffer } | null | undefined): number {
  return output ? output.stdout.length + output.stderr.length : 0;
}

/** How much memory the parts of a record take that programs can make long: the output, and what they reached over the network. */
export function recordBytes({ outcome, egress }: Pick<Execution, "outcome" | "egress">): number {
  return outputBytes(outcome?.output) + egressBytes(egress);
}
