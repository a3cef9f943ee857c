import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { internalError } from "../../../src/domain/outcome.ts";
import { StoreError, StoreUnavailable } from "../../../src/store/database/errors.ts";
import { openStore } from "../../../src/store/open.ts";
import { addKey, enqueue } from "../../support/store/temporary.ts";

const MIB = 1 << 20;

/** Mounts a file system of 3 MiB. @returns its directory and functions to fill, empty, remount and remove it. */
function smallDisk() {
  const directory = mkdtempSync(join(tmpdir(), "assay-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${3 * MIB}`, "assay-test", directory]);
  const filler = join(directory, "filler");
  return {
    directory,
    fill: () => assert.throws(() => writeFileSync(filler, Buffer.alloc(4 * MIB)), { code: "ENOSPC" }),
    freeSpace: () => rmSync(filler),
    remount: (how: "ro" | "rw") => execFileSync("mount", ["-o", `remount,${how}`, directory]),
    remove: () => {
      execFileSync("umount", [directory]);
      rmdirSync(directory);
    },
  };
}

test("a full disk makes the store unavailable; it recovers when there is free space", async (t) => {
  const { directory, fill, freeSpace, remove } = smallDisk();
  const store = await openStore({ database: { kind: "sqlite", path: join(directory, "assay.sqlite") } });
  t.after(() => store.close().finally(remove));
  const key = await addKey(store, "key");
  await enqueue(store, key, { idempotencyKey: "one" });
  const [claim] = await store.submissions.claim("w", 60_000);
  assert.ok(claim);
  const read = () => store.submissions.get(claim.submission.id, key.accountId);
  const before = await read();
  const large = { code: `#${"x".repeat(60_000)}` };
  fill();
  const refused = (error: unknown) => error instanceof StoreUnavailable && /disk is full/.test(error.message);
  // All calls share one commit, and each receives the error.
  const calls = [
    () => enqueue(store, key, large),
    () => store.submissions.finish(claim.lease, internalError("x".repeat(60_000))),
    () => store.quota.take(key.keyId, 100),
  ];
  for (let round = 0; round < 3; round++)
    for (const settled of await Promise.allSettled(calls.map((call) => call())))
      assert.ok(settled.status === "rejected" && refused(settled.reason), JSON.stringify(settled));
  assert.deepEqual(await read(), before, "no partial writes, and existing data can be read");
  freeSpace();
  assert.equal((await enqueue(store, key, large)).kind, "enqueued");
  assert.equal((await enqueue(store, key, { idempotencyKey: "one" })).kind, "duplicate");
  assert.equal(await store.submissions.finish(claim.lease, internalError("late")), true);
  assert.equal((await read())?.status, "error");
});

test("opening a database on a read-only disk fails with its path and changes nothing", async (t) => {
  const { directory, remount, remove } = smallDisk();
  t.after(remove);
  const path = join(directory, "assay.sqlite");
  const open = () => openStore({ database: { kind: "sqlite", path } });
  const first = await open();
  const key = await addKey(first, "key");
  await enqueue(first, key, { idempotencyKey: "one" });
  await first.close();
  const refused = async () => {
    remount("ro");
    await assert.rejects(
      open(),
      (error) => error instanceof StoreError && error.message.startsWith(`cannot use the database ${path}: EROFS: `),
    );
    remount("rw");
  };
  await refused();
  // The files of a killed process could be opened, but only for reading.
  const script = `new (require("better-sqlite3"))(${JSON.stringify(path)}).exec("update tiers set concurrency = 1");
    process.kill(process.pid, "SIGKILL")`;
  assert.equal(spawnSync(process.execPath, ["-e", script], { cwd: import.meta.dirname }).signal, "SIGKILL");
  await refused();
  const second = await open();
  assert.equal((await enqueue(second, key, { idempotencyKey: "one" })).kind, "duplicate");
  await second.close();
});
