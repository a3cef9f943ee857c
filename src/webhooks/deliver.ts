import { ATTEMPT_DELAYS_MS, type Next } from "../domain/delivery.ts";
import type { DeliveryClaim } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { bodyOf } from "./body.ts";
import { type SendOptions, type Sent, send } from "./send.ts";

/**
 * Makes the claimed attempt and records it.
 * @returns the result; undefined if the message was deleted or the claim was lost.
 * @throws the reason of `stop`; the claim is still held then.
 */
export async function deliver(
  claim: DeliveryClaim,
  store: Store,
  options: SendOptions,
  stop: AbortSignal,
): Promise<(Sent & { nextState: "delivered" | "again" | "failed" }) | undefined> {
  const message = await store.deliveries.message(claim);
  if (!message) return undefined;
  const sent = await send(claim, await bodyOf(message, claim.accountId), options, stop);
  const now = options.now ?? Date.now;
  const next = nextAfter(claim, sent.result, now());
  const recorded = await store.deliveries.recordAttempt(claim, sent.attempt, next);
  return recorded ? { ...sent, nextState: next.state === "pending" ? "again" : next.state } : undefined;
}

/** @param endMs end of the attempt, from which the delay of the next one counts. */
export function nextAfter(
  { attempt, kind }: Pick<DeliveryClaim, "attempt" | "kind">,
  result: Sent["result"],
  endMs: number,
): Next {
  if (result === "delivered") return { state: "delivered" };
  const delayMs = ATTEMPT_DELAYS_MS[attempt];
  // A test has one attempt, because its sender sees the result and can send another.
  if (result === "never" || kind === "test" || delayMs === undefined) return { state: "failed" };
  return { state: "pending", atMs: endMs + delayMs };
}
