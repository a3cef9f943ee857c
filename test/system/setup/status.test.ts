import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FakeCheckout } from "./fake-checkout.ts";

test("without a running instance, status fails with exit code 1 and sets nothing up", async () => {
  using fake = new FakeCheckout();
  const before = readdirSync(fake.data);
  const { code, stdout, stderr } = await fake.run("status");
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(
    stderr,
    `assay: error: nothing runs in ${fake.data}: there is neither 'assay serve' nor 'assay worker'\n`,
  );
  assert.deepEqual(readdirSync(fake.data), before);
});

test("status queries running instances as the service user, with their copy of the program", async () => {
  using fake = new FakeCheckout();
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  const [instance = ""] = fake.list("run");
  // The program of a changed checkout is not used.
  fake.write("src/main.ts", "process.exitCode = 3;\n");
  const { code, stdout, stderr } = await fake.run("status", "--json");
  assert.equal(code, 7, stderr);
  const { args, uid } = JSON.parse(stdout);
  const socket = join(fake.data, "run", instance, "service/operator.sock");
  assert.deepEqual(args, ["--operator-listen", `unix:${socket}`, "--json"]);
  assert.notEqual(uid, 0);
  serve.child.kill("SIGKILL");
  await serve.end();
  const dead = await fake.run("status");
  assert.equal(dead.code, 1, "a killed instance leaves its directory and is not queried");
});

test("status queries a configured operator address", async () => {
  using fake = new FakeCheckout();
  const socket = join(fake.data, "db/elsewhere.sock");
  const serve = fake.startWith({ ASSAY_OPERATOR_LISTEN: `unix:${socket}` }, "serve");
  await serve.says(/ready in/);
  const { stdout } = await fake.run("status");
  assert.deepEqual(JSON.parse(stdout).args, ["--operator-listen", `unix:${socket}`]);
  serve.child.kill("SIGTERM");
  assert.equal((await serve.end()).code, 0);
});
