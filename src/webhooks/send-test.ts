import { randomUUID } from "node:crypto";
import type { AuditActor } from "../domain/audit.ts";
import { toRecord } from "../domain/record.ts";
import type { Delivery } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { deliver } from "./deliver.ts";
import type { SendOptions } from "./send.ts";

/** How long the claim is valid, which is longer than an attempt can take. After this time, a service sends the test. */
const LEASE_MS = 30_000;

/**
 * Sends a test message in a single attempt. The endpoint need not be active.
 * @param stop aborts the attempt.
 * @returns the delivery; undefined if the endpoint does not exist, or the claim was lost during the attempt.
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

const TEST_TEXT = "This is a test of your webhook. Nothing was run.\n";

/**
 * The body of a test message: a record of the usual form, so that the test is realistic. It has neither metrics nor evidence, and its
 * output explains that nothing was run.
 * @param id an id that no submission has: a request for its result returns 404.
 */
function testBody(id: string, nowMs: number): Buffer {
  const record = toRecord({
    id,
    accountId: "",
    keyId: "",
    projectId: null,
    language: "python",
    profile: "judge",
    status: "completed",
    attempts: 1,
    createdAtMs: nowMs,
    startedAtMs: nowMs,
    completedAtMs: nowMs,
    outcome: {
      status: "completed",
      result: {
        verdict: "AC",
        cause: "normal_exit",
        actor: "runtime",
        exitCode: 0,
        signal: null,
        errorMessage: null,
      },
      output: { stdout: Buffer.from(TEST_TEXT), stderr: Buffer.alloc(0), integrity: "complete" },
      metrics: null,
      evidence: null,
    },
  });
  return Buffer.from(JSON.stringify(record), "utf8");
}
