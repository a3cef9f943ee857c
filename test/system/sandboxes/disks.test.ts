import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import { type Ask, type Options, startHttp } from "../../support/http/running.ts";
import { type DiskDirectory, diskDirectory, NO_DISKS } from "../../support/launcher/disks.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually } from "../../support/launcher/machine.ts";
import { keeperOf } from "../../support/sandboxes/keeper.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { someLanguages } from "../../support/worker/some-languages.ts";

const MIB = 1_048_576;
const GIB = 1024 * MIB;
/** Of all disks together. */
const DISKS = 3 * GIB;
const SKIP = { skip: NO_DISKS };

let launcher: Launcher;
let disks: DiskDirectory;

before(async () => {
  if (NO_DISKS) return;
  disks = diskDirectory(DISKS);
  const options = { directory: disks.directory, bytes: DISKS };
  launcher = await startLauncher({ sandboxes: 4, sandboxMemory: 2048 * MIB, disks: options });
});

after(async () => {
  if (NO_DISKS) return;
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  await eventually("no disk is left", () => disks.devices() === 0);
  disks.remove();
});

/** The real server, with sandboxes of the real launcher. */
async function start(
  t: TestContext,
  { diskBytes = DISKS, ...options }: Options & { readonly diskBytes?: number } = {},
) {
  const running = await startHttp(t, {
    ...options,
    sandboxesOver: (store) =>
      keeperOf(t, {
        store,
        engine: sandboxesOf(launcher.socket),
        languages: someLanguages(["c"]),
        capacity: { sandboxes: 4, memoryBytes: 2048 * MIB, cpus: 1, diskBytes, network: false },
      }),
  });
  const agent = await running.key({ profiles: ["agent"] });
  const send = (ask: Ask) => running.ask({ key: agent, ...ask });
  const create = async (limits: object, more: object = {}) =>
    await send({ method: "POST", path: "/api/sandboxes", body: { limits, ...more } });
  return { ...running, send, create };
}

// On SQLite only: these tests are about what the kernel does with disks, and what the service refuses without its database.

test("a sandbox with a disk is used like any other, and its files can be more than its memory", SKIP, async (t) => {
  const { send, create } = await start(t);
  const { status, json, text } = await create({ storage: "disk", disk_bytes: 2 * GIB, memory_bytes: 128 * MIB });
  assert.equal(status, 201, text);
  const { limits, evidence } = json;
  assert.deepEqual([limits.storage, limits.disk_bytes, limits.inodes], ["disk", 2 * GIB, 131_072]);
  assert.deepEqual(evidence.controls_missing, []);
  const path = `/api/sandboxes/${json.id}`;
  const run = async (shell: string) => {
    const ran = await send({ method: "POST", path: `${path}/executions`, body: { shell } });
    assert.equal(ran.status, 200, ran.text);
    return ran.json;
  };
  const large = await run("for n in 1 2 3 4; do dd if=/dev/zero of=$n bs=1M count=60 2>/dev/null; done; cat ? | wc -c");
  assert.deepEqual([large.result.verdict, large.output.stdout], ["AC", `${240 * MIB}\n`]);
  assert.ok(large.metrics.memory_peak_bytes <= 128 * MIB, String(large.metrics.memory_peak_bytes));
  const used = (await send({ path: `${path}/metrics` })).json;
  assert.ok(used.disk_bytes > 240 * MIB && used.oom_kills === 0, JSON.stringify(used));
  // A file can be as large as the disk, and larger than in a sandbox in memory.
  const sparse = await run("rm ?; truncate -s 1500M a && stat -c %s a");
  assert.equal(sparse.output.stdout, `${1_500 * MIB}\n`, JSON.stringify(sparse));
  const ended = await send({ method: "DELETE", path });
  assert.equal(ended.json.evidence.teardown.cleanup_verified, true, ended.text);
  assert.equal(disks.devices(), 0);
});

test("a full disk is an error of programs and of requests for files, and no end of the sandbox", SKIP, async (t) => {
  const { send, create } = await start(t);
  const { json } = await create({ storage: "disk", disk_bytes: GIB, memory_bytes: 128 * MIB });
  const path = `/api/sandboxes/${json.id}`;
  const run = (shell: string) => send({ method: "POST", path: `${path}/executions`, body: { shell } });
  const full = (await run("for n in $(seq 20); do head -c 64000000 /dev/zero > $n || exit 7; done")).json;
  assert.deepEqual([full.result.verdict, full.result.exit_code], ["RE", 7], JSON.stringify(full.output));
  const put = await send({ method: "PUT", path: `${path}/files?path=more`, body: Buffer.alloc(MIB) });
  assert.deepEqual([put.status, put.json.code], [507, "noSpace"], put.text);
  assert.equal((await run("rm *; echo room > a; cat a")).json.output.stdout, "room\n");
  assert.equal((await send({ path })).json.state, "running");
  await send({ method: "DELETE", path });
});

test("a request for a disk is refused if no service could fulfil it, and waits for no room", SKIP, async (t) => {
  const { create, key, ask } = await start(t);
  const wrong = async (limits: object, status: number, message: RegExp) => {
    const refused = await create(limits);
    assert.deepEqual([refused.status, message.test(refused.text)], [status, true], refused.text);
  };
  await wrong({ storage: "disk", disk_bytes: 3 * GIB }, 400, /limits\.disk_bytes: a disk has 1073741824, 2147483648/);
  await wrong(
    { storage: "disk", disk_bytes: GIB, inodes: 1_000 },
    400,
    /limits\.inodes: a disk of 1073741824 bytes has 65536/,
  );
  await wrong({ disk_bytes: 8 * GIB }, 400, /limits\.disk_bytes: at most 4294967296 for files in memory/);
  await wrong({ inodes: 65_537 }, 400, /limits\.inodes: at most 65536 for files in memory/);
  await wrong({ storage: "tape" }, 400, /limits\.storage/);
  await wrong({ storage: "disk" }, 400, /limits\.disk_bytes: this service permits disks of at most 3221225472 bytes/);
  assert.equal((await create({ storage: "disk", disk_bytes: 2 * GIB, inodes: 131_072 })).status, 201);
  await wrong({ storage: "disk", disk_bytes: 2 * GIB }, 503, /no room/);
  const other = await key({ profiles: ["agent"], account: "other" });
  const body = { limits: { storage: "disk", disk_bytes: GIB } };
  const another = await ask({ method: "POST", path: "/api/sandboxes", key: other, body });
  assert.equal(another.status, 201, another.text);
});

onEachDatabase((open) => {
  test(
    "an account gets no more of disks than its tier permits, and none from a service without disks",
    SKIP,
    async (t) => {
      const { create, store } = await start(t, { open });
      const tier = { name: "beta", requestsPerMinute: 600, concurrency: 10, sandboxDiskBytes: GIB };
      await store.tiers.set(tier, "test");
      const refused = await create({ storage: "disk", disk_bytes: 2 * GIB });
      assert.deepEqual(
        [refused.status, /its most of disks of sandboxes: 1073741824/.test(refused.text)],
        [429, true],
        refused.text,
      );
      assert.equal((await create({ storage: "disk", disk_bytes: GIB })).status, 201);
      const without = await start(t, { open, diskBytes: 0 });
      const off = await without.create({ storage: "disk" });
      assert.deepEqual([off.status, /have no disks.*ASSAY_SANDBOX_DISK/.test(off.text)], [400, true], off.text);
    },
  );
});
