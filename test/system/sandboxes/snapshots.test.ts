import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import type { SandboxHandle } from "../../../src/domain/sandboxes/host.ts";
import {
  type Sandbox,
  type SandboxRefusalCode,
  SandboxRefused,
  type SandboxRequest,
} from "../../../src/domain/sandboxes/sandbox.ts";
import { newSnapshot } from "../../../src/domain/sandboxes/snapshot.ts";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import type { SandboxKeeper } from "../../../src/worker/sandboxes/keeper.ts";
import { SnapshotStore } from "../../../src/worker/sandboxes/snapshot-store.ts";
import { Snapshots } from "../../../src/worker/sandboxes/snapshots.ts";
import { type DiskDirectory, diskDirectory, NO_DISKS } from "../../support/launcher/disks.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper, untilOutput } from "../../support/sandboxes/keeper.ts";
import {
  addKey,
  type OpenTemporary,
  onEachDatabase,
  type Temporary,
  temporaryStore,
} from "../../support/store/temporary.ts";

const MIB = 1_048_576;
const GIB = 1024 * MIB;
const LIMITS = {
  memoryBytes: 256 * MIB,
  diskBytes: 128 * MIB,
  inodes: 8_192,
  processes: 64,
  cpus: 1,
  storage: "memory",
} as const;

let launcher: Launcher;
let disks: DiskDirectory | undefined;

before(async () => {
  if (!NO_DISKS) disks = diskDirectory(4 * GIB);
  launcher = await startLauncher({
    sandboxes: 8,
    sandboxMemory: 4096 * MIB,
    ...(disks && { disks: { directory: disks.directory, bytes: 4 * GIB } }),
  });
});

after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  disks?.remove();
});

/** What the tests of one suite use: a new database, and a keeper over it with a directory of snapshots. */
interface Used {
  readonly temporary: Temporary;
  readonly directory: string;
  readonly files: SnapshotStore;
  readonly snapshots: Snapshots;
  readonly keeper: SandboxKeeper;
  readonly key: Awaited<ReturnType<typeof addKey>>;
}

async function begin(open: OpenTemporary): Promise<Used> {
  const temporary = await open();
  temporary.clock.nowMs = Date.now();
  const { store } = temporary;
  const key = await addKey(store, "one");
  const directory = mkdtempSync(join(tmpdir(), "snapshots-"));
  const files = await SnapshotStore.open(directory);
  const snapshots = await Snapshots.start({ store, files, bytes: 256 * MIB, log: pino({ level: "silent" }) });
  const keeper = newKeeper({
    store,
    engine: sandboxesOf(launcher.socket),
    capacity: { sandboxes: 8, memoryBytes: 4096 * MIB, cpus: 1, diskBytes: disks ? 4 * GIB : 0, network: false },
    snapshots,
  });
  return { temporary, directory, files, snapshots, keeper, key };
}

/** For the tests of the suite that calls this. `used` exists while they run. */
function useSnapshots(open: OpenTemporary) {
  let used: Used;
  before(async () => {
    used = await begin(open);
  });
  after(async () => {
    await used.keeper.stop();
    await used.temporary.dispose();
    rmSync(used.directory, { recursive: true });
  });
  const create = async (changes: Partial<SandboxRequest> = {}, owner = used.key): Promise<SandboxHandle> => {
    const sandbox = await used.keeper.create(sandboxRequest({ limits: LIMITS, ...changes }), callerOf(owner), null);
    return await used.keeper.find(sandbox.id, owner.accountId);
  };
  const take = (living: SandboxHandle, name: string | null = null) => living.snapshot(name, used.key.keyId);
  const archives = () => readdirSync(used.directory).filter((name) => name !== "id");
  const remove = async (...ids: readonly string[]) => {
    for (const id of ids) await used.keeper.removeSnapshot(id, used.key.accountId);
  };
  return { used: () => used, create, take, archives, remove };
}

async function run(living: SandboxHandle, shell: string): Promise<string> {
  const { outcome } = await (await living.execute(shellRequest(shell))).ended;
  assert.equal(outcome?.result.verdict, "AC", `${shell}: ${outcome?.output?.stderr}`);
  return outcome?.output?.stdout.toString() ?? "";
}

async function over(living: SandboxHandle): Promise<Sandbox> {
  while (living.sandbox.state !== "ended") await sleep(50);
  return living.sandbox;
}

const refusedAs = (code: SandboxRefusalCode) => (error: unknown) =>
  SandboxRefused.is(error, code) || assert.fail(String(error));

