/** Names of the execution profiles in display order. */
export const PROFILE_NAMES = ["judge", "agent"] as const;

export type ProfileName = (typeof PROFILE_NAMES)[number];

export function isProfileName(text: string): text is ProfileName {
  return (PROFILE_NAMES as readonly string[]).includes(text);
}

/**
 * The limits of one step. All values are integers; the unit is in the name.
 * Only `addressSpaceBytes` can be null, for no RLIMIT_AS, because some runtimes reserve far
 * more address space than they use.
 */
export interface Limits {
  /** Monotonic time from the exec of the program, or from its hand-over to a runtime that waits, until its exit. */
  readonly wallMs: number;
  /** CPU time of all processes in the cgroup together. */
  readonly cpuMs: number;
  /** CPUs that the step is bound to. */
  readonly cpus: number;
  /** cgroup memory limit; the page cache of the box's tmpfs counts. */
  readonly memoryBytes: number;
  /** pids.max: processes and threads together. */
  readonly processes: number;
  /** RLIMIT_FSIZE: the largest single file. */
  readonly fileBytes: number;
  /** RLIMIT_NOFILE. */
  readonly openFiles: number;
  /** RLIMIT_AS per process, or null for none. */
  readonly addressSpaceBytes: number | null;
  /** RLIMIT_STACK per process. */
  readonly stackBytes: number;
  /** Size of the tmpfs at /box. */
  readonly workBytes: number;
  /** Files and directories that /box can hold. */
  readonly workInodes: number;
  /** Size of the tmpfs at /tmp, and of the one at /dev/shm. */
  readonly tmpBytes: number;
  /** The most bytes of standard output that are kept; the rest is read and discarded. */
  readonly stdoutBytes: number;
  /** The most bytes of standard error that are kept; the rest is read and discarded. */
  readonly stderrBytes: number;
}

/** Limits of the two steps. `compile` is absent where a language has no compile step. */
export interface StepLimits {
  readonly compile?: Limits;
  readonly execute: Limits;
}
