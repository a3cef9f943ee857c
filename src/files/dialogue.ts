import { getSystemErrorName } from "node:util";
import { FILE_ERRORS, FileError, type FileErrorCode } from "../domain/sandboxes/files.ts";
import type { FileProgram } from "./program.ts";

/** A program that makes no progress for this time is killed. */
export const SILENCE_MS = 30_000;

/** The content of every DATA frame but the last of an answer, so that a hostile program cannot send a frame for each byte. */
export const DATA_BYTES = 262_140;

/** Of two DATA frames of `save` that follow each other, one has at least so much. */
export const LONG_BYTES = 32_768;

/** The longest frame of content, in both directions. */
const CONTENT_BYTES = 1_048_576;

/** Content that comes in smaller pieces is collected into frames of so many bytes, which costs a copy, but fewer writes. */
const COLLECTED_BYTES = 65_532;
const PIECE_BYTES = 131_072;

const HEADER_BYTES = 4;

/** The largest frame that is no DATA: two paths and some numbers. */
const MOST_BYTES = 12 * 1024;

/** After so many frames, other work of this process has its turn. */
const FRAMES_AT_ONCE = 128;

/** Types of requests, and of what follows WRITE, UNPACK and RESTORE. */
export const REQUESTS = {
  stat: "S",
  list: "L",
  read: "R",
  write: "W",
  make: "M",
  move: "V",
  remove: "D",
  archive: "A",
  unpack: "U",
  watch: "N",
  save: "P",
  restore: "Q",
  content: "d",
  done: "e",
  abort: "x",
} as const;

const ANSWERS = {
  i: "info",
  r: "range",
  d: "data",
  e: "end",
  g: "go",
  p: "progress",
  v: "event",
  n: "counts",
  f: "failure",
} as const;

export type AnswerType = (typeof ANSWERS)[keyof typeof ANSWERS];

/** The error for a program that breaks the protocol, ends or is silent. */
export class FileProgramStopped extends FileError {
  constructor(why: string) {
    super("stopped", null, `${FILE_ERRORS.stopped} (${why})`);
  }
}

/** A field of a request: text, or a number of 1, 4 or 8 bytes. */
export type Field = string | Buffer | { readonly bytes: 1 | 4 | 8; readonly value: number | bigint };

export const u8 = (value: number): Field => ({ bytes: 1, value });
export const u32 = (value: number): Field => ({ bytes: 4, value });
export const u64 = (value: number | bigint): Field => ({ bytes: 8, value });

export function encodeRequest(type: keyof typeof REQUESTS, fields: readonly Field[]): Buffer {
  const parts: Buffer[] = [];
  for (const field of fields) {
    if (typeof field === "string" || Buffer.isBuffer(field)) {
      const text = Buffer.from(field);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(text.length);
      parts.push(length, text);
    } else {
      const number = Buffer.alloc(8);
      number.writeBigUInt64BE(BigInt(field.value));
      parts.push(number.subarray(8 - field.bytes));
    }
  }
  const payload = Buffer.concat(parts);
  return Buffer.concat([header(type, payload.length), payload]);
}

function header(type: keyof typeof REQUESTS, length: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt32BE(length);
  bytes[0] = REQUESTS[type].charCodeAt(0);
  return bytes;
}

/** The payload of an answer, whose fields are read in order. */
export class Fields {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  number(size: 1 | 4): number {
    return this.#take(size).readUIntBE(0, size);
  }

