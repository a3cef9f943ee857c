import type { Logger } from "pino";
import { Captured } from "../sandbox/captured.ts";
import type { LivePiece } from "../store/live/types.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";

type Stream = LivePiece["stream"];

/** The default interval, which users do not notice. A program that writes continuously causes five rows per second and stream. */
const EVERY_MS = 200;

/**
 * Stores the output of a watched run in short intervals. The output limits of the run bound its size. If the store fails, no more live
 * output is stored; the record gets the output nevertheless.
 */
export class LiveOutput {
  readonly #store: Pick<Store, "live">;
  readonly #claim: Claim;
  readonly #log: Logger;
  readonly #everyMs: number;
  readonly #written = { stdout: 0, stderr: 0 };
  #gathered = new Map<Stream, Captured>();
  #n = 0;
  #timer: NodeJS.Timeout | null = null;
  #adding: Promise<void> = Promise.resolve();
  #over = false;

  constructor(store: Pick<Store, "live">, claim: Claim, log: Logger, everyMs: number = EVERY_MS) {
    this.#store = store;
    this.#claim = claim;
    this.#log = log;
    this.#everyMs = everyMs;
  }

  push(stream: Stream, bytes: Buffer): void {
    if (this.#over) return;
    const gathered = this.#gathered.get(stream) ?? new Captured();
    gathered.push(bytes);
    this.#gathered.set(stream, gathered);
    this.#later();
  }

  /** Resolves after the append under way: rows added after the end of the submission would remain. */
  async stop(): Promise<void> {
    this.#over = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#adding;
  }

  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#adding = this.#add().finally(() => {
        this.#timer = null;
        if (this.#gathered.size > 0 && !this.#over) this.#later();
      });
    }, this.#everyMs);
  }

  async #add(): Promise<void> {
    const pieces = [...this.#gathered].map(([stream, gathered]) => {
      const bytes = gathered.bytes();
      const at = this.#written[stream];
      this.#written[stream] += bytes.length;
      return { stream, at, bytes };
    });
    this.#gathered = new Map();
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
