import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { SandboxRefused } from "../../../../src/domain/sandboxes/sandbox.ts";
import { SnapshotStore } from "../../../../src/worker/sandboxes/snapshot-store.ts";

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "snapshot-store-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return join(directory, "snapshots");
}

async function all(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

const refused = (code: "snapshotDamaged" | "snapshotNotFound") => (error: unknown) => SandboxRefused.is(error, code);
const archives = (directory: string) => readdirSync(directory).filter((name) => name !== "id");

test("an archive comes back as it was written, in private files, under the same id of the store", async (t) => {
  const directory = temporary(t);
  const store = await SnapshotStore.open(directory);
  for (const size of [0, 1, 1_048_576, 3_000_001]) {
    const id = randomUUID();
    const content = randomBytes(size);
    const written = await store.write(id, async (take) => {
      for (let at = 0; at < size; at += 61_440) {
        const piece = Buffer.from(content.subarray(at, at + 61_440));
        await take(piece);
        piece.fill(0); // the caller may change it
      }
    });
    assert.deepEqual(written, { bytes: size, sha256: createHash("sha256").update(content).digest("hex") });
    if (size > 0) assert.ok((await all(store.read(id, written))).equals(content));
    assert.equal(statSync(join(directory, id)).mode & 0o777, 0o600);
  }
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.equal((await SnapshotStore.open(directory)).id, store.id);
  const ids = await Promise.all(Array.from({ length: 4 }, () => SnapshotStore.open(join(directory, "other"))));
  assert.equal(new Set(ids.map(({ id }) => id)).size, 1);
});

test("a failure at any moment leaves no archive", async (t) => {
  const directory = temporary(t);
  const store = await SnapshotStore.open(directory);
  const id = randomUUID();
  const fails = new Error("fails");
  const part = Buffer.alloc(2_000_000);
  await assert.rejects(
    store.write(id, async (take) => {
      await take(part);
      assert.deepEqual(archives(directory), [`${id}.writing`]);
      throw fails;
    }),
    fails,
  );
  let admitted = 0;
  const admit = (bytes: number) => {
    admitted += bytes;
    if (admitted > 1_500_000) throw fails;
  };
  await assert.rejects(
    store.write(id, async (take) => take(part), admit),
    fails,
  );
  assert.deepEqual(archives(directory), []);
});

test("what a killed process has left is listed and removed, and is no archive", async (t) => {
  const directory = temporary(t);
  const store = await SnapshotStore.open(directory);
  const [half, whole] = [randomUUID(), randomUUID()];
  writeFileSync(join(directory, `${half}.writing`), "half");
  const written = await store.write(whole, async (take) => take(Buffer.from("whole")));
  assert.deepEqual((await store.list()).sort(), [half, whole].sort());
  await assert.rejects(all(store.read(half, written)), refused("snapshotNotFound"));
  await store.remove(half);
  assert.deepEqual(archives(directory), [whole]);
});

test("another content is refused, and its end does not come", async (t) => {
  const directory = temporary(t);
  const store = await SnapshotStore.open(directory);
  const id = randomUUID();
  const content = randomBytes(2_500_000);
  const written = await store.write(id, async (take) => take(content));
  const file = join(directory, id);
  const changes: readonly (() => void)[] = [
    () => writeFileSync(file, Buffer.concat([content, Buffer.from("more")])),
    () => truncateSync(file, 2_499_999),
    () => writeFileSync(file, Buffer.concat([Buffer.from([(content[0] as number) ^ 1]), content.subarray(1)])),
    () => truncateSync(file, 0),
  ];
  for (const change of changes) {
    change();
    let bytes = 0;
    await assert.rejects(async () => {
      for await (const part of store.read(id, written)) bytes += part.length;
    }, refused("snapshotDamaged"));
    assert.ok(bytes < content.length);
  }
  writeFileSync(file, content);
  const reading = store.read(id, written);
  await reading.next();
  await store.remove(id);
  assert.ok((await all(reading)).length > 0, "a removal does not disturb who reads");
  assert.throws(() => readFileSync(file));
});