  /** @returns an unsigned number; above 2^53, the nearest one that a number can be */
  large(): number {
    return Number(this.#take(8).readBigUInt64BE());
  }

  signed(): number {
    return Number(this.#take(8).readBigInt64BE());
  }

  text(most: number): Buffer {
    const length = this.#take(2).readUInt16BE();
    if (length > most) throw new FileProgramStopped("it sent a text that is too long");
    const text = this.#take(length);
    if (text.includes(0)) throw new FileProgramStopped("it sent a text with a zero byte");
    return text;
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new FileProgramStopped("it sent a frame that is too long");
  }

  #take(size: number): Buffer {
    const from = this.#at;
    this.#at += size;
    if (this.#at > this.#bytes.length) throw new FileProgramStopped("it sent a frame that is too short");
    return this.#bytes.subarray(from, this.#at);
  }
}

/** An answer. DATA has no fields: `Dialogue.content` reads its bytes. */
export interface Answer {
  readonly type: AnswerType;
  readonly length: number;
  readonly fields: Fields;
}

/**
 * Requests to one file program, and its answers. It uses memory for one frame in each direction, keeps a deadline while it waits for the program, and
 * rejects everything that the protocol does not permit. After an error, the program is killed.
 */
export class Dialogue {
  /** Whether the next request can go to this program. */
  isOver = false;
  readonly #program: FileProgram;
  readonly #output: AsyncIterator<Buffer>;
  readonly #silenceMs: number;
  /** The next chunk, if it has been asked for but not taken. */
  #coming: Promise<IteratorResult<Buffer, unknown>> | null = null;
  #chunk: Buffer = Buffer.alloc(0);
  #frames = 0;
  /** The frame of content that is being filled, from the first content on, and how many bytes of content it has. */
  #frame: Buffer | null = null;
  #filled = 0;
  #isResting = false;
  /** Rejects what waits for the output, and for the input, of the program. */
  #failReading: ((error: Error) => void) | null = null;
  #failWriting: ((error: Error) => void) | null = null;

  constructor(program: FileProgram, silenceMs: number) {
    this.#program = program;
    this.#output = program.output[Symbol.asyncIterator]();
    this.#silenceMs = silenceMs;
  }

  /** FileProgram.wasRefused; false for a program that goes on. */
  async wasRefused(): Promise<boolean> {
    return this.isOver && ((await this.#program.wasRefused?.()) ?? false);
  }

  /** Kills the program. What waits for it rejects. */
  kill(error: Error = new FileProgramStopped("the request was cancelled")): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#program.kill();
    this.#failReading?.(error);
    this.#failWriting?.(error);
  }

  /** Calls `gone` if the program ends, or says something, before `wake` is called. */
  rest(gone: () => void): void {
    this.#isResting = true;
    const end = () => {
      if (this.#isResting) gone();
    };
    if (this.#chunk.length > 0) end();
    else this.#ask().then(end, end);
  }

  wake(): void {
    this.#isResting = false;
  }

  async send(type: keyof typeof REQUESTS, fields: readonly Field[] = []): Promise<void> {
    this.#filled = 0; // of content that was given up
    await this.#write(encodeRequest(type, fields));
  }

  /** Sends content. What does not fill a frame waits for more. The bytes may change when it has resolved. */
  async sendContent(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#filled === 0 && bytes.length - at >= PIECE_BYTES) {
        const part = bytes.subarray(at, at + CONTENT_BYTES);
        at += part.length;
        await this.#write(header("content", part.length));
        await this.#write(part);
        continue;
      }
      this.#frame ??= Buffer.allocUnsafeSlow(HEADER_BYTES + COLLECTED_BYTES + HEADER_BYTES);
      const some = Math.min(bytes.length - at, COLLECTED_BYTES - this.#filled);
      bytes.copy(this.#frame, HEADER_BYTES + this.#filled, at, at + some);
      at += some;
      this.#filled += some;
      if (this.#filled === COLLECTED_BYTES) await this.#write(this.#contentFrame());
    }
  }

  /** Sends the rest of the content, and that it was the last. */
  async endContent(): Promise<void> {
    const done = header("done", 0);
    if (this.#filled === 0 || !this.#frame) return await this.#write(done);
    const { length } = this.#contentFrame();
    done.copy(this.#frame, length);
    await this.#write(this.#frame.subarray(0, length + HEADER_BYTES));
  }

  #contentFrame(): Buffer {
    const frame = (this.#frame as Buffer).subarray(0, HEADER_BYTES + this.#filled);
    header("content", this.#filled).copy(frame);
    this.#filled = 0;
    return frame;
  }

  /**
   * The next answer. @throws FileError if it is a failure, or the program is stopped.
   * @param patient whether the program may say nothing for any time, until `hurry` resolves
   */
  async next(patient: boolean, hurry: Promise<void> | null = null): Promise<Answer> {
    if (++this.#frames % FRAMES_AT_ONCE === 0) await new Promise(setImmediate);
    const head = await this.#exactly(4, patient, hurry);
    const type = ANSWERS[String.fromCharCode(head[0] as number) as keyof typeof ANSWERS];
    const length = head.readUIntBE(1, 3);
    if (!type) this.#break("it sent a frame of an unknown type");
    if (type === "data") {
      if (length === 0 || length > CONTENT_BYTES) this.#break("it sent content of a wrong size");
      return { type, length, fields: new Fields(Buffer.alloc(0)) };
    }
    if (length > MOST_BYTES) this.#break("it sent a frame that is too large");
    const fields = new Fields(await this.#exactly(length, false, null));
    if (type === "failure") throw this.check(() => failure(fields));
    return { type, length, fields };
  }

  /** Up to `most` bytes of content, as soon as some are there. */
  async content(most: number): Promise<Buffer> {
    if (this.#chunk.length === 0) await this.#more(false, null);
    const part = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(part.length);
    return part;
  }

  /** Runs a function that reads fields. If it throws, the program is killed. */
  check<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.kill(error as Error);
      throw error;
    }
  }

  #break(why: string): never {
    const error = new FileProgramStopped(why);
    this.kill(error);
    throw error;
  }

  /** Takes this many bytes. They are copied only if they come in several chunks. */
  async #exactly(size: number, patient: boolean, hurry: Promise<void> | null): Promise<Buffer> {
    if (size === 0) return Buffer.alloc(0);
    if (this.#chunk.length === 0) await this.#more(patient, hurry);
    if (this.#chunk.length >= size) {
      const bytes = this.#chunk.subarray(0, size);
      this.#chunk = this.#chunk.subarray(size);
      return bytes;
    }
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size; ) {
      if (this.#chunk.length === 0) await this.#more(false, null);
      const taken = this.#chunk.copy(bytes, at, 0, size - at);
      this.#chunk = this.#chunk.subarray(taken);
      at += taken;
    }
    return bytes;
  }

  #ask(): Promise<IteratorResult<Buffer, unknown>> {
    this.#coming ??= this.#output.next();
    return this.#coming;
  }

  /** Waits for the next chunk. */
  async #more(patient: boolean, hurry: Promise<void> | null): Promise<void> {
    if (this.isOver) throw new FileProgramStopped("it was killed");
    let timer: NodeJS.Timeout | undefined;
    const limit = () => {
      timer ??= setTimeout(() => this.kill(new FileProgramStopped("it was silent for too long")), this.#silenceMs);
    };
    try {
      const { done, value } = await new Promise<IteratorResult<Buffer, unknown>>((resolve, reject) => {
        this.#failReading = reject;
        if (!patient) limit();
        else hurry?.then(() => this.#failReading === reject && limit());
        this.#ask().then(resolve, reject);
      });
      this.#coming = null;
      if (done) throw new FileProgramStopped("it ended");
      this.#chunk = value as Buffer;
    } catch (error) {
      const stopped = error instanceof FileError ? error : new FileProgramStopped("its output ended");
      this.kill(stopped);
      throw stopped;
    } finally {
      this.#failReading = null;
      clearTimeout(timer);
    }
    if (this.#chunk.length === 0) await this.#more(patient, hurry);
  }

  async #write(bytes: Buffer): Promise<void> {
    if (this.isOver) throw new FileProgramStopped("it was killed");
    const timer = setTimeout(() => this.kill(new FileProgramStopped("it reads nothing")), this.#silenceMs);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#failWriting = reject;
        this.#program.write(bytes).then(resolve, reject);
      });
    } catch (error) {
      const stopped = error instanceof FileError ? error : new FileProgramStopped("its input ended");
      this.kill(stopped);
      throw stopped;
    } finally {
      this.#failWriting = null;
      clearTimeout(timer);
    }
  }
}

/** Codes that only this process uses: a program that sends one of them lies. */
const OURS: readonly FileErrorCode[] = ["busy", "stopped"];

function failure(fields: Fields): FileError {
  const code = fields.text(32).toString("latin1") as FileErrorCode;
  const errno = fields.number(4);
  const path = fields.text(4096).toString();
  fields.end();
  if (!Object.hasOwn(FILE_ERRORS, code) || OURS.includes(code))
    throw new FileProgramStopped("it sent an unknown error");
  const name = errno > 0 && errno < 4096 ? getSystemErrorName(-errno) : null;
  const detail = code === "failed" && name ? `${FILE_ERRORS.failed} (${name})` : FILE_ERRORS[code];
  return new FileError(code, path === "" ? null : path, detail);
}
