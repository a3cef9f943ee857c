import assert from "node:assert/strict";
import { test } from "node:test";
import type { Limits } from "../../../src/domain/limits.ts";
import { type KeyName, UNLIMITED } from "../../../src/sandbox/protocol.ts";
import { encodeStep, type Step } from "../../../src/sandbox/step.ts";
import { Entries, type Frame, FrameReader } from "../../../src/sandbox/wire.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";

function sent(step: Step): Entries {
  const [frame, ...others] = [...new FrameReader().push(Buffer.concat(encodeStep(step)))];
  assert.equal(frame?.name, "STEP");
  assert.deepEqual(others, []);
  return new Entries(frame as Frame);
}

/** The key of each limit. A missing limit is a type error. */
const KEY_OF: Readonly<Record<keyof Limits, KeyName>> = {
  wallMs: "WALL_MS",
  cpuMs: "CPU_MS",
  cpus: "CPUS",
  memoryBytes: "MEMORY_BYTES",
  processes: "PROCESSES",
  fileBytes: "FILE_BYTES",
  openFiles: "OPEN_FILES",
  addressSpaceBytes: "ADDRESS_SPACE_BYTES",
  stackBytes: "STACK_BYTES",
  workBytes: "WORK_BYTES",
  workInodes: "WORK_INODES",
  tmpBytes: "TMP_BYTES",
  stdoutBytes: "STDOUT_BYTES",
  stderrBytes: "STDERR_BYTES",
};

for (const [limit, key] of Object.entries(KEY_OF) as [keyof Limits, KeyName][]) {
  test(`encodes ${limit} as ${key}`, () => {
    assert.equal(sent(shell("")).int(key), LIMITS[limit]);
    const other = (LIMITS[limit] ?? 0) + 1;
    assert.equal(sent(shell("", { limits: { ...LIMITS, [limit]: other } })).int(key), other);
  });
}

test("encodes no limit of address space as unlimited, not 0", () => {
  const entries = sent(shell("", { limits: { ...LIMITS, addressSpaceBytes: null } }));
  assert.equal(entries.big("ADDRESS_SPACE_BYTES"), UNLIMITED);
});

test("the rlimits behind the group's limits are above them", () => {
  for (const [wallMs, processes] of [
    [1, 1],
    [1_000, 10],
    [2_002, 64],
    [4_000, 4_096],
  ] as const) {
    const entries = sent(shell("", { limits: { ...LIMITS, wallMs, processes } }));
    // The CPU time that a process can use on the CPUs of the step within its wall time.
    assert.ok(entries.int("CPU_RLIMIT_SECS") * 1_000 >= wallMs * LIMITS.cpus + 1_000, `${wallMs}`);
    assert.ok(entries.int("CPU_RLIMIT_SECS") * 1_000 <= (wallMs + 1_000) * LIMITS.cpus + 1_000, `${wallMs}`);
    assert.ok(entries.int("PROCESSES_RLIMIT") > processes, `${processes}`);
  }
});

test("/tmp has inodes in proportion to its size, and at most as many as the work directory", () => {
  const inodes = (tmpBytes: number, workInodes: number) =>
    sent(shell("", { limits: { ...LIMITS, tmpBytes, workInodes } })).int("TMP_INODES");
  assert.equal(inodes(4 << 20, 4_096), 256);
  assert.equal(inodes(4_096, 4_096), 64);
  assert.equal(inodes(1 << 30, 4_096), 4_096);
});

test("encodes command, environment, files and input unchanged and in order", () => {
  const step = sent(
    shell("", {
      command: { command: ["./main", " ", "a b", "é"], env: { B: "2", A: "x=y", EMPTY: "" } },
      files: [
        { name: "main.py", data: Buffer.from("print(1)\n") },
        { name: "other", data: Buffer.alloc(0) },
      ],
      stdin: Buffer.from("in\n"),
    }),
  );
  assert.deepEqual(step.texts("ARG"), ["./main", " ", "a b", "é"]);
  assert.deepEqual(step.texts("ENV"), ["B=2", "A=x=y", "EMPTY="]);
  assert.deepEqual(step.texts("FILE_NAME"), ["main.py", "other"]);
  assert.deepEqual(step.texts("FILE_DATA"), ["print(1)\n", ""]);
  assert.equal(step.text("STDIN"), "in\n");
});

test("keeping the work directory and leaving it to another step are independent", () => {
  const flags = (work: Step["work"], more: boolean) => {
    const entries = sent(shell("", { work, more }));
    return [entries.int("KEEP_WORK"), entries.int("MORE")];
  };
  assert.deepEqual(flags("fresh", false), [0, 0]);
  assert.deepEqual(flags("fresh", true), [0, 1]);
  assert.deepEqual(flags("keep", false), [1, 0]);
  assert.deepEqual(flags("keep", true), [1, 1]);
});
