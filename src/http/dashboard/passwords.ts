import type { FastifyRequest } from "fastify";
import { hashPassword, isDated, isPassword } from "../../admin/passwords.ts";
import type { Store } from "../../store/port.ts";
import { network } from "../network.ts";
import { Attempts } from "./attempts.ts";
import { Bounded } from "./bounded.ts";

/** Two of the four threads that Node has for such work and for files: the rest of the service goes on. */
const AT_ONCE = 2;
const WAITING = 32;

/** Passwords as requests bring them: how often they may be tried, and how many at once. */
export class Passwords {
  readonly #people: Store["people"];
  readonly #signIns: Store["signIns"];
  readonly #attempts: Attempts;
  readonly #hashing = new Bounded(AT_ONCE, WAITING);

  constructor({ people, signIns }: Pick<Store, "people" | "signIns">) {
    this.#people = people;
    this.#signIns = signIns;
    this.#attempts = new Attempts(signIns);
  }

  /**
   * Who has that e-mail and that password; for somebody else it takes as long.
   * @returns the person's id. @throws ClientError tooManySignIns.
   */
  async whose(request: FastifyRequest, email: string, password: string): Promise<string | undefined> {
    await this.#attempts.take(request, email);
    const known = await this.#people.passwordOf(email);
    const right = await this.#hashing.run(() => isPassword(password, known?.hash ?? null));
    if (!known || !right) {
      await this.#signIns.refused({ place: network(request.ip), email });
      return undefined;
    }
    if (isDated(known.hash)) await this.#people.rehash(known.personId, known.hash, await this.hash(password));
    return known.personId;
  }

  /** Judging a password takes a core, as hashing does. @throws ClientError tooManySignIns, and whatever `work` throws. */
  judge<T>(work: () => Promise<T>): Promise<T> {
    return this.#hashing.run(work);
  }

  /** @throws ClientError tooManySignIns. */
  hash(password: string): Promise<string> {
    return this.#hashing.run(() => hashPassword(password));
  }
}
