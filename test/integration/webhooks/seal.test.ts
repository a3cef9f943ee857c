import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { addKey, forgetOldKeys, SecretKeyError } from "../../../src/webhooks/key-file.ts";
import { fileSealer, keySealer } from "../../../src/webhooks/seal.ts";

const run = promisify(execFile);

const ID = randomUUID();
const SECRET = `whsec_${randomBytes(32).toString("base64")}`;

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "assay-key-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test("seals differently each time, and opens what it sealed", () => {
  const sealer = keySealer(randomBytes(32));
  const sealed = sealer.seal(ID, SECRET);
  assert.equal(sealer.open(ID, sealed), SECRET);
  assert.equal(sealed.includes(SECRET), false);
  assert.equal(sealed.includes(SECRET.slice(6, 20)), false);
  assert.notDeepEqual(sealer.seal(ID, SECRET), sealed);
});

test("does not open with another endpoint, another key or a changed bit", () => {
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

test("creates the key file on first use, readable only by its owner, and keeps it", (t) => {
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

test("processes that create the key at the same time get the same key", async (t) => {
  const path = join(directory(t), "keys", "webhook.key");
  const module = new URL("../../../src/webhooks/seal.ts", import.meta.url).href;
  const script = `import { fileSealer } from ${JSON.stringify(module)};
    process.stdout.write(fileSealer({ path: process.argv[1], make: true }).seal("id", "secret").toString("hex"));`;
  const args = ["--input-type=module", "-e", script, path];
  const sealed = await Promise.all(Array.from({ length: 6 }, () => run(process.execPath, args)));
  const sealer = fileSealer({ path, make: false });
  for (const { stdout } of sealed) assert.equal(sealer.open("id", Buffer.from(stdout, "hex")), "secret");
  assert.deepEqual(readdirSync(join(path, "..")), ["webhook.key"]);
});

test("does not create a configured key file", (t) => {
  const path = join(directory(t), "named.key");
  assert.throws(() => fileSealer({ path, make: false }), /does not exist.*umask 077; .*chown assay: /);
  assert.throws(() => statSync(path), /ENOENT/);
});

test("refuses a key file with a wrong size or readable by others", (t) => {
  const path = join(directory(t), "webhook.key");
  for (const size of [0, 31, 33, 63, 17 * 32]) {
    writeFileSync(path, randomBytes(size), { mode: 0o600 });
    const refused = new RegExp(`32 bytes for each of 1 to 16 keys, but it has ${size} bytes`);
    assert.throws(() => fileSealer({ path, make: true }), refused);
  }
  writeFileSync(path, randomBytes(32));
  for (const mode of [0o644, 0o604, 0o602, 0o620, 0o660]) {
    chmodSync(path, mode);
    assert.throws(() => fileSealer({ path, make: true }), /users other than its owner/, mode.toString(8));
  }
  chmodSync(path, 0o440); // like a secret mounted by an orchestrator
  fileSealer({ path, make: false });
});

test("with several keys, the first one seals, with its name, and all of them open", (t) => {
  const path = join(directory(t), "webhook.key");
  const [old, young] = [randomBytes(32), randomBytes(32)];
  writeFileSync(path, old, { mode: 0o600 });
  const before = fileSealer({ path, make: false }).seal(ID, SECRET);
  assert.equal(before[0], 1, "the previous release must be able to open it");
  writeFileSync(path, Buffer.concat([young, old]));
  const both = fileSealer({ path, make: false });
  const after = both.seal(ID, SECRET);
  assert.equal(after[0], 2);
  assert.deepEqual(after.subarray(1, 5), both.newest());
  for (const sealed of [before, after]) assert.equal(both.open(ID, sealed), SECRET);
  const renewed = both.renew(ID, before) ?? Buffer.alloc(0);
  assert.equal(both.renew(ID, renewed), null);
  assert.equal(both.renew(ID, after), null);
  assert.equal(keySealer(young).open(ID, renewed), SECRET);
  assert.throws(() => keySealer(old).open(ID, renewed), SecretKeyError);
  assert.throws(() => keySealer(randomBytes(32)).renew(ID, before), SecretKeyError);
  for (let at = 0; at < after.length; at++) {
    const changed = Buffer.from(after);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => both.open(ID, changed), SecretKeyError, `byte ${at}`);
  }
  for (let length = 0; length < after.length; length++) {
    assert.throws(() => both.open(ID, after.subarray(0, length)), SecretKeyError, `${length} bytes`);
  }
  assert.throws(() => both.open(randomUUID(), after), SecretKeyError);
});

test("a running process rereads the file to seal, and to open secrets of unknown keys", (t) => {
  const path = join(directory(t), "webhook.key");
  const running = fileSealer({ path, make: true });
  const first = running.seal(ID, SECRET);
  addKey(path);
  const sealed = running.seal(ID, SECRET);
  assert.deepEqual(sealed.subarray(1, 5), fileSealer({ path, make: false }).newest());
  addKey(path);
  assert.equal(running.open(ID, fileSealer({ path, make: false }).seal(ID, SECRET)), SECRET);
  assert.equal(running.open(ID, first), SECRET);
  rmSync(path);
  assert.throws(() => running.seal(ID, SECRET), /does not exist/, "removed keys must not be used");
  assert.equal(readdirSync(join(path, "..")).length, 0, "no key file must be created");
});

test("adds a key at the front, removes the others, and keeps the mode", (t) => {
  const path = join(directory(t), "webhook.key");
  fileSealer({ path, make: true });
  const old = readFileSync(path);
  chmodSync(path, 0o640);
  addKey(path);
  assert.deepEqual(readFileSync(path).subarray(32), old);
  assert.equal(statSync(path).mode & 0o777, 0o640);
  const { newest } = fileSealer({ path, make: false });
  const young = readFileSync(path).subarray(0, 32);
  assert.throws(() => forgetOldKeys(path, randomBytes(4)), /the first key of .* has changed/);
  assert.equal(readFileSync(path).length, 64);
  assert.equal(forgetOldKeys(path, newest()), 1);
  assert.deepEqual(readFileSync(path), young);
  assert.equal(forgetOldKeys(path, newest()), 0);
  for (let keys = 1; keys < 16; keys++) addKey(path);
  assert.throws(() => addKey(path), /already has 16 keys, the maximum/);
  assert.deepEqual(readdirSync(join(path, "..")), ["webhook.key"]);
});

test("concurrent commands that add a key do not lose each other's key", async (t) => {
  const path = join(directory(t), "webhook.key");
  fileSealer({ path, make: true });
  const module = new URL("../../../src/webhooks/key-file.ts", import.meta.url).href;
  const script = `import { addKey } from ${JSON.stringify(module)}; addKey(process.argv[1]);`;
  const args = ["--input-type=module", "-e", script, path];
  const ended = await Promise.allSettled(Array.from({ length: 4 }, () => run(process.execPath, args)));
  const added = ended.filter(({ status }) => status === "fulfilled").length;
  assert.ok(added > 0);
  assert.equal(readFileSync(path).length, 32 * (1 + added));
  writeFileSync(`${path}.new`, "");
  assert.throws(() => addKey(path), /webhook\.key\.new exists: another command .*was interrupted/);
  assert.equal(readFileSync(path).length, 32 * (1 + added));
});

test("refuses a key file with a duplicate key", (t) => {
  const path = join(directory(t), "webhook.key");
  const key = randomBytes(32);
  writeFileSync(path, Buffer.concat([key, key]), { mode: 0o600 });
  assert.throws(() => fileSealer({ path, make: false }), /has a duplicate key/);
});
