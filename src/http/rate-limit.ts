import type { FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";
import type { Caller } from "../domain/submission.ts";
import type { Dependencies } from "./dependencies.ts";

/** Headers of responses to requests that count against the rate limit of a key: a sliding minute. */
export const RATE_LIMIT_HEADERS = {
  "RateLimit-Limit": "Requests that the key may make in any 60 seconds",
  "RateLimit-Remaining": "Requests of these that are left now",
  "RateLimit-Reset": "Seconds until the oldest counted request leaves the minute",
} as const;

const WINDOW_SECS = 60;

/** The values of the headers, by the caller of a request. */
const STATES = new WeakMap<Caller, readonly number[]>();

/**
 * Counts requests against the rate limit of a key. The first one decides whether the others fit, so that a refusal does not
 * use up the limit. @param onlyReads see QuotaStore.take. @throws ClientError quotaExceeded.
 */
export async function countRequests(
  caller: Caller,
  { store }: Pick<Dependencies, "store">,
  { amount = 1, onlyReads = false }: { readonly amount?: number; readonly onlyReads?: boolean } = {},
): Promise<void> {
  if (amount < 1) return;
  const { keyId, requestsPerMinute: limit } = caller;
  const count = () => store.quota.count(keyId, limit, onlyReads);
  const first = await count();
  const fits = first.waitSecs === 0 && first.used + amount - 1 <= limit;
  const all = [first, ...(fits ? await Promise.all(Array.from({ length: amount - 1 }, count)) : [])];
  const used = Math.max(...all.map((one) => one.used));
  STATES.set(caller, [limit, Math.max(0, limit - used), Math.max(...all.map(({ resetSecs }) => resetSecs))]);
  // By then this attempt has left the minute as well: with the time of the oldest request, each retry would be too early for ever.
  const waitSecs = Math.max(...all.map((one) => one.waitSecs), fits ? 0 : WINDOW_SECS);
  if (waitSecs > 0) throw clientError("quotaExceeded", [], { headers: { "retry-after": String(waitSecs) } });
}

/** Adds the headers to the response of a request that was counted. */
export function addRateLimit(request: FastifyRequest, reply: FastifyReply): void {
  const state = request.caller && STATES.get(request.caller);
  for (const [at, name] of Object.keys(RATE_LIMIT_HEADERS).entries()) if (state) reply.header(name, String(state[at]));
}
