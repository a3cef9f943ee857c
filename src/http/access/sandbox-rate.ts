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

/** How many requests a second an account may send to its sandboxes on average, and how many at once after a pause. */
export const SANDBOX_RATES = {
  all: { perSecond: 100, burst: 300 },
  /** Those that write to the database, or start a program. */
  costly: { perSecond: 20, burst: 100 },
} as const;
type Kind = keyof typeof SANDBOX_RATES;
/** How many requests a second all accounts together may send. Accounts that send requests in the same second share them equally. */
const TOGETHER_PER_SECOND = 400;
/** The most accounts whose requests are counted. One that has sent nothing for some seconds needs no count. */
const MAX_ACCOUNTS = 10_000;

interface Left extends Record<Kind, number> {
  atMs: number;
}

/**
 * Limits the requests of an account to its sandboxes, all of which this process has. An agent sends a request for each command and each
 * file, so the limit is above that of a key, and is counted in memory instead of the database.
 */
export class SandboxRate {
  readonly #left = new Map<string, Left>();
  readonly #now: () => number;
  /** The accounts that have sent requests in this second, and how many did in the one before. */
  #second = { at: 0, accounts: new Set<string>(), before: 0 };

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a request. @throws ClientError quotaExceeded. */
  count({ accountId }: Pick<Caller, "accountId">, isCostly: boolean): void {
    const nowMs = this.#now();
    const share = Math.min(1, TOGETHER_PER_SECOND / SANDBOX_RATES.all.perSecond / this.#active(accountId, nowMs));
    const { all, costly } = SANDBOX_RATES;
    const known = this.#left.get(accountId) ?? { all: all.burst, costly: costly.burst, atMs: nowMs };
    const refilled = (kind: Kind) => {
      const { perSecond, burst } = SANDBOX_RATES[kind];
      return Math.min(burst, known[kind] + ((nowMs - known.atMs) * perSecond * share) / 1_000);
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

  /** How many accounts send requests now. */
  #active(accountId: string, nowMs: number): number {
    const at = Math.floor(nowMs / 1_000);
    const { at: last, accounts } = this.#second;
    if (at !== last)
      this.#second = { at, accounts: new Set(), before: at === last + 1 ? Math.min(accounts.size, MAX_ACCOUNTS) : 0 };
    this.#second.accounts.add(accountId);
    return Math.max(this.#second.accounts.size, this.#second.before);
  }
}
