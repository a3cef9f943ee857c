import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { dropPending } from "../../../src/admin/accounts.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import type { Progress } from "../../../src/domain/progress.ts";
import { isTerminal, MAX_ATTEMPTS, type Status } from "../../../src/domain/submission.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Lease } from "../../../src/store/submissions/types.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { addKey, type Clock, enqueue, type OpenTemporary, onEachDatabase } from "../../support/store/temporary.ts";

const LEASE_MS = 1000;
const MAX_PENDING = 6;
const CONCURRENCY = 2;
const KEYS = ["a", "b", "c"];
/** Account of each key: two keys of one account, and one of another. */
const ACCOUNT_OF: Readonly<Record<string, string>> = { a: "one", b: "one", c: "other" };
/** Processes that share a PostgreSQL database; a SQLite database has one. */
const PROCESSES = 3;
const WORKERS = ["w0", "w1", "w2"];
const IDEMPOTENCY_KEYS = 4;

/** Expected state of a submission, according to the rules alone. */
interface Expected {
  readonly id: string;
  readonly key: string;
  readonly profile: "judge" | "agent";
  status: Status;
  attempts: number;
  /** Changes with every claim and renewal. */
  signs: number;
  lease: Lease | null;
  /** Whether its client sees a time of start: since a claim, until it must start again. */
  started: boolean;
  /** Completed runs, of a submission that has given up its slot between two runs. */
  completedRuns: number | null;
  readonly idempotency: { readonly key: string; readonly code: string } | null;
}

/** `by`: the process that performs it. */
type Operation = { readonly by: number } & (
  | { kind: "enqueue"; key: number; profile: "judge" | "agent"; again: number | null; other: boolean; times: number }
  | { kind: "claim"; worker: number; max: number }
  | { kind: "finish" | "renew" | "stale"; pick: number }
  | { kind: "release"; pick: number; begun: boolean }
  | { kind: "repeat" | "yield"; pick: number }
  | { kind: "sweep" }
  | { kind: "clock"; stepMs: number }
  | { kind: "pass"; ms: number }
  | { kind: "forget"; worker: number }
  | { kind: "restart" }
  | { kind: "suspend"; key: number; suspended: boolean }
  | { kind: "drop"; key: number; whole: boolean }
);

const operations: fc.WeightedArbitrary<object>[] = [
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("enqueue"),
      key: fc.nat(2),
      profile: fc.constantFrom("judge", "agent"),
      // Half of the requests have one of a few idempotency keys; some are sent several times concurrently.
      again: fc.option(fc.nat(IDEMPOTENCY_KEYS - 1), { freq: 2 }),
      other: fc.boolean(),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("claim"), worker: fc.nat(2), max: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("finish", "renew", "stale"), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release"), pick: fc.nat(), begun: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("repeat", "yield"), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("sweep") }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass"), ms: fc.nat(LEASE_MS + 100) }) },
  // Setting the wall clock must have no effect.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clock"), stepMs: fc.integer({ min: -2000, max: 2000 }) }) },
  // A worker crashes: its leases have no holder.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("forget"), worker: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("suspend"), key: fc.nat(2), suspended: fc.boolean() }),
  },
  // The pending submissions of a key, or of its whole account, are dropped.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drop"), key: fc.nat(2), whole: fc.boolean() }) },
  // A process is stopped and started again.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart") }) },
];

const operation = fc
  .tuple(fc.oneof(...operations), fc.nat(PROCESSES - 1))
  .map(([what, by]) => ({ ...what, by })) as fc.Arbitrary<Operation>;

function progressOf(runs: number): Progress {
  const nextPass = { input: Buffer.from([0, 255, runs]), feedback: [{ name: "feedback/a", data: Buffer.from("b") }] };
  return { runs, measured: { runs, cpuUsec: runs, memoryPeakBytes: runs }, nextPass };
}

/** What a process has seen of running submissions: the number of signs of life of each, and since when it is unchanged. */
interface Seen {
  atMs: number;
  readonly since: Map<string, { readonly signs: number; readonly ms: number }>;
}

class Model {
  readonly all: Expected[] = [];
  readonly #seen: Seen[] = [];
  readonly stale: Lease[] = [];
  readonly #stores: Store[];
  readonly #open: () => Promise<Store>;
  readonly #clock: Clock;
  readonly #accounts: Map<string, { keyId: string; accountId: string }>;
  /** Order in which keys and accounts were last served; higher is later. */
  readonly #turns = new Map<string, number>();
  #served = 0;
  readonly #suspended = new Set<string>();
  #store: Store;

