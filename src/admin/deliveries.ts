import type { AuditActor } from "../domain/audit.ts";
import type { Headers } from "../domain/delivery.ts";
import type { Delivery, ReplayBounds } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { noSuchEndpoint } from "./endpoints.ts";
import { AdminError } from "./error.ts";

/** A delivery for people and scripts: times are in ISO 8601, and answers are decoded as UTF-8. */
export interface DeliveryView {
  readonly id: string;
  readonly endpoint: string;
  readonly url: string;
  /** Id of the submission. Null for a test message, and for the message of a judgement. */
  readonly submission: string | null;
  readonly webhookId: string;
  readonly kind: Delivery["kind"];
  readonly state: Delivery["state"];
  readonly createdAt: string;
  readonly nextAt: string | null;
  readonly endedAt: string | null;
  /** The reason for a failure without an attempt, otherwise null. */
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
  /** The headers of the request; null if none was made. */
  readonly sentHeaders: Headers | null;
  readonly answerHeaders: Headers | null;
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
    attempts: delivery.attempts.map(({ atMs, latencyMs, status, error, answer, ...headers }, index) => ({
      number: index + 1,
      at: isoTime(atMs),
      latencyMs,
      status,
      error,
      answer: answer?.toString("utf8") ?? null,
      sentHeaders: headers.sentHeaders ?? null,
      answerHeaders: headers.answerHeaders ?? null,
    })),
  };
}

/** A text in which control characters, except for line feeds and tabs, are replaced, so that it cannot control a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{C}\n\t]/gu, "\ufffd");
}

/**
 * Adds a new delivery of the message of the delivery `id`. It is attempted and retried like any other.
 * @returns the id of the new delivery. @throws AdminError if the delivery is unknown, its endpoint is disabled or removed, or
 * `bounds` are reached.
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
  throw new AdminError(known ? "its endpoint is disabled or was removed" : "there is no such delivery");
}

function tooManyReplays(bounds: ReplayBounds | undefined): AdminError {
  const most = `${bounds?.pending} pending replays and ${bounds?.perMinute} in a minute`;
  return new AdminError(`an account can have ${most}; try again later`);
}

/** The most replays of one call. They are one transaction, which delays other work. */
export const MAX_REPLAYS = 500;

/**
 * Replays results whose newest delivery to an endpoint failed, oldest first. One call replays at most MAX_REPLAYS; the next call
 * continues with the rest.
 * @param since start of the period of these deliveries, in ISO 8601; `until` is its end. Undefined: the period has no bound
 * there.
 * @param onlyIdle if true, the call fails while earlier replays to the endpoint are pending.
 * @returns the number of replays, and whether there may be more to replay.
 * @throws AdminError if the time is invalid, the endpoint unknown or disabled, replays are pending, or a bound is reached.
 */
export async function replayFailed(
  store: Store,
  {
    endpointId,
    since,
    until,
    onlyIdle,
    bounds,
  }: {
    readonly endpointId?: string | undefined;
    readonly since?: string | undefined;
    readonly until?: string | undefined;
    readonly onlyIdle?: boolean;
    readonly bounds?: ReplayBounds;
  },
  actor: AuditActor,
): Promise<{ readonly replayed: number; readonly more: boolean }> {
  const sinceMs = timeIn(since) ?? 0;
  const untilMs = timeIn(until);
  if (endpointId !== undefined) {
    const endpoint = await store.endpoints.get(endpointId);
    if (!endpoint) throw noSuchEndpoint(endpointId);
    if (!endpoint.active) throw new AdminError("the endpoint is disabled");
  }
  const replayed = await store.deliveries.replayFailed(
    { endpointId, sinceMs, untilMs, max: MAX_REPLAYS, onlyIdle, bounds },
    actor,
  );
  if (replayed === null) throw tooManyReplays(bounds);
  if (replayed === undefined) throw new AdminError("replays to the endpoint are still pending; try again later");
  return { replayed, more: replayed === MAX_REPLAYS };
}

/** Sends a test message in one attempt. @returns the delivery after this attempt; undefined if the endpoint is unknown. */
export type SendTest = (endpointId: string, actor: AuditActor) => Promise<Delivery | undefined>;

/** Sends a test message. @throws AdminError if the endpoint is unknown, or was removed before the attempt ended. */
export async function testEndpoint(send: SendTest, endpointId: string, actor: AuditActor): Promise<DeliveryView> {
  const delivery = await send(endpointId, actor);
  if (!delivery) throw noSuchEndpoint(endpointId);
  return deliveryView(delivery);
}

/** Milliseconds since the epoch; undefined for undefined. @throws AdminError if the text is no time. */
function timeIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new AdminError(`${text} is not a time like 2026-01-31T12:00:00Z`);
  return ms;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
