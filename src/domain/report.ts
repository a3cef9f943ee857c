import type { Measured } from "./measured.ts";
import type { Sample } from "./samples.ts";

/**
 * The launcher's report about one step: facts read from the kernel, without judgement.
 * sandbox/ decodes them; verdict/ derives the verdict and the evidence from them.
 */
export interface StepReport extends Measured {
  /** Present if the box could not be set up: a failure of the platform, not of the program. */
  readonly failure?: SetupFailure;

  /** Exactly one of `exitCode` and `signal` is a number, unless `failure` is present. */
  readonly exitCode: number | null;
  readonly signal: number | null;
  /** With live input, the last signal that the client sent to the program. */
  readonly sentSignal?: number | null;
  /** Why the launcher killed the box. It is recorded before SIGKILL is sent; if there are several reasons, it is the first. */
  readonly killReason: KillReason;

  /** Monotonic nanoseconds from exec to exit. In a pair, the time in which only the other program worked does not count. */
  readonly wallNs: number;
  /** `wallNs` and, in a pair, the time in which only the other program worked. */
  readonly elapsedNs?: number;
  /** In a pair: whether this program ended, or was killed, before the other one. */
  readonly endedFirst?: boolean;
  /** In a pair: whether this program exceeded its output limit while the other one still ran and had not exceeded its output limit. */
  readonly exceededFirst?: boolean;
  /** This limit, `kernelLimitBytes` and `walkableLimitBytes` are those of the request; the launcher does not report them. */
  readonly cpuLimitUsec: number;

  readonly kernelLimitBytes: number;
  readonly walkableLimitBytes: number;

  /** `none`: nothing counts the signals that programs get from each other and from the kernel, and their counters are always 0. */
  readonly signalSource: "bpf" | "none";

  readonly stdoutKept: number;
  readonly stderrKept: number;
  /** Whether reading the program's output failed. */
  readonly readError: boolean;

  /** Controls that were read back from the kernel. */
  readonly controls: readonly string[];
  /** Whether the program ran in a sandbox, which has the controls SANDBOX_CONTROLS. */
  readonly inSandbox?: true;
  /** Controls that could not be read back, as "name: why". */
  readonly controlsMissing: readonly string[];
  readonly rlimits: Rlimits;
  readonly backend: CgroupBackend;
  /** Whether the step ran in a runtime that had been started before; not evidence. */
  readonly parkedRuntime?: boolean;
  readonly pidfdMode: "native" | "fallback";
  readonly seccompPolicy: "builtin-deny" | "custom" | "disabled";

  readonly teardown: TeardownReport;

  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /**
   * The files for which the step asked (`collect` in src/sandbox/step.ts). Absent if the launcher sent none, for example because they are
   * too many, too large or not plain files.
   */
  readonly files?: readonly WorkFile[];

  /** Readings during the run; not evidence. Absent if the run was too short. */
  readonly samples?: readonly Sample[];

  /** Measured by the service: from the request to the end of the step, and from there to the end of teardown. Not evidence. */
  readonly spentMs: { readonly run: number; readonly teardown: number };
}

/** A file in the work directory, or a directory there. */
export interface WorkFile {
  /** Its path below the work directory. */
  readonly name: string;
  readonly data: Buffer;
  /** The permissions, with MODE_DIRECTORY for a directory. If absent, the file gets the permissions of new files. */
  readonly mode?: number;
}

export const MODE_DIRECTORY = 0o040000;

/** Which part of the set-up of a box failed, on what object, and with which error. It is for the log, and never shown to clients. */
export interface SetupFailure {
  readonly step: string;
  readonly object: string;
  readonly errno: string | number;
}

export type KillReason = "none" | "wall" | "cpu" | "oom" | "client";

/** Records of earlier versions can have `cgroup_v1`, which the launcher no longer reports. */
export type CgroupBackend = "cgroup_v2" | "cgroup_v1" | "cgroup_hybrid";

export interface Rlimit {
  readonly soft: number;
  readonly hard: number;
}

/**
 * Resource limits of the program, read back from its /proc, by name: cpu_secs, as_bytes, nofile, nproc. A resource that is not limited
 * is absent.
 */
export type Rlimits = Readonly<Record<string, Rlimit>>;

export interface TeardownReport {
  /** Whether the slot saw the ends of the program and of the init of its box on their pidfds, and reaped both. */
  readonly reaped: boolean;
  /** Whether the cgroup still had processes after the end (`populated` of cgroup.events); null if that cannot be read. */
  readonly populated: boolean | null;
  readonly pidsLeft: number;
  readonly zombies: number;
  readonly residualMounts: readonly string[];
  readonly groupsLeft: readonly string[];
  readonly unreadFacts: readonly string[];
}

/** The steps of one submission. `execute` is absent if the compile step failed. */
export interface StepReports {
  readonly compile?: StepReport;
  readonly execute?: StepReport;
  /** Whether `compile` is the report of the compile step of an earlier submission, whose artifact was used. */
  readonly compileCached?: boolean;
}
