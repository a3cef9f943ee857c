import { timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { hashKey, hasKeyForm } from "../../domain/key.ts";
import type { Caller } from "../../domain/submission.ts";
import { MinuteBudget } from "../../fairness/minute-budget.ts";
import { WorkTurns } from "../../fairness/turn.ts";
import type { KeyStore } from "../../store/access/keys.ts";
import { network } from "../listener/network.ts";

/** Failed authentications per network (see network()) and minute. Beyond this, unknown keys from the network are looked up one at a time. */
const FAILURES_PER_MINUTE = 120;

/** Requests per network and minute for the pages that need no key. Loading /docs makes five requests. */
const VISITS_PER_MINUTE = 300;

/** The most valid keys that are kept in memory. Each takes some 500 bytes. */
const MOST_KNOWN = 10_000;

/** How long the caller of a key holds for a request that looks the key up again itself (`rechecksKey`). */
const RECENT_MS = 1_000;

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * Whether the handler looks the key up again in the transaction that stores what the request asks for. A client that sends many such
     * requests then needs no lookup before each of them.
     */
    rechecksKey?: boolean;
  }
}

/**
 * Counts failed authentications by network, and lets the lookups for a network with too many of them wait for each other. It
 * remembers valid keys, because their lookups do not wait.
 */
export class Failures {
  readonly byAddress = new MinuteBudget();
  /** The lookups that wait for each other: one at a time for each network. */
  readonly lookUps = new WorkTurns({ atOnce: { perOwner: 1 } });
  readonly #known = new Map<string, { readonly caller: Caller; readonly atMs: number }>();

  isKnown(hash: string): boolean {
    return this.#known.has(hash);
  }

  /** The caller of a key that was valid a short time ago. */
  recent(hash: string): Caller | undefined {
    const known = this.#known.get(hash);
    return known && performance.now() - known.atMs < RECENT_MS ? known.caller : undefined;
  }

  remember(hash: string, caller: Caller): void {
    this.#known.delete(hash);
    this.#known.set(hash, { caller, atMs: performance.now() });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

/**
 * Finds the caller of a request by its key. The key is looked up by its hash, so neither the database nor its index compares characters
 * of the key. The hash that was found is then compared in constant time. Failures are counted by network, but never lock out a valid
 * key, because many callers can share a network. After too many failures, keys that this process has not yet seen as valid are looked
 * up one at a time, so that one network cannot keep the database busy with guesses.
 * @throws ClientError unauthorized or accountSuspended.
 */
export async function authenticate(request: FastifyRequest, keys: KeyStore, failures: Failures): Promise<Caller> {
  const from = network(request.ip);
  const key = keyOf(request);
  if (typeof key === "string" && hasKeyForm(key)) {
    const hash = hashKey(key);
    const recent = request.routeOptions.config?.rechecksKey ? failures.recent(hash) : undefined;
    if (recent) return { ...recent }; // the rate limit of a request belongs to the object of its caller
    const suspicious = !failures.isKnown(hash) && failures.byAddress.isFull(from, FAILURES_PER_MINUTE);
    const caller = await (suspicious
      ? failures.lookUps.run(from, () => ifConnected(request, hash, keys))
      : lookUp(hash, keys));
    if (caller) {
      failures.remember(hash, caller);
      return caller;
    }
  }
  failures.byAddress.take(from, FAILURES_PER_MINUTE);
  // An invalid key gets 401 after any number of attempts, never 429.
  throw clientError("unauthorized", []);
}

/**
 * Limits requests by network for pages that need no key. This count, and that of failed authentications, are local to this
 * process: they bound what anonymous clients cost this process, not what they can request from all processes together.
 * @throws ClientError tooManyRequests.
 */
export function checkVisit(request: FastifyRequest, visits: MinuteBudget): void {
  const retryAfter = visits.take(network(request.ip), VISITS_PER_MINUTE);
  if (retryAfter > 0) throw clientError("tooManyRequests", [], { headers: { "retry-after": String(retryAfter) } });
}

/** Skips the lookup for a client that has disconnected, so that it does not delay the clients that wait behind it. */
async function ifConnected({ raw }: FastifyRequest, hash: string, keys: KeyStore): Promise<Caller | undefined> {
  return raw.socket.destroyed ? undefined : await lookUp(hash, keys);
}

/** Whether the key that authenticated the request is still valid, and its account is not suspended. */
export async function isStillValid(request: FastifyRequest, keys: KeyStore): Promise<boolean> {
  const found = await keys.findCaller(hashKey(String(keyOf(request))));
  return found !== undefined && !found.suspended;
}

function keyOf({ server, url, headers }: FastifyRequest): string | string[] | undefined {
  const foreign = server.foreignPaths.of(url);
  return foreign ? foreign.keyOf(headers) : headers["x-api-key"];
}

async function lookUp(hash: string, keys: KeyStore): Promise<Caller | undefined> {
  const found = await keys.findCaller(hash);
  if (!found || !timingSafeEqual(Buffer.from(hash), Buffer.from(found.hash))) return undefined;
  if (found.suspended) throw clientError("accountSuspended", []);
  await keys.touch(found.caller.keyId);
  return found.caller;
}