onEachDatabase((open) => {
  const { used, create, take, archives, remove } = useSnapshots(open);

  test("at the end of its time, a sandbox leaves a snapshot, or says why not", async () => {
    const kept = await create({ onTimeout: "snapshot", lifetimeSecs: 2 });
    await run(kept, "echo kept > file; sleep 300 >/dev/null 2>&1 &");
    const ended = await over(kept);
    assert.deepEqual([ended.endReason, ended.lastSnapshotError], ["lifetime", null]);
    assert.equal(ended.evidence?.teardown?.reaped, true);
    assert.ok(ended.lastSnapshotId);
    const next = await create({ from: ended.lastSnapshotId });
    assert.equal(await run(next, "cat file"), "kept\n");
    await next.end();
    await remove(ended.lastSnapshotId);

    const deep = await create({ onTimeout: "snapshot", idleSecs: 2 });
    await run(deep, "i=0; while [ $i -lt 250 ]; do mkdir d && cd d || exit; i=$((i+1)); done");
    const failed = await over(deep);
    assert.deepEqual([failed.endReason, failed.lastSnapshotId], ["idle", null]);
    assert.match(failed.lastSnapshotError ?? "", /nested too deeply/);

    const plain = await over(await create({ lifetimeSecs: 1 }));
    assert.deepEqual([plain.endReason, plain.lastSnapshotId, plain.lastSnapshotError], ["lifetime", null, null]);
    assert.deepEqual(archives(), []);
  });

  test("another account, and an unknown id, find no snapshot", async () => {
    const living = await create();
    const snapshot = await take(living);
    const other = await addKey(used().temporary.store, "two");
    await assert.rejects(create({ from: snapshot.id }, other), refusedAs("snapshotNotFound"));
    await assert.rejects(used().keeper.removeSnapshot(snapshot.id, other.accountId), refusedAs("snapshotNotFound"));
    await remove(snapshot.id);
    await assert.rejects(create({ from: snapshot.id }), refusedAs("snapshotNotFound"));
    await living.end();
  });

  test("a snapshot that is deleted while a sandbox begins with it has all of its files", async () => {
    const living = await create();
    await run(living, "head -c 30000000 /dev/urandom > big; sha256sum big > sum");
    const snapshot = await take(living);
    const begun = create({ from: snapshot.id });
    while (used().keeper.counts().held.sandboxes < 2) await sleep(1);
    await sleep(30);
    await remove(snapshot.id);
    const fork = await begun.catch((error: unknown) => {
      assert.ok(SandboxRefused.is(error, "snapshotNotFound"), String(error)); // it was deleted before the first byte
      return null;
    });
    if (fork) {
      assert.equal(await run(fork, "sha256sum -c sum"), "big: OK\n");
      await fork.end();
    }
    await living.end();
  });

  test("a sandbox that ends while its snapshot is taken leaves none", async () => {
    const living = await create();
    await run(living, "head -c 60000000 /dev/urandom > big");
    const taking = take(living);
    await sleep(20);
    const [, ended] = await Promise.all([
      taking.then(
        ({ id }) => remove(id),
        (error: unknown) => assert.ok(error instanceof SandboxRefused, String(error)),
      ),
      living.end(),
    ]);
    assert.deepEqual([ended.state, ended.evidence?.teardown?.reaped, archives()], ["ended", true, []]);
  });

  test("a sweep removes what no row names, and rows that are old", async () => {
    const living = await create();
    const [old, kept] = [await take(living), await take(living)];
    await living.end();
    const orphan = "11111111-2222-4333-8444-555555555555";
    writeFileSync(join(used().directory, orphan), "left by a killed process");
    writeFileSync(join(used().directory, `${orphan.replace("1", "9")}.writing`), "left by a killed process");
    // A process that was killed after it has written an archive, and before that was recorded.
    const chosen = { name: null, keyId: used().key.keyId, storeId: used().files.id };
    const unrecorded = newSnapshot(living.sandbox, chosen, Date.now());
    const begun = { snapshot: unrecorded, leastBytes: 1, untilMs: Date.now() + 60_000 };
    assert.equal((await used().temporary.store.snapshots.begin(begun, true)).kind, "begun");
    await used().files.write(unrecorded.id, async (take) => take(Buffer.from("archive")));
    await used().keeper.removeSnapshot(old.id, used().key.accountId);
    await used().snapshots.sweep(0, false);
    assert.deepEqual(archives().sort(), [kept.id, unrecorded.id].sort(), "another process may still write it");
    await used().snapshots.sweep(0, true);
    assert.deepEqual(archives(), [kept.id]);
    await used().snapshots.sweep(Date.now() + 1, false);
    assert.deepEqual(archives(), []);
    assert.equal(await used().temporary.store.snapshots.get(kept.id, used().key.accountId), null);
  });
});

