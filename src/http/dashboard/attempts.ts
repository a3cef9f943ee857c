import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { MinuteBudget } from "../../fairness/minute-budget.ts";
import { WorkTurns } from "../../fairness/turn.ts";
import type { SignInStore } from "../../store/people/sign-ins.ts";
import { network } from "../listener/network.ts";

/**
 * Attempts to sign in per minute. `both`: with one e-mail address from one network. `network`: from one network. `email`: with one e-mail
 * address from any network.
 */
const LIMITS = { both: 5, network: 30, email: 20 } as const;

/**
 * Attempts per minute to choose a password by a one-time link; `email` is for one link from any network. They are limited because a
 * rejected password does not consume the link, and because rating a password occupies a core.
 */
const LINK_LIMITS = { both: 5, network: 30, email: 5 } as const;

type Limits = Parameters<SignInStore["take"]>[1];

/**
 * How many attempts are counted in the database at once, and how many may wait in each queue. Both keep the database
 * available during a flood of attempts.
 */
const AT_ONCE = 4;
const WAITING = 64;

/** The queue that all attempts share if the person has not signed in from that network before. */
const STRANGERS = "strangers";

/**
 * Limits password guessing. An attempt is counted before its password is checked; otherwise a hundred concurrent attempts would all be
 * checked. Counts expire after a minute and are shared by all processes. A network over its limit in this process is rejected without
 * a query.
 */
export class Attempts {
  readonly #signIns: Pick<SignInStore, "isKnown" | "take">;
  readonly #inThisProcess: MinuteBudget;
  readonly #counting = new WorkTurns({
    atOnce: { total: AT_ONCE },
    queue: { perOwner: WAITING, full: "tooManySignIns" },
  });

  /** @param now milliseconds on a monotonic clock. */
  constructor(signIns: Pick<SignInStore, "isKnown" | "take">, now?: () => number) {
    this.#signIns = signIns;
    this.#inThisProcess = new MinuteBudget(now);
  }

  /**
   * Counts an attempt to sign in.
   * @returns the queue in which the password waits for its check: that of the person, if the person has signed in from this network
   * before, otherwise that of strangers. @throws ClientError tooManySignIns.
   */
  async take({ ip }: Pick<FastifyRequest, "ip">, email: string): Promise<string> {
    const from = network(ip);
    this.#takeInThisProcess(from, email, LIMITS);
    const known = await this.#signIns.isKnown({ network: from, email });
    const queue = known ? `person ${email}` : STRANGERS;
    await this.#count(queue, { network: from, email }, { ...LIMITS, email: known ? null : LIMITS.email });
    return queue;
  }

  /**
   * Counts an attempt to choose a password by a one-time link. @param hash the hash of the link's token. @throws ClientError
   * tooManySignIns.
   */
  async takeByLink({ ip }: Pick<FastifyRequest, "ip">, hash: string): Promise<void> {
    const from = network(ip);
    const link = `link ${hash}`;
    this.#takeInThisProcess(from, link, LINK_LIMITS);
    await this.#count(link, { network: from, email: link }, LINK_LIMITS);
  }

  #takeInThisProcess(from: string, email: string, { both, network: limit }: Limits): void {
    refuseFor(this.#inThisProcess.take(`${from} ${email}`, both) || this.#inThisProcess.take(from, limit));
  }

  async #count(queue: string, attempt: Parameters<SignInStore["take"]>[0], limits: Limits): Promise<void> {
    refuseFor(await this.#counting.run(queue, () => this.#signIns.take(attempt, limits)));
  }
}

/** @throws ClientError tooManySignIns, unless `seconds` is 0. */
function refuseFor(seconds: number): void {
  if (seconds > 0) throw clientError("tooManySignIns", [], { headers: { "retry-after": String(seconds) } });
}
