import { ATTEMPT_DELAYS_MS, type Next } from "../domain/delivery.ts";
import type { DeliveryClaim, Store } from "../store/port.ts";
import { bodyOf } from "./body.ts";
import { type SendOptions, type Sent, send } from "./send.ts";

/**
 * Makes the attempt that was claimed and records it.
 * @returns what came of it; undefined when there is nothing to send any more, or the claim was lost.
 * @throws the reason of `stop`; the claim is still held then.
 */
export async function deliver(
  claim: DeliveryClaim,
  store: Store,
  options: SendOptions,
  stop: AbortSignal,
): Promise<(Sent & { became: "delivered" | "again" | "failed" }) | undefined> {
  const message = await store.deliveries.message(claim);
  if (!message) return undefined;
  const sent = await send(claim, await bodyOf(message, claim.accountId), options, stop);
  const now = options.now ?? Date.now;
  const next = nextAfter(claim, sent.ending, now());
  const recorded = await store.deliveries.recordAttempt(claim, sent.attempt, next);
  return recorded ? { ...sent, became: next.state === "pending" ? "again" : next.state } : undefined;
}

/** @param endMs when the attempt ended: the next one is due so long after it. */
export function nextAfter(
  { attempt, kind }: Pick<DeliveryClaim, "attempt" | "kind">,
  ending: Sent["ending"],
  endMs: number,
): Next {
  if (ending === "delivered") return { state: "delivered" };
  const delayMs = ATTEMPT_DELAYS_MS[attempt];
  // Whoever sends a test looks at it and sends another.
  if (ending === "never" || kind === "test" || delayMs === undefined) return { state: "failed" };
  return { state: "pending", atMs: endMs + delayMs };
}
