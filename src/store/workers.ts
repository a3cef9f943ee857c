import type { Readiness } from "../domain/readiness.ts";
import type { Engine } from "./engine.ts";
import type { WorkerStore } from "./port.ts";
import type { Transactions } from "./transactions.ts";
import type { Wakeups } from "./wakeups.ts";

/** Who runs submissions, as services without a worker of their own see it. @param now milliseconds since the epoch. */
export function workerStore(
  { db }: Engine,
  transactions: Transactions,
  wakeups: Wakeups,
  now: () => number,
): WorkerStore {
  const changed = { words: () => [{ kind: "workers" } as const] };
  return {
    async announce({ id, slots, languages, readiness, provenAtMs }, leaseMs) {
      const said = {
        slots,
        languages: JSON.stringify(languages),
        readiness: JSON.stringify(readiness),
        proven_at: provenAtMs,
        lease_until: now() + leaseMs,
      };
      await transactions.run(async (trx) => {
        // Whoever speaks clears away those who have long been silent: a killed worker cannot.
        await trx
          .deleteFrom("workers")
          .where("lease_until", "<", now() - leaseMs)
          .where("id", "!=", id)
          .execute();
        await trx
          .insertInto("workers")
          .values({ id, announced_at: now(), ...said })
          .onConflict((conflict) => conflict.column("id").doUpdateSet(said))
          .execute();
      }, changed);
    },

    async leave(id) {
      await transactions.run((trx) => trx.deleteFrom("workers").where("id", "=", id).execute(), changed);
    },

    async live() {
      const rows = await db
        .selectFrom("workers")
        .selectAll()
        .where("lease_until", ">", now())
        .orderBy("announced_at")
        .orderBy("id")
        .execute();
      return rows.map((row) => ({
        id: row.id,
        slots: row.slots,
        languages: JSON.parse(row.languages) as string[],
        readiness: JSON.parse(row.readiness) as Readiness,
        provenAtMs: row.proven_at,
      }));
    },

    async askForProof() {
      await transactions.run(async () => {}, { words: () => [{ kind: "prove" }] });
    },

    onAsked: (listener) => wakeups.on("prove", listener),
    onChange: (listener) => wakeups.on("workers", listener),
  };
}
