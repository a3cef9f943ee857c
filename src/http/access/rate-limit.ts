import type { FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import type { Caller } from "../../domain/submission.ts";
import type { CountOptions } from "../../store/quota/quota.ts";
import type { Dependencies } from "../dependencies.ts";

/** Headers with the state of a key's rate limit, in the responses to requests that count against it. The limit holds for any 60 seconds. */
export const RATE_LIMIT_HEADERS = {
  "RateLimit-Limit": "Requests that the key may make in any 60 seconds",
  "RateLimit-Remaining": "How many of these requests are left now",
  "RateLimit-Reset": "Seconds until the oldest counted request leaves the minute",
} as const;

/** The values of the headers, in the order of RATE_LIMIT_HEADERS, for the caller of each counted request. */
const STATES = new WeakMap<Caller, readonly number[]>();

/**
 * Counts a request against the rate limit of its key, as one request or as several. @param options see CountOptions; nothing is
 * counted if `amount` is less than one. @throws ClientError quotaExceeded.
 */
export async function countRequests(
  caller: Caller,
  { store }: Pick<Dependencies, "store">,
  options: CountOptions = {},
): Promise<void> {
  if ((options.amount ?? 1) < 1) return;
  const { keyId, requestsPerMinute: limit } = caller;
  const { waitSecs, used, resetSecs } = await store.quota.count(keyId, limit, options);
  STATES.set(caller, [limit, Math.max(0, limit - used), resetSecs]);
  if (waitSecs > 0) throw clientError("quotaExceeded", [], { headers: { "retry-after": String(waitSecs) } });
}

/** Adds the headers to the response of a request that was counted. */
export function addRateLimit(request: FastifyRequest, reply: FastifyReply): void {
  const state = request.caller && STATES.get(request.caller);
  for (const [at, name] of Object.keys(RATE_LIMIT_HEADERS).entries()) if (state) reply.header(name, String(state[at]));
}
