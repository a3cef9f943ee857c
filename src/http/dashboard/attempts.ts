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

/** Attempts that are counted in the database at once: a flood of them must not keep others from it. */
const AT_ONCE = 4;
const WAITING = 64;

/**
 * Bounds how fast passwords can be guessed. Attempts are counted before they are tried, or a hundred at once would all go
 * through, and nothing is counted longer than a minute. The count is that of all processes; what one address has used up in
 * this process alone is refused without a look at the database.
 */
export class Attempts {
  readonly #signIns: Pick<SignInStore, "take">;
  readonly #here: MinuteWindow;
  readonly #counting = new Bounded(AT_ONCE, WAITING);

  /** @param now milliseconds on a monotonic clock. */
  constructor(signIns: Pick<SignInStore, "take">, now?: () => number) {
    this.#signIns = signIns;
    this.#here = new MinuteWindow(now);
  }

  /** An attempt to sign in. @throws ClientError tooManySignIns. */
  take(request: Pick<FastifyRequest, "ip">, email: string): Promise<void> {
    return this.#take(request, email, LIMITS);
  }

  /** An attempt to choose a password by a link. @param hash of the link's token. @throws ClientError tooManySignIns. */
  takeByLink(request: Pick<FastifyRequest, "ip">, hash: string): Promise<void> {
    return this.#take(request, `link ${hash}`, LINK_LIMITS);
  }

  async #take({ ip }: Pick<FastifyRequest, "ip">, email: string, limits: Limits): Promise<void> {
    const place = network(ip);
    const retryAfter =
      this.#here.take(`${place} ${email}`, limits.both) ||
      this.#here.take(place, limits.place) ||
      (await this.#counting.run(() => this.#signIns.take({ place, email }, limits)));
    if (retryAfter > 0) throw clientError("tooManySignIns", [], { headers: { "retry-after": String(retryAfter) } });
  }
}
