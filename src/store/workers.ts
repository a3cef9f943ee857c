import { sql } from "kysely";
import type { Readiness } from "../domain/readiness.ts";
import type { Engine } from "./engine/engine.ts";
import type { Notifier } from "./engine/notifier.ts";
import type { Transactions } from "./engine/transactions.ts";
import type { WorkerStore } from "./port.ts";
import { nextLeaseUntil } from "./submissions/lease.ts";

/** By the clock of another machine, which may be wrong: a worker that is removed too early returns with its next announcement. */
const FORGOTTEN_AFTER_MS = 3_600_000;

/** The announcements of workers to services. @param now milliseconds since the epoch. */
export function workerStore(
  { db }: Engine,
  transactions: Transactions,
  wakeups: Notifier,
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
      };
      const untilMs = now() + leaseMs;
      await transactions.run(async (trx) => {
        // Each announcement removes long silent workers, because a killed worker cannot remove itself.
        await trx
          .deleteFrom("workers")
          .where("lease_until", "<", now() - FORGOTTEN_AFTER_MS)
          .where("id", "!=", id)
          .execute();
        await trx
          .insertInto("workers")
          .values({ id, announced_at: now(), lease_until: untilMs, ...said })
          .onConflict((conflict) =>
            conflict.column("id").doUpdateSet({ lease_until: nextLeaseUntil("workers", untilMs), ...said }),
          )
          .execute();
      }, changed);
    },

    async leave(id) {
      await transactions.run((trx) => trx.deleteFrom("workers").where("id", "=", id).execute(), changed);
    },

    async announced() {
      const rows = await db.selectFrom("workers").selectAll().orderBy("announced_at").orderBy("id").execute();
      return rows.map((row) => ({
        id: row.id,
        slots: row.slots,
        languages: JSON.parse(row.languages) as string[],
        readiness: JSON.parse(row.readiness) as Readiness,
        provenAtMs: row.proven_at,
        untilMs: row.lease_until,
      }));
    },

    async running(accountIds) {
      if (accountIds?.length === 0) return new Map();
      // A literal, because the planner cannot use a partial index with a parameter.
      let query = db.selectFrom("submissions").where("status", "=", sql.lit("running"));
      if (accountIds) query = query.where("account_id", "in", accountIds);
      const rows = await query
        .select((eb) => ["worker_id", eb.fn.countAll<number>().as("amount")])
        .groupBy("worker_id")
        .execute();
      return new Map(rows.map(({ worker_id, amount }) => [worker_id ?? "", Number(amount)]));
    },

    async askForProof() {
      await transactions.run(async () => {}, { words: () => [{ kind: "prove" }] });
    },

    onAsked: (listener) => wakeups.on("prove", listener),
    onChange: (listener) => wakeups.on("workers", listener),
  };
}
