/**
 * What the launcher reports about one step: facts only, read from the kernel
 * after the fact, none of them a judgement. verdict/ turns them into a verdict
 * and into evidence; sandbox/ only decodes them.
 */
export interface StepReport {
  /** Present when the box could not be set up: the platform's failure, never the program's. */
  readonly failure?: SetupFailure;

  /** Exactly one of the two is a number, unless there was a failure. */
  readonly exitCode: number | null;
  readonly signal: number | null;
  /** Recorded by the supervisor before it sends SIGKILL; the first cause wins. */
  readonly killReason: KillReason;

  /** Monotonic nanoseconds from exec to exit. */
  readonly wallNs: number;
  /** CPU time of the whole cgroup, to the end of its last process; microseconds. */
  readonly cpuUsec: number;
  /** What the step was given, as `kernelLimitBytes` is; no other number here is not the kernel's. */
  readonly cpuLimitUsec: number;

  /** Of the group: what the step before left in the work directory is charged to no group of this one. */
  readonly memoryPeakBytes: number;
  /** Bytes that the kept work directory held when the step began; bounded by its size. 0 for a fresh one. */
  readonly keptBytes: number;
  readonly memoryLimitBytes: number;
  /** The largest reading of the group's kernel memory, taken every 20 ms; 0 for a run that is shorter. */
  readonly kernelBytes: number;
  readonly kernelLimitBytes: number;
  /** Times the memory limit was about to be exceeded and reclaim had failed (memory.events oom). */
  readonly oomEvents: number;
  /** Processes of the leaf killed by the OOM killer (memory.events oom_kill). */
  readonly oomKills: number;
  /** Times usage met the limit and reclaim ran (memory.events max, v1 failcnt). Proves nothing by itself. */
  readonly memoryLimitHits: number;

  /** Forks refused by the cgroup (pids.events max). */
  readonly pidsRefused: number;
  /** Processes in the leaf when the facts were collected. */
  readonly pidsCurrent: number;
  readonly pidsPeak: number | null;
  readonly pidsLimit: number;

  /** SIGXFSZ sent by the kernel itself, proven by the BPF program. */
  readonly fsizeSignals: number;
  /** SIGXCPU sent by the kernel itself. */
  readonly cpuRlimitSignals: number;
  /** Whether the two counters above are live, or always 0. */
  readonly signalSource: "bpf" | "none";

  /** cpu.pressure of the leaf in microseconds; null where the kernel has no PSI. */
  readonly psiFullUsec: number | null;
  readonly psiSomeUsec: number | null;

  /** Bytes the program wrote, and bytes that were kept, per stream. */
  readonly stdoutSeen: number;
  readonly stderrSeen: number;
  readonly stdoutKept: number;
  readonly stderrKept: number;
  /** End of the run minus the last byte read, microseconds; null when nothing was written. */
  readonly outputAgeUsec: number | null;
  /** Reading the program's output failed. */
  readonly writeError: boolean;

  /** Processes still alive when the main one ended; the supervisor killed them. */
  readonly survivors: number;
  /** From our kill, or else from the end of the main process, to that of the last process; microseconds. */
  readonly endUsec: number;

  /** Controls that were read back from the kernel. */
  readonly controls: readonly string[];
  /** Controls that could not be read back, as "name: why". */
  readonly controlsMissing: readonly string[];
  readonly rlimits: Rlimits;
  readonly backend: CgroupBackend;
  readonly pidfdMode: "native" | "fallback";
  readonly seccompPolicy: "builtin-deny" | "custom" | "disabled";

  readonly teardown: TeardownReport;

  readonly stdout: Buffer;
  readonly stderr: Buffer;

  /** As the service saw it: from asking for the step to its end, and from there to the end of its box. Proves nothing. */
  readonly spentMs: { readonly run: number; readonly teardown: number };
}

/** Which step of the set-up failed, on what, and why. For the log; never shown to a client. */
export interface SetupFailure {
  readonly step: string;
  readonly object: string;
  readonly errno: string | number;
}

export type KillReason = "none" | "wall" | "cpu" | "oom" | "client";

/** Records of former versions can have `cgroup_v1`, which no launcher reports any more. */
export type CgroupBackend = "cgroup_v2" | "cgroup_v1" | "cgroup_hybrid";

export interface Rlimit {
  readonly soft: number;
  readonly hard: number;
}

/**
 * Limits read back from the payload's /proc, by name: cpu_secs, as_bytes, nofile,
 * nproc, and whatever else the launcher sets. An unlimited one is absent.
 */
export type Rlimits = Readonly<Record<string, Rlimit>>;

export interface TeardownReport {
  /** The end of the box's pid 1 was seen on its pidfd and it was waited for. */
  readonly reaped: boolean;
  /** cgroup.events populated after the end; null where it cannot be read. */
  readonly populated: boolean | null;
  readonly pidsLeft: number;
  readonly zombies: number;
  readonly residualMounts: readonly string[];
  readonly groupsLeft: readonly string[];
  readonly collectionErrors: readonly string[];
}

/** The steps of one submission. `execute` is absent when the compile step did not succeed. */
export interface StepReports {
  readonly compile?: StepReport;
  readonly execute?: StepReport;
}
