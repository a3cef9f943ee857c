import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { command } from "../../support/cli/one-process.ts";
import { assay, assayWithin, dataDirectory } from "../../support/cli/processes.ts";

/** Public, and no name to look up: nothing is sent there by these commands. */
const URL = "https://93.184.216.34/hook";

test("creates, lists, changes and removes an endpoint; prints a secret only once", async (t) => {
  const data = ["--data", dataDirectory(t)];
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await command("webhooks", ...args, "--json", ...data);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  await command("projects", "create", "--name", "shop", ...data);
  const made = await json("create", "--project", "shop", "--url", URL);
  const { id, secret, createdAt, ...rest } = made;
  assert.deepEqual(rest, { url: URL, project: "shop", projectId: rest.projectId, signing: "standard", active: true });
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT/);
  const listed = await json("list", "--project", "shop");
  assert.deepEqual(listed, [{ id, ...rest, createdAt }]);
  assert.equal((await json("disable", id)).active, false);
  assert.equal((await json("enable", id)).active, true);
  assert.equal((await json("set-signing", id, "raw")).signing, "raw");
  const rotated = await json("rotate", id, "--overlap", "1h");
  assert.match(rotated.secret, /^whsec_/);
  assert.ok(Math.abs(Date.parse(rotated.formerEndsAt) - Date.now() - 3_600_000) < 60_000);
  assert.notEqual(rotated.secret, secret);
  assert.match(
    (await command("webhooks", "list", ...data)).stdout,
    new RegExp(`^${id} +shop +${URL} +raw +active$`, "m"),
  );
  assert.deepEqual(await json("remove", id), { id, removed: true });
  assert.deepEqual(await json("list"), []);
  const { stdout: trail } = await command("audit", "list", "--json", ...data);
  for (const hidden of [secret, rotated.secret, "/hook"]) assert.equal(trail.includes(hidden), false, hidden);
});

test("neither the database nor its journal contains a plain secret; only the owner can read the key file", async (t) => {
  const data = dataDirectory(t);
  await command("projects", "create", "--name", "shop", "--data", data);
  const { stdout: secret } = await command("webhooks", "create", "--project", "shop", "--url", URL, "--data", data);
  const { stdout: key } = await command("keys", "create", "--name", "k", "--project", "shop", "--data", data);
  assert.match(secret, /^whsec_\S+\n$/);
  for (const name of readdirSync(join(data, "db"))) {
    const bytes = readFileSync(join(data, "db", name));
    assert.equal(bytes.includes(secret.trim()), false, name);
    assert.equal(bytes.includes(Buffer.from(secret.trim().slice("whsec_".length), "base64")), false, name);
    assert.equal(bytes.includes(key.trim()), false, name);
  }
  assert.equal(statSync(join(data, "keys", "webhook.key")).mode & 0o777, 0o600);
});

test("nothing starts and no key file is created if secrets are sealed with another key file", async (t) => {
  const data = dataDirectory(t);
  const create = ["webhooks", "create", "--project", "shop", "--url", URL, "--json", "--data", data];
  await command("projects", "create", "--name", "shop", "--data", data);
  const { id } = JSON.parse((await command(...create)).stdout);
  const key = join(data, "keys", "webhook.key");
  writeFileSync(key, randomBytes(32));
  for (const refused of [await command(...create), await assay("serve", "--data", data)]) {
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, new RegExp(`^assay: the secret of endpoint ${id} cannot be decrypted: .*\n$`));
  }
  const rotate = ["webhooks", "rotate", id, "--data", data];
  const refused = await command(...rotate);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /cannot be decrypted: .*; rotate without an overlap\n$/);
  assert.equal((await command(...rotate, "--now")).code, 0, "that is how it is repaired");
  assert.equal((await command(...create)).code, 0);
  rmSync(key);
  for (const refused of [await command(...create), await command(...rotate), await assay("serve", "--data", data)]) {
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^assay: .*webhook\.key does not exist; .* copy the old key file.*\n$/);
  }
});

