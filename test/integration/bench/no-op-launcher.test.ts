import assert from "node:assert/strict";
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { plan } from "../../../src/worker/plan.ts";
import { proveLanguage } from "../../../src/worker/proof.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";

const PROGRAM = fileURLToPath(new URL("../../../bench/load/no-op-launcher.ts", import.meta.url));
const LIMIT = { timeout: 30_000 };
const languages = installedLanguages();

function started(t: TestContext, mode: number) {
  const directory = mkdtempSync(join(tmpdir(), "assay-no-op-"));
  chmodSync(directory, mode);
  const child = fork(PROGRAM, { silent: true });
  const exited = once(child, "exit");
  t.after(async () => {
    if (child.connected) child.disconnect();
    await exited;
    rmSync(directory, { recursive: true });
  });
  const socket = join(directory, "socket");
  child.send(socket);
  return { child, socket, exited };
}

test("the no-op launcher passes every smoke test, and its records show no seccomp filter", LIMIT, async (t) => {
  const { child, socket } = started(t, 0o700);
  await once(child, "message");
  const slot = await Slot.open(socket);
  t.after(() => slot.close());
  for (const language of languages.list()) {
    const check = await proveLanguage(slot, languages, language);
    assert.ok(check.ok, check.detail);
    const hello = { code: Buffer.from(language.smokeTest.code), stdin: Buffer.alloc(0) };
    const { evidence } = buildOutcome(
      await runSteps(slot, plan(language, languages.limitsFor(language, "judge"), hello)),
    );
    assert.equal(evidence?.isolation.sysPolicy, "disabled");
  }
});

test("refuses every program except the smoke tests", LIMIT, async (t) => {
  const { child, socket } = started(t, 0o700);
  await once(child, "message");
  const python = languages.resolve("python");
  assert.ok(python);
  const limits = languages.limitsFor(python, "judge");
  for (const code of ["print(1)", `${python.smokeTest.code} `]) {
    const slot = await Slot.open(socket);
    const program = { code: Buffer.from(code), stdin: Buffer.alloc(0) };
    await assert.rejects(runSteps(slot, plan(python, limits, program)), /the launcher refused the request: FILE_DATA/);
  }
});

test("starts only from the benchmark, and ends with the process that started it", LIMIT, async (t) => {
  const alone = spawnSync(process.execPath, [PROGRAM], { encoding: "utf8" });
  assert.notEqual(alone.status, 0);
  assert.match(alone.stderr, /only the bench starts this: it runs nothing/);
  const { child, exited } = started(t, 0o700);
  await once(child, "message");
  child.disconnect();
  assert.deepEqual(await exited, [0, null]);
});

test("does not listen in a directory that other users can access", LIMIT, async (t) => {
  const { child, exited } = started(t, 0o755);
  let stderr = "";
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  assert.notEqual((await exited)[0], 0);
  assert.match(stderr, /is open to others/);
});
