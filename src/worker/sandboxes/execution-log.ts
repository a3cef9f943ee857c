import type { Execution } from "../../domain/sandboxes/execution.ts";
import type { ExecutionEvent } from "../../domain/sandboxes/host.ts";
import { StreamLog } from "./stream-log.ts";

type Stream = "stdout" | "stderr";
const STREAMS: readonly Stream[] = ["stdout", "stderr"];

/** A part of a stream, in the order of the output. */
interface Span {
  readonly stream: Stream;
  readonly at: number;
  size: number;
}

/** The most parts whose order between the streams is known. The program decides how often it changes between them. */
const MAX_SPANS = 256;
/** The most bytes of an event. */
const EVENT_BYTES = 65_536;
/** The time between two wake-ups of readers, of which each costs every reader a message. */
const PACE_MS = 20;
/** How many wake-ups need not wait after an input, whose sender waits for an answer. */
const EAGER = 2;

export interface ExecutionLogOptions {
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** Which bytes are kept of more output than that. */
  readonly keeps: "first" | "last";
}

/**
 * What an execution writes, in memory, for any number of readers. Nobody who reads it delays the program, and a reader that is too slow for
 * a log that keeps the last bytes misses some.
 */
export class ExecutionLog {
  readonly #streams: Readonly<Record<Stream, StreamLog>>;
  readonly #waiting = new Set<() => void>();
  #spans: Span[] = [];
  /** The number of the first span. */
  #first = 0;
  #ended: Execution | null = null;
  #readers = 0;
  /** Resolves when nobody reads any more. */
  readonly #unread = Promise.withResolvers<void>();
  #eager = 0;
  #wokenAtMs = Number.NEGATIVE_INFINITY;
  #soon: NodeJS.Immediate | null = null;
  #later: NodeJS.Timeout | null = null;

  constructor({ stdoutBytes, stderrBytes, keeps }: ExecutionLogOptions) {
    this.#streams = { stdout: new StreamLog(stdoutBytes, keeps), stderr: new StreamLog(stderrBytes, keeps) };
  }

  /** Adds bytes, which are copied. */
  write(stream: Stream, bytes: Buffer): void {
    const at = this.#streams[stream].end;
    const size = this.#streams[stream].push(bytes);
    if (size === 0) return;
    const last = this.#spans.at(-1);
    if (last?.stream === stream) last.size += size;
    else this.#spans.push({ stream, at, size });
    if (this.#spans.length > MAX_SPANS) {
      this.#spans.shift();
      this.#first++;
    }
    this.#schedule();
  }

  /** Lets the next readers not wait, because a client has given input. */
  hurry(): void {
    this.#eager = EAGER;
  }

  /** No more output comes. Readers get the execution after the output. */
  end(execution: Execution): void {
    this.#ended = execution;
    this.#wake();
    this.#checkUnread();
  }

  /** Resolves when the execution has ended, and all who read then have read everything or left. Until then, the output is in memory. */
  get unread(): Promise<void> {
    return this.#unread.promise;
  }

  #checkUnread(): void {
    if (this.#ended && this.#readers === 0) this.#unread.resolve();
  }

  /** What is kept of both streams, and how much was written. */
  kept(): Readonly<Record<Stream, { readonly bytes: Buffer; readonly seen: number }>> {
    const of = (stream: Stream) => ({ bytes: this.#streams[stream].all(), seen: this.#streams[stream].end });
    return { stdout: of("stdout"), stderr: of("stderr") };
  }

  /** RunningExecution.follow. */
  async *follow(
    from: Readonly<Record<Stream, number>>,
    over: AbortSignal,
  ): AsyncGenerator<ExecutionEvent, void, undefined> {
    const reader = new Reader(from);
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    over.addEventListener("abort", wake);
    this.#waiting.add(wake);
    this.#readers++;
    try {
      while (!over.aborted) {
        woken = Promise.withResolvers(); // armed before the read, so that no output is missed
        const event = reader.next(this.#streams, this.#spans, this.#first);
        if (event) {
          yield event;
          continue;
        }
        if (this.#ended) {
          yield { type: "end", execution: this.#ended };
          return;
        }
        await woken.promise;
      }
    } finally {
      over.removeEventListener("abort", wake);
      this.#waiting.delete(wake);
      this.#readers--;
      this.#checkUnread();
    }
  }

  #schedule(): void {
    if (this.#soon || this.#waiting.size === 0) return;
    const waitMs = this.#wokenAtMs + PACE_MS - performance.now();
    if (waitMs <= 0 || this.#eager > 0) {
      if (waitMs > 0) this.#eager--;
      // What arrives in the same iteration of the event loop is read together.
      this.#soon = setImmediate(() => this.#wake());
    } else {
      this.#later ??= setTimeout(() => this.#wake(), waitMs);
    }
  }

  #wake(): void {
    if (this.#soon) clearImmediate(this.#soon);
    if (this.#later) clearTimeout(this.#later);
    this.#soon = this.#later = null;
    this.#wokenAtMs = performance.now();
    for (const wake of this.#waiting) wake();
  }
}

/** How far a reader has read. */
class Reader {
  readonly #at: Record<Stream, number>;
  #span = 0;

  constructor(from: Readonly<Record<Stream, number>>) {
    this.#at = { ...from };
  }

  /** The next output; null if there is none yet. */
  next(streams: Readonly<Record<Stream, StreamLog>>, spans: readonly Span[], first: number): ExecutionEvent | null {
    if (this.#span < first) {
      // The order of what came before the first span is not known any more: one stream after the other.
      for (const stream of STREAMS) {
        const end = spans.find((span) => span.stream === stream)?.at ?? streams[stream].end;
        const event = this.#read(stream, streams[stream], end);
        if (event) return event;
      }
      this.#span = first;
    }
    for (; ; this.#span++) {
      const span = spans[this.#span - first];
      if (!span) return null;
      const event = this.#read(span.stream, streams[span.stream], span.at + span.size);
      if (event) return event;
      if (this.#span - first === spans.length - 1) return null; // the last one can grow
    }
  }

  #read(stream: Stream, log: StreamLog, end: number): ExecutionEvent | null {
    const at = Math.max(this.#at[stream], log.start);
    if (at >= end) return null;
    const bytes = log.read(at, Math.min(end - at, EVENT_BYTES));
    this.#at[stream] = at + bytes.length;
    return { type: "output", stream, at, bytes };
  }
}
