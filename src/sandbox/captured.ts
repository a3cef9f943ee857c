const FIRST_BYTES = 4096;

/**
 * One stream of output as it comes, in one growing buffer. The program decides how small the
 * pieces are: kept one by one, a mebibyte written byte by byte took 300 MB.
 */
export class Captured {
  #space = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #size = 0;

  push(piece: Buffer): void {
    const size = this.#size + piece.length;
    if (size > this.#space.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.#space.length));
      this.#space.copy(larger, 0, 0, this.#size);
      this.#space = larger;
    }
    piece.copy(this.#space, this.#size);
    this.#size = size;
  }

  /** Everything so far; shares the memory. */
  bytes(): Buffer {
    return this.#space.subarray(0, this.#size);
  }
}
