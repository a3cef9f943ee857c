import type { Duplex, Readable } from "node:stream";

/*
 * The messages of one call, in each direction of its HTTP/2 stream. A message is a byte with its kind, the length of its content in four
 * bytes, and the content. A direction ends with `end` or `failure`: one that stops before was cut off.
 */

const KINDS = { value: 1, bytes: 2, end: 3, failure: 4 } as const;
type Kind = keyof typeof KINDS;
const NAMES = new Map<number, Kind>(Object.entries(KINDS).map(([name, number]) => [number, name as Kind]));
const HEADER_BYTES = 5;

/** The most bytes in one message of the kind `bytes`. */
export const PIECE_BYTES = 65_536;
/** The most bytes of a failure. */
const FAILURE_BYTES = 8_192;
/** Values longer than this are read only when there is memory for them. */
const SMALL_BYTES = 16_384;

/** The other process sent what this protocol does not have. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation";
}

/** The stream of a call ended before the call did. */
export class CutOff extends Error {
  override readonly name = "CutOff";
  constructor(message = "the link was cut off") {
    super(message);
  }
}

export type Message =
  /** JSON that was parsed, and not checked. */
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "end" }
  | { readonly kind: "failure"; readonly value: unknown };

/** Waits until there is memory for a value of this many bytes. @returns gives it back. @throws if there is none in time. */
export type AdmitBytes = (bytes: number) => Promise<() => void>;

/** Reads the messages of one direction. At most one piece, or one value of the permitted length, is in memory besides the stream's window. */
export class MessageReader {
  readonly #stream: Readable;
  readonly #admit: AdmitBytes;
  #buffered: Buffer = Buffer.alloc(0);
  #woken = Promise.withResolvers<void>();
  #isEnded = false;
  #isClosed = false;

  constructor(stream: Readable, admit: AdmitBytes) {
    this.#stream = stream;
    this.#admit = admit;
    stream.on("readable", this.#wake);
    stream.once("end", () => {
      this.#isEnded = true;
      this.#wake();
    });
    stream.once("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  readonly #wake = () => this.#woken.resolve();

  /** @param most the longest value that may come. @throws CutOff, ProtocolViolation. */
  async next(most: number): Promise<Message> {
    const header = await this.#take(HEADER_BYTES);
    const kind = NAMES.get(header.readUInt8(0));
    const length = header.readUInt32BE(1);
    if (!kind) throw new ProtocolViolation("a message of an unknown kind");
    const limit = { value: most, bytes: PIECE_BYTES, end: 0, failure: FAILURE_BYTES }[kind];
    if (length > limit) throw new ProtocolViolation(`a message of the kind ${kind} has ${length} bytes`);
    if (kind === "end") {
      this.finish();
      return { kind };
    }
    if (kind === "bytes") return { kind, bytes: await this.#take(length) };
    const release = length > SMALL_BYTES ? await this.#admit(length) : () => {};
    try {
      const value = parse(await this.#take(length));
      if (kind === "failure") this.finish();
      return { kind, value };
    } finally {
      release();
    }
  }

  /** Reads bytes until the end of this direction. @throws CutOff, ProtocolViolation. */
  async *pieces(): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const message = await this.next(0);
      if (message.kind === "end") return;
      if (message.kind !== "bytes") throw new ProtocolViolation("something else than bytes");
      yield message.bytes;
    }
  }

  /** Reads nothing more: what still comes, which should be nothing, is discarded, so that the stream can close. */
  finish(): void {
    this.#stream.off("readable", this.#wake);
    this.#stream.resume();
  }

  async #take(length: number): Promise<Buffer> {
    if (this.#buffered.length < length) {
      const parts = [this.#buffered];
      for (let size = this.#buffered.length; size < length; ) {
        const chunk = await this.#chunk();
        parts.push(chunk);
        size += chunk.length;
      }
      this.#buffered = Buffer.concat(parts);
    }
    const taken = this.#buffered.subarray(0, length);
    this.#buffered = this.#buffered.subarray(length);
    return taken;
  }

  async #chunk(): Promise<Buffer> {
    for (;;) {
      this.#woken = Promise.withResolvers();
      const chunk: Buffer | null = this.#stream.read();
      if (chunk) return chunk;
      if (this.#isEnded || this.#isClosed || this.#stream.destroyed) throw new CutOff();
      await this.#woken.promise;
    }
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new ProtocolViolation("a value that is no JSON");
  }
}

/** Writes the messages of one direction. Each method resolves when the stream takes more. */
export class MessageWriter {
  readonly #stream: Duplex;

  constructor(stream: Duplex) {
    this.#stream = stream;
  }

  /** @returns a promise only if the caller should wait. */
  value(value: unknown): Promise<void> | undefined {
    return this.#write("value", Buffer.from(JSON.stringify(value)));
  }

  async bytes(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      await this.#write("bytes", bytes.subarray(at, at + PIECE_BYTES));
  }

  /** Ends this direction. */
  end(): void {
    this.#last("end", Buffer.alloc(0));
  }

  /** Ends this direction with a failure. */
  fail(value: unknown): void {
    this.#last("failure", Buffer.from(JSON.stringify(value)));
  }

  #last(kind: Kind, content: Buffer): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    void this.#write(kind, content)?.catch(() => {});
    this.#stream.end();
  }

  #write(kind: Kind, content: Buffer): Promise<void> | undefined {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return Promise.reject(new CutOff());
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(KINDS[kind], 0);
    header.writeUInt32BE(content.length, 1);
    if (stream.write(Buffer.concat([header, content]))) return undefined;
    return new Promise((resolve, reject) => {
      const done = () => {
        stream.off("drain", drained);
        stream.off("close", closed);
      };
      const drained = () => {
        done();
        resolve();
      };
      const closed = () => {
        done();
        reject(new CutOff());
      };
      stream.on("drain", drained);
      stream.on("close", closed);
    });
  }
}
