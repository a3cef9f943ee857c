import type { SandboxCapacity } from "../domain/sandboxes/host.ts";
import type { Database } from "./database/database.ts";
import type { Notifier } from "./database/notifier.ts";
import type { Transactions } from "./database/transactions.ts";
import { nextLeaseUntil } from "./submissions/lease.ts";

/** A process is removed when its last announcement has been over for this time, as in the table of workers. */
const FORGOTTEN_AFTER_MS = 3_600_000;

/** What a process announces about its end of links. */
export interface AnnouncedLink {
  readonly id: string;
  /** SHA-256 of its certificate, hexadecimal. Only the key of this certificate proves that a connection leads to this process. */
  readonly fingerprint: string;
  /** Where it can be dialled, as HOST:PORT; null: nowhere. */
  readonly address: string | null;
  /** Whether it may ask processes that have sandboxes. */
  readonly isService: boolean;
  /** What it can have; null: it has no sandboxes. */
  readonly capacity: SandboxCapacity | null;
  /** The machine whose snapshots its sandboxes can begin with: the id of its SnapshotStore; null: it has no sandboxes. */
  readonly snapshotStore: string | null;
}

/** A process as others see it. */
export interface SeenLink extends AnnouncedLink {
  /** When its last announcement is over, by its own clock. The value changes with each announcement. */
  readonly untilMs: number;
}

export type LinkStore = ReturnType<typeof linkStore>;

/** The announcements of processes that have links. @param now milliseconds since the epoch. */
export function linkStore({ db }: Database, transactions: Transactions, notifier: Notifier, now: () => number) {
  const changed = { notifications: () => [{ kind: "links" } as const] };
  return {
    /** Announces a process for `leaseMs`. The process repeats this before the time is over. */
    async announce(announced: AnnouncedLink, leaseMs: number): Promise<void> {
      const { id, fingerprint, address, isService, capacity, snapshotStore } = announced;
      const untilMs = now() + leaseMs;
      const state = {
        fingerprint,
        address,
        is_service: isService ? 1 : 0,
        sandboxes: capacity?.sandboxes ?? 0,
        memory_bytes: capacity?.memoryBytes ?? 0,
        cpus: capacity?.cpus ?? 0,
        disk_bytes: capacity?.diskBytes ?? 0,
        network: capacity?.network ? 1 : 0,
        snapshot_store: snapshotStore,
      };
      await transactions.run(async (trx) => {
        // A killed process cannot remove itself.
        await trx
          .deleteFrom("links")
          .where("lease_until", "<", now() - FORGOTTEN_AFTER_MS)
          .where("id", "!=", id)
          .execute();
        await trx
          .insertInto("links")
          .values({ id, announced_at: now(), lease_until: untilMs, ...state })
          .onConflict((conflict) =>
            conflict.column("id").doUpdateSet({ lease_until: nextLeaseUntil("links", untilMs), ...state }),
          )
          .execute();
      }, changed);
    },

    /** Withdraws the announcement of a process, which others then do not accept any more. */
    async leave(id: string): Promise<void> {
      await transactions.run((trx) => trx.deleteFrom("links").where("id", "=", id).execute(), changed);
    },

    /** All processes that have not been removed, even if they may be dead, in the order of their first announcements. */
    async announced(): Promise<SeenLink[]> {
      const rows = await db.selectFrom("links").selectAll().orderBy("announced_at").orderBy("id").execute();
      return rows.map((row) => ({
        id: row.id,
        fingerprint: row.fingerprint,
        address: row.address,
        isService: row.is_service === 1,
        capacity:
          row.sandboxes > 0
            ? {
                sandboxes: row.sandboxes,
                memoryBytes: row.memory_bytes,
                cpus: row.cpus,
                diskBytes: row.disk_bytes,
                network: row.network === 1,
              }
            : null,
        snapshotStore: row.snapshot_store,
        untilMs: row.lease_until,
      }));
    },

    /** Calls the listener when announcements may have changed. @returns a function that ends the subscription. */
    onChange: (listener: () => void): (() => void) => notifier.on("links", listener),
  };
}
