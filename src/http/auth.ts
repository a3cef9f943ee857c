import { timingSafeEqual } from "node:crypto";
import { isIPv6 } from "node:net";
import type { FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";
import { hashKey, hasKeyForm } from "../domain/key.ts";
import type { Caller } from "../domain/submission.ts";
import type { KeyStore } from "../store/admin-port.ts";
import type { MinuteWindow } from "./window.ts";

/** Failed authentications that one address may have in a minute; beyond it they get 429. */
const FAILURES_PER_MINUTE = 120;

/** Requests for the open pages that one address may make in a minute; looking at /docs makes five. */
const VISITS_PER_MINUTE = 300;

/**
 * Key → Caller. The key is hashed and looked up by its hash, so neither the database nor its
 * index ever compares characters of a key; the hash found is then compared in constant time.
 * Failures are counted by address and never keep a valid key out: behind one address there
 * may be many callers.
 * @throws ClientError unauthorized or tooManyFailures.
 */
export async function authenticate(request: FastifyRequest, keys: KeyStore, failures: MinuteWindow): Promise<Caller> {
  const key = request.headers["x-api-key"];
  const caller = typeof key === "string" && hasKeyForm(key) ? await lookUp(key, keys) : undefined;
  if (caller) return caller;
  const retryAfter = failures.take(network(request.ip), FAILURES_PER_MINUTE);
  if (retryAfter > 0) throw clientError("tooManyFailures", [], { headers: { "retry-after": String(retryAfter) } });
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

async function lookUp(key: string, keys: KeyStore): Promise<Caller | undefined> {
  const hash = hashKey(key);
  const found = await keys.findCaller(hash);
  if (!found || !timingSafeEqual(Buffer.from(hash), Buffer.from(found.hash))) return undefined;
  await keys.touch(found.caller.keyId);
  return found.caller;
}

/** Whoever has one IPv6 address has its /64: the first four groups are counted together. */
function network(address: string): string {
  if (!isIPv6(address) || address.startsWith("::")) return address;
  const [head = ""] = address.split("::");
  const groups = [...head.split(":"), "0", "0", "0", "0"].slice(0, 4);
  return `${groups.join(":")}::/64`;
}
