import type { FastifyRequest } from "fastify";
import { checkPassword } from "../../admin/password-rules.ts";
import { hashPassword, isDated, isPassword } from "../../admin/passwords.ts";
import { clientError } from "../../domain/error.ts";
import { WorkTurns } from "../../fairness/turn.ts";
import type { Store } from "../../store/store.ts";
import { network } from "../listener/network.ts";
import { Attempts } from "./attempts.ts";

/**
 * How many passwords are hashed at once, and how many may wait in each queue. Node has four threads for hashing and for files; two of
 * them stay free for files. A flood of guesses fills only the queue of strangers (attempts.ts). A person on a known network has a
 * separate queue, and waits for at most one check of each other queue.
 */
const AT_ONCE = 2;
const WAITING = 32;

/**
 * How many passwords are rated at once, and how many wait. Rating takes up to half a second of a core, so the last password in the queue
 * waits four seconds. Sign-ins do not wait for it, because they rate no password.
 */
const RATED_AT_ONCE = 1;
const WAITING_TO_BE_RATED = 8;

interface Chooser {
  readonly email: string;
  readonly name: string;
}

/** Checks and sets passwords from requests, with limits on frequency and concurrency. */
export class Passwords {
  readonly #people: Store["people"];
  readonly #signIns: Store["signIns"];
  readonly #attempts: Attempts;
  readonly #hashing = new WorkTurns({
    atOnce: { total: AT_ONCE },
    queue: { perOwner: WAITING, full: "tooManySignIns" },
  });
  readonly #rating = new WorkTurns({
    atOnce: { total: RATED_AT_ONCE },
    queue: { perOwner: WAITING_TO_BE_RATED, full: "tooManySignIns" },
  });
  /** The links and people for which a password is being chosen. */
  readonly #choosing = new Set<string>();

  constructor({ people, signIns }: Pick<Store, "people" | "signIns">) {
    this.#people = people;
    this.#signIns = signIns;
    this.#attempts = new Attempts(signIns);
  }

  /**
   * Finds the person with this e-mail address and password. It takes as long for an unknown e-mail address as for a known one.
   * @returns the id of the person; undefined if the address is unknown or the password is wrong. @throws ClientError tooManySignIns.
   */
  async findPerson(request: Pick<FastifyRequest, "ip">, email: string, password: string): Promise<string | undefined> {
    const queue = await this.#attempts.take(request, email);
    const known = await this.#people.passwordOf(email);
    const right = await this.#hashing.run(queue, () => isPassword(password, known?.hash ?? null));
    if (!known || !right) {
      await this.#signIns.refused({ network: network(request.ip), email });
      return undefined;
    }
    if (isDated(known.hash)) await this.#people.rehash(known.personId, known.hash, await this.#hash(queue, password));
    return known.personId;
  }

  /**
   * Rates and hashes the password that a person chooses by a one-time link; this counts as an attempt.
   * @param linkHash the hash of the token of a link that can still be used. @returns the hash of the password.
   * @throws AdminError if the password is weak. @throws ClientError tooManySignIns.
   */
  chooseByLink(
    request: Pick<FastifyRequest, "ip">,
    linkHash: string,
    password: string,
    person: Chooser,
  ): Promise<string> {
    return this.#choose(`link ${linkHash}`, password, person, () => this.#attempts.takeByLink(request, linkHash));
  }

  /** Rates and hashes a new password of a person. `findPerson` must just have checked the current password, and so counted the attempt. */
  choose(person: Chooser & { readonly id: string }, password: string): Promise<string> {
    return this.#choose(`person ${person.id}`, password, person);
  }

  /** Each chooser (a person, or the holder of a link) can make one choice at a time, so that a single chooser cannot fill the queue. */
  async #choose(chooser: string, password: string, person: Chooser, count = async () => {}): Promise<string> {
    if (this.#choosing.has(chooser)) throw clientError("tooManySignIns", [], { headers: { "retry-after": "2" } });
    this.#choosing.add(chooser);
    try {
      await count();
      // One queue for all choices: each chooser has one choice in progress, and there can be many links.
      await this.#rating.run("choices", () => checkPassword(password, person));
      return await this.#hash(chooser, password);
    } finally {
      this.#choosing.delete(chooser);
    }
  }

  /** @throws ClientError tooManySignIns. */
  #hash(queue: string, password: string): Promise<string> {
    return this.#hashing.run(queue, () => hashPassword(password));
  }
}
