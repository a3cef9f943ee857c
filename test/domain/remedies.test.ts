import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MEANINGS } from "../../src/domain/remedies.ts";
import { environment, startLauncher } from "../launcher/launcher.ts";

/** Checks that only the doctor itself makes. */
const DOCTORS_OWN = ["language", "launcher"];

/** Names that the launcher's source can print, those of checks that fail here never, too. */
function namesInSource(): string[] {
  const text = readFileSync(new URL("../../launcher/check.c", import.meta.url), "utf8");
  const printed = [...text.matchAll(/\bprint(?:_failure)?\("(\w+)"/g)].map(([, name = ""]) => name);
  const namespaces = [...text.matchAll(/\{"(\w+)", CLONE_NEW\w+\}/g)].map(([, name = ""]) => name);
  return [...new Set([...printed, ...namespaces])].sort();
}

test("every check that the launcher prints has its meaning and its remedy", async () => {
  const { instance, uidBase, stop } = await startLauncher();
  await stop();
  const rootfs = join(environment("ASSAY_TEST_IMAGE"), "rootfs");
  const where = ["--image", rootfs, "--instance", instance, "--uid-base", String(uidBase)];
  const output = execFileSync(`${environment("ASSAY_TEST_LAUNCHER")}.delegated`, ["--check", ...where]);
  const lines = output.toString().trimEnd().split("\n");
  const names = lines.map((line) => (JSON.parse(line) as { check: string }).check);
  assert.ok(names.length > 15);
  for (const name of names) assert.ok(Object.hasOwn(MEANINGS, name), `${name} has no row`);
  for (const name of names) assert.ok(namesInSource().includes(name), `${name} is not found in check.c`);
});

test("the rows are the checks that can be printed, no more and no less", () => {
  assert.deepEqual(Object.keys(MEANINGS).sort(), [...namesInSource(), ...DOCTORS_OWN].sort());
});

test("every row says something in plain words", () => {
  for (const [name, { means, remedy }] of Object.entries(MEANINGS)) {
    assert.ok(means.length > 10 && remedy.length > 10, name);
  }
});
