import type { AuditActor } from "../../domain/audit.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { Transactions } from "../database/transactions.ts";
import type { SandboxAllowance, Tier } from "./types.ts";

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
        sandboxes: row.sandboxes,
        sandboxMemoryBytes: row.sandbox_memory_bytes,
        executions: row.executions,
        snapshots: row.snapshots,
        snapshotBytes: row.snapshot_bytes,
      }));
    },

    /**
     * Creates a tier, or changes its limits, which then apply at once to the accounts of the tier. What is absent of the limits of
     * sandboxes stays; a new tier has 10 sandboxes, 4 GiB, 16 executions, and 20 snapshots with 4 GiB.
     */
    async set(
      { name, requestsPerMinute, concurrency, ...allowance }: Tier & Partial<SandboxAllowance>,
      actor: AuditActor,
    ): Promise<void> {
      const { sandboxes, sandboxMemoryBytes, executions, snapshots, snapshotBytes } = allowance;
      const limits = {
        requests_per_minute: requestsPerMinute,
        concurrency,
        ...(sandboxes !== undefined && { sandboxes }),
        ...(sandboxMemoryBytes !== undefined && { sandbox_memory_bytes: sandboxMemoryBytes }),
        ...(executions !== undefined && { executions }),
        ...(snapshots !== undefined && { snapshots }),
        ...(snapshotBytes !== undefined && { snapshot_bytes: snapshotBytes }),
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
