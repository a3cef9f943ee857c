import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeCheckout } from "./fake-checkout.ts";
import { commandLine, startedBelow } from "./processes.ts";

// By default, SIGUSR1 opens Node's inspector on 127.0.0.1:9229, where every user of the machine can run code in the service.

test("SIGUSR1 does not open the inspector of the service", async () => {
  using fake = new FakeCheckout();
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  const service = startedBelow(serve.child.pid ?? 0).find((child) => /main\.ts\0serve\0/.test(commandLine(child)));
  process.kill(service ?? assert.fail("no child is the service"), "SIGUSR1");
  await sleep(500);
  serve.child.kill("SIGTERM");
  const { code, stdout, stderr } = await serve.end();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /drained/);
  assert.doesNotMatch(stderr, /Debugger listening/);
});

test("units and containers start Node without it", () => {
  const root = resolve(import.meta.dirname, "../../..");
  const files = execFileSync("find", ["deploy", "setup", "-type", "f"], { cwd: root, encoding: "utf8" })
    .trim()
    .split("\n");
  const starts = files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .filter((line) => /node"? .*(src\/main\.ts|setup\/ask-until-ready\.ts|\$entry)/.test(line)),
  );
  assert.ok(starts.length >= 8, starts.join("\n"));
  for (const start of starts) assert.match(start, /node"? --disable-sigusr1 /);
});
