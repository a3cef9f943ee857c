import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MEANINGS, meaningOf } from "../../../src/domain/remedies.ts";
import { environment, startLauncher } from "../../support/launcher/launcher.ts";

/** Checks that only the doctor makes. */
const DOCTORS_OWN = ["runtime", "language", "launcher"];

/** All check names in the launcher's source, including those that never fail here. */
function namesInSource(): string[] {
  const text = readFileSync(new URL("../../../launcher/check.c", import.meta.url), "utf8");
  const printed = [...text.matchAll(/\bprint(?:_failure)?\("(\w+)"/g)].map(([, name = ""]) => name);
  const namespaces = [...text.matchAll(/\{"(\w+)", CLONE_NEW\w+\}/g)].map(([, name = ""]) => name);
  return [...new Set([...printed, ...namespaces])].sort();
}

test("every check of the launcher has a meaning and a remedy", async () => {
  const { instance, uidBase, stop } = await startLauncher();
  await stop();
  const rootfs = join(environment("ASSAY_TEST_IMAGE"), "rootfs");
  const where = [
    "--lock-image",
    "4294967296",
    "--image",
    rootfs,
    "--instance",
    instance,
    "--uid-base",
    String(uidBase),
  ];
  const output = execFileSync(`${environment("ASSAY_TEST_LAUNCHER")}.delegated`, ["--check", ...where]);
  const lines = output.toString().trimEnd().split("\n");
  const names = lines.map((line) => (JSON.parse(line) as { check: string }).check);
  assert.ok(names.length > 15);
  for (const name of names) assert.ok(Object.hasOwn(MEANINGS, name), `${name} has no row`);
  for (const name of names) assert.ok(namesInSource().includes(name), `${name} is not found in check.c`);
});

test("the rows are exactly the checks that can be printed", () => {
  assert.deepEqual(Object.keys(MEANINGS).sort(), [...namesInSource(), ...DOCTORS_OWN].sort());
});

test("every row has a meaning and a remedy", () => {
  for (const [name, { means, remedy }] of Object.entries(MEANINGS)) {
    assert.ok(means.length > 10 && remedy.length > 10, name);
  }
});

test("findings of readiness have the doctor's meaning or their own", () => {
  assert.equal(meaningOf("seccomp"), MEANINGS.seccomp);
  assert.equal(meaningOf("file_size_evidence"), MEANINGS.bpf);
  assert.equal(meaningOf("pressure_evidence"), MEANINGS.pressure);
  for (const name of ["sandbox", "workers", "engine"])
    assert.match(meaningOf(name)?.remedy ?? "", /assay doctor/, name);
  assert.equal(meaningOf("an unknown check"), undefined);
});
