import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import { assayBench, NOBODY } from "../../support/cli/processes.ts";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";

const MIB = 1_048_576;
/** An account may hold half of them: the eight of the clients, and more. */
const SANDBOXES = 24;
const MEMORY = SANDBOXES * 256 * MIB;

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 9, clientUid: NOBODY, sandboxes: SANDBOXES, sandboxMemory: MEMORY });
});
after(async () => assert.equal(await launcher.stop(), 0, launcher.stderr()));

const number = z.number().nonnegative();
const schema = z.array(
  z.strictObject({
    name: z.string(),
    unit: z.enum(["ms", "1/s", "MB/s", "MB", "%", "ratio", "count"]),
    value: z.number().nullable(),
    p99: number.nullable(),
    target: z.string(),
    reached: z.boolean().nullable(),
    floor: z.strictObject({ name: z.string(), value: number, p99: number.nullable() }).nullable(),
    note: z.string().nullable(),
  }),
);

test("every row is measured or says why not", { timeout: 600_000, skip: SKIPS_LONG }, async () => {
  const image = ["--image", environment("ASSAY_TEST_IMAGE"), "--launcher-socket", launcher.socket];
  const unused = ["--launcher", "-", "--instance", "-", "--uid-base", "0", "--data", environment("ASSAY_TEST_DATA")];
  const capacity = ["--sandboxes", String(SANDBOXES), "--sandbox-memory", String(MEMORY)];
  // Without `go_judge`, which downloads and builds it, and without `leaks`, which test/system/bounds/sandbox-leaks.test.ts has.
  const names = [
    "create",
    "execute",
    "executions_per_second",
    "podman",
    "keystroke",
    "first_byte",
    "file",
    "pause",
    "snapshot",
    "idle",
    "hundred",
  ];
  const only = ["--quick", "--json", "--idle", "6", "--only", names.join(",")];
  const { code, stdout, stderr } = await assayBench(...image, ...unused, ...capacity, "sandboxes", ...only);
  assert.equal(code, 0, stderr);
  const rows = schema.parse(JSON.parse(stdout));
  assert.deepEqual(
    rows.map(({ name }) => name),
    [
      ...["create_warm", "create_cold", "end", "execute_true", "execute_bash_echo", "executions_per_second"],
      ...["podman_create", "podman_run_true", "podman_execute_true", "podman_execute_bash_echo", "podman_file_1_kib"],
      ...["keystroke", "first_byte", "file_1_kib"],
      ...["pause", "resume", "snapshot", "fork", "idle_sandboxes", "hello_beside_idle", "one_execution_a_second_each"],
    ],
  );
  for (const { name, value, p99 } of rows) {
    assert.ok(value !== null && (p99 === null || p99 >= value), name);
  }
});
