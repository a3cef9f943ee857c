import type { Engine } from "../engine/engine.ts";
import type { Transactions } from "../engine/transactions.ts";
import { note } from "./audit.ts";
import type { TierStore } from "./port.ts";

/** @param now milliseconds since the epoch. */
export function tierStore({ db }: Engine, transactions: Transactions, now: () => number): TierStore {
  return {
    async list() {
      const rows = await db.selectFrom("tiers").selectAll().orderBy("name").execute();
      return rows.map((row) => ({
        name: row.name,
        requestsPerMinute: row.requests_per_minute,
        concurrency: row.concurrency,
      }));
    },

    async set({ name, requestsPerMinute, concurrency }, actor) {
      const limits = { requests_per_minute: requestsPerMinute, concurrency };
      await transactions.run(async (trx) => {
        await trx
          .insertInto("tiers")
          .values({ name, ...limits })
          .onConflict((conflict) => conflict.column("name").doUpdateSet(limits))
          .execute();
        const detail = { requestsPerMinute, concurrency };
        await note(trx, { atMs: now(), actor, action: "tier.set", subject: name, accountId: null, detail });
      });
    },
  };
}
