import { OperatorError } from "../domain/operator-error.ts";
import { FRAMES, type FrameName, KEYS, type KeyName } from "./protocol.ts";

const HEADER_BYTES = 5;
/** The largest frame that the launcher sends: a FILE frame with the most data, its name and its mode. */
const LARGEST_FRAME = 16 * 1024 * 1024 + 1024;

/** The launcher does not keep to the protocol, or has another protocol or build than this service. */
export class ProtocolError extends OperatorError {
  override readonly name = "ProtocolError";
}

/** Values of at least this size are pieces of their own. */
const LARGE_BYTES = 65_536;

/** Builds one frame from entries. */
export class FrameWriter {
  readonly #frame: FrameName;
  readonly #parts: Buffer[] = [];

  constructor(frame: FrameName) {
    this.#frame = frame;
  }

  int(key: KeyName, value: number | bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return this.bytes(key, bytes);
  }

  bytes(key: KeyName, value: Buffer | string): this {
    const data = typeof value === "string" ? Buffer.from(value, "utf8") : value;
    const head = Buffer.alloc(HEADER_BYTES);
    head[0] = KEYS[key].number;
    head.writeUInt32LE(data.length, 1);
    this.#parts.push(head, data);
    return this;
  }

  /** The whole frame in one buffer. */
  end(): Buffer {
    return Buffer.concat(this.pieces());
  }

  /** The whole frame in several pieces, so that large values are not copied. */
  pieces(): Buffer[] {
    const header = Buffer.alloc(HEADER_BYTES);
    const size = this.#parts.reduce((sum, part) => sum + part.length, 0);
    header.writeUInt32LE(size, 0);
    header[4] = FRAMES[this.#frame];
    const pieces: Buffer[] = [];
    let small: Buffer[] = [header];
    for (const part of this.#parts) {
      if (part.length < LARGE_BYTES) {
        small.push(part);
      } else {
        pieces.push(Buffer.concat(small), part);
        small = [];
      }
    }
    return [...pieces, Buffer.concat(small)];
  }
}

/** Encodes a frame whose body does not consist of entries. */
export function encodeRaw(frame: FrameName, body: Buffer): Buffer {
  return Buffer.concat([rawHeader(frame, body.length), body]);
}

/** What precedes the body of such a frame. */
export function rawHeader(frame: FrameName, bytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(bytes, 0);
  header[4] = FRAMES[frame];
  return header;
}

export interface Frame {
  readonly name: FrameName;
  readonly body: Buffer;
}

const frameNames = new Map(Object.entries(FRAMES).map(([name, number]) => [number as number, name as FrameName]));

/** Frames whose body is a piece of a stream: several of them mean what one frame with the bytes of all means. */
const STREAMS: ReadonlySet<FrameName> = new Set(["STDOUT", "STDERR"]);

const NOTHING = Buffer.alloc(0);

/** Splits a byte stream into frames. */
export class FrameReader {
  readonly #inParts: boolean;
  /** The stream frame that is being passed on, and how many bytes of its body are missing. */
  #stream: { readonly name: FrameName; missing: number } | null = null;
  #waiting: Buffer[] = [];
  #size = 0;
  /** The size of the frame that is being read; the size of its header while that is incomplete. */
  #needed = HEADER_BYTES;

  /**
   * @param options `inParts`: a frame of output that comes in several chunks is passed on as several frames, which are parts of the chunks. Otherwise, each
   *   frame is whole, and one that came in several chunks is a copy.
   */
  constructor({ inParts = false }: { readonly inParts?: boolean } = {}) {
    this.#inParts = inParts;
  }

