import { sql } from "kysely";
import type { Readiness } from "../domain/readiness.ts";
import type { Database } from "./database/database.ts";
import type { Notifier } from "./database/notifier.ts";
import type { Transactions } from "./database/transactions.ts";

import { nextLeaseUntil } from "./submissions/lease.ts";

/** The age of a worker that is removed. The clock of its machine may be wrong: a worker that is removed too early returns with its next announcement. */
const FORGOTTEN_AFTER_MS = 3_600_000;

/** The announcement of a worker to services in other processes. */
export interface AnnouncedWorker {
  readonly id: string;
  /** Submissions that it can run at the same time now. */
  readonly slots: number;
  /** Canonical names of the languages that it has proven. */
  readonly languages: readonly string[];
  /** Its newest proof, with the time of the proof. */
  readonly readiness: Readiness;
  readonly provenAtMs: number;
}

export interface SeenWorker extends AnnouncedWorker {
  /** End of the last announcement by the worker's clock; changes with each announcement. */
  readonly untilMs: number;
}

export type WorkerStore = ReturnType<typeof workerStore>;

/** The announcements of workers to services. @param now milliseconds since the epoch. */
export function workerStore({ db }: Database, transactions: Transactions, wakeups: Notifier, now: () => number) {
  const changed = { notifications: () => [{ kind: "workers" } as const] };
  return {
    /** Announces the state of the worker; to be repeated within `leaseMs`. */
    async announce({ id, slots, languages, readiness, provenAtMs }: AnnouncedWorker, leaseMs: number): Promise<void> {
      const state = {
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
          .values({ id, announced_at: now(), lease_until: untilMs, ...state })
          .onConflict((conflict) =>
            conflict.column("id").doUpdateSet({ lease_until: nextLeaseUntil("workers", untilMs), ...state }),
          )
          .execute();
      }, changed);
    },

    /** Withdraws the announcement. */
    async leave(id: string): Promise<void> {
      await transactions.run((trx) => trx.deleteFrom("workers").where("id", "=", id).execute(), changed);
    },

    /** All known workers, including dead ones, oldest first. */
    async announced(): Promise<SeenWorker[]> {
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

    /** Number of running submissions by worker id. @param accountIds only these accounts; null for all. */
    async running(accountIds: readonly string[] | null): Promise<ReadonlyMap<string, number>> {
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

    /** Requests a new proof from every worker in any process. */
    async askForProof(): Promise<void> {
      await transactions.run(async () => {}, { notifications: () => [{ kind: "prove" }] });
    },

    /** Calls back when a proof is requested, like `onWork`. @returns a function that ends the subscription. */
    onAsked: (listener: () => void): (() => void) => wakeups.on("prove", listener),

    /** Calls back when an announcement has changed, like `onWork`. @returns a function that ends the subscription. */
    onChange: (listener: () => void): (() => void) => wakeups.on("workers", listener),
  };
}
