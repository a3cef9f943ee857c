import { randomUUID } from "node:crypto";
import type { Transaction } from "kysely";
import type { Schema } from "../schema/schema.ts";
import type { DeliveryKind } from "./types.ts";

/** A submission or a judgement that the transaction ends. */
export interface Ended {
  readonly id: string;
  readonly project_id: string | null;
  readonly submission_seq?: number;
  readonly judgement_seq?: number | null;
}

/**
 * Adds a delivery for each active endpoint of the project, in the transaction that ends the
 * submission or the judgement: there are no results without their deliveries and no deliveries without results.
 * @returns whether there are any.
 */
export async function insertDeliveries(trx: Transaction<Schema>, ended: Ended, nowMs: number): Promise<boolean> {
  if (ended.project_id === null) return false;
  const endpoints = await trx
    .selectFrom("endpoints")
    .select("id")
    .where("project_id", "=", ended.project_id)
    .where("active", "=", 1)
    .where("removed_at", "is", null)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  for (const endpoint of endpoints) {
    await insertDelivery(trx, {
      endpoint_id: endpoint.id,
      submission_seq: ended.submission_seq ?? null,
      judgement_seq: ended.judgement_seq ?? null,
      message_id: ended.id,
      kind: "result",
      body: null,
      created_at: nowMs,
    });
  }
  return endpoints.length > 0;
}

interface NewDelivery {
  readonly endpoint_id: string;
  readonly submission_seq: number | null;
  readonly judgement_seq?: number | null;
  readonly message_id: string;
  readonly kind: DeliveryKind;
  readonly body: Buffer | null;
  /** 1 for a callback. */
  readonly callback?: number | null;
  readonly created_at: number;
}

/**
 * Adds a delivery that is due at once.
 * @param lease set if the caller makes the first attempt.
 */
export async function insertDelivery(
  trx: Transaction<Schema>,
  delivery: NewDelivery,
  lease: { readonly fence: number; readonly lease_until: number | null } = { fence: 0, lease_until: null },
): Promise<string> {
  const id = randomUUID();
  await trx
    .insertInto("deliveries")
    .values({
      judgement_seq: null,
      callback: null,
      ...delivery,
      ...lease,
      id,
      state: "pending",
      attempts: 0,
      next_at: delivery.created_at,
    })
    .execute();
  return id;
}
