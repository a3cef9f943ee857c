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
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(body.length, 0);
  header[4] = FRAMES[frame];
  return Buffer.concat([header, body]);
}

export interface Frame {
  readonly name: FrameName;
  readonly body: Buffer;
}

const frameNames = new Map(Object.entries(FRAMES).map(([name, number]) => [number as number, name as FrameName]));

/** Splits a byte stream into frames. */
export class FrameReader {
  #waiting: Buffer[] = [];
  #size = 0;
  /** The size of the frame that is being read; the size of its header while that is incomplete. */
  #needed = HEADER_BYTES;

  /** @throws ProtocolError at the first invalid frame. */
  *push(chunk: Buffer): Generator<Frame> {
    this.#waiting.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= this.#needed) {
      const all = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
      this.#waiting = [all];
      const length = all.readUInt32LE(0);
      const name = frameNames.get(all[4] as number);
      if (name === undefined) throw new ProtocolError(`unknown frame ${all[4]}`);
      if (length > LARGEST_FRAME) throw new ProtocolError(`a ${name} frame of ${length} bytes`);
      const end = HEADER_BYTES + length;
      this.#needed = end;
      if (all.length < end) return;
      this.#needed = HEADER_BYTES;
      this.#waiting = [all.subarray(end)];
      this.#size = all.length - end;
      yield { name, body: all.subarray(HEADER_BYTES, end) };
    }
  }
}

const NOTHING = Buffer.alloc(0);

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
