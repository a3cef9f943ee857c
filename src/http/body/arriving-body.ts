import type { IncomingMessage } from "node:http";
import { Transform, type TransformCallback } from "node:stream";
import { clientError } from "../../domain/error.ts";

/** How memory is reserved for a body while it arrives, and how slowly a client may send it. */
export interface Admission {
  /** The bytes that are reserved in one step, or fewer if less is left of the announced size. */
  readonly stepBytes: number;
  /** How many bytes must arrive in each window at least. */
  readonly leastBytes: number;
  /** Length of a window. Time in which the body waits for memory does not belong to a window. */
  readonly windowMs: number;
}

/** For bodies that are known to be large. */
export const ADMISSION: Admission = { stepBytes: 1_048_576, leastBytes: 1_048_576, windowMs: 5_000 };

/** Each window must also bring this share of all bytes so far. Otherwise, a few bytes at a time would hold the memory of a large body. */
const LEAST_PART = 1 / 8;

const CHECKS_PER_WINDOW = 20;

/**
 * Passes a body on, and reserves memory for it in steps as its bytes arrive, so a client holds at most one step more than it has sent.
 * A body that arrives too slowly fails with requestTimeout, and one that gets no memory in time with the error of `noRoom`.
 */
export class ArrivingBody extends Transform {
  readonly #announcedBytes: number;
  readonly #take: (bytes: number) => Promise<(() => void) | undefined>;
  readonly #noRoom: () => Error;
  readonly #admission: Admission;
  readonly #releases: (() => void)[] = [];
  readonly #timer: NodeJS.Timeout;
  #receivedBytes = 0;
  #reservedBytes = 0;
  /** Bytes received in the present window. */
  #windowBytes = 0;
  #checks = 0;
  #isWaiting = false;
  #isReleased = false;

  /**
   * @param announcedBytes the size of the body; infinite if it is not known.
   * @param take reserves memory, and resolves with the function that releases it; undefined if there was none in time.
   */
  constructor(
    body: IncomingMessage,
    announcedBytes: number,
    take: (bytes: number) => Promise<(() => void) | undefined>,
    noRoom: () => Error,
    admission: Admission = ADMISSION,
  ) {
    super();
    this.#announcedBytes = announcedBytes;
    this.#take = take;
    this.#noRoom = noRoom;
    this.#admission = admission;
    this.#timer = setInterval(() => this.#check(), admission.windowMs / CHECKS_PER_WINDOW).unref();
    body.once("error", (error) => this.destroy(error));
    body.pipe(this);
  }

  /** Frees the memory. Later bytes are discarded. */
  release(): void {
    this.#isReleased = true;
    for (const release of this.#releases.splice(0)) release();
    this.destroy();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#receivedBytes += chunk.length;
    this.#windowBytes += chunk.length;
    if (this.#receivedBytes <= this.#reservedBytes) done(null, chunk);
    else
      this.#reserve().then(
        (isReserved) => (isReserved ? done(null, chunk) : done(this.#noRoom())),
        (error) => done(error),
      );
  }

  override _flush(done: TransformCallback): void {
    clearInterval(this.#timer);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#timer);
    done(error);
  }

  async #reserve(): Promise<boolean> {
    this.#isWaiting = true;
    try {
      while (this.#reservedBytes < this.#receivedBytes) {
        const left = Math.max(this.#announcedBytes, this.#receivedBytes) - this.#reservedBytes;
        const step = Math.min(this.#admission.stepBytes, left);
        const release = await this.#take(step);
        if (!release) return false;
        if (this.#isReleased) {
          release();
          return false;
        }
        this.#releases.push(release);
        this.#reservedBytes += step;
      }
      return true;
    } finally {
      this.#isWaiting = false;
    }
  }

  #check(): void {
    if (this.#isWaiting || ++this.#checks < CHECKS_PER_WINDOW) return;
    const isSlow = this.#windowBytes < Math.max(this.#admission.leastBytes, this.#receivedBytes * LEAST_PART);
    this.#checks = 0;
    this.#windowBytes = 0;
    // The connection must close: what the client still sends is the rest of this body, not another request.
    if (isSlow) this.destroy(clientError("requestTimeout", [], { headers: { connection: "close" } }));
  }
}
