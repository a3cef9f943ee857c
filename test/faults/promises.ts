import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { ATTEMPT_DELAYS_MS } from "../../src/domain/delivery.ts";
import { MAX_ATTEMPTS } from "../../src/domain/submission.ts";
import type { Receiver } from "../webhooks/receiver.ts";
import type { Ledger, Seen } from "./ledger.ts";
import type { Load } from "./load.ts";

/** What has to hold when a storm is over, whoever was killed in it. */

/** Executing at once, of each key. */
export const CONCURRENCY = { big: 3, small: 1, hooked: 2, limited: 2 } as const;
export const REQUESTS_PER_MINUTE = 5;
/**
 * A claim fills all slots of a worker, and a submission that comes in its midst waits for the next one; then each other key
 * may have been served longer ago.
 */
const MAY_PASS = Object.keys(CONCURRENCY).length - 1 + 4;

const PATIENCE_MS = 240_000;

/** By the clients and by the database: one submission for each idempotency key, and each of them ended once. */
export async function checkSubmissions(t: TestContext, ledger: Ledger, load: Load, mayRepeat: number): Promise<void> {
  const all = await ledger.rows<{ id: string; status: string; attempts: number; fence: number }>(
    "select id, status, attempts, fence from submissions",
  );
  // What clients were told is what there is: one submission for each idempotency key, and no other.
  const told = [...load.submitted.values()].map(({ ids }) => [...ids]);
  assert.deepEqual(
    told.filter((ids) => ids.length !== 1),
    [],
  );
  assert.deepEqual(new Set(all.map(({ id }) => id)), new Set(told.flat()));
  assert.equal(all.length, told.length);

  const seen = await ledger.rows<Seen>("select id, key, became, running, small_waits from witness order by n");
  const times = new Map<string, number>();
  const most: Record<string, number> = {};
  let [passing, passed] = [0, 0];
  for (const { id, key, became, running, small_waits } of seen) {
    times.set(`${id} ${became}`, (times.get(`${id} ${became}`) ?? 0) + 1);
    most[key] = Math.max(most[key] ?? 0, Number(running));
    if (became !== "running") continue;
    passing = key !== "small" && small_waits ? passing + 1 : 0;
    passed = Math.max(passed, passing);
  }
  let repeated = 0;
  for (const { id, status, attempts, fence } of all) {
    const became = ["running", "pending", "completed", "error"].map((one) => times.get(`${id} ${one}`) ?? 0);
    const end = status === "completed" ? [1, 0] : [0, 1];
    assert.deepEqual(became, [attempts, attempts - 1, ...end], `${id}: ${status}`);
    assert.equal(fence, attempts);
    assert.ok(attempts <= MAX_ATTEMPTS);
    if (status === "error") assert.equal(attempts, MAX_ATTEMPTS);
    repeated += attempts - 1;
  }
  const errors = all.filter(({ status }) => status === "error").length;
  t.diagnostic(
    `${repeated} runs repeated, ${errors} ended as error; most running ${JSON.stringify(most)}; at most ${passed} passed the small key`,
  );
  assert.ok(repeated <= mayRepeat, `${repeated} were repeated`);
  for (const [key, limit] of Object.entries(CONCURRENCY)) assert.ok((most[key] ?? 0) <= limit, JSON.stringify(most));
  assert.equal(most.big, CONCURRENCY.big);
  assert.ok(passed <= MAY_PASS, `the small key waited while ${passed} others were begun`);
}

/** By the receiver: the record of each, byte for byte, at least once. */
export async function checkDeliveries(t: TestContext, ledger: Ledger, load: Load, receiver: Receiver, secret: string) {
  const list = () =>
    ledger.rows<{ message_id: string; state: string; attempts: number }>(
      "select message_id, state, attempts from deliveries",
    );
  let deliveries = await list();
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; deliveries = await list()) {
    if (!deliveries.some(({ state }) => state === "pending")) break;
    await sleep(200);
  }
  const expected = [...load.submitted.values()].flatMap(({ key, ids }) => (key === "hooked" ? [...ids] : []));
  assert.deepEqual(deliveries.map(({ message_id }) => message_id).sort(), expected.sort());
  // A receiver on a busy machine may be too slow for the last attempt; but each of the three was made.
  const failed = deliveries.filter(({ state }) => state !== "delivered");
  assert.deepEqual(
    failed.map(({ attempts }) => attempts),
    failed.map(() => ATTEMPT_DELAYS_MS.length),
  );
  const webhook = new Webhook(secret);
  const arrived = new Set<string>();
  for (const { body, headers, atMs } of receiver.received) {
    const id = String(headers["webhook-id"]);
    assert.equal(body.toString(), load.ended.get(id), "what was delivered is not the record");
    // Its library refuses what is older than five minutes.
    if (Date.now() - atMs < 240_000) webhook.verify(body, headers as Record<string, string>);
    arrived.add(id);
  }
  assert.deepEqual(arrived, new Set(expected));
  t.diagnostic(
    `${expected.length} messages were delivered by ${receiver.received.length} requests; ${failed.length} in vain at the last attempt`,
  );
}

/** What PostgreSQL had not written yet when it was killed it forgets, and the count need not survive that. */
const FORGOTTEN_MS = 1_000;

/** By the clients: no minute with more requests than the key may make. */
export function checkRate({ passed, answers }: Load, serverKilledAt: readonly number[]): void {
  const counted = (passed.get("limited") ?? [])
    .filter(({ answeredMs }) => !serverKilledAt.some((at) => answeredMs <= at + 50 && answeredMs > at - FORGOTTEN_MS))
    .toSorted((a, b) => a.answeredMs - b.answeredMs);
  assert.ok((answers["429"] ?? 0) > 0, "the limit was never met");
  for (const [at, { answeredMs }] of counted.entries()) {
    const first = counted[at - REQUESTS_PER_MINUTE];
    if (first) assert.ok(answeredMs - first.sentMs >= 60_000, "more requests than the key may make went through");
  }
}
