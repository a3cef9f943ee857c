import type { AuditActor } from "../../domain/audit.ts";
import {
  SANDBOX_ALLOWANCE_NAMES,
  SANDBOX_ALLOWANCES,
  type SandboxAllowance,
} from "../../domain/sandboxes/allowance.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Tier } from "./types.ts";

export type TierStore = ReturnType<typeof tierStore>;

/** @param now milliseconds since the epoch. */
export function tierStore({ db }: Database, transactions: Transactions, now: () => number) {
  return {
    async list(): Promise<(Tier & SandboxAllowance)[]> {
      const rows = await db.selectFrom("tiers").selectAll().orderBy("name").execute();
      return rows.map((row) => ({
        name: row.name,
        requestsPerMinute: row.requests_per_minute,
        concurrency: row.concurrency,
        ...(Object.fromEntries(
          SANDBOX_ALLOWANCE_NAMES.map((of) => [of, row[SANDBOX_ALLOWANCES[of].column]]),
        ) as SandboxAllowance),
      }));
    },

    /**
     * Creates a tier, or changes its limits, which then apply at once to the accounts of the tier. What is absent of the limits of
     * sandboxes stays; a new tier has 10 sandboxes with 4 GiB of memory and 16 GiB of disks, 16 executions, and 20 snapshots with 4 GiB.
     */
    async set(
      { name, requestsPerMinute, concurrency, ...allowance }: Tier & Partial<SandboxAllowance>,
      actor: AuditActor,
    ): Promise<void> {
      const limits = {
        requests_per_minute: requestsPerMinute,
        concurrency,
        ...Object.fromEntries(
          SANDBOX_ALLOWANCE_NAMES.flatMap((of) =>
            allowance[of] === undefined ? [] : [[SANDBOX_ALLOWANCES[of].column, allowance[of]]],
          ),
        ),
      };
      await transactions.run(async (trx) => {
        await trx
          .insertInto("tiers")
          .values({ name, ...limits })
          .onConflict((conflict) => conflict.column("name").doUpdateSet(limits))
          .execute();
        const detail = { requestsPerMinute, concurrency, ...allowance };
        await addAuditEntry(trx, { atMs: now(), actor, action: "tier.set", subject: name, accountId: null, detail });
      });
    },
  };
}
