import { CONTROLS } from "../../../src/domain/controls.ts";
import { MEASURED_NAMES, type Measured } from "../../../src/domain/measured.ts";
import type { StepReport, TeardownReport } from "../../../src/domain/report.ts";

const NOTHING_MEASURED = Object.fromEntries(MEASURED_NAMES.map((name) => [name, 0])) as unknown as Measured;

/** The valid report of a program that printed nothing and exited with 0. */
export function report(changes: Partial<StepReport> = {}): StepReport {
  const stdout = changes.stdout ?? Buffer.alloc(0);
  const stderr = changes.stderr ?? Buffer.alloc(0);
  return {
    ...NOTHING_MEASURED,
    exitCode: 0,
    signal: null,
    killReason: "none",
    wallNs: 20_000_000,
    cpuUsec: 10_000,
    cpuLimitUsec: 10_000_000,
    kernelLimitBytes: 50_331_648,
    kernelBytes: 1_000_000,
    walkableBytes: 0,
    walkableLimitBytes: 161_061_273,
    memoryPeakBytes: 9_000_000,
    keptBytes: 0,
    memoryLimitBytes: 268_435_456,
    oomEvents: changes.oomKills ?? 0,
    oomKills: 0,
    memoryLimitHits: changes.oomKills ? 1 : 0,
    forksRefused: 0,
    processCount: 1,
    processPeak: changes.forksRefused ? 10 : 1,
    processLimit: 10,
    fsizeSignals: 0,
    cpuRlimitSignals: 0,
    signalSource: "bpf",
    psiFullUsec: 0,
    psiSomeUsec: 0,
    stdoutSeen: stdout.length,
    stderrSeen: stderr.length,
    stdoutKept: stdout.length,
    stderrKept: stderr.length,
    outputAgeUsec: null,
    readError: false,
    survivors: 0,
    endUsec: 200,
    controls: CONTROLS,
    controlsMissing: [],
    rlimits: {
      cpu_secs: { soft: 4, hard: 5 },
      as_bytes: { soft: 1_073_741_824, hard: 1_073_741_824 },
      nofile: { soft: 32, hard: 32 },
      nproc: { soft: 64, hard: 64 },
      fsize_bytes: { soft: 1_000_000, hard: 1_000_000 },
    },
    backend: "cgroup_v2",
    pidfdMode: "native",
    seccompPolicy: "builtin-deny",
    teardown: teardown(),
    stdout,
    stderr,
    spentMs: { run: 25, teardown: 3 },
    ...changes,
  };
}

export function teardown(changes: Partial<TeardownReport> = {}): TeardownReport {
  return {
    reaped: true,
    populated: false,
    pidsLeft: 0,
    zombies: 0,
    residualMounts: [],
    groupsLeft: [],
    unreadFacts: [],
    ...changes,
  };
}

/** The report of a program that a signal ended. */
export function signalled(signal: number, changes: Partial<StepReport> = {}): StepReport {
  return report({ exitCode: null, signal, ...changes });
}
