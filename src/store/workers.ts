import { sql } from "kysely";
import type { Readiness } from "../domain/readiness.ts";
import type { Database } from "./database/database.ts";
import type { Notifier } from "./database/notifier.ts";
import type { Transactions } from "./database/transactions.ts";

import { nextLeaseUntil } from "./submissions/lease.ts";

/**
 * A worker is removed when its last announcement has been over for this time. Because of a wrong clock, a worker may be removed too early; it
 * returns with its next announcement.
 */
const FORGOTTEN_AFTER_MS = 3_600_000;

/** What a worker announces to services in other processes. */
export interface AnnouncedWorker {
  readonly id: string;
  /** How many submissions it can run at the same time now. */
  readonly slots: number;
  /** The canonical names of the languages that it has proven. */
  readonly languages: readonly string[];
  /** The result of its newest proof. */
  readonly readiness: Readiness;
  /** When it made this proof. */
  readonly provenAtMs: number;
}

/** A worker as services see it. */
export interface SeenWorker extends AnnouncedWorker {
  /** When its last announcement is over, by the clock of the worker. The value changes with each announcement. */
  readonly untilMs: number;
}

export type WorkerStore = ReturnType<typeof workerStore>;

/** The announcements of workers to services. @param now milliseconds since the epoch. */
export function workerStore({ db }: Database, transactions: Transactions, notifier: Notifier, now: () => number) {
  const changed = { notifications: () => [{ kind: "workers" } as const] };
  return {
    /** Announces the state of a worker for `leaseMs`. The worker repeats this before the time is over. */
    async announce({ id, slots, languages, readiness, provenAtMs }: AnnouncedWorker, leaseMs: number): Promise<void> {
      const state = {
        slots,
        languages: JSON.stringify(languages),
        readiness: JSON.stringify(readiness),
        proven_at: provenAtMs,
      };
      const untilMs = now() + leaseMs;
      await transactions.run(async (trx) => {
        // Each announcement removes workers that have long been silent, because a killed worker cannot remove itself.
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

    /** Withdraws the announcement of a worker. */
    async leave(id: string): Promise<void> {
      await transactions.run((trx) => trx.deleteFrom("workers").where("id", "=", id).execute(), changed);
    },

    /** All workers that have not been removed, even if they may be dead, in the order of their first announcements. */
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

    /** The number of running submissions of each worker, by its id. @param accountIds only submissions of these accounts; null for all. */
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

    /** Calls the listener when a proof may have been requested. @returns a function that ends the subscription. */
    onAsked: (listener: () => void): (() => void) => notifier.on("prove", listener),

    /** Calls the listener when announcements may have changed. @returns a function that ends the subscription. */
    onChange: (listener: () => void): (() => void) => notifier.on("workers", listener),
  };
}
