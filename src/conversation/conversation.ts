import { setTimeout as sleep } from "node:timers/promises";
import { isTerminal } from "../domain/submission.ts";
import type { Release } from "../fairness/budget.ts";
import type { GiveResult, LiveInput } from "../store/live/input.ts";
import type { LiveMark, LiveOutput, LivePiece } from "../store/live/types.ts";

/*
 * A conversation connects clients with a running program. Clients give input and signals, and read what the program writes: one log of both
 * streams, in order. Each piece of the log has a mark, and any number of clients can read the log from any mark.
 *
 * A conversation has two ends, and two implementations of both. If service and worker are one process, the conversation is in its memory
 * (in-process.ts); otherwise, it goes through the database (stored.ts). conversations.ts chooses.
 */

/** `noRoom`: too much input of the account waits for its programs. Nothing was given. */
export type Given = GiveResult | "noRoom";

/** The side of the clients. */
export interface Conversation {
  /**
   * Passes input and signals to the program, in order; all of them or none. It resolves when they are kept for the program, which may read
   * them later. A client that waits for each call keeps the order of its calls.
   */
  give(inputs: readonly LiveInput[]): Promise<Given>;

  /**
   * Reads the state of the submission, and some output after a mark. Readers use `follow`.
   * @param seen the mark of the last piece that the reader has read; null for none.
   * @param admit awaited with the number of bytes before output is read; if it returns false, no output is read.
   * @returns undefined if there is no such submission any more.
   */
  read(seen: LiveMark | null, admit: (bytes: number) => Promise<boolean>): Promise<LiveOutput | undefined>;

  /** Calls the listener when `read` may give something new. @returns a function that ends the subscription. */
  onChange(listener: () => void): () => void;
}

/** The side of the worker that runs the program. */
export interface WorkerSide {
  /** Adds output of the program to the log. The bytes are copied. */
  write(stream: LivePiece["stream"], bytes: Buffer): void;

  /** What the clients give, in order, until the signal aborts. It is called once. @throws if input cannot be read. */
  inputs(over: AbortSignal): AsyncGenerator<LiveInput, void, undefined>;

  /** Takes no more output and input. It resolves when nothing of this side is left to do in the database. */
  stop(): Promise<void>;
}

/**
 * Passes as many of the inputs as the program may still get, in order. @returns `full` if these are not all; otherwise what `give` returns.
 */
export async function giveAsManyAsFit(conversation: Conversation, inputs: readonly LiveInput[]): Promise<Given> {
  const given = await conversation.give(inputs);
  if (given !== "full") return given;
  let rest = inputs;
  for (let size = rest.length >> 1; size > 0; size >>= 1)
    while (size <= rest.length && (await conversation.give(rest.slice(0, size))) === "given") rest = rest.slice(size);
  return given;
}

export interface FollowOptions {
  /** The mark of the last piece that the reader has; null for none. */
  readonly after?: LiveMark | null;
  /** Reserves memory for output, until the reader asks for more. @returns undefined if there is none in time. */
  readonly take: (bytes: number) => Promise<Release | undefined>;
  /** Aborted when nobody reads any more. */
  readonly over: AbortSignal;
  /** The reader gets a state at least so often, even if it has no output. */
  readonly everyMs: number;
}

/** What a reader gets at once. */
export interface ReaderUpdate extends LiveOutput {
  /**
   * Where the output of the last attempt begins that the reader does not have, in bytes of each stream; null if it has seen nothing of the
   * log of any attempt.
   */
  readonly position: Readonly<Record<LivePiece["stream"], number>> | null;
}

/**
 * Follows a run from a mark on. It ends after a state in which the submission has ended, or `isWithheld` is set because there was no memory
 * for output. It also ends when `over` aborts, and when the submission has been deleted.
 *
 * The output of a run that has ended is in the record alone, so a reader may miss the last pieces: they begin at `position`. A reader does
 * not delay the program; how fast it reads is for the caller to check.
 */
