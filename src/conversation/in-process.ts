import { Budget, type Release } from "../fairness/budget.ts";
import { type LiveInput, MAX_LIVE_INPUT } from "../store/live/input.ts";
import type { LiveMark, LiveOutput, LivePiece } from "../store/live/types.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";
import type { Conversation, Given, WorkerSide } from "./conversation.ts";
import { OutputLog } from "./output-log.ts";

/** The input of all accounts that may wait for programs, in bytes, and what an account may have in any case. */
const WAITING_BYTES = 32 * 1_048_576;
const LEAST_WAITING_BYTES = 65_536;
/** What a piece of input takes in addition to its bytes. */
const PIECE_BYTES = 256;
/** The most output that one read copies, beyond its first piece. */
const READ_BYTES = 65_536;
const READ_PIECES = 64;

/** The memory for input that waits, of all conversations of a process. */
export function inputBudget(): Budget {
  return new Budget({ total: WAITING_BYTES, perOwner: "shared", inAnyCase: LEAST_WAITING_BYTES });
}

interface Waiting {
  readonly input: LiveInput;
  readonly release: Release;
}

/**
 * A conversation in the memory of the process in which the program runs and to which the clients are connected. It begins when the
 * submission begins to run: input that came before is in the database.
 */
export class InProcessConversation implements Conversation, WorkerSide {
  readonly accountId: string;
  readonly #claim: Claim;
  readonly #store: Pick<Store, "live" | "liveInput">;
  readonly #waitingInput: Budget;
  readonly #log: OutputLog;
  readonly #unsubscribe: () => void;
  readonly #queue: Waiting[] = [];
  /** Reads input from the database. What clients give to this object comes after that. */
  #loading: Promise<void>;
  /** The number of the last piece that was read from the database. */
  #loadedTo = 0;
  #given: { readonly pieces: number; readonly bytes: number };
  #woken = Promise.withResolvers<void>();
  #isOver = false;

  constructor(store: Pick<Store, "live" | "liveInput">, claim: Claim, waitingInput: Budget) {
    this.#store = store;
    this.#claim = claim;
    this.accountId = claim.submission.accountId;
    this.#waitingInput = waitingInput;
    this.#given = { pieces: 0, bytes: claim.program.stdin.length };
    this.#log = new OutputLog(claim.lease.fence, () => store.live.announce(claim.submission.id));
    if (!claim.takesInput) {
      this.#loading = Promise.resolve();
      this.#unsubscribe = () => {};
      return;
    }
    // A client can have begun to give input before the claim. It is notified after the commit, and gives more only then.
    this.#unsubscribe = store.liveInput.onInput(claim.submission.id, () => this.#loadAgain());
    this.#loading = this.#load();
    this.#loading.catch(() => {}); // `give` and `inputs` report it
  }

  async give(inputs: readonly LiveInput[]): Promise<Given> {
    await this.#loaded();
    if (this.#isOver) return "ended";
    if (!this.#claim.takesInput) return "takesNone";
    const bytes = bytesOf(inputs);
    if (this.#given.pieces + inputs.length > MAX_LIVE_INPUT.pieces || this.#given.bytes + bytes > MAX_LIVE_INPUT.bytes)
      return "full";
    const release = this.#waitingInput.take(`account ${this.accountId}`, bytes + inputs.length * PIECE_BYTES);
    if (!release) return "noRoom";
    this.#log.hurry();
    // The program has taken all of them when it has taken the last one.
    for (const [at, input] of inputs.entries()) this.#add(input, at === inputs.length - 1 ? release : undefined);
    return "given";
  }

  async read(seen: LiveMark | null, admit: (bytes: number) => Promise<boolean>): Promise<LiveOutput> {
    const found: (LivePiece & LiveMark)[] = [];
    let bytes = 0;
    for (let last = seen; bytes < READ_BYTES && found.length < READ_PIECES; last = found.at(-1) ?? null) {
      const piece = this.#log.next(last);
      if (!piece) break;
      found.push(piece);
      bytes += piece.bytes.length;
    }
    const state = { status: "running", fence: this.#claim.lease.fence } as const;
    if (found.length > 0 && !(await admit(bytes))) return { ...state, pieces: [], isWithheld: true };
    // A slow reader must not keep the whole log in memory after the end of the run.
    return { ...state, pieces: found.map((piece) => ({ ...piece, bytes: Buffer.from(piece.bytes) })) };
  }

  onChange(listener: () => void): () => void {
    return this.#store.live.onChange(this.#claim.submission.id, listener);
  }

  write(stream: LivePiece["stream"], bytes: Buffer): void {
    if (!this.#isOver) this.#log.write(stream, bytes);
  }

  async *inputs(over: AbortSignal): AsyncGenerator<LiveInput, void, undefined> {
    const wake = () => this.#woken.resolve();
    over.addEventListener("abort", wake);
    try {
      while (!over.aborted) {
        await this.#loaded();
        const next = this.#queue.shift();
        if (!next) {
          this.#woken = Promise.withResolvers();
          if (!over.aborted) await this.#woken.promise;
          continue;
        }
        try {
          yield next.input;
        } finally {
          next.release();
        }
      }
    } finally {
      over.removeEventListener("abort", wake);
    }
  }

  async stop(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unsubscribe();
    for (const { release } of this.#queue.splice(0)) release();
    this.#log.end();
  }

  #add(given: LiveInput, release: Release = () => {}): void {
    const input = given.kind === "bytes" ? { ...given, bytes: unpooled(given.bytes) } : given;
    this.#queue.push({ input, release });
    this.#given = { pieces: this.#given.pieces + 1, bytes: this.#given.bytes + bytesOf([input]) };
    this.#woken.resolve();
  }

  #loadAgain(): void {
    this.#loading = this.#loading.catch(() => {}).then(() => this.#load());
    this.#loading.catch(() => {}); // `give` and `inputs` report it
  }

  /** Waits for what clients gave before. If the database was not available, it is read once more. */
  async #loaded(): Promise<void> {
    try {
      await this.#loading;
    } catch {
      this.#loadAgain();
      await this.#loading;
    }
  }

  /** Reads what clients gave before the conversation began. */
  async #load(): Promise<void> {
    for (;;) {
      const rows = await this.#store.liveInput.read(this.#claim.lease, this.#loadedTo);
      if (!rows || rows.length === 0) return; // a void lease has no input, and its run is being stopped
      for (const [n, input] of rows) {
        this.#add(input);
        this.#loadedTo = n;
      }
    }
  }
}

/** A copy in memory of its own. Without it, a short piece that waits would keep a block of 8 KiB that Node shares among small buffers. */
function unpooled(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function bytesOf(inputs: readonly LiveInput[]): number {
  return inputs.reduce((sum, input) => sum + (input.kind === "bytes" ? input.bytes.length : 0), 0);
}
