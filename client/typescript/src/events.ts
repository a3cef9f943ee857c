import { AssayError } from "./error.ts";
import { delayMs, pause, type Transport } from "./transport.ts";
import type { Execution, ExecutionOutput, Judgement, Status, SubmissionRecord } from "./types.ts";

/**
 * An event of a submission. `at` is the position of the first byte of `text` in the whole output. If a later event has `at` 0 again,
 * the program was started again, for example after the loss of a worker.
 */
export type SubmissionEvent =
  | { readonly type: "status"; readonly status: Status }
  | { readonly type: "stdout" | "stderr"; readonly at: number; readonly text: string }
  | { readonly type: "ended"; readonly record: SubmissionRecord };

export type JudgementEvent = { readonly type: "state" | "ended"; readonly judgement: Judgement };

/** An event of an execution. `at` is the position of the first byte of `text` in the whole output. */
export type ExecutionEvent =
  | ({ readonly type: "stdout" | "stderr" } & ExecutionOutput)
  | { readonly type: "ended"; readonly execution: Execution };

interface ServerEvent {
  readonly type: string;
  readonly data: string;
  readonly id: string | null;
}

/** After so long without data, a connection counts as lost: the service sends at least a comment every 15 s. */
const SILENCE_MS = 45_000;

/** @returns the events of a submission up to its end. No output is returned twice, even after a lost connection. */
export async function* submissionEvents(
  transport: Transport,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<SubmissionEvent, void, undefined> {
  let known: Status | undefined;
  for await (const { type, data } of follow(transport, path, signal)) {
    const value = JSON.parse(data);
    if (type === "ended") yield { type, record: value };
    else if (type === "stdout" || type === "stderr") yield { type, at: value.at, text: value.text };
    else if (type === "status" && value.status !== known) {
      known = value.status;
      yield { type, status: value.status };
    }
  }
}

/** @returns the events of a judgement up to its end. */
export async function* judgementEvents(
  transport: Transport,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<JudgementEvent, void, undefined> {
  for await (const { type, data } of follow(transport, path, signal)) {
    if (type === "state" || type === "ended") yield { type, judgement: JSON.parse(data) };
  }
}

/** @returns the events of an execution up to its end. No output is returned twice, even after a lost connection. */
export async function* executionEvents(
  transport: Transport,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ExecutionEvent, void, undefined> {
  for await (const { type, data } of follow(transport, path, signal)) {
    if (type === "stdout" || type === "stderr") yield { type, ...JSON.parse(data) };
    else if (type === "ended") yield { type, execution: JSON.parse(data) };
  }
}

/** @returns all events up to `ended`. After a lost connection, connects again and continues after the last event with an id. */
async function* follow(transport: Transport, path: string, signal?: AbortSignal): AsyncGenerator<ServerEvent> {
  let last: string | null = null;
  for (let failures = 0; ; failures++) {
    const ending = new AbortController();
    const silence = new Silence(() => ending.abort(new Error("the stream is silent")));
    const either = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal;
    let cause: unknown;
    try {
      const headers = last === null ? {} : { "Last-Event-ID": last };
      const body = await transport.open({ method: "GET", path, headers, isRepeatable: true }, either);
      // A piece of output can be several events, of which only the last has an id. If the connection is lost within a piece, the
      // service sends the whole piece again.
      let piece: ServerEvent[] = [];
      for await (const event of readEvents(body, silence)) {
        failures = 0;
        piece.push(event);
        if (event.id === null && (event.type === "stdout" || event.type === "stderr")) continue;
        yield* piece;
        piece = [];
        last = event.id ?? last;
        if (event.type === "ended") return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AssayError && error.code === "response") throw error;
      cause = error;
    } finally {
      silence.stop();
      ending.abort(new Error("the stream is no longer read"));
    }
    if (failures >= transport.retries)
      throw new AssayError({ code: "connection", message: `the events of ${path} ended too early`, cause });
    await pause(delayMs(failures, null), signal);
  }
}

/** Reads server-sent events. The service ends lines with a line feed alone. */
async function* readEvents(body: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<ServerEvent> {
  let event = { type: "message", data: "", id: null as string | null };
  for await (const line of readLines(body, silence)) {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (line === "") {
      if (event.data !== "") yield event;
      event = { type: "message", data: "", id: null };
    } else if (name === "event") event.type = value;
    else if (name === "data") event.data += value;
    else if (name === "id") event.id = value;
  }
}

async function* readLines(body: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  // The chunks of the current line: a record of 12 MB is one line in many chunks.
  let begun: string[] = [];
  try {
    for (;;) {
      silence.start();
      const { done, value } = await reader.read();
      if (done) return;
      const [rest = "", ...lines] = decoder.decode(value, { stream: true }).split("\n");
      begun.push(rest);
      for (const next of lines) {
        silence.stop();
        yield begun.join("");
        begun = [next];
      }
    }
  } finally {
    await reader.cancel().catch(() => {}); // the stream may have failed already
  }
}

/** Calls `end` if no data arrives for SILENCE_MS after `start`. */
class Silence {
  readonly #end: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(end: () => void) {
    this.#end = end;
  }

  start(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#end, SILENCE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
