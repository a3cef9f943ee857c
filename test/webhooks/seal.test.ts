import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { SecretKeyError } from "../../src/webhooks/key-file.ts";
import { fileSealer, keySealer } from "../../src/webhooks/seal.ts";

const run = promisify(execFile);

const ID = randomUUID();
const SECRET = `whsec_${randomBytes(32).toString("base64")}`;

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "assay-key-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test("what is sealed opens again, and is different each time", () => {
  const sealer = keySealer(randomBytes(32));
  const sealed = sealer.seal(ID, SECRET);
  assert.equal(sealer.open(ID, sealed), SECRET);
  assert.equal(sealed.includes(SECRET), false);
  assert.equal(sealed.includes(SECRET.slice(6, 20)), false);
  assert.notDeepEqual(sealer.seal(ID, SECRET), sealed);
});

test("it opens for no other endpoint, with no other key, and not when one bit was changed", () => {
  const sealer = keySealer(randomBytes(32));
  const sealed = sealer.seal(ID, SECRET);
  assert.throws(() => sealer.open(randomUUID(), sealed), SecretKeyError);
  assert.throws(() => keySealer(randomBytes(32)).open(ID, sealed), SecretKeyError);
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => sealer.open(ID, changed), SecretKeyError, `byte ${at}`);
  }
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => sealer.open(ID, sealed.subarray(0, length)), SecretKeyError, `${length} bytes`);
  }
});

test("the key file is made on first use, for its owner alone, and then stays", (t) => {
  const path = join(directory(t), "webhook.key");
  const sealed = fileSealer({ path, make: true }).seal(ID, SECRET);
  const { mode, size } = statSync(path);
  assert.deepEqual([mode & 0o777, size], [0o600, 32]);
  const before = readFileSync(path);
  assert.equal(fileSealer({ path, make: true }).open(ID, sealed), SECRET);
  assert.equal(fileSealer({ path, make: false }).open(ID, sealed), SECRET);
  assert.deepEqual(readFileSync(path), before);
  assert.deepEqual(readdirSync(join(path, "..")), ["webhook.key"]);
});

test("processes that make the key at the same time have the same one", async (t) => {
  const path = join(directory(t), "keys", "webhook.key");
  const module = new URL("../../src/webhooks/seal.ts", import.meta.url).href;
  const script = `import { fileSealer } from ${JSON.stringify(module)};
    process.stdout.write(fileSealer({ path: process.argv[1], make: true }).seal("id", "secret").toString("hex"));`;
  const args = ["--input-type=module", "-e", script, path];
  const sealed = await Promise.all(Array.from({ length: 6 }, () => run(process.execPath, args)));
  const sealer = fileSealer({ path, make: false });
  for (const { stdout } of sealed) assert.equal(sealer.open("id", Buffer.from(stdout, "hex")), "secret");
  assert.deepEqual(readdirSync(join(path, "..")), ["webhook.key"]);
});

test("a key file that was named is never made", (t) => {
  const path = join(directory(t), "named.key");
  assert.throws(() => fileSealer({ path, make: false }), /is not there.*umask 077; .*chown assay: /);
  assert.throws(() => statSync(path), /ENOENT/);
});

test("a key file of another size, or one that others can read, is refused", (t) => {
  const path = join(directory(t), "webhook.key");
  for (const size of [0, 31, 33, 64]) {
    writeFileSync(path, randomBytes(size), { mode: 0o600 });
    assert.throws(() => fileSealer({ path, make: true }), new RegExp(`exactly 32 bytes, but it has ${size}`));
  }
  writeFileSync(path, randomBytes(32));
  for (const mode of [0o644, 0o604, 0o602, 0o620, 0o660]) {
    chmodSync(path, mode);
    assert.throws(() => fileSealer({ path, make: true }), /others than its owner/, mode.toString(8));
  }
  chmodSync(path, 0o440); // as a secret that an orchestrator mounts
  fileSealer({ path, make: false });
});
