import type { Transaction } from "kysely";
import type { Schema } from "../database/schema.ts";

/** Adds ended deliveries to those that the history has yet to count. The transaction that ends the deliveries calls it. */
export async function insertUncountedDeliveries(
  trx: Transaction<Schema>,
  ended: readonly { readonly seq: number; readonly endpoint_id: string }[],
  state: "delivered" | "failed",
  nowMs: number,
): Promise<void> {
  if (ended.length === 0) return;
  const rows = ended.map(({ seq, endpoint_id }) => ({ delivery_seq: seq, endpoint_id, state, ended_at: nowMs }));
  await trx.insertInto("uncounted_deliveries").values(rows).execute();
}
