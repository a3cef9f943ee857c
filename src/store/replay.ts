import { sql, type Transaction } from "kysely";
import { note } from "./audit.ts";
import { TAKEN, toClaims } from "./claim-deliveries.ts";
import { aboutEndpoint } from "./endpoints.ts";
import type { Abilities } from "./engine.ts";
import { insertDelivery } from "./outbox.ts";
import type { DeliveryClaim, DeliveryStore } from "./port.ts";
import type { Schema } from "./schema.ts";

/** Who asks for a delivery, and when. */
interface Asking {
  readonly actor: string;
  readonly atMs: number;
}

export async function replay(trx: Transaction<Schema>, id: string, asking: Asking): Promise<string | undefined> {
  const row = await trx
    .selectFrom("deliveries")
    .innerJoin("endpoints", "endpoints.id", "deliveries.endpoint_id")
    .select(["endpoint_id", "submission_seq", "message_id", "body"])
    .where("deliveries.id", "=", id)
    .where("active", "=", 1)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  if (!row) return undefined;
  const made = await insertDelivery(trx, { ...row, kind: "replay", created_at: asking.atMs });
  const { accountId, detail } = await aboutEndpoint(trx, row.endpoint_id);
  const about = { ...detail, endpointId: row.endpoint_id, replays: id };
  await note(trx, { ...asking, action: "delivery.replay", subject: made, accountId, detail: about });
  return made;
}

/** See DeliveryStore.replayFailed. Two requests at once wait for one another, or both would send the same again. */
export async function replayFailed(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  { endpointId, sinceMs, max }: Parameters<DeliveryStore["replayFailed"]>[0],
  asking: Asking,
): Promise<number> {
  await lock(trx, "replay");
  let endpoints = trx.selectFrom("endpoints").select("id").where("active", "=", 1).where("removed_at", "is", null);
  if (endpointId !== undefined) endpoints = endpoints.where("id", "=", endpointId);
  let total = 0;
  for (const { id } of await endpoints.orderBy("created_at").orderBy("id").execute()) {
    if (total === max) break;
    const rows = await trx
      .selectFrom("deliveries as failed")
      .select(["endpoint_id", "submission_seq", "message_id", "body"])
      .where("state", "=", sql.lit("failed"))
      .where("endpoint_id", "=", id)
      .where("kind", "!=", "test")
      .where("created_at", ">=", sinceMs)
      .where(({ not, exists, selectFrom, ref }) =>
        not(
          exists(
            selectFrom("deliveries as later")
              .select("later.seq")
              .where("later.submission_seq", "=", ref("failed.submission_seq"))
              .where("later.endpoint_id", "=", ref("failed.endpoint_id"))
              .where("later.seq", ">", ref("failed.seq")),
          ),
        ),
      )
      .orderBy("failed.seq")
      .limit(max - total)
      .execute();
    for (const row of rows) await insertDelivery(trx, { ...row, kind: "replay", created_at: asking.atMs });
    total += rows.length;
    if (rows.length === 0) continue;
    const { accountId, detail } = await aboutEndpoint(trx, id);
    const about = { ...detail, amount: rows.length, since: new Date(sinceMs).toISOString() };
    await note(trx, { ...asking, action: "endpoint.replay-failed", subject: id, accountId, detail: about });
  }
  return total;
}

export async function addTest(
  trx: Transaction<Schema>,
  endpointId: string,
  test: { readonly messageId: string; readonly body: Buffer; readonly leaseMs: number },
  asking: Asking,
): Promise<DeliveryClaim | undefined> {
  const endpoint = await trx
    .selectFrom("endpoints")
    .select("id")
    .where("id", "=", endpointId)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  if (!endpoint) return undefined;
  const { messageId: message_id, body } = test;
  const delivery = { endpoint_id: endpointId, submission_seq: null, message_id, kind: "test", body } as const;
  const lease = { fence: 1, lease_until: asking.atMs + test.leaseMs };
  const id = await insertDelivery(trx, { ...delivery, created_at: asking.atMs }, lease);
  const { accountId, detail } = await aboutEndpoint(trx, endpointId);
  const about = { ...detail, deliveryId: id };
  await note(trx, { ...asking, action: "endpoint.test", subject: endpointId, accountId, detail: about });
  const row = await trx.selectFrom("deliveries").select(TAKEN).where("id", "=", id).executeTakeFirstOrThrow();
  return (await toClaims(trx, [row], asking.atMs, () => body.length))[0];
}
