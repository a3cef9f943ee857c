import type { Delivery, Store } from "../store/port.ts";
import { noSuchEndpoint } from "./endpoints.ts";
import { AdminError } from "./error.ts";

/** A delivery for people and scripts: times as text, answers as UTF-8. */
export interface DeliveryView {
  readonly id: string;
  readonly endpoint: string;
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
export async function replayDelivery(store: Store, id: string): Promise<string> {
  const replayed = await store.deliveries.replay(id);
  if (replayed !== undefined) return replayed;
  const [known] = await store.deliveries.list({ max: 1, id });
  throw new AdminError(
    known ? "its endpoint is disabled or was removed: nothing is sent there" : "there is no such delivery",
  );
}

/** Sends an endpoint a test message now, once. @returns the delivery when that is over; undefined when there is no such endpoint. */
export type SendTest = (endpointId: string) => Promise<Delivery | undefined>;

/** @throws AdminError when there is no such endpoint, or it was removed before the answer came. */
export async function testEndpoint(send: SendTest, endpointId: string): Promise<DeliveryView> {
  const delivery = await send(endpointId);
  if (!delivery) throw noSuchEndpoint(endpointId);
  return deliveryView(delivery);
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
