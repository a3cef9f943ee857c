import { randomUUID } from "node:crypto";
import type { Transaction } from "kysely";
import type { Schema } from "../database/schema.ts";
import type { DeliveryKind } from "./types.ts";

/** A submission or judgement that a transaction ends, with the sequence number of one of the two, or something else, with the body of its message. */
export interface EndedWork {
  readonly id: string;
  readonly project_id: string | null;
  readonly submission_seq?: number;
  readonly judgement_seq?: number | null;
  readonly body?: Buffer;
}

/**
 * Adds a delivery for each active endpoint of the project. The transaction that ends the submission or the judgement calls it, so
 * the result and its deliveries are stored together or not at all.
 * @returns whether a delivery was added.
 */
export async function insertDeliveries(trx: Transaction<Schema>, ended: EndedWork, nowMs: number): Promise<boolean> {
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
      body: ended.body ?? null,
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
  /** 1 for a callback; null or absent for other deliveries. */
  readonly callback?: number | null;
  readonly created_at: number;
}

/**
 * Adds a delivery that is due at once.
 * @param lease claims the delivery for a caller that makes the first attempt itself; by default, the delivery is not claimed.
 * @returns the id of the delivery.
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
