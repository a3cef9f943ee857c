import { Captured } from "../domain/captured.ts";
import type { LiveMark, LivePiece } from "../store/live/types.ts";

type Stream = LivePiece["stream"];

/** A part of a stream. */
interface Span {
  readonly stream: Stream;
  readonly at: number;
  size: number;
}

/** The most changes between the two streams that `Unannounced` keeps in order. */
const MAX_IN_ORDER = 16;

/**
 * What a program has written since the last announcement, in the order in which it was written. The program decides how often it changes
 * between the streams. If it does so often, one part of each stream remains, so that readers have few pieces to handle.
 */
export class Unannounced {
  readonly #ends = { stdout: 0, stderr: 0 };
  #spans: Span[] = [];
  #isMerged = false;

  add(stream: Stream, size: number): void {
    const at = this.#ends[stream];
    this.#ends[stream] += size;
    const last = this.#isMerged ? this.#spans.find((span) => span.stream === stream) : this.#spans.at(-1);
    if (last?.stream === stream) last.size += size;
    else this.#spans.push({ stream, at, size });
    if (this.#spans.length > MAX_IN_ORDER) this.#merge();
  }

  /** @param inOrder whether the order of the streams matters. @returns the parts, which are announced now. */
  take(inOrder = true): readonly Span[] {
    if (!inOrder) this.#merge();
    const spans = this.#spans;
    this.#spans = [];
    this.#isMerged = false;
    return spans;
  }

  #merge(): void {
    const merged = new Map<Stream, Span>();
    for (const span of this.#spans) {
      const known = merged.get(span.stream);
      if (known) known.size += span.size;
      else merged.set(span.stream, span);
    }
    this.#spans = [...merged.values()];
    this.#isMerged = true;
  }
}

/**
 * The time between two announcements. Each costs every reader a message, and a program could cause one with each byte, so without input of
 * a client there are at most 50 a second.
 */
const PACE_MS = 20;
/** How many announcements need not wait after an input of a client, which waits for an answer. */
const EAGER = 2;
/** The most pieces whose order between the streams is kept. Later announcements have one part of each stream. */
export const MAX_ORDERED_PIECES = 4_096;
/** The most bytes of a piece, so that one read is short. */
const MAX_PIECE_BYTES = 65_536;

/**
 * What a program has written in one attempt, in memory: both streams in order, as numbered pieces. The limits of output bound its bytes, and
 * the announcements the number of its pieces. Nobody who reads it delays the program.
 */
export class OutputLog {
  readonly #fence: number;
  readonly #onAnnounce: () => void;
  readonly #written = { stdout: new Captured(), stderr: new Captured() };
  readonly #unannounced = new Unannounced();
  readonly #pieces: Span[] = [];
  #eager = 0;
  #announcedAtMs = Number.NEGATIVE_INFINITY;
  #soon: NodeJS.Immediate | null = null;
  #later: NodeJS.Timeout | null = null;

  /** @param fence of the attempt. @param onAnnounce called when there are new pieces. */
  constructor(fence: number, onAnnounce: () => void) {
    this.#fence = fence;
    this.#onAnnounce = onAnnounce;
  }

  /** Adds bytes, which are copied. */
  write(stream: Stream, bytes: Buffer): void {
    this.#written[stream].push(bytes);
    this.#unannounced.add(stream, bytes.length);
    this.#schedule();
  }

  /** Lets the next announcements not wait, because a client has given input. */
  hurry(): void {
    this.#eager = EAGER;
  }

  /** Announces what was written. */
  end(): void {
    if (this.#soon || this.#later) this.#announce();
  }

  /** The first piece after the mark; undefined if there is none yet. Its bytes belong to the log. */
  next(seen: LiveMark | null): (LivePiece & LiveMark) | undefined {
    const n = seen?.fence === this.#fence ? seen.n + 1 : 0;
    const span = this.#pieces[n];
    if (!span) return undefined;
    const { stream, at, size } = span;
    return { fence: this.#fence, n, stream, at, bytes: this.#written[stream].bytes().subarray(at, at + size) };
  }

  #schedule(): void {
    if (this.#soon) return;
    const waitMs = this.#announcedAtMs + PACE_MS - performance.now();
    if (waitMs <= 0 || (this.#eager > 0 && this.#keepsOrder)) {
      if (waitMs > 0) this.#eager--;
      // What arrives in the same iteration of the event loop is announced together.
      this.#soon = setImmediate(() => this.#announce());
    } else {
      this.#later ??= setTimeout(() => this.#announce(), waitMs);
    }
  }

  get #keepsOrder(): boolean {
    return this.#pieces.length < MAX_ORDERED_PIECES;
  }

  #announce(): void {
    if (this.#soon) clearImmediate(this.#soon);
    if (this.#later) clearTimeout(this.#later);
    this.#soon = this.#later = null;
    this.#announcedAtMs = performance.now();
    for (const { stream, at, size } of this.#unannounced.take(this.#keepsOrder))
      for (let from = 0; from < size || from === 0; from += MAX_PIECE_BYTES)
        this.#pieces.push({ stream, at: at + from, size: Math.min(size - from, MAX_PIECE_BYTES) });
    this.#onAnnounce();
  }
}
