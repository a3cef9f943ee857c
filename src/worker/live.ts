import type { Logger } from "pino";
import { Captured } from "../sandbox/captured.ts";
import type { LivePiece } from "../store/observe-port.ts";
import type { Claim, Store } from "../store/port.ts";

type Stream = LivePiece["stream"];

/** A person sees no difference, and a program that writes without a pause makes five rows a second. */
const EVERY_MS = 200;

/**
 * What a run that somebody may be watching writes, on its way to them: gathered for a moment, then added to the store. How much
 * comes is bounded by the limits of the output. Should the store fail, the rest is in the record all the same.
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

  /** Resolves when nothing is on its way any more: what comes after the end of the submission would stay. */
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
      this.#log.warn({ err: error, submission: this.#claim.submission.id }, "output could not be shown as it came");
    }
  }
}