  /** @throws ProtocolError at the first invalid frame. */
  *push(chunk: Buffer): Generator<Frame> {
    const part = this.#stream ? chunk.subarray(0, this.#stream.missing) : NOTHING;
    if (part.length > 0) yield this.#partOf(part);
    const rest = chunk.subarray(part.length);
    this.#waiting.push(rest);
    this.#size += rest.length;
    while (this.#size >= this.#needed) {
      const all = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
      this.#waiting = [all];
      const length = all.readUInt32LE(0);
      const name = frameNames.get(all[4] as number);
      if (name === undefined) throw new ProtocolError(`unknown frame ${all[4]}`);
      if (length > LARGEST_FRAME) throw new ProtocolError(`a ${name} frame of ${length} bytes`);
      const end = HEADER_BYTES + length;
      if (all.length < end && this.#inParts && STREAMS.has(name)) {
        this.#stream = { name, missing: length };
        this.#waiting = [];
        this.#size = 0;
        this.#needed = HEADER_BYTES;
        if (all.length > HEADER_BYTES) yield this.#partOf(all.subarray(HEADER_BYTES));
        return;
      }
      this.#needed = end;
      if (all.length < end) return;
      this.#needed = HEADER_BYTES;
      this.#waiting = [all.subarray(end)];
      this.#size = all.length - end;
      yield { name, body: all.subarray(HEADER_BYTES, end) };
    }
  }

  #partOf(body: Buffer): Frame {
    const { name, missing } = this.#stream as { name: FrameName; missing: number };
    this.#stream = missing > body.length ? { name, missing: missing - body.length } : null;
    return { name, body };
  }
}

const keys = (Object.entries(KEYS) as [KeyName, (typeof KEYS)[KeyName]][]).map(([name, key]) => ({ ...key, name }));
const keyOf = new Map<number, (typeof keys)[number]>(keys.map((key) => [key.number, key]));
const requiredOf = Map.groupBy(
  keys.filter(({ count }) => count === "one"),
  ({ frame }) => frame,
);

/** The entries of a frame, validated against KEYS: each key is known, belongs to this frame, and occurs as often as it may. */
export class Entries {
  readonly #body: Buffer;
  /** Start and end of each value. */
  readonly #places = new Map<KeyName, number[]>();

  /** @throws ProtocolError for an invalid frame. */
  constructor({ name: frame, body }: Frame) {
    this.#body = body;
    for (let at = 0; at < body.length; ) {
      if (body.length - at < HEADER_BYTES) throw new ProtocolError(`truncated entry in ${frame}`);
      const key = keyOf.get(body[at] as number);
      const start = at + HEADER_BYTES;
      const end = start + body.readUInt32LE(at + 1);
      if (key === undefined || key.frame !== frame) throw new ProtocolError(`key ${body[at]} in ${frame}`);
      if (end > body.length) throw new ProtocolError(`${key.name} is longer than its frame`);
      if (key.type === "int" && end - start !== 8) throw new ProtocolError(`${key.name} is not 8 bytes`);
      const places = this.#places.get(key.name);
      if (places && key.count !== "many") throw new ProtocolError(`${key.name} twice in ${frame}`);
      if (places) places.push(start, end);
      else this.#places.set(key.name, [start, end]);
      at = end;
    }
    for (const { name } of requiredOf.get(frame) ?? []) {
      if (!this.#places.has(name)) throw new ProtocolError(`${frame} without ${name}`);
    }
  }

  big(key: KeyName): bigint | null {
    const [start] = this.#places.get(key) ?? [];
    return start === undefined ? null : this.#body.readBigUInt64LE(start);
  }

  /** The value of a key; null if it is absent. Values above 2^53 lose their last digits, but no limit is that large. */
  optionalInt(key: KeyName): number | null {
    const [start] = this.#places.get(key) ?? [];
    if (start === undefined) return null;
    return this.#body.readUInt32LE(start + 4) * 2 ** 32 + this.#body.readUInt32LE(start);
  }

  int(key: KeyName): number {
    return this.optionalInt(key) ?? 0;
  }

  /** The value of a key; empty if it is absent. They are a part of the frame: whoever keeps them keeps the whole frame in memory. */
  bytes(key: KeyName): Buffer {
    const [start, end] = this.#places.get(key) ?? [];
    return start === undefined ? NOTHING : this.#body.subarray(start, end);
  }

  optionalText(key: KeyName): string | null {
    return this.texts(key)[0] ?? null;
  }

  text(key: KeyName): string {
    return this.optionalText(key) ?? "";
  }

  texts(key: KeyName): string[] {
    const places = this.#places.get(key) ?? [];
    const texts: string[] = [];
    for (let i = 0; i < places.length; i += 2) texts.push(this.#body.toString("utf8", places[i], places[i + 1]));
    return texts;
  }
}
