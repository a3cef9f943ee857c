import { z } from "zod";
import { Fact } from "./facts.ts";

/** A number that the launcher measures for each step, declared in one row. */
export interface MeasuredRow {
  /** What it is, for readers of launcher/protocol.def and of the code. */
  readonly meaning: string;
  /** The key of an ENDED frame that has its value. */
  readonly key: { readonly name: string; readonly number: number };
  /**
   * Its name in messages, if the launcher reads it from the cgroup of the run; launcher/cgroup/cgroup.c has the file. Otherwise, the launcher
   * counts it itself.
   */
  readonly cgroup?: string;
  /** Whether it is absent (null) where the kernel does not have it, or nothing happened. */
  readonly isOptional?: true;
  /** Its field in `evidence.limits.cgroup` of the record, and what it says to a reader of the record; absent if clients do not see it. */
  readonly record?: { readonly field: string; readonly meaning: string };
}

/**
 * The numbers that the launcher measures, in the order of the record. The rows derive the keys in launcher/protocol.def, the facts of the
 * launcher's cgroup/cgroup.h and its report, the StepReport, and the evidence of the record.
 */
export const MEASURED = {
  memoryLimitBytes: {
    meaning: "Memory limit, as read back",
    key: { name: "MEMORY_LIMIT", number: 69 },
    cgroup: "memory limit",
    record: {
      field: "memory_limit_bytes",
      meaning:
        "The memory that all processes together could use, read back from the kernel, not copied from the request.",
    },
  },
  memoryPeakBytes: {
    meaning:
      "Peak of the memory of the cgroup. Files that the previous step left in the work directory are not charged to this cgroup",
    key: { name: "MEMORY_PEAK", number: 68 },
    cgroup: "memory peak",
    record: {
      field: "memory_peak_bytes",
      meaning: "The most memory that they used at the same time, including files that they or the compiler wrote.",
    },
  },
  memoryLimitHits: {
    meaning:
      "How often the memory limit was reached and the kernel tried to free memory (memory.events max; failcnt on v1). Alone, it proves nothing",
    key: { name: "MEMORY_HITS", number: 70 },
    cgroup: "memory limit hits",
  },
  oomEvents: {
    meaning:
      "How often the memory limit was about to be exceeded and the kernel could not free memory (memory.events oom); on v1, the slot counts the events",
    key: { name: "OOM_EVENTS", number: 71 },
    cgroup: "oom events",
    record: {
      field: "oom_events",
      meaning: "How often the memory limit was reached and the kernel could not free memory.",
    },
  },
  oomKills: {
    meaning: "Processes of the cgroup that the OOM killer killed (memory.events oom_kill)",
    key: { name: "OOM_KILLS", number: 72 },
    cgroup: "oom kills",
    record: {
      field: "oom_kill_events",
      meaning:
        "Processes of this box that the kernel killed for memory. MLE is based on this counter: the box was created for this run alone, and no program can change the counter.",
    },
  },
  cpuUsec: {
    meaning:
      "CPU time of the whole cgroup to the end of its last process, without that of building the box; microseconds",
    key: { name: "CPU_USEC", number: 67 },
    cgroup: "cpu time",
    record: {
      field: "cpu_usage_usec",
      meaning:
        "CPU time of all processes together, counted exactly by the kernel. CPU time of child processes is included.",
    },
  },
  processCount: {
    meaning: "Processes and threads in the cgroup after the run; 0 is correct",
    key: { name: "PIDS_CURRENT", number: 74 },
    cgroup: "process count",
    record: {
      field: "process_count",
      meaning: "Processes and threads that existed when the evidence was collected.",
    },
  },
  processLimit: {
    meaning: "Process limit, as read back",
    key: { name: "PIDS_LIMIT", number: 76 },
    cgroup: "process limit",
    record: {
      field: "process_limit",
      meaning: "The number of processes and threads that could exist at the same time, read back from the kernel.",
    },
  },
  forksRefused: {
    meaning: "Forks that the process limit refused (pids.events max)",
    key: { name: "PIDS_REFUSED", number: 73 },
    cgroup: "refused forks",
  },
  processPeak: {
    meaning: "The most processes and threads at the same time; absent if the kernel does not count them",
    key: { name: "PIDS_PEAK", number: 75 },
    cgroup: "process peak",
    isOptional: true,
  },
  psiFullUsec: {
    meaning: "cpu.pressure of the cgroup while it ran, `full`, in microseconds; absent if the kernel has no PSI",
    key: { name: "PRESSURE_FULL_USEC", number: 80 },
    cgroup: "cpu pressure full",
    isOptional: true,
  },
  psiSomeUsec: {
    meaning: "cpu.pressure of the cgroup while it ran, `some`, in microseconds; absent if the kernel has no PSI",
    key: { name: "PRESSURE_SOME_USEC", number: 81 },
    cgroup: "cpu pressure some",
    isOptional: true,
  },
  fsizeSignals: {
    meaning: "SIGXFSZ for RLIMIT_FSIZE that the kernel itself sent, as the BPF program has counted; 0 without it",
    key: { name: "FSIZE_SIGNALS", number: 77 },
  },
  cpuRlimitSignals: {
    meaning: "SIGXCPU for RLIMIT_CPU that the kernel itself sent, as the BPF program has counted; 0 without it",
    key: { name: "CPU_RLIMIT_SIGNALS", number: 78 },
  },
  stdoutSeen: {
    meaning: "Bytes that the program wrote to standard output, forwarded or not",
    key: { name: "STDOUT_SEEN", number: 82 },
  },
  stderrSeen: {
    meaning: "Bytes that the program wrote to standard error, forwarded or not",
    key: { name: "STDERR_SEEN", number: 83 },
  },
  outputAgeUsec: {
    meaning: "Microseconds from the last byte of output to the end of the main program; absent without output",
    key: { name: "OUTPUT_AGE_USEC", number: 84 },
    isOptional: true,
  },
  survivors: {
    meaning:
      "Processes and threads of the run that were left when the main program ended by itself; the slot has then killed them",
    key: { name: "SURVIVORS", number: 86 },
  },
  keptBytes: {
    meaning:
      "With KEEP_WORK, bytes in the work directory at the start of the step, at most the size of the directory; 0 if it is fresh. They are not charged to the cgroup of this step",
    key: { name: "KEPT_BYTES", number: 102 },
  },
  endUsec: {
    meaning:
      "Microseconds to the end of the last process: from the kill, or without one from the end of the main program",
    key: { name: "END_USEC", number: 103 },
  },
  kernelBytes: {
    meaning: "The largest reading of the kernel memory of the cgroup, at least every 20 ms; 0 for a shorter run",
    key: { name: "KERNEL_MEMORY", number: 104 },
  },
  walkableBytes: {
    meaning:
      "The largest reading of what WALKABLE_BYTES limits: the page tables of one process, times the processes and threads of the run",
    key: { name: "WALKABLE", number: 111 },
  },
} as const satisfies Readonly<Record<string, MeasuredRow>>;