  constructor(
    stores: Store[],
    open: () => Promise<Store>,
    clock: Clock,
    accounts: Map<string, { keyId: string; accountId: string }>,
  ) {
    this.#stores = stores;
    this.#open = open;
    this.#store = this.#by(0);
    this.#clock = clock;
    this.#accounts = accounts;
  }

  async apply(op: Operation): Promise<void> {
    this.#store = this.#by(op.by);
    if (op.kind === "clock") this.#clock.nowMs += op.stepMs;
    else if (op.kind === "pass") this.#clock.steadyMs += op.ms;
    else if (op.kind === "enqueue") await this.#enqueue(op);
    else if (op.kind === "claim") await this.#claim(WORKERS[op.worker] ?? "w0", op.max);
    else if (op.kind === "forget") this.#forget(WORKERS[op.worker] ?? "w0");
    else if (op.kind === "restart") await this.#restart(op.by);
    else if (op.kind === "sweep") await this.#sweep(op.by);
    else if (op.kind === "stale") await this.#useStale(op.pick);
    else if (op.kind === "suspend") await this.#suspend(KEYS[op.key] ?? "a", op.suspended);
    else if (op.kind === "drop") await this.#drop(KEYS[op.key] ?? "a", op.whole);
    else await this.#useLease(op);
  }

