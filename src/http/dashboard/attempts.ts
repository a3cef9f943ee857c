import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { network } from "../network.ts";
import { MinuteWindow } from "../window.ts";

/** Attempts in any minute: of one address at one e-mail, of one address, and at one e-mail from wherever. */
const BOTH_PER_MINUTE = 5;
const ADDRESS_PER_MINUTE = 30;
const EMAIL_PER_MINUTE = 20;

/** Of the pairs below. */
const MOST_KNOWN = 10_000;

/**
 * Bounds how fast passwords can be guessed. Attempts are counted before they are tried, or a hundred at once would all go
 * through, and nothing is counted longer than a minute. Strangers can use up what an e-mail has, so that does not count for
 * an address from which that person has signed in before. All of it is this process's alone, and forgotten with it.
 */
export class Attempts {
  readonly #both: MinuteWindow;
  readonly #addresses: MinuteWindow;
  readonly #emails: MinuteWindow;
  /** Pairs of an e-mail and an address that belong together; the least recently used first. */
  readonly #known = new Set<string>();

  /** @param now milliseconds on a monotonic clock. */
  constructor(now?: () => number) {
    this.#both = new MinuteWindow(now);
    this.#addresses = new MinuteWindow(now);
    this.#emails = new MinuteWindow(now);
  }

  /** @throws ClientError tooManySignIns. */
  take(request: Pick<FastifyRequest, "ip">, email: string): void {
    const from = network(request.ip);
    const pair = `${from} ${email}`;
    const retryAfter =
      this.#both.take(pair, BOTH_PER_MINUTE) ||
      this.#addresses.take(from, ADDRESS_PER_MINUTE) ||
      (this.#known.has(pair) ? 0 : this.#emails.take(email, EMAIL_PER_MINUTE));
    if (retryAfter > 0) throw clientError("tooManySignIns", [], { headers: { "retry-after": String(retryAfter) } });
  }

  /** That e-mail's person has signed in from there. */
  succeeded(request: Pick<FastifyRequest, "ip">, email: string): void {
    const pair = `${network(request.ip)} ${email}`;
    this.#known.delete(pair);
    this.#known.add(pair);
    if (this.#known.size <= MOST_KNOWN) return;
    const [oldest] = this.#known;
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}
