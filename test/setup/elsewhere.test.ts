import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Command, FakeCheckout } from "./fake-checkout.ts";

/** What a container's image has, and the command in it. */
async function software(fake: FakeCheckout): Promise<string> {
  const { code, stderr } = await fake.run("set-up", "software");
  assert.equal(code, 0, stderr);
  return join(fake.data, "current/app/assay");
}

test("set-up of the software alone makes what runs, and neither a certificate nor a place for a service", async () => {
  using fake = new FakeCheckout();
  await software(fake);
  assert.deepEqual(fake.list("current").sort(), [
    "app",
    "dashboard",
    "environment",
    "image",
    "launcher",
    "node",
    "uses",
  ]);
  for (const name of ["tls", "db", "keys"]) assert.equal(existsSync(join(fake.data, name)), false, name);
  const both = await fake.run("set-up", "software", "--no-worker");
  assert.deepEqual([both.code, /services and workers alike/.test(both.stderr)], [2, true]);
  assert.match((await fake.run("install", "software")).stderr, /error/);
});

test("software that was set up elsewhere serves another data directory, and fetches, builds and copies nothing", async () => {
  using fake = new FakeCheckout();
  const assay = await software(fake);
  const built = [fake.count("image-built"), fake.count("launcher-built")];
  const data = join(fake.root, "volume");
  for (const time of ["first", "second"]) {
    const serve = new Command(assay, ["serve"], { ASSAY_DATA: data });
    await serve.says(/nobody can sign in/);
    serve.child.kill("SIGTERM");
    const { code, stdout, stderr } = await serve.end();
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /npm|compiling|building|copied|unpacking/);
    // Its words are a container's log, which is no place for a key.
    assert.doesNotMatch(stdout + stderr, /assay_live_|welcome#/);
    assert.match(stderr, /nobody can sign in to the dashboard yet; in here: assay members link --origin https:/);
    assert.equal(stderr.includes("there is no key yet; in here: assay keys create"), time === "first", stderr);
  }
  assert.deepEqual([fake.count("image-built"), fake.count("launcher-built")], built);
  for (const name of ["app", "modules", "launcher", "image"])
    assert.ok(!existsSync(join(data, name, "current")) && !existsSync(join(data, "current")), name);
  assert.ok(existsSync(join(data, "tls/server.key")) && existsSync(join(data, "db")));
  const made = await new Command(assay, ["keys", "create"], { ASSAY_DATA: data }).end();
  assert.equal(made.stdout, "assay_live_fake\n");
});

test("what is about a machine, or a checkout, is refused to such software before anything is changed", async () => {
  using fake = new FakeCheckout();
  const assay = await software(fake);
  const data = join(fake.root, "volume");
  for (const command of ["install", "release", "set-up", "test", "uninstall"]) {
    const { code, stderr } = await new Command(assay, [command], { ASSAY_DATA: data }).end();
    assert.deepEqual([code, stderr.includes(`'assay ${command}' is for a machine`)], [1, true], stderr);
  }
  assert.equal(existsSync(data), false);
  // Where it lies itself it is what it was: to be set up anew.
  assert.equal((await fake.run("set-up", "software")).code, 0);
  assert.match(readFileSync(join(fake.data, "current/environment"), "utf8"), /^STARTED=\/ready$/m);
});
