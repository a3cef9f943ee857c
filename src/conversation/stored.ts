import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { Captured } from "../domain/captured.ts";
import type { GiveResult, LiveInput } from "../store/live/input.ts";
import type { LiveMark, LiveOutput as LiveOutputRead, LivePiece } from "../store/live/types.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";
import type { Conversation, WorkerSide } from "./conversation.ts";
import { MAX_ORDERED_PIECES, Unannounced } from "./output-log.ts";

type Stream = LivePiece["stream"];

/** The least time between two inputs of a client, so that small messages cost the database little. What arrives meanwhile is one input. */
const GATHER_MS = 5;
/** Input is read again after this time, in case a notification was lost. */
const AGAIN_MS = 1_000;
/** The default time between two pieces of output, which users do not notice. A program that writes continuously causes five rows per second and stream. */
const EVERY_MS = 200;
/** That time for a program that takes input. It is short, because the client waits for an answer to its input. */
const TALK_MS = 20;

/** The side of the clients of a conversation that goes through the database. */
export class StoredConversation implements Conversation {
  readonly #store: Pick<Store, "live" | "liveInput">;
  readonly #id: string;
  readonly #accountId: string;
  #pause: Promise<unknown> = Promise.resolve();

  constructor(store: Pick<Store, "live" | "liveInput">, id: string, accountId: string) {
    this.#store = store;
    this.#id = id;
    this.#accountId = accountId;
  }

  async give(inputs: readonly LiveInput[]): Promise<GiveResult> {
    await this.#pause;
    const given = await this.#store.liveInput.give(this.#id, this.#accountId, inputs);
    this.#pause = sleep(GATHER_MS, undefined, { ref: false });
    return given;
  }

  read(seen: LiveMark | null, admit: (bytes: number) => Promise<boolean>): Promise<LiveOutputRead | undefined> {
    return this.#store.live.readAfter(this.#id, seen, admit);
  }

  onChange(listener: () => void): () => void {
    return this.#store.live.onChange(this.#id, listener);
  }
}

/** The side of the worker of a conversation that goes through the database. */
export class StoredWorkerSide implements WorkerSide {
  readonly #store: Pick<Store, "live" | "liveInput">;
  readonly #claim: Claim;
  readonly #output: LiveOutputWriter;

  constructor(store: Pick<Store, "live" | "liveInput">, claim: Claim, log: Logger) {
    this.#store = store;
    this.#claim = claim;
    this.#output = new LiveOutputWriter(store, claim, log, claim.takesInput ? TALK_MS : EVERY_MS);
  }

  write(stream: Stream, bytes: Buffer): void {
    this.#output.push(stream, bytes);
  }

  async *inputs(over: AbortSignal): AsyncGenerator<LiveInput, void, undefined> {
    const { liveInput } = this.#store;
    let woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    const unsubscribe = liveInput.onInput(this.#claim.submission.id, wake);
    over.addEventListener("abort", wake);
    try {
      for (let after = 0; !over.aborted; ) {
        woken = Promise.withResolvers(); // armed before the read, so that no input is missed
        const inputs = await liveInput.read(this.#claim.lease, after);
        if (inputs === null) return; // the lease is void, and the run is being stopped
        for (const [n, input] of inputs) {
          yield input;
          after = n;
        }
        if (inputs.length > 0 || over.aborted) continue;
        const timer = setTimeout(wake, AGAIN_MS);
        await woken.promise;
        clearTimeout(timer);
      }
    } finally {
      unsubscribe();
      over.removeEventListener("abort", wake);
    }
  }

  stop(): Promise<void> {
    return this.#output.stop();
  }
}

/**
 * Stores the output of a watched run, at most once in each interval: the first output after a pause does not wait, and what follows soon is
 * gathered. Only the beginning of a run without live input always waits, so that a short run stores nothing here. The output limits of the
 * run bound the size. If the store fails, no more live output is stored; the record gets the output nevertheless.
 */
export class LiveOutputWriter {
  readonly #store: Pick<Store, "live">;
  readonly #claim: Claim;
  readonly #log: Logger;
  readonly #everyMs: number;
  readonly #unannounced = new Unannounced();
  #gathered = new Map<Stream, { readonly at: number; readonly bytes: Captured }>();
  readonly #written = { stdout: 0, stderr: 0 };
  #storedAtMs: number;
  #n = 0;
  #timer: NodeJS.Timeout | null = null;
  #adding: Promise<void> = Promise.resolve();
  #over = false;

  constructor(store: Pick<Store, "live">, claim: Claim, log: Logger, everyMs: number) {
    this.#store = store;
    this.#claim = claim;
    this.#log = log;
    this.#everyMs = everyMs;
    this.#storedAtMs = claim.takesInput ? Number.NEGATIVE_INFINITY : performance.now();
  }

  push(stream: Stream, bytes: Buffer): void {
    if (this.#over) return;
    const gathered = this.#gathered.get(stream) ?? { at: this.#written[stream], bytes: new Captured() };
    gathered.bytes.push(bytes);
    this.#gathered.set(stream, gathered);
    this.#written[stream] += bytes.length;
    this.#unannounced.add(stream, bytes.length);
    this.#later();
  }

  /** Resolves after the append under way: rows added after the end of the submission would remain. */
  async stop(): Promise<void> {
    this.#over = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#adding;
  }

  #later(): void {
    const waitMs = Math.max(this.#storedAtMs + this.#everyMs - performance.now(), 0);
    this.#timer ??= setTimeout(() => {
      this.#storedAtMs = performance.now();
      this.#adding = this.#add().finally(() => {
        this.#timer = null;
        if (this.#gathered.size > 0 && !this.#over) this.#later();
      });
    }, waitMs);
  }

  async #add(): Promise<void> {
    const gathered = this.#gathered;
    this.#gathered = new Map();
    const pieces = this.#unannounced.take(this.#n < MAX_ORDERED_PIECES).map(({ stream, at, size }): LivePiece => {
      const { at: from = 0, bytes } = gathered.get(stream) ?? {};
      return { stream, at, bytes: bytes?.bytes().subarray(at - from, at - from + size) ?? Buffer.alloc(0) };
    });
    const n = this.#n;
    this.#n += pieces.length;
    try {
      if (!(await this.#store.live.append(this.#claim.lease, n, pieces))) this.#over = true;
    } catch (error) {
      this.#over = true;
      this.#log.warn({ err: error, submission: this.#claim.submission.id }, "live output could not be stored");
    }
  }
}
