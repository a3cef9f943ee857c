import { randomUUID } from "node:crypto";
import type { AuditActor } from "../domain/audit.ts";
import type { Delivery } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { deliver } from "./deliver.ts";
import type { SendOptions } from "./send.ts";
import { testBody } from "./test-body.ts";

/** Longer than an attempt can take; after it, a service takes over the test. */
const LEASE_MS = 30_000;

/**
 * Sends one test message in a single attempt; the endpoint need not be active.
 * @param stop aborts the attempt. @returns the delivery; undefined if the endpoint does not exist.
 */
export async function sendTest(
  store: Store,
  options: SendOptions,
  endpointId: string,
  actor: AuditActor,
  stop: AbortSignal = new AbortController().signal,
): Promise<Delivery | undefined> {
  const messageId = randomUUID();
  const body = testBody(messageId, Date.now());
  const claim = await store.deliveries.addTest(endpointId, { messageId, body, leaseMs: LEASE_MS }, actor);
  if (!claim || !(await deliver(claim, store, options, stop))) return undefined;
  const [delivery] = await store.deliveries.list({ max: 1, id: claim.id });
  return delivery;
}
