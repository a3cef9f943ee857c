import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import type { SignInStore } from "../../store/people-port.ts";
import { network } from "../network.ts";
import { MinuteWindow } from "../window.ts";
import { Bounded } from "./bounded.ts";

/** Attempts in any minute: of one address at one e-mail, of one address, and at one e-mail from wherever. */
const LIMITS = { both: 5, place: 30, email: 20 } as const;

/** The same for one-time links. A link does not get used up by a password that is refused, and judging one takes a core. */
const LINK_LIMITS = { both: 5, place: 30, email: 5 } as const;

type Limits = Parameters<SignInStore["take"]>[1];

/** Attempts that are counted in the database at once, and that wait for it in each lane: a flood leaves the database free. */
const AT_ONCE = 4;
const WAITING = 64;

/** The lane of all attempts from networks from which the person of that e-mail has not signed in before. */
const STRANGERS = "strangers";

/**
 * Bounds how fast passwords can be guessed. Attempts are counted before they are tried, or a hundred at once would all go
 * through, and nothing is counted longer than a minute. The count is that of all processes; what one address has used up in
 * this process alone is refused without a look at the database.
 */
export class Attempts {
  readonly #signIns: Pick<SignInStore, "isKnown" | "take">;
  readonly #here: MinuteWindow;
  readonly #counting = new Bounded(AT_ONCE, WAITING);

  /** @param now milliseconds on a monotonic clock. */
  constructor(signIns: Pick<SignInStore, "isKnown" | "take">, now?: () => number) {
    this.#signIns = signIns;
    this.#here = new MinuteWindow(now);
  }

  /**
   * An attempt to sign in.
   * @returns the lane in which the password is checked: of the person, from a network that is known for that person, or else
   * that of all strangers. @throws ClientError tooManySignIns.
   */
  async take({ ip }: Pick<FastifyRequest, "ip">, email: string): Promise<string> {
    const place = network(ip);
    this.#takeHere(place, email, LIMITS);
    const known = await this.#signIns.isKnown({ place, email });
    const lane = known ? `person ${email}` : STRANGERS;
    await this.#count(lane, { place, email }, { ...LIMITS, email: known ? null : LIMITS.email });
    return lane;
  }

  /** An attempt to choose a password by a link. @param hash of the link's token. @throws ClientError tooManySignIns. */
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
