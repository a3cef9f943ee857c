import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { MinuteBudget } from "../../fairness/minute-budget.ts";
import { WorkTurns } from "../../fairness/turn.ts";
import type { SignInStore } from "../../store/people/sign-ins.ts";
import { network } from "../listener/network.ts";

/** Attempts per minute: for one address and e-mail, for one address, and for one e-mail from any address. */
const LIMITS = { both: 5, place: 30, email: 20 } as const;

/** Attempts per minute with one-time links. A rejected password does not consume a link, and rating a password occupies a core. */
const LINK_LIMITS = { both: 5, place: 30, email: 5 } as const;

type Limits = Parameters<SignInStore["take"]>[1];

/**
 * Attempts counted in the database at once, and waiting attempts per lane: during a flood, the database stays
 * available.
 */
const AT_ONCE = 4;
const WAITING = 64;

/** The shared lane of attempts from networks from which the owner of the e-mail has not signed in before. */
const STRANGERS = "strangers";

/**
 * Limits password guessing. Attempts are counted before they are checked; otherwise a hundred concurrent attempts would
 * all pass. Counts expire after a minute and are shared by all processes. An address over its limit in this process is
 * rejected without a query.
 */
export class Attempts {
  readonly #signIns: Pick<SignInStore, "isKnown" | "take">;
  readonly #here: MinuteBudget;
  readonly #counting = new WorkTurns({
    atOnce: { total: AT_ONCE },
    queue: { perOwner: WAITING, full: "tooManySignIns" },
  });

  /** @param now milliseconds on a monotonic clock. */
  constructor(signIns: Pick<SignInStore, "isKnown" | "take">, now?: () => number) {
    this.#signIns = signIns;
    this.#here = new MinuteBudget(now);
  }

  /**
   * Counts an attempt to sign in.
   * @returns the lane in which the password is checked: the person's own for a network known for that person, or else
   * the shared lane of strangers. @throws ClientError tooManySignIns.
   */
  async take({ ip }: Pick<FastifyRequest, "ip">, email: string): Promise<string> {
    const place = network(ip);
    this.#takeHere(place, email, LIMITS);
    const known = await this.#signIns.isKnown({ place, email });
    const lane = known ? `person ${email}` : STRANGERS;
    await this.#count(lane, { place, email }, { ...LIMITS, email: known ? null : LIMITS.email });
    return lane;
  }

  /**
   * Counts an attempt to choose a password by a one-time link. @param hash of the link's token. @throws ClientError
   * tooManySignIns.
   */
  async takeByLink({ ip }: Pick<FastifyRequest, "ip">, hash: string): Promise<void> {
    const place = network(ip);
    const link = `link ${hash}`;
    this.#takeHere(place, link, LINK_LIMITS);
    await this.#count(link, { place, email: link }, LINK_LIMITS);
  }

  #takeHere(place: string, email: string, { both, place: limit }: Limits): void {
    refuseFor(this.#here.take(`${place} ${email}`, both) || this.#here.take(place, limit));
  }

  async #count(lane: string, attempt: Parameters<SignInStore["take"]>[0], limits: Limits): Promise<void> {
    refuseFor(await this.#counting.run(lane, () => this.#signIns.take(attempt, limits)));
  }
}

/** @throws ClientError tooManySignIns, unless `seconds` is 0. */
function refuseFor(seconds: number): void {
  if (seconds > 0) throw clientError("tooManySignIns", [], { headers: { "retry-after": String(seconds) } });
}
