import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { ATTEMPT_DELAYS_MS } from "../../../src/domain/delivery.ts";
import { MAX_ATTEMPTS } from "../../../src/domain/submission.ts";
import type { Receiver } from "../../support/webhooks/receiver.ts";
import type { Ledger, Seen } from "./ledger.ts";
import type { Load } from "./load.ts";

/** Invariants after a storm, whichever processes were killed. */

/** Concurrency limits by key. */
export const CONCURRENCY = { big: 3, small: 1, hooked: 2, limited: 2, judged: 2 } as const;
export const REQUESTS_PER_MINUTE = 5;
/**
 * A claim fills all slots of a worker, and a submission that arrives meanwhile waits for the next claim. Then each
 * other key may have been served longer ago.
 */
const MAY_PASS = Object.keys(CONCURRENCY).length - 1 + 4;

const PATIENCE_MS = 240_000;

interface Ended {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly fence: number;
}

/** By clients and database: one submission for each idempotency key, each ended once. */
export async function checkSubmissions(t: TestContext, ledger: Ledger, load: Load, mayRepeat: number): Promise<void> {
  const all = await ledger.rows<Ended>(
    "select id, status, attempts, fence from submissions where judgement_seq is null",
  );
  const runs = await ledger.rows<Ended>(
    "select id, status, attempts, fence from submissions where judgement_seq is not null",
  );
  // Each run of a judgement has ended once, and counts once.
  const counted = await ledger.rows<{ id: string }>(
    "select submissions.id from runs join submissions on submissions.seq = runs.submission_seq",
  );
  const stopped = runs.filter(({ status, attempts }) => status === "error" && attempts < MAX_ATTEMPTS);
  assert.deepEqual(
    [...counted.map(({ id }) => id), ...stopped.map(({ id }) => id)].sort(),
    runs.map(({ id }) => id).sort(),
  );
  // The ids that clients received are the submissions in the database: exactly one for each idempotency key.
  const known = [...load.submitted.values()].map(({ ids }) => [...ids]);
  assert.deepEqual(
    known.filter((ids) => ids.length !== 1),
    [],
  );
  assert.deepEqual(new Set(all.map(({ id }) => id)), new Set(known.flat()));
  assert.equal(all.length, known.length);

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
  for (const { id, status, attempts, fence } of [...all, ...runs]) {
    const became = (state: string) => times.get(`${id} ${state}`) ?? 0;
    const end = status === "completed" ? [1, 0] : [0, 1];
    assert.deepEqual([became("completed"), became("error")], end, `${id}: ${status}`);
    // Claims that were released before their start are not attempts.
    const claims = became("running");
    assert.deepEqual([became("pending"), fence], [claims - 1, claims], `${id}: ${status}`);
    assert.ok(claims >= attempts, `${id}: ${attempts} attempts in ${claims} claims`);
    assert.ok(attempts <= MAX_ATTEMPTS);
    if (status === "error" && !stopped.some((run) => run.id === id)) assert.equal(attempts, MAX_ATTEMPTS);
    repeated += attempts - 1;
  }
  const errors = all.filter(({ status }) => status === "error").length;
  t.diagnostic(
    `${repeated} runs repeated, ${errors} ended as error; most running ${JSON.stringify(most)}; at most ${passed} passed the small key`,
  );
  assert.ok(repeated <= mayRepeat, `${repeated} runs were repeated`);
  for (const [key, limit] of Object.entries(CONCURRENCY)) assert.ok((most[key] ?? 0) <= limit, JSON.stringify(most));
  assert.equal(most.big, CONCURRENCY.big);
  assert.ok(passed <= MAY_PASS, `the small key waited while ${passed} others were started`);
}

interface Delivery {
  readonly id: string;
  readonly message_id: string;
  readonly kind: string;
  readonly state: string;
  readonly attempts: number;
}

/**
 * By the receiver: each record arrives at least once, byte for byte. On a busy machine, three attempts may fail; then
 * the delivery is replayed.
 * @param replay replays a delivery by id.
 */
export async function checkDeliveries(
  t: TestContext,
  ledger: Ledger,
  load: Load,
  { receiver, secret, replay }: { receiver: Receiver; secret: string; replay: (id: string) => Promise<unknown> },
): Promise<void> {
  const ended = async () => {
    for (const deadline = performance.now() + PATIENCE_MS; ; await sleep(200)) {
      const all = await ledger.rows<Delivery>("select id, message_id, kind, state, attempts from deliveries");
      if (!all.some(({ state }) => state === "pending") || performance.now() > deadline) return all;
    }
  };
  let deliveries = await ended();
  const failed = deliveries.filter(({ state }) => state !== "delivered");
  assert.deepEqual(
    failed.map(({ state, attempts }) => [state, attempts]),
    failed.map(() => ["failed", ATTEMPT_DELAYS_MS.length]),
  );
  const undelivered = () => {
    const delivered = new Set(deliveries.flatMap(({ state, message_id }) => (state === "delivered" ? message_id : [])));
    return deliveries.filter(({ kind, message_id }) => kind === "result" && !delivered.has(message_id));
  };
  for (let round = 0; round < 3 && undelivered().length > 0; round++) {
    for (const { id } of undelivered()) await replay(id);
    deliveries = await ended();
  }
  assert.deepEqual(undelivered(), []);
  const expected = [...load.submitted.values()].flatMap(({ key, ids }) => (key === "hooked" ? [...ids] : [])).sort();
  const results = deliveries.filter(({ kind }) => kind === "result").map(({ message_id }) => message_id);
  assert.deepEqual(results.sort(), expected, "one delivery for each record");

  const webhook = new Webhook(secret);
  const arrived = new Set<string>();
  for (const { body, headers, atMs } of receiver.received) {
    const id = String(headers["webhook-id"]);
    assert.equal(body.toString(), load.ended.get(id), "the message is not the record");
    // The library rejects messages older than five minutes.
    if (Date.now() - atMs < 240_000) webhook.verify(body, headers as Record<string, string>);
    arrived.add(id);
  }
  assert.deepEqual([...arrived].sort(), expected);
  t.diagnostic(
    `${expected.length} messages were delivered by ${receiver.received.length} requests; ${failed.length} were replayed after three failed attempts`,
  );
}

/** PostgreSQL loses what it had not flushed when it was killed. The request count is not required to survive that. */
const FORGOTTEN_MS = 1_000;

/** By clients: no sliding minute has more requests than the key's limit. */
export function checkRate({ passed, answers }: Load, serverKilledAt: readonly number[]): void {
  const counted = (passed.get("limited") ?? [])
    .filter(({ answeredMs }) => !serverKilledAt.some((at) => answeredMs <= at + 50 && answeredMs > at - FORGOTTEN_MS))
    .toSorted((a, b) => a.answeredMs - b.answeredMs);
  assert.ok((answers["429"] ?? 0) > 0, "the limit was never reached");
  for (const [at, { answeredMs }] of counted.entries()) {
    const first = counted[at - REQUESTS_PER_MINUTE];
    if (first) assert.ok(answeredMs - first.sentMs >= 60_000, "more requests were accepted than the key's limit");
  }
}
