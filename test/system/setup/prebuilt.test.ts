import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Command, FakeCheckout } from "./fake-checkout.ts";

test("separate software serves another data directory without fetching, building or copying", async () => {
  using fake = new FakeCheckout();
  const assay = await fake.prebuilt();
  const built = [fake.count("image-built"), fake.count("launcher-built")];
  const data = join(fake.root, "volume");
  for (const time of ["first", "second"]) {
    const serve = new Command(assay, ["serve"], { ASSAY_DATA: data });
    await serve.says(/ready in[\s\S]*export ASSAY_URL/);
    serve.child.kill("SIGTERM");
    const { code, stdout, stderr } = await serve.end();
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /npm|compiling|building|copied|unpacking/);
    // The output of the command is a container's log, which must not contain a key.
    assert.doesNotMatch(stdout + stderr, /assay_live_|welcome#/);
    for (const command of ["assay keys create --name first", "assay members link --origin https:"])
      assert.equal(stderr.includes(`in here: ${command}`), time === "first", stderr);
  }
  assert.deepEqual([fake.count("image-built"), fake.count("launcher-built")], built);
  for (const name of ["app", "modules", "launcher", "image"])
    assert.ok(!existsSync(join(data, name, "current")) && !existsSync(join(data, "current")), name);
  assert.ok(existsSync(join(data, "tls/server.key")) && existsSync(join(data, "db")));
  const made = await new Command(assay, ["keys", "create"], { ASSAY_DATA: data }).end();
  assert.equal(made.stdout, "assay_live_fake\n");
});

test("separate software rejects commands for a machine or a checkout before any change", async () => {
  using fake = new FakeCheckout();
  const assay = await fake.prebuilt();
  const data = join(fake.root, "volume");
  for (const command of ["install", "configure", "release", "set-up", "test", "uninstall"]) {
    const { code, stderr } = await new Command(assay, [command], { ASSAY_DATA: data }).end();
    assert.deepEqual([code, stderr.includes(`'assay ${command}' is for a machine`)], [1, true], stderr);
  }
  assert.equal(existsSync(data), false);
});
