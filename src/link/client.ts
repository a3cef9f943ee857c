import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import type { z } from "zod";
import { Budget } from "../fairness/budget.ts";
import { decodeFailure } from "./failures.ts";
import { CutOff, type Message, MessageReader, MessageWriter, ProtocolViolation } from "./messages.ts";
import {
  type ArgsOf,
  BYTES,
  type ItemOf,
  METHODS,
  type Method,
  type MethodName,
  type ResultOf,
  VALUE_BYTES,
} from "./methods.ts";

type AnyMethod = Method<z.ZodType, z.ZodType, z.ZodType>;

/** The most calls of one link at the same time. */
export const MOST_CALLS = 2_048;
/** Memory for values of the other process that are read or decoded at the same time. The last one waits until others are done. */
const VALUES_BYTES = 33_554_432;
/** How long a value waits for this memory. */
const ADMIT_MS = 20_000;

/** How long a stream stays open after the end of its call. */
const CLOSE_MS = 5_000;

/** The sandbox that a call is about. */
export interface Target {
  readonly id: string;
  readonly accountId: string;
  /** Whether the call is a use of the sandbox, which is then not idle. */
  readonly uses: boolean;
}

export interface CallOptions {
  readonly upload?: AsyncIterable<Buffer> | Iterable<Buffer>;
  /** Ends the call. Before its result, the call then rejects with CutOff; afterwards, its items end. */
  readonly over?: AbortSignal;
}

export interface CallAnswer<Name extends MethodName> {
  readonly result: ResultOf<Name>;
  /** Must be iterated to the end or returned, if the method has items. */
  readonly items: AsyncIterableIterator<ItemOf<Name>>;
}

/** The side of a link that asks: a service, which asks a process that has sandboxes. */
export class LinkClient {
  readonly #session: ClientHttp2Session;
  readonly #onViolation: (error: Error) => void;
  readonly #values = new Budget({ total: VALUES_BYTES, inAnyCase: VALUES_BYTES, waitMs: ADMIT_MS });
  #calls = 0;

