import type { Transaction } from "kysely";
import type { StoreNotification } from "../database/notifier.ts";
import type { Schema } from "../database/schema.ts";
import { insertDeliveries } from "../deliveries/outbox.ts";
import { endForeign } from "../foreign/rows.ts";
import { advanceJudgements, type Locked } from "../judgements/advance.ts";
import { type Ending, insertOutcomes, insertUncounted } from "./outcomes.ts";

/**
 * Stores what follows when submissions end, for whatever reason: outcomes, history, deliveries, and the next steps of their judgements.
 * The transaction that sets their final status calls it.
 * @param judgements the judgements of those submissions that are runs, locked before the status was set.
 * @returns the notifications to send.
 */
export async function end(
  trx: Transaction<Schema>,
  ended: readonly Ending[],
  judgements: readonly Locked[],
  nowMs: number,
): Promise<StoreNotification[]> {
  if (ended.length === 0) return [];
  await insertOutcomes(trx, ended);
  await insertUncounted(trx, ended, nowMs);
  let delivers = false;
  const single = ended.filter(({ row }) => row.judgement_seq === null);
  for (const { row } of single)
    delivers = (await insertDeliveries(trx, { ...row, submission_seq: row.seq }, nowMs)) || delivers;
  delivers = (await endForeign(trx, single, nowMs)) || delivers;
  const runs = await advanceJudgements(trx, ended, judgements, nowMs);
  return [
    ...ended.map(({ row }): StoreNotification => ({ kind: "ended", id: row.id })),
    { kind: "ends" },
    ...(delivers ? [{ kind: "deliveries" } as const] : []),
    ...runs,
  ];
}
