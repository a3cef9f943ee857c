import type { AuditActor } from "../domain/audit.ts";
import type { Delivery, ReplayBounds } from "../store/deliveries/port.ts";
import type { Store } from "../store/port.ts";
import { noSuchEndpoint } from "./endpoints.ts";
import { AdminError } from "./error.ts";

/** A delivery for people and scripts: times as text, answers as UTF-8. */
export interface DeliveryView {
  readonly id: string;
  readonly endpoint: string;
  readonly url: string;
  /** Null for a test. */
  readonly submission: string | null;
  readonly webhookId: string;
  readonly kind: Delivery["kind"];
  readonly state: Delivery["state"];
  readonly createdAt: string;
  readonly nextAt: string | null;
  readonly endedAt: string | null;
  /** Why it failed without an attempt. */
  readonly reason: string | null;
  readonly attempts: readonly AttemptView[];
}

export interface AttemptView {
  readonly number: number;
  readonly at: string;
  readonly latencyMs: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly answer: string | null;
}

export function deliveryView(delivery: Delivery): DeliveryView {
  return {
    id: delivery.id,
    endpoint: delivery.endpointId,
    url: delivery.url,
    submission: delivery.submissionId,
    webhookId: delivery.messageId,
    kind: delivery.kind,
    state: delivery.state,
    createdAt: isoTime(delivery.createdAtMs),
    nextAt: delivery.nextAtMs === null ? null : isoTime(delivery.nextAtMs),
    endedAt: delivery.endedAtMs === null ? null : isoTime(delivery.endedAtMs),
    reason: delivery.reason,
    attempts: delivery.attempts.map(({ atMs, latencyMs, status, error, answer }, index) => ({
      number: index + 1,
      at: isoTime(atMs),
      latencyMs,
      status,
      error,
      answer: answer?.toString("utf8") ?? null,
    })),
  };
}

/** What a receiver wrote, without what would move the cursor of whoever reads it. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{C}\n\t]/gu, "\ufffd");
}

/**
 * Has the same message sent again, by the service and by the same rules as the first time.
 * @returns the id of the new delivery. @throws AdminError when there is no such one, or its endpoint is off or gone.
 */
export async function replayDelivery(
  store: Store,
  id: string,
  actor: AuditActor,
  bounds?: ReplayBounds,
): Promise<string> {
  const replayed = await store.deliveries.replay(id, actor, bounds);
  if (replayed === null) throw tooManyReplays(bounds);
  if (replayed !== undefined) return replayed;
  const [known] = await store.deliveries.list({ max: 1, id });
  throw new AdminError(
    known ? "its endpoint is disabled or was removed: nothing is sent there" : "there is no such delivery",
  );
}

function tooManyReplays(bounds: ReplayBounds | undefined): AdminError {
  const most = `${bounds?.pending} replays pending and ${bounds?.perMinute} in a minute`;
  return new AdminError(`an account can have ${most}; try again later`);
}

/** Replays of one request: they are inserted in one transaction, and other work waits for it. */
export const MAX_REPLAYS = 500;

/**
 * Has results sent again whose newest delivery to an endpoint has failed, oldest first, at most MAX_REPLAYS. Once more,
 * it goes on with those that are left.
 * @param since ISO 8601; without it, all that are on record.
 * @returns how many, and whether there may be more.
 * @param onlyIdle refuses while replays to the endpoint are still pending.
 * @throws AdminError when that is no time, there is no such endpoint that is active, replays are pending, or a bound is reached.
 */
export async function replayFailed(
  store: Store,
  {
    endpointId,
    since,
    onlyIdle,
    bounds,
  }: {
    readonly endpointId?: string | undefined;
    readonly since?: string | undefined;
    readonly onlyIdle?: boolean;
    readonly bounds?: ReplayBounds;
  },
  actor: AuditActor,
): Promise<{ readonly replayed: number; readonly more: boolean }> {
  const sinceMs = since === undefined ? 0 : Date.parse(since);
  if (Number.isNaN(sinceMs)) throw new AdminError(`${since} is not a time like 2026-01-31T12:00:00Z`);
  if (endpointId !== undefined) {
    const endpoint = await store.endpoints.get(endpointId);
    if (!endpoint) throw noSuchEndpoint(endpointId);
    if (!endpoint.active) throw new AdminError("the endpoint is disabled: nothing is sent there");
  }
  const replayed = await store.deliveries.replayFailed(
    { endpointId, sinceMs, max: MAX_REPLAYS, onlyIdle, bounds },
    actor,
  );
  if (replayed === null) throw tooManyReplays(bounds);
  if (replayed === undefined) throw new AdminError("replays to the endpoint are still pending; try again later");
  return { replayed, more: replayed === MAX_REPLAYS };
}

/** Sends an endpoint a test message now, once. @returns the delivery when that is over; undefined when there is no such endpoint. */
export type SendTest = (endpointId: string, actor: AuditActor) => Promise<Delivery | undefined>;

/** @throws AdminError when there is no such endpoint, or it was removed before the answer came. */
export async function testEndpoint(send: SendTest, endpointId: string, actor: AuditActor): Promise<DeliveryView> {
  const delivery = await send(endpointId, actor);
  if (!delivery) throw noSuchEndpoint(endpointId);
  return deliveryView(delivery);
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