export async function* follow(
  conversation: Conversation,
  { after = null, take, over, everyMs }: FollowOptions,
): AsyncGenerator<ReaderUpdate, void, undefined> {
  const rest = new Rest(after);
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  const unsubscribe = conversation.onChange(wake);
  over.addEventListener("abort", wake);
  let release: Release | undefined;
  let seen: LiveMark | null = null;
  try {
    while (!over.aborted) {
      woken = Promise.withResolvers(); // armed before the read, so that no change is missed
      const output = await conversation.read(seen, async (bytes) => {
        release = await take(bytes);
        return release !== undefined;
      });
      if (!output) return;
      const last = output.pieces.at(-1);
      if (last) seen = { fence: last.fence, n: last.n };
      yield {
        ...output,
        pieces: output.pieces.flatMap((piece) => rest.of(piece)),
        position: rest.position(output.fence),
      };
      release?.();
      release = undefined;
      if (output.isWithheld || isTerminal(output.status)) return;
      if (!last) await changeOrTimeout(woken.promise, everyMs);
    }
  } finally {
    release?.(); // also after an error, because all accounts share the memory
    unsubscribe();
    over.removeEventListener("abort", wake);
  }
}

/** Waits for a change, at most `ms` milliseconds. */
async function changeOrTimeout(woken: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController();
  const timeout = sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
  try {
    await Promise.race([woken, timeout]);
  } finally {
    timer.abort();
  }
}

const NOTHING = Buffer.alloc(0);

/**
 * What a reader lacks that has the log up to a mark. The mark can be in the middle of a character, of which the reader could show nothing.
 * The first piece of each stream after the mark therefore begins with the beginning of that character.
 */
class Rest {
  readonly #after: LiveMark | null;
  #begun: Record<LivePiece["stream"], Buffer> = { stdout: NOTHING, stderr: NOTHING };
  #fence: number | null = null;
  #ends = { stdout: 0, stderr: 0 };

  constructor(after: LiveMark | null) {
    this.#after = after;
  }

  /** @param fence of the last attempt, of which the reader may have seen nothing yet. */
  position(fence: number): ReaderUpdate["position"] {
    if (this.#fence === null) return null;
    if (this.#fence < fence) return { stdout: 0, stderr: 0 };
    const lacksFrom = (stream: LivePiece["stream"]) => this.#ends[stream] - this.#begun[stream].length;
    return { stdout: lacksFrom("stdout"), stderr: lacksFrom("stderr") };
  }

  of<Piece extends LivePiece & LiveMark>(piece: Piece): Piece[] {
    const { fence, n, stream, at, bytes } = piece;
    if (fence !== this.#fence) {
      // The program was started again.
      this.#ends = { stdout: 0, stderr: 0 };
      this.#begun = { stdout: NOTHING, stderr: NOTHING };
      this.#fence = fence;
    }
    this.#ends[stream] = at + bytes.length;
    const after = this.#after;
    if (!after || fence > after.fence) return [piece];
    if (fence < after.fence) return []; // of an earlier attempt
    const begun = this.#begun[stream];
    const isKnown = n <= after.n;
    this.#begun[stream] = isKnown ? beginningOfCharacter(begun, bytes) : NOTHING;
    if (isKnown) return [];
    return begun.length === 0 ? [piece] : [{ ...piece, at: at - begun.length, bytes: Buffer.concat([begun, bytes]) }];
  }
}

/** The most bytes of a character in UTF-8 before its last byte. */
const MAX_BEGUN = 3;

/** The bytes at the end of a stream that are the beginning of a character. @param begun those before the new bytes. */
function beginningOfCharacter(begun: Buffer, more: Buffer): Buffer {
  const bytes = more.length >= MAX_BEGUN ? more : Buffer.concat([begun, more]);
  for (let length = 1; length <= Math.min(MAX_BEGUN, bytes.length); length++) {
    const byte = bytes[bytes.length - length] ?? 0;
    if (byte < 0x80) return NOTHING;
    if (byte < 0xc0) continue; // a later byte of a character
    const whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length < whole ? Buffer.from(bytes.subarray(bytes.length - length)) : NOTHING;
  }
  return NOTHING;
}
