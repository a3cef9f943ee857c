import type { Transaction } from "kysely";
import type { QuotaStore } from "./port.ts";
import type { Schema } from "./schema.ts";
import type { Transactions } from "./transactions.ts";

const WINDOW_MS = 60_000;
/** Clocks of machines that share a database differ by this at most; what is further ahead is a clock that stepped back. */
const SKEW_MS = 5_000;

/**
 * Requests of each key, counted where every process sees them. Each that went through is a row
 * with the next number of its key, so the one that decides is found by its number, not by
 * counting; and the primary key, not a lock, keeps two processes from taking the same place.
 * @param now milliseconds since the epoch.
 */
export function quotaStore(transactions: Transactions, now: () => number): QuotaStore {
  return {
    take(keyId, limit) {
      // A power cut may forget the last requests: for that, no request has to wait for the disk.
      return transactions.runUnflushed((trx) => take(trx, keyId, limit, now));
    },

    async forget() {
      const cutoff = now() - WINDOW_MS;
      await transactions.runUnflushed((trx) =>
        trx
          .deleteFrom("quota")
          .where("at", "<=", cutoff)
          // The newest of each key stays: numbers must go on from it.
          .where(({ exists, selectFrom }) =>
            exists(
              selectFrom("quota as newer")
                .select("newer.n")
                .whereRef("newer.key_id", "=", "quota.key_id")
                .whereRef("newer.n", ">", "quota.n"),
            ),
          )
          .execute(),
      );
    },
  };
}

async function take(trx: Transaction<Schema>, keyId: string, limit: number, now: () => number): Promise<number> {
  for (;;) {
    const nowMs = now();
    const newest = await trx
      .selectFrom("quota")
      .select(["n", "at"])
      .where("key_id", "=", keyId)
      .orderBy("n", "desc")
      .limit(1)
      .executeTakeFirst();
    if (newest && newest.at > nowMs + SKEW_MS) {
      await stepBack(trx, keyId, newest, nowMs);
      continue;
    }
    const n = (newest?.n ?? 0) + 1;
    const waitMs = limit > 0 ? await waitForPlace(trx, keyId, n - limit, nowMs) : WINDOW_MS;
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto("quota")
      .values({ key_id: keyId, n, at: Math.max(nowMs, newest?.at ?? 0) })
      .onConflict((conflict) => conflict.columns(["key_id", "n"]).doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows) return 0;
    // Another process took this number since we looked; it has committed, so the next look sees it.
  }
}

/** @returns milliseconds until the request that has to leave the minute has left it; 0 or less when it has. */
async function waitForPlace(trx: Transaction<Schema>, keyId: string, n: number, nowMs: number): Promise<number> {
  const row = await trx
    .selectFrom("quota")
    .select("at")
    .where("key_id", "=", keyId)
    .where("n", "=", n)
    .executeTakeFirst();
  return row ? row.at + WINDOW_MS - nowMs : 0;
}

/**
 * The clock stepped back: the key's requests move back with it, the newest to now, the others as
 * far before it as they were. So none counts for longer than a minute, and none for less.
 */
async function stepBack(
  trx: Transaction<Schema>,
  keyId: string,
  newest: { readonly n: number; readonly at: number },
  nowMs: number,
): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable("quota")
    .set({ at: nowMs })
    .where("key_id", "=", keyId)
    .where("n", "=", newest.n)
    .where("at", "=", newest.at)
    .executeTakeFirst();
  // Otherwise another process has just done it.
  if (numUpdatedRows === 0n) return;
  await trx
    .updateTable("quota")
    .set((eb) => ({ at: eb("at", "-", newest.at - nowMs) }))
    .where("key_id", "=", keyId)
    .where("n", "<", newest.n)
    .execute();
}
