import type { FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";
import { callerOf } from "./caller.ts";
import type { Dependencies } from "./dependencies.ts";

/** Headers of responses to requests that count against the rate limit of a key: a sliding minute. */
export const RATE_LIMIT_HEADERS = {
  "RateLimit-Limit": "Requests that the key may make in any 60 seconds",
  "RateLimit-Remaining": "Requests of these that are left now",
  "RateLimit-Reset": "Seconds until the oldest counted request leaves the minute",
} as const;

const STATES = new WeakMap<FastifyRequest, readonly number[]>();

/**
 * Counts requests of the caller. @param onlyReads see QuotaStore.take. @throws ClientError quotaExceeded.
 */
export async function countRequests(
  request: FastifyRequest,
  { store }: Pick<Dependencies, "store">,
  { amount = 1, onlyReads = false }: { readonly amount?: number; readonly onlyReads?: boolean } = {},
): Promise<void> {
  if (amount < 1) return;
  const { keyId, requestsPerMinute: limit } = callerOf(request);
  const all = await Promise.all(Array.from({ length: amount }, () => store.quota.count(keyId, limit, onlyReads)));
  const used = Math.max(...all.map((one) => one.used));
  STATES.set(request, [limit, Math.max(0, limit - used), Math.max(...all.map(({ resetSecs }) => resetSecs))]);
  const waitSecs = Math.max(...all.map((one) => one.waitSecs));
  if (waitSecs > 0) throw clientError("quotaExceeded", [], { headers: { "retry-after": String(waitSecs) } });
}

/** Adds the headers to the response of a request that was counted. */
export function addRateLimit(request: FastifyRequest, reply: FastifyReply): void {
  const state = STATES.get(request);
  for (const [at, name] of Object.keys(RATE_LIMIT_HEADERS).entries()) if (state) reply.header(name, String(state[at]));
}
