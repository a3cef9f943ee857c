import type { FastifyRequest } from "fastify";
import { checkPassword } from "../../admin/password-rules.ts";
import { hashPassword, isDated, isPassword } from "../../admin/passwords.ts";
import { clientError } from "../../domain/error.ts";
import type { Store } from "../../store/port.ts";
import { network } from "../network.ts";
import { Attempts } from "./attempts.ts";
import { Bounded } from "./bounded.ts";

/**
 * Two of the four threads that Node has for such work and for files: the rest of the service goes on. A flood of guesses fills the
 * lane of strangers; a person on a known network has a lane of their own and waits for one check of each other lane.
 */
const AT_ONCE = 2;
const WAITING = 32;

/** Judging takes up to half a second of a core; the last one in the queue waits four. Sign-ins have other places. */
const JUDGED_AT_ONCE = 1;
const WAITING_TO_BE_JUDGED = 8;

interface Chooser {
  readonly email: string;
  readonly name: string;
}

/** Passwords as requests bring them: how often they may be tried, and how many at once. */
export class Passwords {
  readonly #people: Store["people"];
  readonly #signIns: Store["signIns"];
  readonly #attempts: Attempts;
  readonly #hashing = new Bounded(AT_ONCE, WAITING);
  readonly #judging = new Bounded(JUDGED_AT_ONCE, WAITING_TO_BE_JUDGED);
  /** Links and persons with a choice under way. */
  readonly #choosing = new Set<string>();

  constructor({ people, signIns }: Pick<Store, "people" | "signIns">) {
    this.#people = people;
    this.#signIns = signIns;
    this.#attempts = new Attempts(signIns);
  }

  /**
   * Who has that e-mail and that password; for somebody else it takes as long.
   * @returns the person's id. @throws ClientError tooManySignIns.
   */
  async whose(request: Pick<FastifyRequest, "ip">, email: string, password: string): Promise<string | undefined> {
    const lane = await this.#attempts.take(request, email);
    const known = await this.#people.passwordOf(email);
    const right = await this.#hashing.run(lane, () => isPassword(password, known?.hash ?? null));
    if (!known || !right) {
      await this.#signIns.refused({ place: network(request.ip), email });
      return undefined;
    }
    if (isDated(known.hash)) await this.#people.rehash(known.personId, known.hash, await this.#hash(lane, password));
    return known.personId;
  }

  /**
   * Judges and hashes the password that a person chooses by a one-time link, which counts as an attempt.
   * @param linkHash of a link that can be used now. @returns the hash of the password.
   * @throws AdminError when the password is weak. @throws ClientError tooManySignIns.
   */
  chooseByLink(
    request: Pick<FastifyRequest, "ip">,
    linkHash: string,
    password: string,
    person: Chooser,
  ): Promise<string> {
    return this.#choose(`link ${linkHash}`, password, person, () => this.#attempts.takeByLink(request, linkHash));
  }

  /** The same for a person whose current password was just checked by `whose`, which has counted it. */
  choose(person: Chooser & { readonly id: string }, password: string): Promise<string> {
    return this.#choose(`person ${person.id}`, password, person);
  }

  /** One choice at a time for each chooser: none can fill the queue alone. */
  async #choose(chooser: string, password: string, person: Chooser, count = async () => {}): Promise<string> {
    if (this.#choosing.has(chooser)) throw clientError("tooManySignIns", [], { headers: { "retry-after": "2" } });
    this.#choosing.add(chooser);
    try {
      await count();
      // One lane for all choices: a single chooser has one choice under way, and there may be many links.
      await this.#judging.run("choices", () => checkPassword(password, person));
      return await this.#hash(chooser, password);
    } finally {
      this.#choosing.delete(chooser);
    }
  }

  /** @throws ClientError tooManySignIns. */
  #hash(lane: string, password: string): Promise<string> {
    return this.#hashing.run(lane, () => hashPassword(password));
  }
}
