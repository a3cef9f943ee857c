import type { FastifyRequest } from "fastify";
import { hashPassword, isDated, isPassword } from "../../admin/passwords.ts";
import type { Store } from "../../store/port.ts";
import { Attempts } from "./attempts.ts";
import { Bounded } from "./bounded.ts";

/** Two of the four threads that Node has for such work and for files: the rest of the service goes on. */
const AT_ONCE = 2;
const WAITING = 32;

/** Passwords as requests bring them: how often they may be tried, and how many at once. */
export class Passwords {
  readonly #people: Store["people"];
  readonly #attempts = new Attempts();
  readonly #hashing = new Bounded(AT_ONCE, WAITING);

  constructor({ people }: Pick<Store, "people">) {
    this.#people = people;
  }

  /**
   * Who has that e-mail and that password; for somebody else it takes as long.
   * @returns the person's id. @throws ClientError tooManySignIns.
   */
  async whose(request: FastifyRequest, email: string, password: string): Promise<string | undefined> {
    this.#attempts.take(request, email);
    const known = await this.#people.passwordOf(email);
    const right = await this.#hashing.run(() => isPassword(password, known?.hash ?? null));
    if (!known || !right) return undefined;
    this.#attempts.succeeded(request, email);
    if (isDated(known.hash)) await this.#people.rehash(known.personId, known.hash, await this.hash(password));
    return known.personId;
  }

  /** @throws ClientError tooManySignIns. */
  hash(password: string): Promise<string> {
    return this.#hashing.run(() => hashPassword(password));
  }
}
