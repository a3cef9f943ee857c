import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import pino from "pino";
import { newSandbox, type SandboxRefusalCode, SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import type { Store } from "../../../src/store/store.ts";
import { SnapshotStore } from "../../../src/worker/sandboxes/snapshot-store.ts";
import { Snapshots } from "../../../src/worker/sandboxes/snapshots.ts";
import { callerOf, sandboxRequest } from "../../support/sandboxes/caller.ts";
import { addKey, onEachDatabase } from "../../support/store/temporary.ts";

const MIB = 1_048_576;

const refusedAs = (code: SandboxRefusalCode) => (error: unknown) => SandboxRefused.is(error, code);

/** The snapshots of one machine. */
async function machine(store: Store, directory: string): Promise<Snapshots> {
  const files = await SnapshotStore.open(directory);
  return await Snapshots.start({ store, files, bytes: 8 * MIB, log: pino({ level: "silent" }) });
}

onEachDatabase((temporaryStore) => {
  test("machines that share a directory share its snapshots and its space", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "one");
    const directory = mkdtempSync(join(tmpdir(), "shared-"));
    const [first, second] = [await machine(store, directory), await machine(store, directory)];
    const elsewhere = await machine(store, mkdtempSync(join(tmpdir(), "own-")));
    assert.equal(second.storeId, first.storeId);
    const sandbox = newSandbox(sandboxRequest(), callerOf(key), "", Date.now());
    const take = (from: Snapshots, bytes: number) =>
      from.take({
        sandbox,
        name: null,
        keyId: key.keyId,
        leastBytes: 1,
        save: async (write) => {
          await write(Buffer.alloc(bytes, "x"));
          return { files: 1 };
        },
      });
    const bytesOf = async (from: Snapshots, id: string) => {
      const pieces = [];
      for await (const piece of from.read(await from.find(id, key.accountId))) pieces.push(Buffer.from(piece));
      return Buffer.concat(pieces);
    };

    const snapshot = await take(first, 3 * MIB);
    assert.ok((await bytesOf(second, snapshot.id)).equals(Buffer.alloc(3 * MIB, "x")));
    await assert.rejects(elsewhere.find(snapshot.id, key.accountId), refusedAs("snapshotElsewhere"));

    // The space is that of the directory: an account gets at most as much as it leaves free.
    await assert.rejects(take(second, 3 * MIB), refusedAs("snapshotsFull"));
    await second.remove(snapshot.id, key.accountId);
    await assert.rejects(first.find(snapshot.id, key.accountId), refusedAs("snapshotNotFound"));
    const next = await take(first, 3 * MIB);
    assert.equal((await bytesOf(second, next.id)).length, 3 * MIB);

    // What one machine sweeps away is no longer counted by the other one.
    await first.sweep(Date.now() + 60_000, false);
    assert.equal((await take(second, 3 * MIB)).bytes, 3 * MIB);
  });
});
