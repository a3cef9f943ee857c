import type { FastifyReply } from "fastify";
import { clientError } from "../../domain/error.ts";
import { Budget } from "../../fairness/budget.ts";

/** The budget has space again once another stream ends. */
const RETRY_SECS = 5;

/** How many streams an owner may have open at once. */
export class StreamBudget {
  readonly #budget: Budget;
  readonly #error: "tooManyWatched" | "tooManyExports";

  constructor(perOwner: number, error: "tooManyWatched" | "tooManyExports" = "tooManyWatched") {
    this.#budget = new Budget({ perOwner });
    this.#error = error;
  }

  /** Counts the response as a stream until it is closed. @throws ClientError tooManyWatched or tooManyExports. */
  open(owner: string, { raw }: FastifyReply): void {
    const release = this.#budget.take(owner, 1);
    if (!release) throw clientError(this.#error, [], { headers: { "retry-after": String(RETRY_SECS) } });
    // If the client has disconnected, its event has already fired.
    if (raw.closed) release();
    else raw.once("close", release);
  }
}
