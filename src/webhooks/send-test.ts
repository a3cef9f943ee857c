import { randomUUID } from "node:crypto";
import type { AuditActor } from "../domain/audit.ts";
import type { Delivery, Store } from "../store/port.ts";
import { deliver } from "./deliver.ts";
import type { SendOptions } from "./send.ts";
import { testBody } from "./test-body.ts";

/** Longer than an attempt can take; after it, a service that sees the test takes it over. */
const LEASE_MS = 30_000;

/**
 * One test message, in one attempt, made here and now; the endpoint need not be active.
 * @param stop ends the attempt early. @returns what became of it; undefined when there is no such endpoint (any more).
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
