import type { FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";
import type { QuotaStore } from "../store/sharing/quota.ts";
import { callerOf } from "./caller.ts";

/** Counts a request as this many more against the rate limit of its key. @throws ClientError quotaExceeded. */
export async function countMore(request: FastifyRequest, more: number, quota: Pick<QuotaStore, "take">): Promise<void> {
  const { keyId, requestsPerMinute } = callerOf(request);
  const waits = await Promise.all(Array.from({ length: more }, () => quota.take(keyId, requestsPerMinute)));
  const retryAfter = Math.max(0, ...waits);
  if (retryAfter > 0) throw clientError("quotaExceeded", [], { headers: { "retry-after": String(retryAfter) } });
}