test("a named key file that is missing is to be created only for a database without secrets", async (t) => {
  const data = dataDirectory(t);
  const named = { ASSAY_SECRET_KEY_FILE: join(data, "keys", "named.key") };
  const create = ["webhooks", "create", "--project", "shop", "--url", URL, "--data", data];
  const within = ["env", ...Object.entries(named).map(([name, value]) => `${name}=${value}`)];
  await command("projects", "create", "--name", "shop", "--data", data);
  const first = await assayWithin(within, "", ...create);
  assert.match(first.stderr, /^assay: .*named\.key does not exist; create it as root with: .*\n$/);
  assert.equal((await command(...create)).code, 0);
  const later = await assayWithin(within, "", ...create);
  assert.match(later.stderr, /^assay: .*named\.key does not exist; .* copy the old key file.*\n$/);
});

test("a mistake prints one sentence, fails and creates nothing", async (t) => {
  const data = ["--data", dataDirectory(t)];
  await command("projects", "create", "--name", "shop", ...data);
  const create = (url: string) => ["create", "--project", "shop", "--url", url];
  const refused: [string[], RegExp][] = [
    [["create", "--project", "shop"], /required option '--url <url>'/],
    [["create", "--project", "none", "--url", URL], /^assay: there is no project none\n$/],
    [[...create(URL), "--signing", "none"], /Allowed choices are standard, raw/],
    [create("http://93.184.216.34/"), /^assay: the URL must begin with https:\/\/\n$/],
    [create("https://127.0.0.1/"), /^assay: only public addresses are allowed: 127\.0\.0\.1 is loopback\n$/],
    [create("https://localhost/"), /^assay: localhost is not a public name\n$/],
    [create("hook"), /^assay: this is not a URL\n$/],
    [["disable", "none"], /^assay: there is no webhook endpoint none\n$/],
    [["rotate-secret", "none"], /^assay: there is no webhook endpoint none\n$/],
  ];
  for (const [args, expected] of refused) {
    const { code, stdout, stderr } = await command("webhooks", ...args, ...data);
    assert.notEqual(code, 0, args.join(" "));
    assert.equal(stdout, "", args.join(" "));
    assert.match(stderr, expected, args.join(" "));
  }
  assert.deepEqual(JSON.parse((await command("webhooks", "list", "--json", ...data)).stdout), []);
});

test("one command rotates the key file; rejects a wrong or missing file", async (t) => {
  const data = dataDirectory(t);
  const key = join(data, "keys", "webhook.key");
  const create = ["webhooks", "create", "--project", "shop", "--url", URL, "--json", "--data", data];
  const reseal = (...more: string[]) => command("webhooks", "reseal", ...more, "--data", data);
  await command("projects", "create", "--name", "shop", "--data", data);
  const { id } = JSON.parse((await command(...create)).stdout);
  const old = readFileSync(key);
  const kept = await reseal("--new-key");
  assert.deepEqual([kept.code, kept.stdout, kept.stderr], [0, "1 of 1 secrets sealed again\n", ""]);
  const young = readFileSync(key).subarray(0, 32);
  assert.deepEqual(readFileSync(key).subarray(32), old);
  const { uid, gid, mode } = statSync(key);
  assert.equal(uid, statSync(join(data, "db")).uid, "the service can read it");
  const { code, stdout } = await reseal("--forget-old", "--json");
  assert.deepEqual([code, JSON.parse(stdout)], [0, { secrets: 1, resealed: 0, forgotten: 1 }]);
  assert.deepEqual(readFileSync(key), young);
  assert.deepEqual([statSync(key).uid, statSync(key).gid, statSync(key).mode], [uid, gid, mode]);
  assert.equal((await command(...create)).code, 0);
  writeFileSync(key, old);
  const wrong = await reseal("--new-key", "--forget-old");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^assay: the secret of endpoint \S+ cannot be decrypted: .*\n$/);
  assert.deepEqual(readFileSync(key), old);
  rmSync(key);
  const missing = await reseal("--new-key");
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /^assay: .*webhook\.key does not exist; .* copy the old key file.*\n$/);
  const { stdout: trail } = await command("audit", "list", "--json", "--data", data);
  assert.ok(trail.includes("endpoint.reseal") && trail.includes(id));
});
