import assert from "node:assert/strict";
import { test } from "node:test";
import { type KeyName, UNLIMITED } from "../../../src/sandbox/protocol.ts";
import { decodeHello, decodeReport, type Hello } from "../../../src/sandbox/report.ts";
import { Entries, type Frame, FrameReader } from "../../../src/sandbox/wire.ts";
import { ended, hello, refused, torn } from "../../support/sandbox/frames.ts";

function entries(bytes: Buffer): Entries {
  return new Entries([...new FrameReader().push(bytes)][0] as Frame);
}

const HELLO: Hello = decodeHello(entries(hello()));
const NOTHING = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

type Values = Parameters<typeof ended>[0];
const decode = (values: Values = {}, left: Values = {}, output = NOTHING) =>
  decodeReport(HELLO, entries(ended(values)), entries(torn(left)), output);

test("a slot's hello is decoded", () => {
  const values = { BUILD: "b1", SLOT: 3, LAUNCHER: "0123456789abcdef", PRESSURE: 1, KERNEL: "6.1.0 x86_64" };
  assert.deepEqual(decodeHello(entries(hello(values))), {
    build: "b1",
    slot: 3,
    launcher: "0123456789abcdef",
    backend: "cgroup_v2",
    signalSource: "bpf",
    pressure: true,
    seccompPolicy: "builtin-deny",
    pidfdMode: "native",
    kernel: "6.1.0 x86_64",
  });
});

test("decodes every fact of a run, and repeats the facts of the hello in every report", () => {
  const facts = {
    exitCode: ["EXIT_CODE", 7],
    wallNs: ["WALL_NS", 11],
    cpuUsec: ["CPU_USEC", 12],
    memoryPeakBytes: ["MEMORY_PEAK", 13],
    memoryLimitBytes: ["MEMORY_LIMIT", 14],
    memoryLimitHits: ["MEMORY_HITS", 15],
    oomEvents: ["OOM_EVENTS", 16],
    oomKills: ["OOM_KILLS", 17],
    forksRefused: ["PIDS_REFUSED", 18],
    processCount: ["PIDS_CURRENT", 19],
    processPeak: ["PIDS_PEAK", 20],
    processLimit: ["PIDS_LIMIT", 21],
    fsizeSignals: ["FSIZE_SIGNALS", 22],
    cpuRlimitSignals: ["CPU_RLIMIT_SIGNALS", 23],
    psiFullUsec: ["PRESSURE_FULL_USEC", 24],
    psiSomeUsec: ["PRESSURE_SOME_USEC", 25],
    stdoutSeen: ["STDOUT_SEEN", 26],
    stderrSeen: ["STDERR_SEEN", 27],
    outputAgeUsec: ["OUTPUT_AGE_USEC", 28],
    survivors: ["SURVIVORS", 29],
    keptBytes: ["KEPT_BYTES", 30],
    kernelBytes: ["KERNEL_MEMORY", 32],
    walkableBytes: ["WALKABLE", 33],
    endUsec: ["END_USEC", 31],
  } as const satisfies Record<string, readonly [KeyName, number]>;
  const output = { stdout: Buffer.from("abc"), stderr: Buffer.from("de") };
  const lists = { CONTROL: ["a", "b"], CONTROL_MISSING: ["c: why"] };
  const report = decode({ ...Object.fromEntries(Object.values(facts)), ...lists }, {}, output);
  for (const [name, [key, value]] of Object.entries(facts)) {
    assert.equal(report[name as keyof typeof facts], value, `${name} is ${key}`);
  }
  assert.deepEqual(
    [report.stdoutKept, report.stderrKept, report.stdout, report.stderr],
    [3, 2, output.stdout, output.stderr],
  );
  assert.deepEqual([report.controls, report.controlsMissing], [["a", "b"], ["c: why"]]);
  const { signalSource, backend, pidfdMode, seccompPolicy } = report;
  assert.deepEqual(
    { signalSource, backend, pidfdMode, seccompPolicy },
    { signalSource: "bpf", backend: "cgroup_v2", pidfdMode: "native", seccompPolicy: "builtin-deny" },
  );
  assert.deepEqual(
    [0, 1].map((flag) => decode({ READ_ERROR: flag }).readError),
    [false, true],
  );
});