  async check(): Promise<void> {
    assert.equal(await this.#store.submissions.depth(), this.#with("pending").length);
    for (const expected of this.all) {
      const real = await this.#store.submissions.get(expected.id, this.#account(expected.key).accountId);
      // For its client, a submission that has started runs until it ends.
      const status = expected.status === "pending" && expected.started ? "running" : expected.status;
      assert.deepEqual([real?.status, real?.attempts], [status, expected.attempts], expected.id);
      assert.equal(real?.outcome === null, !isTerminal(expected.status));
      assert.equal(real?.startedAtMs === null, !expected.started);
      assert.equal(real?.completedAtMs === null, !isTerminal(expected.status));
    }
  }

  /** Sends `times` equal requests concurrently, spread over the processes, if they have an idempotency key. */
  async #enqueue({
    key: at,
    profile,
    again,
    other,
    times,
    by,
  }: Extract<Operation, { kind: "enqueue" }>): Promise<void> {
    const key = KEYS[at] ?? "a";
    const idempotency = again === null ? null : { key: `${key} ${again}`, code: other ? "print(2)" : "print(1)" };
    const request = {
      profile,
      maxPending: MAX_PENDING,
      code: idempotency?.code ?? "print(1)",
      ...(idempotency && { idempotencyKey: idempotency.key }),
    };
    const askers = Array.from({ length: idempotency ? times : 1 }, (_, i) => this.#by(by + i));
    const results = await Promise.all(askers.map((store) => enqueue(store, this.#account(key), request)));
    const known = this.all.find((one) => one.idempotency !== null && one.idempotency.key === idempotency?.key);
    const pending = this.#with("pending");
    const own = pending.filter((one) => ACCOUNT_OF[one.key] === ACCOUNT_OF[key]).length;
    const full = own > 0 && own >= MAX_PENDING - pending.length;
    const kinds = results.map(({ kind }) => kind).sort();
    if (this.#suspended.has(ACCOUNT_OF[key] ?? "")) {
      assert.deepEqual(new Set(kinds), new Set(["suspended"]));
      return;
    }
    if (known) {
      const same = known.idempotency?.code === idempotency?.code && known.profile === profile;
      assert.deepEqual(new Set(kinds), new Set([same ? "duplicate" : "conflict"]));
      for (const result of results) if ("submission" in result) assert.equal(result.submission.id, known.id);
      return;
    }
    const [first, ...more] = full ? askers.map(() => "full") : ["enqueued", ...askers.slice(1).map(() => "duplicate")];
    assert.deepEqual(kinds, [first, ...more].sort());
    const made = results.find((result) => result.kind === "enqueued");
    if (!made) return;
    const { id } = made.submission;
    for (const result of results) assert.ok("submission" in result && result.submission.id === id);
    this.all.push({
      id,
      key,
      profile,
      status: "pending",
      attempts: 0,
      signs: 0,
      lease: null,
      started: false,
      completedRuns: null,
      idempotency,
    });
  }

  async #suspend(key: string, suspended: boolean): Promise<void> {
    assert.equal(await this.#store.accounts.setSuspended(this.#account(key).accountId, suspended, "test"), true);
    const account = ACCOUNT_OF[key] ?? "";
    if (suspended) this.#suspended.add(account);
    else this.#suspended.delete(account);
  }

  async #drop(key: string, whole: boolean): Promise<void> {
    const { accountId, keyId } = this.#account(key);
    const dropped = this.#with("pending").filter((one) =>
      whole ? ACCOUNT_OF[one.key] === ACCOUNT_OF[key] : one.key === key,
    );
    assert.equal(await dropPending(this.#store, whole ? { accountId } : { accountId, keyId }, "test"), dropped.length);
    for (const one of dropped) this.#end(one, "error");
  }

  #forget(worker: string): void {
    for (const one of this.#with("running")) if (one.lease?.workerId === worker) one.lease = null;
  }

  async #restart(at: number): Promise<void> {
    const opened = await this.#open();
    await this.#by(at).close();
    this.#stores[at % this.#stores.length] = opened;
    delete this.#seen[at % this.#stores.length];
    this.#store = opened;
  }

  async #claim(worker: string, max: number): Promise<void> {
    const claims = await this.#store.submissions.claim(worker, LEASE_MS, max);
    for (const { submission, lease, progress } of claims) {
      assert.equal(submission.keyId, this.#fairest(), "it was the turn of another key");
      const oldest = this.all.find(({ key, status }) => key === submission.keyId && status === "pending");
      assert.equal(oldest?.id, submission.id, "it was not the oldest of its key");
      assert.deepEqual(progress, oldest.completedRuns === null ? null : progressOf(oldest.completedRuns));
      oldest.status = "running";
      oldest.started = true;
      oldest.attempts++;
      oldest.lease = lease;
      oldest.signs++;
    }
    if (claims.length < max) assert.equal(this.#fairest(), undefined, "pending work was not claimed");
    for (const { submission } of claims) {
      for (const one of [submission.keyId, ACCOUNT_OF[submission.keyId] ?? ""]) this.#turns.set(one, ++this.#served);
    }
  }

  /** A key and an account that were not served are next, unless they have other runs. */
  #returnTurns(key: string): void {
    const account = ACCOUNT_OF[key] ?? "";
    const siblings = KEYS.filter((other) => ACCOUNT_OF[other] === account);
    for (const [own, keys, all] of [
      [key, [key], KEYS],
      [account, siblings, Object.values(ACCOUNT_OF)],
    ] as const) {
      if (keys.some((one) => this.#with("running", one).length > 0)) continue;
      this.#turns.set(own, Math.min(...all.map((one) => this.#turns.get(one) ?? 0)) - 1);
    }
  }

  /** The key whose turn it is: first by its account, then by itself. */
  #fairest(): string | undefined {
    const running = (keys: readonly string[]) => keys.reduce((sum, key) => sum + this.#with("running", key).length, 0);
    const [first] = KEYS.filter((key) => !this.#suspended.has(ACCOUNT_OF[key] ?? ""))
      .filter((key) => this.#with("pending", key).length > 0 && running([key]) < CONCURRENCY)
      .map((key) => {
        const account = ACCOUNT_OF[key] ?? "";
        const siblings = KEYS.filter((other) => ACCOUNT_OF[other] === account);
        const oldest = this.all.findIndex((one) => one.key === key && one.status === "pending");
        const turn = (of: string) => this.#turns.get(of) ?? 0;
        return { key, order: [running(siblings), turn(account), running([key]), turn(key), oldest] };
      })
      .sort((a, b) => a.order.map((one, at) => one - (b.order[at] ?? 0)).find((difference) => difference !== 0) ?? 0);
    return first?.key;
  }

  /** @returns submissions whose signs have not changed for a lease, as seen by the process. */
  #look(by: number): Expected[] {
    const { steadyMs } = this.#clock;
    const at = by % this.#stores.length;
    const last = this.#seen[at];
    const known: Seen["since"] = last && steadyMs - last.atMs <= LEASE_MS ? last.since : new Map();
    const since: Seen["since"] = new Map();
    for (const { id, signs } of this.#with("running")) {
      const before = known.get(id);
      since.set(id, before?.signs === signs ? before : { signs, ms: steadyMs });
    }
    this.#seen[at] = { atMs: steadyMs, since };
    return this.#with("running").filter(({ id }) => steadyMs - (since.get(id)?.ms ?? steadyMs) >= LEASE_MS);
  }

  async #sweep(by: number): Promise<void> {
    const expired = this.#look(by);
    const { requeued, failed } = await this.#store.submissions.sweep(LEASE_MS);
    const again = expired.filter(({ profile, attempts }) => profile === "judge" && attempts < MAX_ATTEMPTS);
    assert.deepEqual([...requeued].sort(), again.map(({ id }) => id).sort());
    assert.equal(failed.length, expired.length - again.length);
    for (const expected of expired) this.#end(expected, again.includes(expected) ? "pending" : "error");
  }

  async #useLease(op: Extract<Operation, { pick: number }>): Promise<void> {
    const running = this.#with("running").filter(({ lease }) => lease !== null);
    const expected = running[op.pick % running.length];
    if (!expected?.lease) return;
    if (op.kind === "renew") {
      assert.equal(await this.#store.submissions.renew(expected.lease, LEASE_MS), true);
      expected.signs++;
    } else if (op.kind === "finish") {
      assert.equal(await this.#store.submissions.finish(expected.lease, internalError("x")), true);
      this.#end(expected, "error");
    } else if (op.kind === "release") {
      assert.equal(await this.#store.submissions.release(expected.lease, op.begun), true);
      const over = op.begun && expected.profile === "agent";
      if (!over) expected.attempts--;
      this.#end(expected, over ? "error" : "pending");
      if (!op.begun) this.#returnTurns(expected.key);
    } else if (op.kind === "yield") {
      expected.status = "pending"; // to ask the rules whose turn it would be
      const oldest = this.#with("pending", expected.key)[0];
      const isNext = this.#fairest() === expected.key && oldest === expected;
      expected.status = "running";
      assert.equal(await this.#store.submissions.isNext(expected.lease), isNext);
      const completedRuns = (expected.completedRuns ?? 0) + 1;
      assert.equal(await this.#store.submissions.yieldSlot(expected.lease, progressOf(completedRuns)), true);
      expected.completedRuns = completedRuns;
      expected.attempts--;
      this.#end(expected, "pending");
    } else if (op.kind === "repeat") {
      const again = expected.profile === "judge" && expected.attempts < MAX_ATTEMPTS;
      assert.equal(await this.#store.submissions.requeue(expected.lease), again);
      if (again) this.#end(expected, "pending");
    }
  }

  async #useStale(pick: number): Promise<void> {
    const lease = this.stale[pick % this.stale.length];
    if (!lease) return;
    assert.equal(await this.#store.submissions.finish(lease, internalError("stale")), false);
    assert.equal(await this.#store.submissions.renew(lease, LEASE_MS), false);
    assert.equal(await this.#store.submissions.release(lease, true), false);
    assert.equal(await this.#store.submissions.requeue(lease), false);
    assert.equal(await this.#store.submissions.yieldSlot(lease, progressOf(1)), false);
    assert.equal(await this.#store.submissions.isNext(lease), false);
  }

  #end(expected: Expected, status: Status): void {
    if (expected.lease) this.stale.push(expected.lease);
    expected.lease = null;
    expected.status = status;
    if (status === "pending" && expected.completedRuns === null) expected.started = false;
  }

  #with(status: Status, key?: string): Expected[] {
    return this.all.filter((one) => one.status === status && (key === undefined || one.key === key));
  }

  #by(process: number): Store {
    const store = this.#stores[process % this.#stores.length];
    assert.ok(store);
    return store;
  }

  #account(key: string): { keyId: string; accountId: string } {
    const account = this.#accounts.get(key);
    assert.ok(account);
    return account;
  }
}

const RUNS = SKIPS_LONG ? 15 : 100;

onEachDatabase((temporaryStore) => {
  test("the queue follows its rules for random operations, orders and processes", async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 60 }), (history) =>
        tell(temporaryStore, history),
      ),
      { numRuns: RUNS },
    );
    t.diagnostic(`${RUNS} random histories`);
  });
});

async function tell(temporaryStore: OpenTemporary, history: readonly Operation[]): Promise<void> {
  const { store, clock, database, dispose } = await temporaryStore();
  const open = () => openStore({ database, now: () => clock.nowMs, steady: () => clock.steadyMs });
  const stores = await Promise.all(Array.from({ length: store.manyProcesses ? PROCESSES : 1 }, open));
  try {
    const accounts = new Map<string, { keyId: string; accountId: string }>();
    for (const key of KEYS) {
      const account = ACCOUNT_OF[key] ?? key;
      accounts.set(key, await addKey(store, key, { account, concurrency: CONCURRENCY, profiles: ["judge", "agent"] }));
    }
    const model = new Model(stores, open, clock, accounts);
    for (const op of history) {
      await model.apply(op);
      await model.check();
    }
  } finally {
    for (const one of stores) await one.close();
    await dispose();
  }
}
