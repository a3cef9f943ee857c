import { ATTEMPT_DELAYS_MS, type Next } from "../domain/delivery.ts";
import type { DeliveryClaim } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { bodyOf } from "./body.ts";
import { type SendOptions, type Sent, send } from "./send.ts";

/**
 * Makes an attempt for which a delivery was claimed, and records it.
 * @returns the result; undefined if the message was deleted or the claim was lost.
 * @throws the reason of `stop` if that ends the attempt. The claim is then still held.
 */
export async function deliver(
  claim: DeliveryClaim,
  store: Store,
  options: SendOptions,
  stop: AbortSignal,
): Promise<(Sent & { nextState: "delivered" | "again" | "failed" }) | undefined> {
  const message = await store.deliveries.message(claim);
  if (!message) return undefined;
  const sent = await send(claim, await bodyOf(message, claim.accountId, options.foreignApis), options, stop);
  const now = options.now ?? Date.now;
  const next = nextAfter(claim, sent.result, now());
  const recorded = await store.deliveries.recordAttempt(claim, sent.attempt, next);
  return recorded ? { ...sent, nextState: next.state === "pending" ? "again" : next.state } : undefined;
}

/** The state of a delivery after an attempt. @param endMs the end of the attempt, from which the delay of the next attempt counts. */
export function nextAfter(
  { attempt, kind }: Pick<DeliveryClaim, "attempt" | "kind">,
  result: Sent["result"],
  endMs: number,
): Next {
  if (result === "delivered") return { state: "delivered" };
  const delayMs = ATTEMPT_DELAYS_MS[attempt];
  // A test has only one attempt, because the person who sent it sees the result and can send another test.
  if (result === "never" || kind === "test" || delayMs === undefined) return { state: "failed" };
  return { state: "pending", atMs: endMs + delayMs };
}