  /** @param onViolation called with what the other process did wrong; the session is then destroyed. */
  constructor(session: ClientHttp2Session, onViolation: (error: Error) => void) {
    this.#session = session;
    this.#onViolation = onViolation;
  }

  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /**
   * Calls a method of the other process.
   * @throws SandboxRefused or FileError of the other process, RemoteFailure, CutOff if the link was lost or the answer came too late, or the
   * error of the upload.
   */
  async call<Name extends MethodName>(
    name: Name,
    { id, accountId, uses }: Target,
    args: ArgsOf<Name>,
    { upload, over }: CallOptions = {},
  ): Promise<CallAnswer<Name>> {
    const method = METHODS[name] as unknown as AnyMethod;
    if (over?.aborted) throw new CutOff("the call was not needed any more");
    if (!this.isOpen) throw new CutOff();
    if (this.#calls >= MOST_CALLS) throw new CutOff("too many calls of the link are under way");
    const stream = this.#session.request({ ":method": "POST", ":path": `/${name}` }, { endStream: false });
    this.#calls++;
    const cancel = () => stream.close(constants.NGHTTP2_CANCEL);
    over?.addEventListener("abort", cancel, { once: true });
    stream.on("error", () => {}); // the reader and the writer get it
    stream.once("close", () => {
      this.#calls--;
      over?.removeEventListener("abort", cancel);
    });
    const timer = method.deadlineMs === null ? undefined : setTimeout(cancel, method.deadlineMs);
    const reader = new MessageReader(stream, (bytes) => this.#admit(bytes));
    try {
      const writer = new MessageWriter(stream);
      const sent = writer.value({ id, accountId, uses, args: method.args.encode(args) });
      const failed = this.#send(writer, stream, upload, sent);
      const first = await Promise.race([reader.next(method.most?.result ?? VALUE_BYTES), failed]);
      clearTimeout(timer);
      const result = await this.#decode(first, method.result);
      if (!method.items) await this.#finish(stream, reader);
      const items = method.items ? this.#items(stream, reader, method, over) : noItems();
      return { result: result as ResultOf<Name>, items: items as AsyncIterableIterator<ItemOf<Name>> };
    } catch (error) {
      cancel();
      throw this.#noted(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends all calls. */
  destroy(): void {
    this.#session.destroy();
  }

  /** Sends what the caller gives. It rejects with an error of the upload, and never resolves. */
  #send(
    writer: MessageWriter,
    stream: ClientHttp2Stream,
    upload: CallOptions["upload"],
    sent: Promise<void> | undefined,
  ): Promise<never> {
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => {}); // the answer can come first
    if (!upload) {
      sent?.catch(() => {});
      writer.end();
      return failed.promise;
    }
    const pass = async () => {
      let isWriting = true;
      try {
        await sent;
        for await (const bytes of upload) {
          isWriting = true;
          await writer.bytes(bytes);
          isWriting = false;
        }
        writer.end();
      } catch (error) {
        // When the other process has answered, it reads no more. Its answer says why.
        if (error instanceof CutOff && isWriting) return;
        stream.close(constants.NGHTTP2_CANCEL);
        failed.reject(error);
      }
    };
    void pass();
    return failed.promise;
  }

  async #admit(bytes: number): Promise<() => void> {
    const over = new AbortController();
    const release = await this.#values.takeInTime("link", bytes, over.signal);
    if (!release) throw new CutOff("there was no memory for an answer in time");
    return release;
  }

  async #decode(message: Message, schema: z.ZodType): Promise<unknown> {
    if (message.kind === "failure") throw checked(() => decodeFailure(message.value));
    if (message.kind !== "value")
      throw new ProtocolViolation(`a message of the kind ${message.kind} where a value must be`);
    return checked(() => schema.parse(message.value));
  }

  async #finish(stream: ClientHttp2Stream, reader: MessageReader): Promise<void> {
    const last = await reader.next(0);
    if (last.kind !== "end") throw new ProtocolViolation("something after the result");
    // The stream closes by itself, unless the other process does not end it.
    stream.setTimeout(CLOSE_MS, () => stream.close(constants.NGHTTP2_CANCEL));
  }

  #items(
    stream: ClientHttp2Stream,
    reader: MessageReader,
    { items, most }: AnyMethod,
    over: AbortSignal | undefined,
  ): AsyncIterableIterator<unknown> {
    let isOver = false;
    const close = () => {
      isOver = true;
      if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
      return { done: true, value: undefined } as const;
    };
    const next = async (): Promise<IteratorResult<unknown>> => {
      if (isOver || over?.aborted) return close();
      try {
        const message = await reader.next(items === BYTES ? 0 : (most?.item ?? VALUE_BYTES));
        if (message.kind === "end") return close();
        if (message.kind === "bytes" && items === BYTES) return { done: false, value: message.bytes };
        if (message.kind === "bytes" || items === BYTES || !items) {
          if (message.kind === "failure") throw checked(() => decodeFailure(message.value));
          throw new ProtocolViolation(`an item of the kind ${message.kind}`);
        }
        return { done: false, value: await this.#decode(message, items) };
      } catch (error) {
        close();
        if (over?.aborted) return { done: true, value: undefined };
        throw this.#noted(error);
      }
    };
    const iterator: AsyncIterableIterator<unknown> = {
      next,
      return: async () => close(),
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  /** A process that violates the protocol is not asked again over this link. */
  #noted(error: unknown): unknown {
    if (!(error instanceof ProtocolViolation)) return error;
    this.#onViolation(error);
    this.#session.destroy();
    return error;
  }
}

function checked<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw new ProtocolViolation("a value of a wrong form", { cause: error });
  }
}

function noItems(): AsyncIterableIterator<never> {
  return (async function* () {})();
}
