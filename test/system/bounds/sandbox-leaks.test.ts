import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { MOST_GROWTH } from "../../../bench/sandboxes/counts.ts";
import { assayBench, NOBODY } from "../../support/cli/processes.ts";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";

const MIB = 1_048_576;
const SANDBOXES = 24;
const MEMORY = SANDBOXES * 256 * MIB;

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 3, clientUid: NOBODY, sandboxes: SANDBOXES, sandboxMemory: MEMORY });
});
after(async () => assert.equal(await launcher.stop(), 0, launcher.stderr()));

interface Row {
  readonly name: string;
  readonly reached: boolean | null;
  readonly value: number | null;
  readonly note: string | null;
}

/** The counts are of the whole machine where the kernel has no others, so nothing else may run. */
test("10,000 executions and 1,000 sandboxes leave the memory of the kernel, groups, namespaces, mounts and descriptors as they were", {
  timeout: 1_500_000,
}, async (t) => {
  const image = ["--image", environment("ASSAY_TEST_IMAGE"), "--launcher-socket", launcher.socket];
  const unused = ["--launcher", "-", "--instance", "-", "--uid-base", "0", "--data", environment("ASSAY_TEST_DATA")];
  const capacity = ["--sandboxes", String(SANDBOXES), "--sandbox-memory", String(MEMORY)];
  const which = ["sandboxes", "--json", "--only", "leaks"];
  const { code, stdout, stderr } = await assayBench(...image, ...unused, ...capacity, ...which);
  assert.equal(code, 0, `${stderr}${stdout}`);
  const rows: Row[] = JSON.parse(stdout);
  for (const { name, value, note } of rows) t.diagnostic(`${name}: ${value} more (${note})`);
  assert.deepEqual(
    rows.map(({ name, reached }) => [name, reached]),
    Object.keys(MOST_GROWTH).map((name) => [`leak_of_${name}`, true]),
    stdout,
  );
});
