import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FakeCheckout } from "./fake-checkout.ts";

test("where nothing runs, status says so, with exit code 1, and sets nothing up", async () => {
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

test("status asks what runs where it listens, as the service user, with its own copy of the program", async () => {
  using fake = new FakeCheckout();
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  const [instance = ""] = fake.list("run");
  // A checkout that changes meanwhile is not asked.
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
  assert.equal(dead.code, 1, "one that was killed left its directory, and is not asked");
});

test("status asks where an operator wanted it to listen", async () => {
  using fake = new FakeCheckout();
  const socket = join(fake.data, "db/elsewhere.sock");
  const serve = fake.startWith({ ASSAY_OPERATOR_LISTEN: `unix:${socket}` }, "serve");
  await serve.says(/ready in/);
  const { stdout } = await fake.run("status");
  assert.deepEqual(JSON.parse(stdout).args, ["--operator-listen", `unix:${socket}`]);
  serve.child.kill("SIGTERM");
  assert.equal((await serve.end()).code, 0);
});
