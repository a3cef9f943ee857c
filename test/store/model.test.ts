import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { internalError } from "../../src/domain/outcome.ts";
import { isTerminal, MAX_ATTEMPTS, type Status } from "../../src/domain/submission.ts";
import type { Lease, Store } from "../../src/store/port.ts";
import { addKey, type Clock, enqueue, temporaryStore } from "./temporary.ts";

const LEASE_MS = 1000;
const MAX_PENDING = 6;
const CONCURRENCY = 2;
const KEYS = ["a", "b", "c"];

/** What one submission is, according to the rules alone. */
interface Expected {
  readonly id: string;
  readonly key: string;
  readonly profile: "judge" | "agent";
  status: Status;
  attempts: number;
  leaseUntilMs: number;
  lease: Lease | null;
}

type Operation =
  | { kind: "enqueue"; key: number; profile: "judge" | "agent" }
  | { kind: "claim"; max: number }
  | { kind: "finish" | "renew" | "stale"; pick: number }
  | { kind: "release"; pick: number; begun: boolean }
  | { kind: "sweep" }
  | { kind: "clock"; stepMs: number };

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("enqueue"), key: fc.nat(2), profile: fc.constantFrom("judge", "agent") }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("claim"), max: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("finish", "renew", "stale"), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release"), pick: fc.nat(), begun: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("sweep") }) },
  // A wall clock may also step back.
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("clock"), stepMs: fc.integer({ min: -2000, max: 2000 }) }) },
) as fc.Arbitrary<Operation>;

class Model {
  readonly all: Expected[] = [];
  readonly stale: Lease[] = [];
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #accounts: Map<string, { keyId: string; accountId: string }>;

  constructor(store: Store, clock: Clock, accounts: Map<string, { keyId: string; accountId: string }>) {
    this.#store = store;
    this.#clock = clock;
    this.#accounts = accounts;
  }

  async apply(op: Operation): Promise<void> {
    if (op.kind === "clock") this.#clock.nowMs += op.stepMs;
    else if (op.kind === "enqueue") await this.#enqueue(KEYS[op.key] ?? "a", op.profile);
    else if (op.kind === "claim") await this.#claim(op.max);
    else if (op.kind === "sweep") await this.#sweep();
    else if (op.kind === "stale") await this.#useStale(op.pick);
    else await this.#useLease(op);
  }

  async check(): Promise<void> {
    assert.equal(await this.#store.submissions.depth(), this.#with("pending").length);
    for (const expected of this.all) {
      const real = await this.#store.submissions.get(expected.id, this.#account(expected.key).accountId);
      assert.deepEqual([real?.status, real?.attempts], [expected.status, expected.attempts], expected.id);
      assert.equal(real?.outcome === null, !isTerminal(expected.status));
      assert.equal(real?.startedAtMs === null, expected.status === "pending");
      assert.equal(real?.completedAtMs === null, !isTerminal(expected.status));
    }
  }

  async #enqueue(key: string, profile: "judge" | "agent"): Promise<void> {
    const result = await enqueue(this.#store, this.#account(key), { profile, maxPending: MAX_PENDING });
    const full = this.#with("pending").length >= MAX_PENDING;
    assert.equal(result.kind, full ? "full" : "enqueued");
    if (result.kind !== "enqueued") return;
    const { id } = result.submission;
    this.all.push({ id, key, profile, status: "pending", attempts: 0, leaseUntilMs: 0, lease: null });
  }

  async #claim(max: number): Promise<void> {
    const claims = await this.#store.submissions.claim("w", LEASE_MS, max);
    for (const { submission, lease } of claims) {
      const oldest = this.all.find(({ key, status }) => key === submission.keyId && status === "pending");
      assert.equal(oldest?.id, submission.id, "not the oldest of its key");
      assert.ok(this.#with("running", submission.keyId).length < CONCURRENCY, "more than the key may have");
      oldest.status = "running";
      oldest.attempts++;
      oldest.lease = lease;
      oldest.leaseUntilMs = this.#clock.nowMs + LEASE_MS;
    }
    if (claims.length === max) return;
    for (const key of KEYS) {
      const idle = this.#with("pending", key).length > 0 && this.#with("running", key).length < CONCURRENCY;
      assert.equal(idle, false, `work of ${key} was left lying`);
    }
  }

  async #sweep(): Promise<void> {
    const expired = this.#with("running").filter(({ leaseUntilMs }) => leaseUntilMs <= this.#clock.nowMs);
    const { requeued, failed } = await this.#store.submissions.sweep();
    const again = expired.filter(({ profile, attempts }) => profile === "judge" && attempts < MAX_ATTEMPTS);
    assert.deepEqual([...requeued].sort(), again.map(({ id }) => id).sort());
    assert.equal(failed.length, expired.length - again.length);
    for (const expected of expired) this.#end(expected, again.includes(expected) ? "pending" : "error");
  }

  async #useLease(op: Extract<Operation, { pick: number }>): Promise<void> {
    const running = this.#with("running");
    const expected = running[op.pick % running.length];
    if (!expected?.lease) return;
    if (op.kind === "renew") {
      assert.equal(await this.#store.submissions.renew(expected.lease, LEASE_MS), true);
      expected.leaseUntilMs = this.#clock.nowMs + LEASE_MS;
    } else if (op.kind === "finish") {
      assert.equal(await this.#store.submissions.finish(expected.lease, internalError("x")), true);
      this.#end(expected, "error");
    } else if (op.kind === "release") {
      assert.equal(await this.#store.submissions.release(expected.lease, op.begun), true);
      const over = op.begun && expected.profile === "agent";
      if (!over) expected.attempts--;
      this.#end(expected, over ? "error" : "pending");
    }
  }

  async #useStale(pick: number): Promise<void> {
    const lease = this.stale[pick % this.stale.length];
    if (!lease) return;
    assert.equal(await this.#store.submissions.finish(lease, internalError("stale")), false);
    assert.equal(await this.#store.submissions.renew(lease, LEASE_MS), false);
    assert.equal(await this.#store.submissions.release(lease, true), false);
  }

  #end(expected: Expected, status: Status): void {
    if (expected.lease) this.stale.push(expected.lease);
    expected.lease = null;
    expected.status = status;
  }

  #with(status: Status, key?: string): Expected[] {
    return this.all.filter((one) => one.status === status && (key === undefined || one.key === key));
  }

  #account(key: string): { keyId: string; accountId: string } {
    const account = this.#accounts.get(key);
    assert.ok(account);
    return account;
  }
}

test("whatever happens in whatever order, the queue behaves as its rules say", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 60 }), async (operations) => {
      const { store, clock, dispose } = await temporaryStore();
      try {
        const accounts = new Map<string, { keyId: string; accountId: string }>();
        for (const key of KEYS) {
          accounts.set(key, await addKey(store, key, { concurrency: CONCURRENCY, profiles: ["judge", "agent"] }));
        }
        const model = new Model(store, clock, accounts);
        for (const op of operations) {
          await model.apply(op);
          await model.check();
        }
      } finally {
        await dispose();
      }
    }),
    { numRuns: 40 },
  );
  t.diagnostic("40 random histories");
});
