import { clientError } from "../../domain/error.ts";

/** Work that takes a core and much memory: so many at once, so many behind them, and no more. */
export class Bounded {
  readonly #atOnce: number;
  readonly #waitingAtMost: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(atOnce: number, waitingAtMost: number) {
    this.#atOnce = atOnce;
    this.#waitingAtMost = waitingAtMost;
  }

  /** @throws ClientError tooManySignIns when too many wait. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running++;
    else await this.#turn();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#waitingAtMost) {
      throw clientError("tooManySignIns", [], { headers: { "retry-after": "2" } });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
