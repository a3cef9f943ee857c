import { type Kysely, sql, type Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Abilities } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { TAKEN, toClaims } from "./claim-deliveries.ts";
import { aboutEndpoint } from "./endpoints.ts";
import { insertDelivery } from "./outbox.ts";
import { countSent, pendingReplays, sentBy } from "./sends.ts";
import type { DeliveryClaim, ReplayBounds } from "./types.ts";

/** Who requests a replay or a test, and when. */
interface Asking {
  readonly actor: AuditActor;
  readonly atMs: number;
}

/** Implements DeliveryStore.replay. */
export async function replay(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  id: string,
  bounds: ReplayBounds | null,
  asking: Asking,
): Promise<string | undefined | null> {
  await lock(trx, "replay");
  const row = await trx
    .selectFrom("deliveries")
    .innerJoin("endpoints", "endpoints.id", "deliveries.endpoint_id")
    .select(["endpoint_id", "submission_seq", "judgement_seq", "message_id", "body", "callback"])
    .where("deliveries.id", "=", id)
    .where("active", "=", 1)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  if (!row) return undefined;
  const { accountId, detail } = await aboutEndpoint(trx, row.endpoint_id);
  if ((await replaysLeft(trx, accountId, bounds, asking.atMs)) < 1) return null;
  const made = await insertDelivery(trx, { ...row, kind: "replay", created_at: asking.atMs });
  await countSent(trx, { accountId, kind: "replayed", atMs: asking.atMs, amount: 1 });
  const about = { ...detail, endpointId: row.endpoint_id, replays: id };
  await addAuditEntry(trx, { ...asking, action: "delivery.replay", subject: made, accountId, detail: about });
  return made;
}

/** How many failed deliveries one transaction reads. While one transaction read 150,000, all other writers waited for 144 ms. */
export const MAX_ROWS = 5_000;

/** @returns how many deliveries the account can replay now; infinite without bounds. */
async function replaysLeft(
  trx: Transaction<Schema>,
  accountId: string,
  bounds: ReplayBounds | null,
  atMs: number,
): Promise<number> {
  if (bounds === null) return Number.POSITIVE_INFINITY;
  const { amount } = await sentBy(trx, accountId, "replayed", atMs);
  return Math.min(bounds.perMinute - amount, bounds.pending - (await pendingReplays(trx, accountId)));
}

/** Where one step of DeliveryStore.replayFailed begins. */
export interface ReplayCursor {
  readonly endpointId: string;
  readonly afterSeq: number;
  /** How many failed deliveries the step reads. */
  readonly maxRows: number;
}

/** What to replay: as the parameters of DeliveryStore.replayFailed. `bounds` is null for no bounds. */
export interface ReplayAsked {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly max: number;
  readonly onlyIdle: boolean;
  readonly bounds: ReplayBounds | null;
}

export interface ReplayStep {
  readonly replayed: number;
  /** The `seq` after which the next step continues; null if the endpoint has no further failed deliveries. */
  readonly next: number | null;
}

async function hasPendingReplays(trx: Transaction<Schema>, endpointId: string): Promise<boolean> {
  const row = await trx
    .selectFrom("deliveries")
    .select("seq")
    .where("endpoint_id", "=", endpointId)
    .where("state", "=", sql.lit("pending"))
    .where("kind", "=", sql.lit("replay"))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The ids of active endpoints, oldest first. @param endpointId the only endpoint to consider; undefined for all. */
export async function endpointsToReplay(db: Kysely<Schema>, endpointId: string | undefined): Promise<string[]> {
  let endpoints = db.selectFrom("endpoints").select("id").where("active", "=", 1).where("removed_at", "is", null);
  if (endpointId !== undefined) endpoints = endpoints.where("id", "=", endpointId);
  return (await endpoints.orderBy("created_at").orderBy("id").execute()).map(({ id }) => id);
}

/**
 * One step of DeliveryStore.replayFailed: reads up to `maxRows` failed deliveries of one endpoint. Steps of concurrent
 * requests are serialised; otherwise, two requests could replay the same deliveries.
 * @returns undefined if `onlyIdle` is true and replays to the endpoint are pending; null if the account has reached `bounds`.
 */
export async function replayFailed(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  { endpointId, afterSeq, maxRows }: ReplayCursor,
  { sinceMs, untilMs, max, onlyIdle, bounds }: ReplayAsked,
  asking: Asking,
): Promise<ReplayStep | undefined | null> {
  await lock(trx, "replay");
  if (onlyIdle && (await hasPendingReplays(trx, endpointId))) return undefined;
  const endpoint = trx.selectFrom("endpoints").select("id").where("id", "=", endpointId);
  const active = await endpoint.where("active", "=", 1).where("removed_at", "is", null).executeTakeFirst();
  if (!active) return { replayed: 0, next: null };
  const { accountId, detail } = await aboutEndpoint(trx, endpointId);
  const left = await replaysLeft(trx, accountId, bounds, asking.atMs);
  if (left < 1) return null;
  const failed = trx
    .selectFrom("deliveries")
    .where("state", "=", sql.lit("failed"))
    .where("endpoint_id", "=", endpointId)
    .where("seq", ">", afterSeq);
  const last = await failed
    .select("seq")
    .orderBy("seq")
    .offset(maxRows - 1)
    .limit(1)
    .executeTakeFirst();
  const rows = await trx
    .selectFrom("deliveries as failed")
    .select(["endpoint_id", "submission_seq", "judgement_seq", "message_id", "body", "callback"])
    .where("state", "=", sql.lit("failed"))
    .where("endpoint_id", "=", endpointId)
    .where("failed.seq", ">", afterSeq)
    .where("failed.seq", "<=", last?.seq ?? Number.MAX_SAFE_INTEGER)
    .where("kind", "!=", "test")
    .where("created_at", ">=", sinceMs)
    .where("created_at", "<", untilMs)
    .where(({ not, exists, selectFrom, ref }) =>
      not(
        exists(
          selectFrom("deliveries as later")
            .select("later.seq")
            .where((either) =>
              either.or([
                either("later.submission_seq", "=", ref("failed.submission_seq")),
                either("later.judgement_seq", "=", ref("failed.judgement_seq")),
              ]),
            )
            .where("later.endpoint_id", "=", ref("failed.endpoint_id"))
            .where(sql`coalesce(later.callback, 0)`, "=", sql`coalesce(failed.callback, 0)`)
            .where("later.seq", ">", ref("failed.seq")),
        ),
      ),
    )
    .orderBy("failed.seq")
    .limit(Math.min(max, left))
    .execute();
  for (const row of rows) await insertDelivery(trx, { ...row, kind: "replay", created_at: asking.atMs });
  const replayed = rows.length;
  if (replayed > 0) {
    await countSent(trx, { accountId, kind: "replayed", atMs: asking.atMs, amount: replayed });
    const until = untilMs === Number.MAX_SAFE_INTEGER ? {} : { until: new Date(untilMs).toISOString() };
    const about = { ...detail, amount: replayed, since: new Date(sinceMs).toISOString(), ...until };
    await addAuditEntry(trx, {
      ...asking,
      action: "endpoint.replay-failed",
      subject: endpointId,
      accountId,
      detail: about,
    });
  }
  return { replayed, next: last?.seq ?? null };
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
  await addAuditEntry(trx, { ...asking, action: "endpoint.test", subject: endpointId, accountId, detail: about });
  const row = await trx.selectFrom("deliveries").select(TAKEN).where("id", "=", id).executeTakeFirstOrThrow();
  return (await toClaims(trx, [row], asking.atMs, () => body.length))[0];
}
