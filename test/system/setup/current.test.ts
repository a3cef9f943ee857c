import assert from "node:assert/strict";
import { existsSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Command, FakeCheckout } from "./fake-checkout.ts";

const URL = "postgres://assay@db.example/assay";

test("set-up links matching versions under stable names and starts nothing", async () => {
  using fake = new FakeCheckout();
  const { code, stderr } = await fake.run("set-up");
  assert.equal(code, 0, stderr);
  assert.deepEqual(fake.list("current").sort(), [
    "app",
    "dashboard",
    "environment",
    "image",
    "launcher",
    "node",
    "uses",
  ]);
  assert.equal(readFileSync(join(fake.data, "current/environment"), "utf8"), "SERVE_OPTIONS=\nSTARTED=/ready\n");
  assert.deepEqual(fake.list("run"), []);
  assert.ok(fake.list("tls").includes("server.pem"));
  const before = readlinkSync(join(fake.data, "current"));
  assert.equal((await fake.run("set-up")).code, 0);
  assert.equal(readlinkSync(join(fake.data, "current")), before);
  // Another version replaces the link, and the old set-up is removed.
  fake.write("src/new.ts", "");
  assert.equal((await fake.run("set-up")).code, 0);
  assert.notEqual(readlinkSync(join(fake.data, "current")), before);
  assert.equal(fake.list("set-up").length, 1);
});

test("without a worker, set-up builds no sandbox; a worker has no certificate; both need a shared database", async () => {
  using fake = new FakeCheckout();
  for (const role of ["--no-worker", "worker"]) {
    const refused = await fake.run("set-up", role);
    assert.deepEqual([refused.code, /ASSAY_DATABASE=postgres/.test(refused.stderr)], [1, true]);
  }
  assert.equal((await fake.startWith({ ASSAY_DATABASE: URL }, "set-up", "--no-worker").end()).code, 0);
  assert.deepEqual(fake.list("current").sort(), ["app", "dashboard", "environment", "node", "uses"]);
  assert.equal(
    readFileSync(join(fake.data, "current/environment"), "utf8"),
    "SERVE_OPTIONS=--no-worker\nSTARTED=/live\n",
  );
  assert.equal(fake.count("image-built"), 0);
  using other = new FakeCheckout();
  assert.equal((await other.startWith({ ASSAY_DATABASE: URL }, "set-up", "worker").end()).code, 0);
  assert.ok(!other.list(".").includes("tls"));
  assert.deepEqual([other.list("dashboard"), other.count("dashboard-built")], [[], 0]);
});

test("versions of the last set-up are kept, regardless of later versions", async () => {
  using fake = new FakeCheckout();
  await fake.run("set-up");
  const app = realpathSync(join(fake.data, "current/app"));
  for (let version = 0; version < 5; version++) {
    fake.write("src/new.ts", `// ${version}\n`);
    assert.equal((await fake.run("keys", "list")).code, 0);
  }
  assert.equal(realpathSync(join(fake.data, "current/app")), app);
  assert.equal(fake.list("app").length, 4);
});

test("a separately started launcher holds the serve lock of the data directory", async () => {
  using fake = new FakeCheckout();
  await fake.run("set-up");
  const socket = join(fake.root, "launcher.sock");
  const launcher = new Command(join(fake.data, "current/app/setup/start-launcher"), [fake.data, socket]);
  try {
    while (!existsSync(socket)) await sleep(20);
    const { code, stderr } = await fake.run("serve");
    assert.deepEqual([code, /another 'assay serve' runs/.test(stderr)], [1, true]);
    assert.match(readFileSync(`/proc/${launcher.child.pid}/cmdline`, "utf8"), /\0--instance\0unit\0/);
  } finally {
    launcher.child.kill("SIGTERM");
  }
  assert.equal((await launcher.end()).code, 0);
});