type Rows = typeof MEASURED;
export type MeasuredName = keyof Rows;
export const MEASURED_NAMES = Object.keys(MEASURED) as readonly MeasuredName[];

/** The values of all measured numbers. */
export type Measured = {
  readonly [Name in MeasuredName]: Rows[Name] extends { isOptional: true } ? number | null : number;
};

type RecordedName = { [Name in MeasuredName]: Rows[Name] extends { record: object } ? Name : never }[MeasuredName];
/** Those that are part of the record. */
export type Recorded = { readonly [Name in RecordedName]: number };

const RECORDED_NAMES = MEASURED_NAMES.filter((name): name is RecordedName => "record" in MEASURED[name]);

export function recordedOf(measured: Measured): Recorded {
  return Object.fromEntries(RECORDED_NAMES.map((name) => [name, measured[name]])) as unknown as Recorded;
}

/** The facts of `evidence.limits.cgroup` in the record. */
export const RECORDED_FACTS = Object.fromEntries(
  RECORDED_NAMES.map((name) => {
    const { field, meaning } = MEASURED[name].record;
    const read = ({ limits }: { readonly limits: Recorded }) => limits[name];
    return [field, new Fact(z.int().min(0), read, meaning)];
  }),
) as unknown as {
  readonly [Name in RecordedName as Rows[Name]["record"]["field"]]: Fact<{ readonly limits: Recorded }, z.ZodInt>;
};
