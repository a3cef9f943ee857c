import { sql, type Transaction } from "kysely";
import type { Schema } from "../schema/schema.ts";

/**
 * Runs pieces of work in one transaction, each in its own savepoint, so that a failure does not affect the others.
 * @returns the result of each, in order.
 * @throws if a failure has ended the whole transaction (a full disk).
 */
export async function runPieces<T>(
  trx: Transaction<Schema>,
  pieces: readonly ((trx: Transaction<Schema>) => Promise<T>)[],
): Promise<PromiseSettledResult<T>[]> {
  const ended: PromiseSettledResult<T>[] = [];
  for (const piece of pieces) {
    await sql`savepoint piece`.execute(trx);
    try {
      ended.push({ status: "fulfilled", value: await piece(trx) });
    } catch (reason) {
      await sql`rollback to piece`.execute(trx).catch(() => {
        throw reason;
      });
      ended.push({ status: "rejected", reason });
    }
    await sql`release piece`.execute(trx);
  }
  return ended;
}
