import { clientError } from "../../domain/error.ts";
import type { Caller } from "../../domain/submission.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether the request concerns one sandbox, so that it counts against the limit of SandboxRate and not against that of the key. */
    ofSandbox?: boolean;
  }
}

/** How many requests a second an account may send to its sandboxes on average, and how many at once after a pause. */
const [PER_SECOND, BURST] = [1_000, 2_000];
/** The most accounts whose requests are counted. One that has sent nothing for BURST / PER_SECOND needs no count. */
const MAX_ACCOUNTS = 10_000;

/**
 * Limits the requests of an account to its sandboxes, all of which this process has. An agent sends a request for each command and each
 * file, so the limit is far above that of a key, and is counted in memory instead of the database.
 */
export class SandboxRate {
  readonly #left = new Map<string, { readonly requests: number; readonly atMs: number }>();
  readonly #now: () => number;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a request. @throws ClientError quotaExceeded. */
  count({ accountId }: Caller): void {
    const nowMs = this.#now();
    const { requests, atMs } = this.#left.get(accountId) ?? { requests: BURST, atMs: nowMs };
    const left = Math.min(BURST, requests + ((nowMs - atMs) * PER_SECOND) / 1_000);
    if (left < 1) throw clientError("quotaExceeded", [], { headers: { "retry-after": "1" } });
    this.#left.delete(accountId);
    this.#left.set(accountId, { requests: left - 1, atMs: nowMs });
    const [oldest] = this.#left.keys();
    if (oldest !== undefined && this.#left.size > MAX_ACCOUNTS) this.#left.delete(oldest);
  }
}
