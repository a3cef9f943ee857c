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
/** The first size of the buffer in which entries are written one after the other. A frame for a program has some 700 bytes. */
const BUFFER_BYTES = 1_024;
const [INT_BYTES, TWO_32] = [8, 2 ** 32];

/** Builds one frame from entries. */
export class FrameWriter {
  /** What precedes the buffer: earlier entries, and the large values between them. */
  readonly #pieces: Buffer[] = [];
  /** Small values are written into one buffer, because a buffer for each of them costs more than the rest of a frame. */
  #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #used = HEADER_BYTES;
  /** The size of all entries. */
  #size = 0;

  constructor(frame: FrameName) {
    this.#buffer[HEADER_BYTES - 1] = FRAMES[frame];
  }

  /** @throws RangeError for a number that is not an integer of 64 bits, or negative. */
  int(key: KeyName, value: number | bigint): this {
    const at = this.#begin(key, INT_BYTES);
    if (typeof value === "bigint") {
      this.#buffer.writeBigUInt64LE(value, at);
    } else {
      if (!Number.isInteger(value)) throw new RangeError(`${key} is ${value}`);
      this.#buffer.writeUInt32LE(value % TWO_32, at);
      this.#buffer.writeUInt32LE(Math.floor(value / TWO_32), at + INT_BYTES / 2);
    }
    return this;
  }

  bytes(key: KeyName, value: Buffer | string): this {
    const size = typeof value === "string" ? Buffer.byteLength(value) : value.length;
    if (size >= LARGE_BYTES) {
      this.#begin(key, 0, size);
      this.#pieces.push(this.#buffer.subarray(0, this.#used), typeof value === "string" ? Buffer.from(value) : value);
      this.#buffer = Buffer.allocUnsafe(BUFFER_BYTES);
      this.#used = 0;
    } else {
      const at = this.#begin(key, size);
      if (typeof value === "string") this.#buffer.write(value, at);
      else value.copy(this.#buffer, at);
    }
    return this;
  }

  /** The whole frame in one buffer. */
  end(): Buffer {
    return Buffer.concat(this.pieces());
  }

  /** The whole frame in several pieces, so that large values are not copied. */
  pieces(): Buffer[] {
    const pieces = [...this.#pieces, this.#buffer.subarray(0, this.#used)];
    pieces[0]?.writeUInt32LE(this.#size, 0);
    return pieces;
  }

  /** Begins an entry, with space in the buffer. @param size of the value, which is `space` unless it is a piece of its own. @returns where its value begins. */
  #begin(key: KeyName, space: number, size = space): number {
    const needed = this.#used + HEADER_BYTES + space;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(2 * needed);
      this.#buffer.copy(larger, 0, 0, this.#used);
      this.#buffer = larger;
    }
    this.#buffer[this.#used] = KEYS[key].number;
    this.#buffer.writeUInt32LE(size, this.#used + 1);
    const at = this.#used + HEADER_BYTES;
    this.#used = needed;
    this.#size += HEADER_BYTES + size;
    return at;
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
const keyOf: (typeof keys)[number][] = [];
for (const key of keys) keyOf[key.number] = key;
const requiredOf = Map.groupBy(
  keys.filter(({ count }) => count === "one"),
  ({ frame }) => frame,
);

/** The entries of a frame, validated against KEYS: each key is known, belongs to this frame, and occurs as often as it may. */
export class Entries {
  readonly #body: Buffer;
  /** Where the first value of each key begins, by the number of the key; 0 if it is absent. Its size precedes it. */
  readonly #first: number[] = new Array(keyOf.length).fill(0);
  /** Where the further values of keys begin that occur several times. */
  readonly #further = new Map<KeyName, number[]>();

  /** @throws ProtocolError for an invalid frame. */
  constructor({ name: frame, body }: Frame) {
    this.#body = body;
    for (let at = 0; at < body.length; ) {
      if (body.length - at < HEADER_BYTES) throw new ProtocolError(`truncated entry in ${frame}`);
      const key = keyOf[body[at] as number];
      const start = at + HEADER_BYTES;
      const end = start + body.readUInt32LE(at + 1);
      if (key === undefined || key.frame !== frame) throw new ProtocolError(`key ${body[at]} in ${frame}`);
      if (end > body.length) throw new ProtocolError(`${key.name} is longer than its frame`);
      if (key.type === "int" && end - start !== INT_BYTES) throw new ProtocolError(`${key.name} is not 8 bytes`);
      if (this.#first[key.number] === 0) this.#first[key.number] = start;
      else if (key.count !== "many") throw new ProtocolError(`${key.name} twice in ${frame}`);
      else this.#addFurther(key.name, start);
      at = end;
    }
    for (const { name } of requiredOf.get(frame) ?? []) {
      if (this.#start(name) === 0) throw new ProtocolError(`${frame} without ${name}`);
    }
  }

  #addFurther(key: KeyName, start: number): void {
    const known = this.#further.get(key);
    if (known) known.push(start);
    else this.#further.set(key, [start]);
  }

  #start(key: KeyName): number {
    return this.#first[KEYS[key].number] as number;
  }

  #end(start: number): number {
    return start + this.#body.readUInt32LE(start - HEADER_BYTES + 1);
  }

  big(key: KeyName): bigint | null {
    const start = this.#start(key);
    return start === 0 ? null : this.#body.readBigUInt64LE(start);
  }

  /** The value of a key; null if it is absent. Values above 2^53 lose their last digits, but no limit is that large. */
  optionalInt(key: KeyName): number | null {
    const start = this.#start(key);
    return start === 0 ? null : this.#body.readUInt32LE(start + 4) * TWO_32 + this.#body.readUInt32LE(start);
  }

  int(key: KeyName): number {
    return this.optionalInt(key) ?? 0;
  }

  /** The value of a key; empty if it is absent. They are a part of the frame: whoever keeps them keeps the whole frame in memory. */
  bytes(key: KeyName): Buffer {
    const start = this.#start(key);
    return start === 0 ? NOTHING : this.#body.subarray(start, this.#end(start));
  }

  optionalText(key: KeyName): string | null {
    const start = this.#start(key);
    return start === 0 ? null : this.#text(start);
  }

  text(key: KeyName): string {
    return this.optionalText(key) ?? "";
  }

  texts(key: KeyName): string[] {
    const start = this.#start(key);
    if (start === 0) return [];
    return [start, ...(this.#further.get(key) ?? [])].map((one) => this.#text(one));
  }

  #text(start: number): string {
    return this.#body.toString("utf8", start, this.#end(start));
  }
}