test("missing counters of the kernel are null, never 0", () => {
  const { signal, processPeak, psiFullUsec, psiSomeUsec, outputAgeUsec, teardown } = decode();
  assert.deepEqual(
    [signal, processPeak, psiFullUsec, psiSomeUsec, outputAgeUsec, teardown.populated],
    [null, null, null, null, null, null],
  );
  assert.equal(decode({ PIDS_PEAK: 0 }).processPeak, 0);
});

test("distinguishes signals from exits, and exit code 0 from no exit code", () => {
  const { exitCode, signal } = decode({ EXIT_CODE: undefined, SIGNAL: 9 });
  assert.deepEqual([exitCode, signal], [null, 9]);
  assert.deepEqual([decode().exitCode, decode().signal], [0, null]);
});

test("a failed set-up has its step, object and errno", () => {
  assert.equal("failure" in decode(), false);
  const { failure } = decode({ FAIL_STEP: "mount", FAIL_OBJECT: "/box", FAIL_ERRNO: 12 });
  assert.deepEqual(failure, { step: "mount", object: "/box", errno: 12 });
});

test("omits each unlimited rlimit", () => {
  const all = { RLIMIT_CPU_SOFT: 1, RLIMIT_CPU_HARD: 2, RLIMIT_AS_SOFT: 3, RLIMIT_AS_HARD: 4 };
  const more = { RLIMIT_NOFILE_SOFT: 5, RLIMIT_NOFILE_HARD: 6, RLIMIT_NPROC_SOFT: 7, RLIMIT_NPROC_HARD: 8 };
  const expected = {
    cpu_secs: { soft: 1, hard: 2 },
    as_bytes: { soft: 3, hard: 4 },
    nofile: { soft: 5, hard: 6 },
    nproc: { soft: 7, hard: 8 },
  };
  assert.deepEqual(decode({ ...all, ...more }).rlimits, expected);
  for (const [name, key] of [
    ["cpu_secs", "RLIMIT_CPU"],
    ["as_bytes", "RLIMIT_AS"],
    ["nofile", "RLIMIT_NOFILE"],
    ["nproc", "RLIMIT_NPROC"],
  ] as const) {
    const { rlimits } = decode({ ...all, ...more, [`${key}_SOFT`]: UNLIMITED, [`${key}_HARD`]: UNLIMITED });
    const { [name]: _, ...others } = expected;
    assert.deepEqual(rlimits, others);
  }
});

test("decodes the teardown", () => {
  assert.deepEqual(decode({}, { REAPED: 1, POPULATED: 0 }).teardown, {
    reaped: true,
    populated: false,
    pidsLeft: 0,
    zombies: 0,
    residualMounts: [],
    groupsLeft: [],
    unreadFacts: [],
  });
  const left = {
    REAPED: 0,
    POPULATED: 1,
    PIDS_LEFT: 2,
    ZOMBIES: 3,
    RESIDUAL_MOUNT: ["/box", "/tmp"],
    GROUP_LEFT: ["memory/s0"],
    COLLECTION_ERROR: ["proc: gone"],
  };
  assert.deepEqual(decode({ EVIDENCE_ERROR: ["memory.peak: EIO"] }, left).teardown, {
    reaped: false,
    populated: true,
    pidsLeft: 2,
    zombies: 3,
    residualMounts: ["/box", "/tmp"],
    groupsLeft: ["memory/s0"],
    unreadFacts: ["memory.peak: EIO", "proc: gone"],
  });
});

test("rejects unknown values of enumerations", () => {
  assert.throws(() => decode({ KILL_REASON: "boredom" }), refused('KILL_REASON is "boredom"'));
  assert.throws(() => decode({ KILL_REASON: "" }), refused('KILL_REASON is ""'));
  for (const key of ["BACKEND", "SIGNAL_SOURCE", "SECCOMP_POLICY", "PIDFD_MODE"] as const) {
    assert.throws(() => decodeHello(entries(hello({ [key]: "other" }))), refused(`${key} is "other"`));
  }
});

test("decodes every reason for a kill and every backend", () => {
  for (const reason of ["none", "wall", "cpu", "oom", "client"]) {
    assert.equal(decode({ KILL_REASON: reason }).killReason, reason);
  }
  for (const backend of ["cgroup_v2", "cgroup_hybrid"]) {
    assert.equal(decodeHello(entries(hello({ BACKEND: backend }))).backend, backend);
  }
});
