const FIRST_BYTES = 4_096;
const BLOCK_BYTES = 65_536;

interface Block {
  readonly at: number;
  readonly space: Buffer;
  size: number;
}

/**
 * The output of one stream, by offsets, in at most `most` bytes of memory and one block more. It keeps the first or the last bytes.
 */
export class StreamLog {
  readonly #most: number;
  readonly #keeps: "first" | "last";
  readonly #blocks: Block[] = [];
  #end = 0;

  constructor(most: number, keeps: "first" | "last") {
    this.#most = most;
    this.#keeps = keeps;
  }

  /** The offset of the first byte that is kept. */
  get start(): number {
    return this.#blocks[0]?.at ?? this.#end;
  }

  /** The offset after the last byte. */
  get end(): number {
    return this.#end;
  }

  /** Adds bytes, which are copied. @returns how many were kept. */
  push(bytes: Buffer): number {
    const kept = this.#keeps === "first" ? bytes.subarray(0, Math.max(this.#most - this.#end, 0)) : bytes;
    for (let from = 0; from < kept.length; ) {
      const block = this.#blockFor();
      const size = kept.copy(block.space, block.size, from);
      block.size += size;
      from += size;
      this.#end += size;
    }
    if (this.#keeps === "last")
      while (this.#blocks.length > 1 && this.#end - this.start - (this.#blocks[0]?.size ?? 0) >= this.#most)
        this.#blocks.shift();
    return kept.length;
  }

  /** A copy of up to `most` bytes from an offset on that is kept. */
  read(from: number, most: number): Buffer {
    const block = this.#blocks.findLast(({ at }) => at <= from);
    if (!block) return Buffer.alloc(0);
    const offset = from - block.at;
    return Buffer.from(block.space.subarray(offset, Math.min(block.size, offset + most)));
  }

  /** A copy of all bytes that are kept: at most `most`. */
  all(): Buffer {
    const bytes = Buffer.concat(this.#blocks.map(({ space, size }) => space.subarray(0, size)));
    return bytes.length > this.#most ? Buffer.from(bytes.subarray(bytes.length - this.#most)) : bytes;
  }

  #blockFor(): Block {
    const last = this.#blocks.at(-1);
    if (last && last.size < last.space.length) return last;
    const bytes = last ? Math.min(2 * last.space.length, BLOCK_BYTES) : FIRST_BYTES;
    const block = { at: this.#end, space: Buffer.allocUnsafeSlow(bytes), size: 0 };
    this.#blocks.push(block);
    return block;
  }
}