// On SQLite only: these tests are about archives and programs, and take most of the time of this file. The rows that bound the snapshots of an account are
// tested on both databases in test/integration/store/snapshots.test.ts.
describe("the files of a snapshot", () => {
  const { used, create, take, archives, remove } = useSnapshots(temporaryStore);

  test("a sandbox and any number of new ones have the same files, and each goes its own way", async () => {
    const first = await create();
    await run(first, "mkdir -p project/empty && echo 1 > project/state && echo tmp > /tmp/file");
    const snapshot = await take(first, "one");
    assert.deepEqual([snapshot.name, snapshot.sandboxId], ["one", first.sandbox.id]);
    await run(first, "echo 2 > project/state");
    const forks = await Promise.all([create({ from: snapshot.id }), create({ from: snapshot.id })]);
    for (const fork of forks) {
      assert.equal(fork.sandbox.from, snapshot.id);
      const listing = "cat project/state /tmp/file; ls -A; ls -A project; id -un; touch new; pip --version > /dev/null";
      assert.equal(await run(fork, listing), "1\ntmp\n.local\nproject\nempty\nstate\nuser\n");
      await run(fork, "echo own >> project/state");
      const again = await take(fork);
      assert.notEqual(again.sha256, snapshot.sha256);
      await remove(again.id);
    }
    assert.equal(await run(first, "cat project/state"), "2\n");
    await Promise.all([first, ...forks].map((one) => one.end()));
    assert.deepEqual(archives(), [snapshot.id]);
    await remove(snapshot.id);
    assert.deepEqual(archives(), []);
  });

  test("files move between disks and memory by snapshots", { skip: NO_DISKS }, async () => {
    const onDisk = { ...LIMITS, storage: "disk", diskBytes: GIB, inodes: 65_536 } as const;
    const first = await create({ limits: onDisk });
    await run(
      first,
      "mkdir -p a/b && head -c 5000000 /dev/urandom > a/big && ln a/big /tmp/hard && sha256sum a/big > sum",
    );
    const snapshot = await take(first);
    const limits = [LIMITS, onDisk];
    const copies = await Promise.all(limits.map((one) => create({ from: snapshot.id, limits: one })));
    for (const [at, copy] of copies.entries()) {
      assert.equal(copy.sandbox.limits.storage, limits[at]?.storage);
      assert.equal(await run(copy, "sha256sum --status -c sum && stat -c %h a/big && ls a"), "2\nb\nbig\n");
      const { sha256, id } = await take(copy);
      assert.equal(sha256, snapshot.sha256);
      await remove(id);
    }
    await Promise.all([first, ...copies].map((one) => one.end()));
    await remove(snapshot.id);
  });

  test("programs go on after a snapshot, and requests wait for its end", async () => {
    const living = await create();
    await run(living, "head -c 30000000 /dev/urandom > big");
    const server = await living.execute(
      shellRequest("trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.02; done"),
    );
    await untilOutput(server, "ready");
    const taking = take(living);
    const meanwhile = [run(living, "echo in"), living.files.stat("big"), server.signal("SIGTERM")];
    const snapshot = await taking;
    assert.equal(await meanwhile[0], "in\n");
    await Promise.all(meanwhile);
    assert.equal((await server.ended).outcome?.result.exitCode, 5);
    await living.pause();
    const paused = await take(living);
    assert.deepEqual([paused.sha256 !== snapshot.sha256, living.sandbox.state], [false, "paused"]);
    await living.resume();
    await run(living, "true");
    await living.end();
    await remove(snapshot.id, paused.id);
  });

  test("what does not fit, and what is damaged, gives no sandbox", async () => {
    const living = await create();
    await run(living, "head -c 40000000 /dev/urandom > big");
    const snapshot = await take(living);
    await living.end();
    const small = { ...LIMITS, diskBytes: 16 * MIB };
    await assert.rejects(create({ from: snapshot.id, limits: small }), refusedAs("snapshotTooLarge"));
    const poor = { ...LIMITS, memoryBytes: 64 * MIB };
    await (await create({ from: snapshot.id, limits: poor })).end();
    writeFileSync(join(used().directory, snapshot.id), Buffer.alloc(snapshot.bytes));
    await assert.rejects(create({ from: snapshot.id }), refusedAs("snapshotDamaged"));
    rmSync(join(used().directory, snapshot.id));
    await assert.rejects(create({ from: snapshot.id }), refusedAs("snapshotDamaged"));
    const { sandboxes } = await used().temporary.store.sandboxes.list(used().key.accountId, { max: 3 });
    assert.deepEqual(new Set(sandboxes.slice(0, 2).map(({ endReason }) => endReason)), new Set(["failed"]));
    await remove(snapshot.id);
  });

  test("the bytes of the account and of the machine bound a snapshot while it is written", async () => {
    const allow = (snapshotBytes: number) =>
      used().temporary.store.tiers.set({ name: "beta", requestsPerMinute: 60, concurrency: 10, snapshotBytes }, "test");
    const living = await create();
    // Many names of one file: the archive is larger than the files.
    await run(living, "mkdir links; cd links; : > first; for i in $(seq 3000); do ln first name-$i; done");
    await allow(MIB);
    await assert.rejects(take(living), refusedAs("snapshotQuota"));
    await run(living, "head -c 60000000 /dev/urandom > big");
    await assert.rejects(take(living), refusedAs("snapshotQuota"));
    await allow(4096 * MIB);
    const taken: string[] = [];
    await assert.rejects(async () => {
      for (let n = 0; n < 6; n++) taken.push((await take(living)).id);
    }, refusedAs("snapshotsFull"));
    // An account may use what leaves as much for others: half of 256 MiB.
    assert.ok(taken.length >= 1 && taken.length <= 2, String(taken.length));
    assert.deepEqual(archives().sort(), taken.toSorted());
    assert.equal(await run(living, "ls links | wc -l"), "3001\n");
    await living.end();
    await remove(...taken);
  });
});
