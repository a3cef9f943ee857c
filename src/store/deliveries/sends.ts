import { sql, type Transaction } from "kysely";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { SKEW_MS, WINDOW_MS } from "../quota/recent-requests.ts";
import type { SendKind } from "./types.ts";

/** What is counted: the requests of members, by kind, and the deliveries that replays add (`replayed`). */
type CountedKind = SendKind | "replayed";

export type SendStore = ReturnType<typeof sendStore>;

/**
 * Counts the requests of members that make the service send to endpoints, for all processes together. Transactions that count
 * are serialised, so limits are exact.
 * @param now milliseconds since the epoch.
 */
export function sendStore({ abilities }: Database, transactions: Transactions, now: () => number) {
  return {
    /**
     * Counts a request, unless the account has made `limit` requests of this kind in the last minute.
     * @returns 0 if the request was counted, otherwise the seconds until the next one is allowed.
     */
    take(accountId: string, kind: SendKind, limit: number): Promise<number> {
      // A power failure may lose the counts of the last requests; in return, requests do not wait for the disk.
      return transactions.runUnflushed(async (trx) => {
        await abilities.lock(trx, "sends");
        const atMs = now();
        const { amount, oldestMs } = await sentBy(trx, accountId, kind, atMs);
        if (amount >= limit) return Math.max(1, Math.ceil((oldestMs + WINDOW_MS - atMs) / 1000));
        await countSent(trx, { accountId, kind, atMs, amount: 1 });
        return 0;
      });
    },

    /** Removes rows that no longer count. To be called periodically. */
    async forget(): Promise<void> {
      const atMs = now();
      await transactions.runUnflushed((trx) =>
        trx
          .deleteFrom("sends")
          .where((eb) => eb.or([eb("at", "<=", atMs - WINDOW_MS), eb("at", ">", atMs + SKEW_MS)]))
          .execute(),
      );
    },
  };
}

/** What was counted for an account in the last minute, and the time of the oldest row; `atMs` if there is none. */
export async function sentBy(
  trx: Transaction<Schema>,
  accountId: string,
  kind: CountedKind,
  atMs: number,
): Promise<{ readonly amount: number; readonly oldestMs: number }> {
  const { amount, oldest } = await trx
    .selectFrom("sends")
    .select((eb) => [eb.fn.sum<number | string | null>("amount").as("amount"), eb.fn.min("at").as("oldest")])
    .where("account_id", "=", accountId)
    .where("kind", "=", kind)
    .where("at", ">", atMs - WINDOW_MS)
    .where("at", "<=", atMs + SKEW_MS)
    .executeTakeFirstOrThrow();
  return { amount: Number(amount ?? 0), oldestMs: oldest ?? atMs };
}

export async function countSent(
  trx: Transaction<Schema>,
  sent: { readonly accountId: string; readonly kind: CountedKind; readonly atMs: number; readonly amount: number },
): Promise<void> {
  const { accountId: account_id, kind, atMs: at, amount } = sent;
  await trx.insertInto("sends").values({ at, account_id, kind, amount }).execute();
}

/** @returns the number of pending replays of the account, including those with an attempt under way. */
export async function pendingReplays(trx: Transaction<Schema>, accountId: string): Promise<number> {
  const { amount } = await trx
    .selectFrom("deliveries")
    .select((eb) => eb.fn.countAll<number | string>().as("amount"))
    // A literal, because the planner cannot use a partial index with a parameter.
    .where("state", "=", sql.lit("pending"))
    .where("kind", "=", sql.lit("replay"))
    .where("endpoint_id", "in", (eb) =>
      eb
        .selectFrom("endpoints")
        .innerJoin("projects", "projects.id", "endpoints.project_id")
        .select("endpoints.id")
        .where("projects.account_id", "=", accountId),
    )
    .executeTakeFirstOrThrow();
  return Number(amount);
}
