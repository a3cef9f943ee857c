import { timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";
import { hashKey, hasKeyForm } from "../domain/key.ts";
import type { Caller } from "../domain/submission.ts";
import type { KeyStore } from "../store/admin-port.ts";
import { network } from "./network.ts";
import { Turns } from "./turns.ts";
import { MinuteWindow } from "./window.ts";

/** Failed authentications of one address in a minute, beyond which its keys are looked up one after another. */
const FAILURES_PER_MINUTE = 120;

/** Requests for the open pages that one address may make in a minute; looking at /docs makes five. */
const VISITS_PER_MINUTE = 300;

/** Hashes of valid keys that are remembered; some 100 bytes each. */
const MOST_KNOWN = 10_000;

/** Failures by address, turns where there were too many, and the keys that need none: a key that was valid is no guess. */
export class Failures {
  readonly window = new MinuteWindow();
  readonly turns = new Turns();
  readonly #known = new Set<string>();

  isKnown(hash: string): boolean {
    return this.#known.has(hash);
  }

  remember(hash: string): void {
    this.#known.delete(hash);
    this.#known.add(hash);
    const [oldest] = this.#known;
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

/**
 * Key → Caller. The key is hashed and looked up by its hash, so neither the database nor its
 * index ever compares characters of a key; the hash found is then compared in constant time.
 * Failures are counted by address and never keep a valid key out: behind one address there
 * may be many callers. Where there were too many, keys that were not valid here before are looked up
 * one after another, so that no address can keep the database busy with guesses.
 * @throws ClientError unauthorized or accountSuspended.
 */
export async function authenticate(request: FastifyRequest, keys: KeyStore, failures: Failures): Promise<Caller> {
  const from = network(request.ip);
  const key = request.headers["x-api-key"];
  if (typeof key === "string" && hasKeyForm(key)) {
    const hash = hashKey(key);
    const suspicious = !failures.isKnown(hash) && failures.window.isFull(from, FAILURES_PER_MINUTE);
    const caller = await (suspicious
      ? failures.turns.take(from, () => ifThere(request, hash, keys))
      : lookUp(hash, keys));
    if (caller) {
      failures.remember(hash);
      return caller;
    }
  }
  failures.window.take(from, FAILURES_PER_MINUTE);
  // The contract answers 401 to a key that is not valid, however often one is tried.
  throw clientError("unauthorized", []);
}

/**
 * Pages that need no key are bounded by address. Both counts by address are those of this process
 * alone: they keep strangers from costing much, and are no promise to anyone.
 * @throws ClientError tooManyRequests.
 */
export function checkVisit(request: FastifyRequest, visits: MinuteWindow): void {
  const retryAfter = visits.take(network(request.ip), VISITS_PER_MINUTE);
  if (retryAfter > 0) throw clientError("tooManyRequests", [], { headers: { "retry-after": String(retryAfter) } });
}

/** Clients that have left keep those that wait behind them no longer. */
async function ifThere({ raw }: FastifyRequest, hash: string, keys: KeyStore): Promise<Caller | undefined> {
  return raw.socket.destroyed ? undefined : await lookUp(hash, keys);
}

async function lookUp(hash: string, keys: KeyStore): Promise<Caller | undefined> {
  const found = await keys.findCaller(hash);
  if (!found || !timingSafeEqual(Buffer.from(hash), Buffer.from(found.hash))) return undefined;
  if (found.suspended) throw clientError("accountSuspended", []);
  await keys.touch(found.caller.keyId);
  return found.caller;
}
