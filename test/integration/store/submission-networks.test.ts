import assert from "node:assert/strict";
import { test } from "node:test";
import type { EgressRecord } from "../../../src/domain/egress/egress-record.ts";
import { type NetworkPolicy, parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import { newSandbox } from "../../../src/domain/sandboxes/sandbox.ts";
import type { Store } from "../../../src/store/store.ts";
import { callerOf, sandboxRequest } from "../../support/sandboxes/caller.ts";
import { addKey, enqueue, onEachDatabase, START_MS, sweepLater } from "../../support/store/temporary.ts";
import { ACTOR } from "../../support/webhooks/project.ts";

type Key = Awaited<ReturnType<typeof addKey>>;

const LEASE_MS = 1_000;
const POLICY = parseNetworkPolicy({ allow: [{ host: "api.example.com", ports: [443] }], bytes_up: 100 });
const EGRESS: EgressRecord = {
  policy_version: 1,
  bytes_up: 3,
  bytes_down: 4,
  budget_left: { up: 5, down: 6 },
  connections: [],
  more: [],
  denied: 0,
  refused_names: [{ name: "nul\0.example.org", queries: 1 }],
  dns: { answered: 0, refused: 1 },
  complete: true,
  source: "inet_diag cgroup id",
};

const idOf = (added: Awaited<ReturnType<typeof enqueue>>) => {
  assert.ok("submission" in added, added.kind);
  return added.submission.id;
};
const networked = async (store: Store, key: Key, network: NetworkPolicy = POLICY) =>
  idOf(await enqueue(store, key, { profile: "agent", network }));
const claimed = async (store: Store, givesNetworks: boolean, max = 10, worker = "w") =>
  await store.submissions.claim(worker, LEASE_MS, max, 0, [], givesNetworks);

onEachDatabase((open) => {
  test("a worker without networks leaves submissions with one to others, and serves what is behind them", async (t) => {
    const { store } = await open(t);
    const [one, two] = [await addKey(store, "one"), await addKey(store, "two")];
    const first = await networked(store, one);
    const second = idOf(await enqueue(store, one));
    const third = await networked(store, one);
    const fourth = idOf(await enqueue(store, one));
    const fifth = await networked(store, two);
    const plain = await claimed(store, false);
    assert.deepEqual(
      plain.map(({ submission, network }) => [submission.id, network]),
      [
        [second, null],
        [fourth, null],
      ],
    );
    assert.deepEqual(await claimed(store, false), []);
    const others = await claimed(store, true);
    assert.deepEqual(others.map(({ submission }) => submission.id).sort(), [first, third, fifth].sort());
    assert.deepEqual(others[0]?.network, { policy: POLICY, leased: { up: 0, down: 0 } });
    assert.equal(others[0]?.submission.profile, "agent");
  });

  test("a submission of several runs gives its slot up only for those that the worker can serve", async (t) => {
    const { store } = await open(t);
    const [one, two] = [await addKey(store, "one"), await addKey(store, "two")];
    await enqueue(store, one);
    const [claim] = await claimed(store, false);
    assert.ok(claim);
    await networked(store, two);
    assert.equal(await store.submissions.isNext(claim.lease, false), true);
    assert.equal(await store.submissions.isNext(claim.lease, true), false);
  });

  test("leases of submissions and sandboxes share the day of their account, and never exceed a budget", async (t) => {
    const { store } = await open(t);
    const key = await addKey(store, "one");
    const owner = { accountId: key.accountId, projectId: null };
    await store.egress.setBound(owner, { policy: POLICY, upPerDay: 150, downPerDay: null }, ACTOR);
    const sandbox = newSandbox(sandboxRequest({ network: POLICY }), callerOf(key), "w", START_MS);
    const lease = { sandbox, idempotency: null, leaseUntilMs: START_MS + LEASE_MS, onlyKnown: false };
    assert.equal((await store.sandboxes.create(lease)).kind, "created");
    const id = await networked(store, key);
    const up = async (sandboxId: string, wanted: number, worker = "w") =>
      (await store.egress.lease({ sandboxId, worker, direction: "up", wanted })).bytes;
    assert.equal(await up(id, 10), 0, "it is pending");
    const [claim] = await claimed(store, true);
    assert.equal(claim?.submission.id, id);
    assert.equal(await up(id, 10, "another"), 0, "another worker has it");
    assert.deepEqual([await up(id, 80), await up(id, 80), await up(id, 1)], [80, 20, 0]);
    assert.deepEqual([await up(sandbox.id, 80), await up(sandbox.id, 1)], [50, 0]);
    const { day } = await store.egress.lease({ sandboxId: id, worker: "w", direction: "down", wanted: 1 });
    await store.egress.giveBack({ sandboxId: id, direction: "up", day, unused: 30 });
    assert.deepEqual([await up(sandbox.id, 20), await up(id, 80)], [20, 10]);
    const left = await store.egress.leftToday(await store.egress.bound(key.accountId, null));
    assert.equal(left.up, 0);
    assert.ok(claim);
    await store.submissions.finish(claim.lease, internalError("x"), null);
    await store.egress.giveBack({ sandboxId: id, direction: "up", day, unused: 10 });
    assert.equal(await up(id, 10), 0, "it has ended");
    assert.equal(await up(sandbox.id, 100), 10);
  });

  test("what a lost worker had leased stays counted, and its submission is not repeated", async (t) => {
    const { store, clock } = await open(t);
    const key = await addKey(store, "one");
    const owner = { accountId: key.accountId, projectId: null };
    await store.egress.setBound(owner, { policy: POLICY, upPerDay: 150, downPerDay: null }, ACTOR);
    const id = await networked(store, key);
    await claimed(store, true, 1, "lost");
    await store.egress.lease({ sandboxId: id, worker: "lost", direction: "up", wanted: 90 });
    assert.deepEqual(await sweepLater(store, clock, LEASE_MS), { requeued: [], failed: [id] });
    assert.equal((await store.egress.lease({ sandboxId: id, worker: "lost", direction: "up", wanted: 1 })).bytes, 0);
    assert.equal((await store.egress.leftToday(await store.egress.bound(key.accountId, null))).up, 60);
    // One that has not begun is claimed again, with what was leased before.
    const other = await networked(store, key);
    const [first] = await claimed(store, true);
    assert.ok(first);
    await store.egress.lease({ sandboxId: other, worker: "w", direction: "up", wanted: 7 });
    await store.submissions.release(first.lease, false);
    const [again] = await claimed(store, true);
    assert.deepEqual(again?.network?.leased, { up: 7, down: 0 });
  });

  test("what a submission reached is stored once, is read by its account alone, and is deleted with it", async (t) => {
    const { store, clock } = await open(t);
    const key = await addKey(store, "one");
    const stranger = await addKey(store, "stranger", { account: "stranger" });
    const [id, plain] = [await networked(store, key), idOf(await enqueue(store, key))];
    const read = (account = key.accountId) => store.submissions.network(id, account);
    assert.deepEqual(await read(), { policy: POLICY, egress: null });
    assert.equal(await read(stranger.accountId), undefined);
    assert.equal(await store.submissions.network(plain, key.accountId), null);
    await store.submissions.cancel(id, key.accountId);
    // The worker hears of the cancellation only afterwards.
    await store.submissions.storeEgress(id, EGRESS);
    await store.submissions.storeEgress(id, { ...EGRESS, bytes_up: 0 });
    await store.submissions.storeEgress(plain, EGRESS);
    let admitted = 0;
    const stored = await store.submissions.network(id, key.accountId, async (bytes) => {
      admitted = bytes;
    });
    assert.deepEqual(stored, { policy: POLICY, egress: EGRESS });
    assert.ok(admitted >= JSON.stringify(EGRESS).length);
    assert.equal(await store.submissions.network(plain, key.accountId), null);
    await store.retention.purge(clock.nowMs + 1, 100);
    assert.equal(await read(), undefined);
  });
});
