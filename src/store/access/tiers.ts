import type { AuditActor } from "../../domain/audit.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Tier } from "./types.ts";

export type TierStore = ReturnType<typeof tierStore>;

/** @param now milliseconds since the epoch. */
export function tierStore({ db }: Database, transactions: Transactions, now: () => number) {
  return {
    async list(): Promise<Tier[]> {
      const rows = await db.selectFrom("tiers").selectAll().orderBy("name").execute();
      return rows.map((row) => ({
        name: row.name,
        requestsPerMinute: row.requests_per_minute,
        concurrency: row.concurrency,
      }));
    },

    /** Creates a tier, or changes its limits, which then apply at once to the accounts of the tier. */
    async set({ name, requestsPerMinute, concurrency }: Tier, actor: AuditActor): Promise<void> {
      const limits = { requests_per_minute: requestsPerMinute, concurrency };
      await transactions.run(async (trx) => {
        await trx
          .insertInto("tiers")
          .values({ name, ...limits })
          .onConflict((conflict) => conflict.column("name").doUpdateSet(limits))
          .execute();
        const detail = { requestsPerMinute, concurrency };
        await addAuditEntry(trx, { atMs: now(), actor, action: "tier.set", subject: name, accountId: null, detail });
      });
    },
  };
}
