import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DISK_INODE_BYTES, DISK_SIZES, SANDBOX_LIMITS } from "../../../../src/domain/sandboxes/sandbox.ts";

const text = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");
const found = (path: string, pattern: RegExp) => pattern.exec(text(path))?.[1] ?? assert.fail(`${path}: no ${pattern}`);

test("set-up, launcher and service have the same disks", () => {
  const gibibytes = found("setup/disks.sh", /^disk_sizes='([\d ]+)'$/m)
    .split(" ")
    .map(Number);
  assert.deepEqual(
    gibibytes.map((gib) => gib * 2 ** 30),
    DISK_SIZES,
  );
  assert.equal(Number(found("setup/disks.sh", /^disk_inode_bytes=(\d+)$/m)), DISK_INODE_BYTES);
  assert.equal(Number(found("launcher/disks.h", /DISK_INODE_BYTES = (\d+)/)), DISK_INODE_BYTES);
  assert.equal(found("setup/disks.sh", /^disk_template=(\d+)$/m), found("launcher/disks.c", /\bTEMPLATE = (\d+)/));
});

test("a disk begins where memory could end", () => {
  assert.ok((DISK_SIZES[0] ?? 0) <= SANDBOX_LIMITS.diskBytes.most);
  assert.ok(DISK_SIZES.every((bytes) => bytes % DISK_INODE_BYTES === 0));
});
