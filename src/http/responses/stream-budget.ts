import type { FastifyReply } from "fastify";
import { clientError } from "../../domain/error.ts";
import { Budget } from "../../fairness/budget.ts";

/** A client should repeat its request after this time. It is accepted as soon as another of its streams has ended. */
const RETRY_SECS = 5;

/** Limits how many streams an owner may have open at once. */
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
    // If the response is already closed, there will be no event `close`.
    if (raw.closed) release();
    else raw.once("close", release);
  }
}
