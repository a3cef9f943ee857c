import { clientError } from "../../domain/error.ts";
import type { Caller } from "../../domain/submission.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * Whether the request concerns one sandbox, so that it counts against the limits of SandboxRate and not against that of the key.
     * `costly`: although it only reads, it counts as one that writes, because it is as much work.
     */
    ofSandbox?: boolean | "costly";
  }
}

/**
 * How many requests a second an account may send to its sandboxes on average, for each execution that its tier permits at the same time. An
 * agent that waits for the end of each command sends no more than that: a short command takes some milliseconds.
 */
export const SANDBOX_RATES = {
  all: 64,
  /** Those that write to the database, or start a program. */
  costly: 48,
} as const;
type Kind = keyof typeof SANDBOX_RATES;
/** How many seconds of its requests an account may send at once after a pause. */
export const BURST_SECS = 2;
/** How many requests a second all accounts together may send. It is about what one process of the service can serve. */
export const TOGETHER_PER_SECOND = 1_000;
/** The most accounts whose requests are counted. One that has sent nothing for some seconds needs no count. */
const MAX_ACCOUNTS = 10_000;

interface Left extends Record<Kind, number> {
  atMs: number;
}

/**
 * Limits the requests of an account to its sandboxes, all of which this process has. An agent sends a request for each command and each
 * file, so the limit is above that of a key, and is counted in memory instead of the database. When all accounts together ask for more than
 * the service can serve, those that ask for little get what they ask for, and the others share the rest equally.
 */
export class SandboxRate {
  readonly #left = new Map<string, Left>();
  readonly #now: () => number;
  /** How many requests each account has sent in this second, also refused ones. */
  #asked = new Map<string, number>();
  #second = 0;
  /** How many requests a second an account may send at most, because all together asked for too much in the last second. */
  #level = Number.POSITIVE_INFINITY;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a request. @throws ClientError quotaExceeded. */
  count({ accountId, executions }: Pick<Caller, "accountId" | "executions">, isCostly: boolean): void {
    const nowMs = this.#now();
    this.#ask(accountId, nowMs);
    const rate = (kind: Kind) => SANDBOX_RATES[kind] * executions;
    const known = this.#left.get(accountId);
    const refilled = (kind: Kind) => {
      const most = BURST_SECS * rate(kind);
      if (!known) return most;
      const perSecond = Math.min(rate(kind), (this.#level * SANDBOX_RATES[kind]) / SANDBOX_RATES.all);
      return Math.min(most, known[kind] + ((nowMs - known.atMs) * perSecond) / 1_000);
    };
    const left: Left = { all: refilled("all"), costly: refilled("costly"), atMs: nowMs };
    const isRefused = left.all < 1 || (isCostly && left.costly < 1);
    if (!isRefused) {
      left.all--;
      if (isCostly) left.costly--;
    }
    this.#left.delete(accountId);
    this.#left.set(accountId, left);
    const [oldest] = this.#left.keys();
    if (oldest !== undefined && this.#left.size > MAX_ACCOUNTS) this.#left.delete(oldest);
    if (isRefused) throw clientError("quotaExceeded", [], { headers: { "retry-after": "1" } });
  }

  #ask(accountId: string, nowMs: number): void {
    const second = Math.floor(nowMs / 1_000);
    if (second !== this.#second) {
      const isNext = second === this.#second + 1;
      this.#level = isNext ? levelOf([...this.#asked.values()], TOGETHER_PER_SECOND) : Number.POSITIVE_INFINITY;
      this.#asked = new Map();
      this.#second = second;
    }
    const asked = this.#asked.get(accountId) ?? 0;
    if (asked > 0 || this.#asked.size < MAX_ACCOUNTS) this.#asked.set(accountId, asked + 1);
  }
}

/** The most that each may have, so that all together have `total`; infinite if they ask for no more than that. */
export function levelOf(asked: readonly number[], total: number): number {
  let left = total;
  for (const [at, one] of asked.toSorted((a, b) => a - b).entries()) {
    const share = left / (asked.length - at);
    if (one > share) return share;
    left -= one;
  }
  return Number.POSITIVE_INFINITY;
}
