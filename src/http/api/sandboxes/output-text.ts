/** A piece of output as text. */
export interface OutputText {
  /** Position of the text in the stream, in bytes. */
  readonly at: number;
  readonly text: string;
  /** Position after the text. A reader that begins there misses nothing, because no character is cut off there. */
  readonly until: number;
}

/**
 * Decodes the output of one stream as UTF-8. A piece can end within a character, whose bytes then belong to the next text. So each
 * text can be decoded alone, and its end is a position at which a reader can begin again.
 */
export class OutputDecoder {
  #kept: Buffer = Buffer.alloc(0);
  #at = 0;

  /** @param at position of the bytes; if bytes before it are missing, the beginning of a character that is kept ends there. */
  *texts(at: number, bytes: Buffer): Generator<OutputText, void, undefined> {
    if (this.#at + this.#kept.length !== at) {
      yield* this.end();
      this.#at = at;
    }
    const all = this.#kept.length === 0 ? bytes : Buffer.concat([this.#kept, bytes]);
    const whole = all.length - incompleteBytes(all);
    this.#kept = Buffer.from(all.subarray(whole));
    if (whole > 0) yield this.#take(all.subarray(0, whole));
  }

  /** The bytes of a character that has no end. */
  *end(): Generator<OutputText, void, undefined> {
    const kept = this.#kept;
    this.#kept = Buffer.alloc(0);
    if (kept.length > 0) yield this.#take(kept);
  }

  #take(bytes: Buffer): OutputText {
    const at = this.#at;
    this.#at += bytes.length;
    return { at, text: bytes.toString(), until: this.#at };
  }
}

/** How many bytes at the end are the beginning of a character of UTF-8. */
function incompleteBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length =
      byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc0 && byte < 0xe0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
