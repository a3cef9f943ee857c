import { OperatorError } from "../domain/operator-error.ts";
import { FRAMES, type FrameName, KEYS, type KeyName } from "./protocol.ts";

const HEADER_BYTES = 5;
const LARGEST_FRAME = 16 * 1024 * 1024;

/** The peer violated the launcher's protocol. */
export class ProtocolError extends OperatorError {
  override readonly name = "ProtocolError";
}

/** Values of this size are pieces of their own. */
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

  /** Header and body. */
  end(): Buffer {
    return Buffer.concat(this.pieces());
  }

  /** The same in several pieces: large values are not copied. */
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

/** A frame whose body is not made of entries. */
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
  /** Bytes of the frame under way; of its header alone while that is incomplete. */
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

const keyNames = new Map(Object.entries(KEYS).map(([name, key]) => [key.number as number, name as KeyName]));

/** The entries of a frame, validated against the table: known keys in the right frame, in the right number. */
export class Entries {
  readonly #values = new Map<KeyName, Buffer[]>();

  /** @throws ProtocolError for an invalid frame. */
  constructor({ name: frame, body }: Frame) {
    for (let at = 0; at < body.length; ) {
      if (body.length - at < HEADER_BYTES) throw new ProtocolError(`truncated entry in ${frame}`);
      const name = keyNames.get(body[at] as number);
      const end = at + HEADER_BYTES + body.readUInt32LE(at + 1);
      if (name === undefined || KEYS[name].frame !== frame) throw new ProtocolError(`key ${body[at]} in ${frame}`);
      if (end > body.length) throw new ProtocolError(`${name} is longer than its frame`);
      const value = body.subarray(at + HEADER_BYTES, end);
      if (KEYS[name].type === "int" && value.length !== 8) throw new ProtocolError(`${name} is not 8 bytes`);
      const values = this.#values.get(name) ?? [];
      if (values.length > 0 && KEYS[name].count !== "many") throw new ProtocolError(`${name} twice in ${frame}`);
      this.#values.set(name, [...values, value]);
      at = end;
    }
    for (const [name, key] of Object.entries(KEYS) as [KeyName, (typeof KEYS)[KeyName]][]) {
      if (key.frame === frame && key.count === "one" && !this.#values.has(name)) {
        throw new ProtocolError(`${frame} without ${name}`);
      }
    }
  }

  big(key: KeyName): bigint | null {
    return this.#values.get(key)?.[0]?.readBigUInt64LE() ?? null;
  }

  /** Null if an optional key is absent. Values above 2^53 lose their last digits; no limit is that large. */
  optionalInt(key: KeyName): number | null {
    const value = this.big(key);
    return value === null ? null : Number(value);
  }

  int(key: KeyName): number {
    return this.optionalInt(key) ?? 0;
  }

  /** Empty if absent. Valid only until the next frame. */
  bytes(key: KeyName): Buffer {
    return this.#values.get(key)?.[0] ?? NOTHING;
  }

  optionalText(key: KeyName): string | null {
    return this.#values.get(key)?.[0]?.toString("utf8") ?? null;
  }

  text(key: KeyName): string {
    return this.optionalText(key) ?? "";
  }

  texts(key: KeyName): string[] {
    return (this.#values.get(key) ?? []).map((value) => value.toString("utf8"));
  }
}
